//! What an agent printed, as it came. Written by [`StreamRecorder`](crate::StreamRecorder) only, so that nothing is kept unredacted.

use std::fmt;
use std::str::FromStr;

use crate::column::{column, count, row};
use crate::error::StoreError;
use crate::execution::RunId;
use crate::open::Store;

/// Where a piece of a recording comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// The agent's standard output.
    Stdout,
    /// The agent's standard error.
    Stderr,
    /// Words of Pilot's own, for instance on what is missing.
    Note,
}

impl StreamKind {
    /// As it is written.
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

column!(StreamKind, String, |raw| raw.parse::<StreamKind>());

/// A word that is no kind of stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no kind of stream")]
pub struct UnknownKind(pub String);

row! {
    /// A piece of a recording.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StreamRow {
        /// Its place in the recording; places may be missing.
        pub seq: u64,
        /// When it came, in milliseconds since the run began.
        pub at_ms: u64,
        /// Where it comes from.
        pub kind: StreamKind,
        /// What it is; cut anywhere.
        pub bytes: Vec<u8>,
    }
}

/// What is written at once.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    /// New pieces, and pieces that changed.
    pub(crate) rows: Vec<&'a StreamRow>,
    /// Pieces to forget: behind the first place and before the second.
    pub(crate) forget: Option<(u64, u64)>,
}

impl Store {
    /// What a run's agent printed, in order.
    pub async fn stream(&self, id: &RunId) -> Result<Vec<StreamRow>, StoreError> {
        sqlx::query_as(STREAM)
            .bind(id.as_str())
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("read a recording"))
    }

    /// Writes a batch, all or nothing. Doing so again changes nothing.
    pub(crate) async fn append_stream(&self, id: &RunId, batch: &Batch<'_>) -> Result<(), StoreError> {
        let failed = self.failing("record an agent's output");
        let mut transaction = self.begin().await.map_err(&failed)?;
        if let Some((behind, before)) = batch.forget {
            sqlx::query(FORGET)
                .bind(id.as_str())
                .bind(count(behind))
                .bind(count(before))
                .execute(&mut *transaction)
                .await
                .map_err(&failed)?;
        }
        for row in &batch.rows {
            sqlx::query(APPEND)
                .bind(id.as_str())
                .bind(count(row.seq))
                .bind(count(row.at_ms))
                .bind(row.kind.as_str())
                .bind(row.bytes.as_slice())
                .execute(&mut *transaction)
                .await
                .map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)
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
