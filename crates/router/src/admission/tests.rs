use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, advance, sleep},
};

use super::{AdmissionConfig, Gate, Ticket};
use crate::RouteError;

fn gate(config: AdmissionConfig) -> Arc<Gate> {
    Arc::new(Gate::new(config, Arc::default()))
}

fn at_most(requests: usize) -> AdmissionConfig {
    AdmissionConfig { max_requests: Some(requests), queue_size: 2, ..AdmissionConfig::default() }
}

async fn enter(gate: &Arc<Gate>) -> Result<Ticket, RouteError> {
    gate.enter(false, || Ok(Some(()))).await.map(|(ticket, ())| ticket)
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_room_waits_and_comes_in_order() {
    let gate = gate(at_most(1));
    let first = enter(&gate).await.unwrap();
    let order = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for index in 0..2 {
        let (gate, order) = (gate.clone(), order.clone());
        tasks.spawn(async move {
            let _ticket = enter(&gate).await.unwrap();
            assert_eq!(order.fetch_add(1, Ordering::Relaxed), index);
        });
        yield_now().await;
    }
    assert_eq!(gate.waiting(), 2);
    let refused = enter(&gate).await;
    assert!(matches!(refused, Err(RouteError::Overloaded { waiting: 2 })), "{refused:?}");
    sleep(Duration::from_secs(3)).await;
    let freed = Instant::now();
    drop(first);
    tasks.join_all().await;
    assert_eq!((freed.elapsed(), gate.waiting()), (Duration::ZERO, 0), "it was told at once");
    assert_eq!(gate.waits().counts().iter().sum::<u64>(), 2);
    assert_eq!(gate.waits().sum(), Duration::from_secs(6));
}

/// Those who come later have the workers that one who is tried again may not have.
#[tokio::test(start_paused = true)]
async fn who_is_tried_again_stands_in_nobodys_way() {
    let gate = gate(AdmissionConfig { queue_size: 0, ..AdmissionConfig::default() });
    let again = gate.clone();
    let waits = tokio::spawn(async move { again.wait_for(|| Ok(None::<()>)).await });
    yield_now().await;
    assert_eq!(gate.waiting(), 1);
    assert!(enter(&gate).await.is_ok());
    assert!(matches!(waits.await.unwrap(), Err(RouteError::QueueTimeout(_))));
    assert_eq!(gate.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn patience_ends() {
    let gate = gate(AdmissionConfig { queue_timeout: Duration::from_secs(2), ..at_most(1) });
    let _first = enter(&gate).await.unwrap();
    let asked = Instant::now();
    assert!(matches!(enter(&gate).await, Err(RouteError::QueueTimeout(_))));
    assert_eq!((asked.elapsed(), gate.waiting()), (Duration::from_secs(2), 0));
}

#[tokio::test(start_paused = true)]
async fn the_front_looks_again_where_nobody_tells() {
    let gate = gate(AdmissionConfig::default());
    let opens = Instant::now() + Duration::from_millis(120);
    let entered = gate.enter(false, || Ok((Instant::now() >= opens).then_some(()))).await;
    assert!(entered.is_ok() && Instant::now() < opens + super::LOOK_AGAIN);
    let failed = gate.enter(false, || Err::<Option<()>, _>(RouteError::BodyBroke)).await;
    assert!(matches!(failed, Err(RouteError::BodyBroke)));
}

#[tokio::test(start_paused = true)]
async fn a_second_lets_in_so_many() {
    let config = AdmissionConfig { rate: Some(10), queue_size: 100, ..AdmissionConfig::default() };
    let gate = gate(config);
    let started = Instant::now();
    for _ in 0..10 {
        enter(&gate).await.unwrap();
    }
    assert_eq!(started.elapsed(), Duration::ZERO, "a burst of a second's worth passes");
    for _ in 0..10 {
        enter(&gate).await.unwrap();
    }
    let took = started.elapsed().as_secs_f64();
    assert!((0.9..1.6).contains(&took), "{took}");
    // What was not used is given back.
    advance(Duration::from_secs(1)).await;
    for _ in 0..100 {
        assert!(gate.try_enter(|| Ok(None::<()>)).unwrap().is_none());
    }
    assert!(gate.try_enter(|| Ok(Some(()))).unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_the_line() {
    let gate = gate(at_most(1));
    let first = enter(&gate).await.unwrap();
    let waiting = tokio::spawn({
        let gate = gate.clone();
        async move { enter(&gate).await.map(drop) }
    });
    yield_now().await;
    assert_eq!(gate.waiting(), 1);
    waiting.abort();
    assert!(waiting.await.is_err());
    assert_eq!(gate.waiting(), 0);
    drop(first);
    assert!(enter(&gate).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn who_is_tried_again_does_not_wait_for_those_who_wait_for_it() {
    let gate = gate(AdmissionConfig { queue_size: 1, ..at_most(1) });
    let first = enter(&gate).await.unwrap();
    let waiting = tokio::spawn({
        let gate = gate.clone();
        async move { enter(&gate).await.map(drop) }
    });
    yield_now().await;
    assert_eq!(gate.wait_for(|| Ok(Some(1))).await.unwrap(), 1);
    let opens = Instant::now() + Duration::from_millis(120);
    gate.wait_for(|| Ok((Instant::now() >= opens).then_some(()))).await.unwrap();
    assert!(Instant::now() < opens + super::LOOK_AGAIN);
    assert_eq!(gate.waiting(), 1);
    drop(first);
    assert!(waiting.await.unwrap().is_ok());
}
