//! Points in time as they are stored.

/// Microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub i64);

impl Micros {
    /// Whole milliseconds from `earlier` to here; none when the clock was set back.
    pub fn millis_since(self, earlier: Micros) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1000).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Micros;

    #[test]
    fn a_clock_that_was_set_back_gives_no_time() {
        assert_eq!(Micros(5_000_999).millis_since(Micros(1_000_000)), 4000);
        assert_eq!(Micros(1).millis_since(Micros(2_000_000)), 0);
        assert_eq!(Micros(i64::MIN).millis_since(Micros(i64::MAX)), 0);
    }
}
