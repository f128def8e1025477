use std::{future::Future, pin::pin, task::Poll};

use super::*;

fn rank(capacity: u64, max_holders: usize) -> Arc<Rank> {
    Arc::new(Rank::new(capacity, max_holders, true))
}

async fn is_pending(future: std::pin::Pin<&mut impl Future>) -> bool {
    let mut future = future;
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

#[tokio::test]
async fn who_does_not_fit_waits_in_order() {
    let rank = rank(100, 8);
    let first = rank.admit(&[1; 60], 10).await;
    let mut big = pin!(rank.admit(&[2; 60], 10));
    let mut small = pin!(rank.admit(&[3; 10], 0));
    assert!(is_pending(big.as_mut()).await);
    assert!(is_pending(small.as_mut()).await);
    assert_eq!(rank.view().waiting, 2);
    drop(first);
    let big = big.await;
    let _small = small.await;
    assert_eq!((rank.view().running, rank.view().waiting, rank.view().used), (2, 0, 70));
    drop(big);
    assert_eq!(rank.view().used, 10);
}

#[tokio::test]
async fn leaving_the_queue_lets_the_next_in() {
    let rank = rank(100, 8);
    let _first = rank.admit(&[1; 50], 0).await;
    let mut small = pin!(rank.admit(&[3; 10], 0));
    {
        let mut big = pin!(rank.admit(&[2; 60], 0));
        assert!(is_pending(big.as_mut()).await);
        assert!(is_pending(small.as_mut()).await);
    }
    small.await;
}

#[tokio::test]
async fn the_number_of_holders_is_limited() {
    let rank = rank(1000, 1);
    let first = rank.admit(&[1; 10], 0).await;
    let mut second = pin!(rank.admit(&[2; 10], 0));
    assert!(is_pending(second.as_mut()).await);
    drop(first);
    second.await;
}

#[tokio::test]
async fn a_flush_empties_an_idle_cache_only() {
    let rank = rank(1000, 8);
    drop(rank.admit(&[1; 32], 0).await);
    let lease = rank.admit(&[2; 8], 0).await;
    rank.flush();
    assert_eq!(rank.view().evictable, 32);
    drop(lease);
    rank.flush();
    assert_eq!((rank.view().evictable, rank.view().available), (0, 1000));
}
