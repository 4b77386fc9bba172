//! What the transport needs from outside: the time, a way to wait, randomness.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use pilot_core::time::Timestamp;

/// The time, a way to wait, and randomness; tests provide their own.
pub trait Pace: fmt::Debug + Send + Sync {
    fn now(&self) -> Timestamp;

    /// Any number, uniformly distributed.
    fn random(&self) -> u64;

    fn wait(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}
