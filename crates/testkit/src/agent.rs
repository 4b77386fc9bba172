//! Where the scripted agent is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The scripted agent, `src/bin/fake_agent.rs`, built if a test of another package alone did not bring it along.
pub fn fake_agent() -> &'static Path {
    static AGENT: OnceLock<PathBuf> = OnceLock::new();
    AGENT.get_or_init(|| {
        let test = std::env::current_exe().expect("a test knows itself");
        // target/debug/deps/it-0123 is the test, target/debug/fake_agent the agent.
        let folder = test.parent().and_then(Path::parent).expect("a test is two folders deep");
        let agent = folder.join("fake_agent");
        if !is_fresh(&agent) {
            build(folder);
        }
        agent
    })
}

/// Whether nothing it is made of is younger.
fn is_fresh(agent: &Path) -> bool {
    let Ok(built) = agent.metadata().and_then(|file| file.modified()) else {
        return false;
    };
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("packages have a folder");
    ["exec/src", "testkit/src", "core/src"].iter().all(|folder| youngest(&crates.join(folder)) <= built)
}

fn youngest(folder: &Path) -> SystemTime {
    let entries = std::fs::read_dir(folder).expect("our sources").flatten();
    let times = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => youngest(&entry.path()),
        _ => entry.metadata().and_then(|file| file.modified()).expect("files have times"),
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

#[expect(clippy::disallowed_methods, reason = "cargo builds what cargo tests")]
fn build(folder: &Path) {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--package", "pilot-testkit", "--bin", "fake_agent"])
        .args(["--profile", profile, "--target-dir"])
        .arg(folder.parent().expect("the target folder"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the scripted agent does not build");
}
