//! A series of digests: how often the last one came.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Series {
    last: u64,
    pub(super) times: u32,
}

impl Series {
    pub(super) fn push(&mut self, digest: u64) {
        let again = self.times > 0 && self.last == digest;
        self.times = if again { self.times.saturating_add(1) } else { 1 };
        self.last = digest;
    }
}
