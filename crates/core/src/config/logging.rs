//! What the daemon writes down while it works, and where.

use super::choice::{LogFormat, LogLevel};

/// What is written down, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logging {
    /// How much.
    pub level: LogLevel,
    /// How a line looks.
    pub format: LogFormat,
    /// The file; none is standard error.
    pub output: Option<String>,
    /// What becomes of a file that is full.
    pub rotation: Rotation,
}

/// What becomes of a file that is full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes after which another one is begun.
    pub max_size: u64,
    /// How many earlier ones are kept.
    pub max_backups: u32,
}

impl Default for Rotation {
    fn default() -> Rotation {
        Rotation { max_size: 10 << 20, max_backups: 3 }
    }
}
