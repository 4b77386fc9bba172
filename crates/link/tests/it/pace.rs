//! Time that passes only while a caller waits.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pilot_core::time::Timestamp;
use pilot_link::http::Pace;

/// Every test begins at this time.
pub(crate) const START: Timestamp = Timestamp(1_794_787_141_000_000);

#[derive(Debug)]
pub(crate) struct TestPace {
    now: Mutex<Timestamp>,
    waits: Mutex<Vec<Duration>>,
}

impl TestPace {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(START), waits: Mutex::default() })
    }

    pub(crate) fn pass(&self, time: Duration) {
        let mut now = self.now.lock().expect("no panic before");
        *now = now.after(time);
    }

    /// How long was waited, each time.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.waits.lock().expect("no panic before").clone()
    }
}

impl Pace for TestPace {
    fn now(&self) -> Timestamp {
        *self.now.lock().expect("no panic before")
    }

    fn random(&self) -> u64 {
        0
    }

    fn wait(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.waits.lock().expect("no panic before").push(time);
        self.pass(time);
        Box::pin(std::future::ready(()))
    }
}
