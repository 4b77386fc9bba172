//! What was asked of the forge, for tests that count calls.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde::Serialize;

/// Older entries are forgotten; the counts are not.
const KEPT: usize = 10_000;

/// One request.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    /// Which request it was, from 1.
    pub(crate) id: u64,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// The pattern that matched.
    pub(crate) route: &'static str,
    pub(crate) user: Option<String>,
    /// The status, as the forge meant it; a fault may have kept it from the client.
    pub(crate) status: u16,
    /// The fault that was injected.
    pub(crate) fault: Option<String>,
    pub(crate) micros: u64,
}

/// The last requests.
#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<(u64, VecDeque<Entry>)>);

impl RequestLog {
    /// Adds one, whose number is given here.
    pub(crate) fn add(&self, mut entry: Entry) {
        let mut log = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        log.0 += 1;
        entry.id = log.0;
        if log.1.len() == KEPT {
            log.1.pop_front();
        }
        log.1.push_back(entry);
    }

    /// All that are kept, behind the given number, and how many there ever were.
    pub(crate) fn since(&self, id: u64) -> (u64, Vec<Entry>) {
        let log = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (log.0, log.1.iter().filter(|entry| entry.id > id).cloned().collect())
    }
}
