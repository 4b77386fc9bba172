//! What an agent printed. Only [`StreamRecorder`](crate::StreamRecorder) writes it, so that nothing is kept unredacted.

use pilot_core::word_enum;

use crate::database::{row, statements, values, word_column};
use crate::error::Result;
use crate::execution::RunId;
use crate::store::Store;

word_enum! {
    /// Where a piece of a recording comes from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum StreamKind {
        Stdout = "stdout",
        Stderr = "stderr",
        /// A line of Pilot's own, for instance about what is missing.
        Note = "note",
    }
}

word_column!(StreamKind, "a kind of stream");

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
    pub async fn stream(&self, id: &RunId) -> Result<Vec<StreamRow>> {
        self.database.all("read a recording", STREAM, values![id.as_str()]).await
    }

    /// Writes a batch, all or nothing. Repeating it changes nothing.
    pub(crate) async fn append_stream(&self, id: &RunId, batch: &Batch<'_>) -> Result<()> {
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

statements! {
    STREAM = "SELECT seq, at_ms, kind, bytes FROM execution_stream WHERE execution_id = $1 ORDER BY seq";
    FORGET = "DELETE FROM execution_stream WHERE execution_id = $1 AND seq > $2 AND seq < $3";
    APPEND = "INSERT INTO execution_stream (execution_id, seq, at_ms, kind, bytes) VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT (execution_id, seq) DO UPDATE SET at_ms = excluded.at_ms, bytes = excluded.bytes";
}
