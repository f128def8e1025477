//! Four engines, and what befalls them.

use std::time::Duration;

use plimsoll_sim::{Fault, FaultAction, Role, SimConfig, SimEngine, Totals};
use tokio::time::{Instant, sleep};

use crate::support::{eventually, pair_line, sim};

/// A worker's place: the engine there may die, and another takes its place.
pub(super) struct Seat {
    config: SimConfig,
    url: String,
    engine: Option<SimEngine>,
}

/// What can befall an engine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
    /// Killed, and back at its end.
    Dead,
    /// It takes requests and says nothing. Its health is fine.
    Mute,
    /// It says nothing at all, asked after its health neither.
    Hung,
    Stalled(usize),
    Slow,
    Status(u16),
    Reset,
    Cut(usize),
}

/// The two engines of a role.
pub(super) type Seats = [Seat; 2];

// === impl Trouble ===

impl Trouble {
    /// All there are, but for one that nobody can tell from a trouble of the other role.
    pub(super) const TELLING: [Self; 7] = [
        Self::Dead,
        Self::Hung,
        Self::Slow,
        Self::Status(503),
        Self::Status(500),
        Self::Reset,
        Self::Cut(2),
    ];

    fn random(random: &mut fastrand::Rng) -> Self {
        match random.u32(..10) {
            0..3 => Self::Dead,
            3 => Self::Mute,
            4 => Self::Hung,
            5 => Self::Stalled(random.usize(1..20)),
            6 => Self::Slow,
            7 => Self::Status(if random.bool() { 500 } else { 503 }),
            8 => Self::Reset,
            _ => Self::Cut(random.usize(1..20)),
        }
    }

    fn actions(self) -> Vec<Fault> {
        let action = match self {
            Self::Dead => return Vec::new(),
            Self::Mute => FaultAction::HangHead,
            Self::Hung => {
                let health = Fault::always(FaultAction::HangHead).on("/health");
                return vec![Fault::always(FaultAction::HangHead), health];
            }
            Self::Stalled(events) => FaultAction::StallAfterEvents(events),
            Self::Slow => FaultAction::DelayPerEvent(Duration::from_millis(100)),
            Self::Status(code) => {
                FaultAction::Status { code, headers: Vec::new(), body: "{\"error\":{}}".into() }
            }
            Self::Reset => FaultAction::ResetBeforeHead,
            Self::Cut(events) => FaultAction::CutAfterEvents(events),
        };
        vec![Fault::always(action)]
    }
}

// === impl Seat ===

impl Seat {
    async fn take(config: SimConfig) -> Self {
        let engine = sim(config.clone()).await;
        // Who comes after it is found where it was.
        let port = engine.bootstrap_port().unwrap_or(0);
        let config = config.addr(engine.addr()).bootstrap_port(port);
        Self { config, url: engine.url(), engine: Some(engine) }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn totals(&self) -> Totals {
        self.engine.as_ref().expect("it is cured").totals()
    }

    pub(super) async fn strike(&mut self, trouble: Trouble) {
        let Some(engine) = &self.engine else { return };
        trouble.actions().into_iter().for_each(|fault| engine.faults().push(fault));
        if let Trouble::Dead = trouble {
            let engine = self.engine.take().expect("it is there");
            engine.shutdown().await;
        }
    }

    pub(super) async fn cure(&mut self) {
        if let Some(engine) = &self.engine {
            engine.faults().clear();
            return;
        }
        self.engine = Some(
            eventually(async || {
                SimEngine::start(self.config.clone()).await.map_err(|error| error.to_string())
            })
            .await,
        );
    }

    /// Waits until it has no request and holds no tokens.
    pub(super) async fn idle(&self) {
        let engine = self.engine.as_ref().expect("it is cured");
        engine.wait_for(|totals| totals.open == 0).await;
        assert_eq!(engine.used_tokens(), 0);
    }
}

/// Two prefill and two decode engines.
pub(super) async fn seats() -> (Seats, Seats) {
    let config = SimConfig {
        time_to_first_token: Duration::from_millis(20),
        token_interval: Duration::from_millis(30),
        ..SimConfig::default()
    };
    let seat = |role| Seat::take(config.clone().role(role));
    let prefill = [seat(Role::Prefill).await, seat(Role::Prefill).await];
    (prefill, [seat(Role::Decode).await, seat(Role::Decode).await])
}

/// The flags for them.
pub(super) fn line(prefill: &Seats, decode: &Seats) -> String {
    let pairs = prefill.iter().zip(decode).map(|(prefill, decode)| {
        pair_line(prefill.url(), prefill.config.bootstrap_port, decode.url())
    });
    // The switch for pairs is taken once.
    pairs.collect::<Vec<_>>().join(" ").replacen("--pd-disaggregation", "", 1)
}

/// One trouble after another strikes one engine of a role, sometimes both, until `end`; then all
/// are well.
pub(super) async fn storm(seats: &mut Seats, seed: u64, end: Instant) {
    let mut random = fastrand::Rng::with_seed(seed);
    while Instant::now() < end {
        sleep(Duration::from_millis(random.u64(50..600))).await;
        let all = random.u32(..6) == 0;
        let one = random.usize(..seats.len());
        for (place, seat) in seats.iter_mut().enumerate() {
            if all || place == one {
                seat.strike(Trouble::random(&mut random)).await;
            }
        }
        sleep(Duration::from_millis(random.u64(200..2500))).await;
        for seat in seats.iter_mut() {
            seat.cure().await;
        }
    }
}
