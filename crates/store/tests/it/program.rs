//! This test binary again, as a process of its own that can be killed.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Where such a process finds its database.
const VARIABLE: &str = "PILOT_STORE_TEST_CHILD";

/// Runs one test of this binary as a process that works on this database.
#[expect(
    clippy::disallowed_methods,
    reason = "the tests of the store have no other package to start a process with"
)]
pub(crate) fn start(test: &str, database: &Path) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(std::env::current_exe().expect("this binary runs again"))
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(VARIABLE, database)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this binary runs again");
    let lines = BufReader::new(child.stdout.take().expect("this binary runs again")).lines();
    (child, lines)
}

/// The database, in such a process; none in the test run itself.
#[expect(clippy::disallowed_methods, reason = "passes the database to the processes above")]
pub(crate) fn database() -> Option<std::path::PathBuf> {
    std::env::var_os(VARIABLE).map(Into::into)
}
