//! What the daemon writes to its log, and where.

use super::choice::{LogFormat, LogLevel};
use super::scalar::read_log_file;
use super::section;

section! {
    pub struct Logging at (logging) {
        /// How much is written to the log.
        user level: LogLevel = LogLevel::Info;
        /// The form of a log line: text for people, or a JSON object.
        user format: LogFormat = LogFormat::Text;
        /// The file of the log; unset is standard error.
        user output: Option<String> = None, read_log_file;
        section rotation: Rotation = Rotation::default();
    }
}

section! {
    pub struct Rotation at (logging.rotation) {
        /// How large that file may become before a new one is started.
        user max_size: u64 = 10 << 20;
        /// How many earlier ones are kept.
        user max_backups: u32 = 3;
    }
}
