//! A short wait, where there is no runtime to wait with or no time to ask it.

use std::time::Duration;

/// Waits; for less, when a signal comes.
pub(crate) fn pause(time: Duration) {
    if let Ok(time) = time.try_into() {
        let _ = rustix::event::poll(&mut [], Some(&time));
    }
}
