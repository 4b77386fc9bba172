//! The request log, for tests that count requests.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde::Serialize;

/// Older entries are dropped; the total still counts them.
const KEPT: usize = 10_000;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    /// The number of the request, from 1.
    pub(crate) id: u64,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// The pattern of the route.
    pub(crate) route: &'static str,
    pub(crate) user: Option<String>,
    /// The status of the reply; a fault may have kept it from the client.
    pub(crate) status: u16,
    pub(crate) fault: Option<String>,
    pub(crate) micros: u64,
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<(u64, VecDeque<Entry>)>);

impl RequestLog {
    /// Adds an entry and sets its id.
    pub(crate) fn add(&self, mut entry: Entry) {
        let mut log = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        log.0 += 1;
        entry.id = log.0;
        if log.1.len() == KEPT {
            log.1.pop_front();
        }
        log.1.push_back(entry);
    }

    /// The kept entries with a larger id, and the total of all requests.
    pub(crate) fn since(&self, id: u64) -> (u64, Vec<Entry>) {
        let log = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (log.0, log.1.iter().filter(|entry| entry.id > id).cloned().collect())
    }
}
