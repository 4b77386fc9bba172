//! A database in a directory of its own, and runs to put into it.

use std::path::PathBuf;

use pilot_core::redact::Secrets;
use pilot_core::time::Timestamp;
use pilot_store::{NewExecution, Owner, RunId, Store};
use tempfile::TempDir;

/// 13 November 2025, about noon.
pub(crate) const NOON: i64 = 1_763_035_200_000_000;

/// A secret of letters that nothing else contains.
pub(crate) const SECRET: &str = "QZQZQZQZQZQZQZQZQZQZQZQZQZQZQZQZQZQZQZQZ";

/// What a test expects of everything it sets up.
pub(crate) const WORKS: &str = "the setup of the test works";

pub(crate) struct World {
    home: TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World { home: tempfile::tempdir().expect(WORKS) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("home/pilot.db")
    }

    pub(crate) async fn store(&self) -> Store {
        let secrets = Secrets::new(["hunter22", SECRET]);
        Store::open(&self.path(), secrets).await.expect(WORKS)
    }
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp(NOON + seconds * 1_000_000)
}

pub(crate) fn run_of(task: &str, started_at: Timestamp) -> NewExecution {
    NewExecution {
        id: RunId::generate(started_at),
        task_id: task.to_owned(),
        title: format!("Do {task}"),
        project_path: "/srv/app".to_owned(),
        started_at,
        backend: "claude-code".to_owned(),
        model: None,
        branch: Some(format!("pilot/{task}")),
        base_sha: Some("a".repeat(40)),
        route: None,
        owner: Owner { pid: 4711, started: "boot:100".to_owned() },
    }
}
