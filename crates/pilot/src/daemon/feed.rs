//! The feed inside this process: what the store's feed holds, sent to the listeners here. Progress of runs is written to the
//! store from here, not more often than a person can read.

use std::collections::BTreeMap;
use std::time::Duration;

use pilot_core::feed::FeedEntry;
use pilot_core::id::Generation;
use pilot_core::progress::ShownPhase;
use pilot_core::run::RunProgress;
use pilot_core::schedule::TaskRef;
use pilot_core::time::Timestamp;
use pilot_store::{Store, StoreError};
use tokio::sync::broadcast;

use crate::clock::Stopwatch;

/// How many events a listener may be behind. One that is further behind misses the oldest; the store still has them.
const CAPACITY: usize = 1024;

/// How many events are read at once.
const PAGE: u32 = 256;

/// How often progress within a phase is written.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Feed {
    sender: broadcast::Sender<FeedEntry>,
    /// The last event that was sent; none before the store was asked.
    last_seq: Option<u64>,
    /// Progress that is not written yet: the newest of each phase, in order.
    unwritten: Vec<(TaskRef, Generation, RunProgress)>,
    /// The phase that was last written, by task.
    phases: BTreeMap<TaskRef, ShownPhase>,
    written: Stopwatch,
}

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed {
            sender: broadcast::Sender::new(CAPACITY),
            last_seq: None,
            unwritten: Vec::new(),
            phases: BTreeMap::new(),
            written: Stopwatch::start(),
        }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<FeedEntry> {
        self.sender.subscribe()
    }

    /// Remembers how far a run is, until it is written.
    pub(super) fn note_progress(&mut self, task: TaskRef, generation: Generation, progress: RunProgress) {
        let last = self.unwritten.iter_mut().rfind(|(of, ..)| *of == task);
        match last {
            Some((_, of, last)) if last.phase == progress.phase => (*of, *last) = (generation, progress),
            Some(_) | None => self.unwritten.push((task, generation, progress)),
        }
    }

    /// Writes the progress of runs: at once where a phase began, else once a second.
    pub(super) async fn write_progress(&mut self, store: &Store, now: Timestamp) -> Result<(), StoreError> {
        let is_new = |(task, _, progress): &(TaskRef, Generation, RunProgress)| {
            self.phases.get(task) != Some(&progress.phase)
        };
        if !self.unwritten.iter().any(is_new) && self.written.elapsed() < PROGRESS_EVERY {
            return Ok(());
        }
        self.written = Stopwatch::start();
        while let Some((task, generation, progress)) = self.unwritten.first() {
            store.record_progress(&task.0, &task.1, *generation, progress, now).await?;
            let (task, _, progress) = self.unwritten.remove(0);
            self.phases.insert(task, progress.phase);
        }
        Ok(())
    }

    /// Sends the new events of the store to those who listen.
    pub(super) async fn publish(&mut self, store: &Store) -> Result<(), StoreError> {
        let mut last = match self.last_seq {
            Some(last) if self.sender.receiver_count() > 0 => last,
            Some(_) => return Ok(()),
            None => store.last_feed_seq().await?,
        };
        loop {
            let entries = store.feed_after(last, PAGE).await?;
            let is_end = entries.len() < PAGE as usize;
            for entry in entries {
                last = entry.seq;
                let _ = self.sender.send(entry);
            }
            self.last_seq = Some(last);
            if is_end {
                return Ok(());
            }
        }
    }
}
