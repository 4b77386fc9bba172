//! Places where a test can have Pilot die: `PILOT_FAILPOINT=NAME` or `NAME@N` for the n-th time. Only in builds for tests.

#[cfg(debug_assertions)]
use std::sync::OnceLock;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(debug_assertions)]
struct Point {
    name: String,
    left: AtomicU64,
}

#[cfg(debug_assertions)]
static POINT: OnceLock<Option<Point>> = OnceLock::new();

/// Says where to die.
#[cfg(debug_assertions)]
pub(crate) fn set(wanted: Option<&str>) {
    let point = wanted.map(|wanted| {
        let (name, times) = wanted.rsplit_once('@').unwrap_or((wanted, "1"));
        Point { name: name.to_owned(), left: AtomicU64::new(times.parse().unwrap_or(1)) }
    });
    let _ = POINT.set(point);
}

/// Dies here, if it is the place. As by `kill -9`: nothing is flushed, nothing is dropped.
#[cfg(debug_assertions)]
pub(crate) fn reach(name: &str) {
    let Some(Some(point)) = POINT.get() else { return };
    if point.name == name && point.left.fetch_sub(1, Ordering::Relaxed) == 1 {
        let me = rustix::process::getpid();
        let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn set(_wanted: Option<&str>) {}

#[cfg(not(debug_assertions))]
pub(crate) fn reach(_name: &str) {}
