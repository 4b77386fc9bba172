//! What an agent printed. Only [`StreamRecorder`](crate::StreamRecorder) writes it, so that nothing is kept unredacted.

use std::fmt;
use std::str::FromStr;

use crate::database::{column, row, values};
use crate::error::StoreError;
use crate::execution::RunId;
use crate::store::Store;

/// Where a piece of a recording comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    Stdout,
    Stderr,
    /// A line of Pilot's own, for instance about what is missing.
    Note,
}

impl StreamKind {
    pub fn as_str(self) -> &'static str {
        match self {
            StreamKind::Stdout => "stdout",
            StreamKind::Stderr => "stderr",
            StreamKind::Note => "note",
        }
    }
}

impl FromStr for StreamKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<StreamKind, UnknownKind> {
        match text {
            "stdout" => Ok(StreamKind::Stdout),
            "stderr" => Ok(StreamKind::Stderr),
            "note" => Ok(StreamKind::Note),
            other => Err(UnknownKind(other.to_owned())),
        }
    }
}

impl fmt::Display for StreamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

column!(StreamKind, String, |raw: String| raw.parse::<StreamKind>());

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of stream")]
pub struct UnknownKind(pub String);

row! {
    /// A piece of a recording.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StreamRow {
        /// Its place in the recording; there may be gaps.
        pub seq: u64,
        /// When it was printed, in milliseconds since the run began.
        pub at_ms: u64,
        pub kind: StreamKind,
        /// Cut at any byte.
        pub bytes: Vec<u8>,
    }
}

/// What is written in one transaction.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    /// New pieces, and pieces that changed.
    pub(crate) rows: Vec<&'a StreamRow>,
    /// Pieces to delete: behind the first place and before the second.
    pub(crate) forget: Option<(u64, u64)>,
}

impl Store {
    /// What a run's agent printed, in order.
    pub async fn stream(&self, id: &RunId) -> Result<Vec<StreamRow>, StoreError> {
        self.database.all("read a recording", STREAM, values![id.as_str()]).await
    }

    /// Writes a batch, all or nothing. Repeating it changes nothing.
    pub(crate) async fn append_stream(&self, id: &RunId, batch: &Batch<'_>) -> Result<(), StoreError> {
        let mut transaction = self.database.begin("record an agent's output").await?;
        if let Some((behind, before)) = batch.forget {
            transaction.execute(FORGET, values![id.as_str(), behind, before]).await?;
        }
        for StreamRow { seq, at_ms, kind, bytes } in batch.rows.iter().copied() {
            let values = values![id.as_str(), *seq, *at_ms, kind.as_str(), bytes.as_slice()];
            transaction.execute(APPEND, values).await?;
        }
        transaction.commit().await
    }
}

const STREAM: &str =
    "SELECT seq, at_ms, kind, bytes FROM execution_stream WHERE execution_id = $1 ORDER BY seq";

const FORGET: &str = "DELETE FROM execution_stream WHERE execution_id = $1 AND seq > $2 AND seq < $3";

const APPEND: &str = "INSERT INTO execution_stream (execution_id, seq, at_ms, kind, bytes) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (execution_id, seq) DO UPDATE SET at_ms = excluded.at_ms, bytes = excluded.bytes";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[STREAM, FORGET, APPEND];
