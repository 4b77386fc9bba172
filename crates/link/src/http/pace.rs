//! What the transport must be told of the world: the time, a way to wait, a die.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use super::Moment;

/// The time, a way to wait, and randomness; tests bring their own.
pub trait Pace: fmt::Debug + Send + Sync {
    /// The time of day.
    fn now(&self) -> Moment;

    /// Any number, each as likely as the others.
    fn random(&self) -> u64;

    /// Waits; dropped, it waits no longer.
    fn wait(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}
