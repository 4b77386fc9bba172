//! The id of a run.

use std::fmt;
use std::str::FromStr;

use pilot_core::time::Timestamp;
use uuid::{ContextV7, Uuid};

use crate::database::column;

/// The fewest characters a run can be found by: fewer hardly ever name a single run.
const SHORTEST: usize = 4;

/// How many characters distinguish runs that did not begin in the same millisecond.
const SHORT: usize = 13;

/// The id of a run: ids sort by the time the runs began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    pub fn generate(now: Timestamp) -> RunId {
        let micros = u64::try_from(now.0).unwrap_or(0);
        let nanos = u32::try_from(micros % 1_000_000 * 1000).unwrap_or(0);
        let time = uuid::Timestamp::from_unix(ContextV7::new(), micros / 1_000_000, nanos);
        RunId(Uuid::new_v7(time).hyphenated().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its first characters, as tables show it: enough to find the run.
    pub fn short(&self) -> &str {
        self.0.get(..SHORT).unwrap_or(&self.0)
    }

    /// Whether an id could begin with this.
    pub(crate) fn may_begin_with(key: &str) -> bool {
        (SHORTEST..=36).contains(&key.len())
            && key.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<RunId, NotARunId> {
        let uuid = Uuid::try_parse(text).map_err(|_| NotARunId(text.to_owned()))?;
        Ok(RunId(uuid.hyphenated().to_string()))
    }
}

column!(RunId, String, |raw: String| raw.parse::<RunId>());

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of a run")]
pub struct NotARunId(pub String);

#[cfg(test)]
mod tests {
    use pilot_core::time::Timestamp;

    use super::RunId;

    #[test]
    fn ids_sort_by_time_and_are_never_the_same() {
        let at = |micros| RunId::generate(Timestamp(micros));
        let (one, two) = (at(1_763_000_000_000_000), at(1_763_000_000_001_000));
        assert!(one < two, "{one} {two}");
        assert_ne!(at(1_763_000_000_000_000), one);
        assert_eq!(one.short(), "019a7afd-1e00");
        assert_eq!(one.as_str().parse(), Ok(one));
        assert!("GH-12".parse::<RunId>().is_err());
    }
}
