//! A short sleep without a runtime.

use std::time::Duration;

/// Sleeps; shorter when a signal arrives.
pub(crate) fn pause(time: Duration) {
    if let Ok(time) = time.try_into() {
        let _ = rustix::event::poll(&mut [], Some(&time));
    }
}
