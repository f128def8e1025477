use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Wakes the task that drives a connection, but not while it does so: what the connection's parts
/// tell each other then is found without being woken once more. And who asks again though it has not
/// rung is told so at once: hyper asks for each frame of a body three times.
#[derive(Debug)]
pub(super) struct Doorbell {
    inside: Arc<Inside>,
    waker: Waker,
}

#[derive(Debug)]
struct Inside {
    state: AtomicU8,
    task: Mutex<Waker>,
}

/// How many steps are taken in a row. Whoever rings in each of them has more to do than there is
/// time for: where tokio stops a task that has read enough for once, it rings until that returns.
const MOST: u32 = 32;

/// The task runs, or nobody waits.
const MUTED: u8 = 0;
/// It rang meanwhile.
const RUNG: u8 = 1;
/// A task waits.
const ARMED: u8 = 2;

// === impl Doorbell ===

impl Doorbell {
    pub(super) fn new() -> Self {
        let task = Mutex::new(Waker::noop().clone());
        let inside = Arc::new(Inside { state: AtomicU8::new(MUTED), task });
        Self { waker: inside.clone().into(), inside }
    }

    /// Takes the step until it is ready, or there is nothing to be done before the bell rings, which
    /// then wakes the task of `cx`.
    pub(super) fn listen<T>(
        &self,
        cx: &mut Context<'_>,
        mut step: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let state = &self.inside.state;
        if !self.inside.task().will_wake(cx.waker()) {
            self.inside.task().clone_from(cx.waker());
        } else if state.load(Ordering::Acquire) == ARMED {
            return Poll::Pending;
        }
        let inner = &mut Context::from_waker(&self.waker);
        for _ in 0..MOST {
            state.store(MUTED, Ordering::Release);
            if let Poll::Ready(ready) = step(inner) {
                return Poll::Ready(ready);
            }
            let quiet = state.compare_exchange(MUTED, ARMED, Ordering::AcqRel, Ordering::Acquire);
            if quiet.is_ok() {
                return Poll::Pending;
            }
        }
        // It has rung, so that the next call takes a step.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

// === impl Inside ===

impl Inside {
    fn task(&self) -> MutexGuard<'_, Waker> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Inside {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(RUNG, Ordering::AcqRel) == ARMED {
            self.task().wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll, Wake, Waker},
    };

    use super::Doorbell;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_ring_within_a_step_leads_to_another_and_wakes_nobody() {
        let (wakes, bell) = (Arc::<Wakes>::default(), Doorbell::new());
        let (task, mut steps) = (Waker::from(wakes.clone()), 0);
        let listened = bell.listen(&mut Context::from_waker(&task), |cx| {
            steps += 1;
            if steps < 3 {
                cx.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        });
        assert_eq!((listened, steps), (Poll::Pending, 3));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
    }

    /// It would not end: what rings each time waits for others to have their turn.
    #[test]
    fn who_rings_in_every_step_gives_way() {
        let (wakes, bell) = (Arc::<Wakes>::default(), Doorbell::new());
        let (task, mut steps) = (Waker::from(wakes.clone()), 0);
        for turns in 1..4 {
            let listened = bell.listen(&mut Context::from_waker(&task), |cx| {
                steps += 1;
                cx.waker().wake_by_ref();
                Poll::<()>::Pending
            });
            assert_eq!((listened, wakes.0.load(Ordering::Relaxed)), (Poll::Pending, turns));
            assert_eq!(steps, turns * super::MOST as usize);
        }
    }

    #[test]
    fn who_asks_again_before_it_rang_is_told_so_without_a_step() {
        let (bell, mut steps, mut kept) = (Doorbell::new(), 0, None::<Waker>);
        let [first, other] = [(); 2].map(|()| Waker::from(Arc::<Wakes>::default()));
        let mut ask = |task: &Waker, ring: bool| {
            if ring {
                kept.take().unwrap().wake();
            }
            let listened = bell.listen(&mut Context::from_waker(task), |cx| {
                steps += 1;
                kept = Some(cx.waker().clone());
                Poll::<()>::Pending
            });
            assert!(listened.is_pending());
            steps
        };
        assert_eq!([ask(&first, false), ask(&first, false)], [1, 1]);
        assert_eq!(ask(&first, true), 2);
        assert_eq!(ask(&other, false), 3, "another task has to be made known");
    }

    #[test]
    fn it_wakes_the_task_that_listened_last_and_only_while_that_waits() {
        let (first, last) = (Arc::<Wakes>::default(), Arc::<Wakes>::default());
        let (bell, mut kept) = (Doorbell::new(), None);
        let count = |wakes: &Wakes| wakes.0.load(Ordering::Relaxed);
        for wakes in [&first, &last] {
            let task = Waker::from(wakes.clone());
            let listened = bell.listen(&mut Context::from_waker(&task), |cx| {
                kept = Some(cx.waker().clone());
                Poll::<()>::Pending
            });
            assert!(listened.is_pending());
        }
        let kept = kept.unwrap();
        kept.wake_by_ref();
        kept.wake_by_ref();
        assert_eq!((count(&first), count(&last)), (0, 1));
        let task = Waker::from(last.clone());
        assert_eq!(
            bell.listen(&mut Context::from_waker(&task), |_| Poll::Ready(7)),
            Poll::Ready(7)
        );
        kept.wake();
        assert_eq!(count(&last), 1, "nobody waits after an answer");
    }
}
