//! A series of digests: how often the last one came.

/// How often the last of a series of digests stands at its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Series {
    last: u64,
    /// How often it stands at the end.
    pub(super) times: u32,
}

impl Series {
    pub(super) fn push(&mut self, digest: u64) {
        let again = self.times > 0 && self.last == digest;
        self.times = if again { self.times.saturating_add(1) } else { 1 };
        self.last = digest;
    }
}
