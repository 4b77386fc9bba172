//! The labels Pilot writes.

pub const IN_PROGRESS: &str = "pilot-in-progress";
/// The commit is on the base branch.
pub const DONE: &str = "pilot-done";
pub const FAILED: &str = "pilot-failed";
/// The pull request was closed; `/pilot retry` starts again.
pub const RETRY_READY: &str = "pilot-retry-ready";
/// The issue was opened to have CI fixed.
pub const FIX: &str = "autopilot-fix";

/// Those that show where a task stands.
pub const OURS: [&str; 4] = [IN_PROGRESS, DONE, FAILED, RETRY_READY];
