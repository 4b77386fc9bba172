//! An agent sees what its user sees, except what it must not inherit.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use pilot_core::outcome::ProcessEnd;
use pilot_exec::process::ContainmentKind;
use pilot_testkit::agent::fake_agent;

use super::rig::{Rig, containments, each};

#[test]
fn the_agent_is_its_user_in_its_directory_with_three_descriptors() {
    each(async |rig| {
        let run = rig.run(rig.launch("self")).await;
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let folder = rig.folder().canonicalize().unwrap();
        let expected = format!("uid={uid} gid={gid} cwd={} descriptors=3 ", folder.display());
        assert!(run.stdout.contains(&expected), "{} does not say {expected}", run.stdout);
        if let ContainmentKind::Namespace { proc: true, .. } = rig.containment.kind() {
            assert!(
                run.stdout.starts_with("pid=2 ") && run.stdout.contains("own_proc=true"),
                "{}",
                run.stdout
            );
        }
    });
}

#[test]
fn the_environment_is_what_was_given() {
    each(async |rig| {
        let launch = rig.launch("env");
        let given: Vec<String> = launch
            .env
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        let run = rig.run(launch).await;
        // In the fallback there is a mark as well.
        let seen: BTreeSet<&str> =
            run.stdout.lines().filter(|line| !line.starts_with("PILOT_CONTAINED=")).collect();
        assert_eq!(run.stdout.lines().count() - seen.len(), usize::from(rig.is_fallback()));
        assert_eq!(seen, given.iter().map(String::as_str).collect());
    });
}

#[test]
fn limits_are_the_kernels() {
    each(async |rig| {
        let mut launch = rig.launch("memory=500000000");
        launch.limits.memory = Some(100_000_000);
        let run = rig.run(launch).await;
        assert_eq!(run.ended.exit, ProcessEnd::Signal(6), "{}", run.ended.stderr.text());
        assert!(!run.ended.oom, "a limit is not a machine without memory");

        let mut launch = rig.launch("");
        launch.argv.push("sh=ulimit -c; head -c 2000000 /dev/zero > f".into());
        launch.limits.file_size = Some(1_000_000);
        let run = rig.run(launch).await;
        assert_ne!(run.ended.exit, ProcessEnd::Code(0));
        assert_eq!((run.stdout.as_str(), rig.file("f").metadata().unwrap().len()), ("0\n", 1_000_000));
    });
}

/// Commits as an agent would, and shows whom the files belong to.
const COMMIT: &str = "sh=git init -q r && cd r && echo x > f && git add f && \
    git -c user.name=a -c user.email=a@b commit -q -m x && git status --porcelain && \
    test $(git rev-list --count HEAD) = 1 && test $(stat -c %u f) = $(id -u) && touch .git/done";

#[test]
fn git_works() {
    each(async |rig| {
        let mut launch = rig.launch("");
        launch.argv.push(COMMIT.into());
        launch.env.push(("HOME".into(), rig.folder().into()));
        let run = rig.run(launch).await;
        assert_eq!(
            (run.ended.exit, run.stdout.as_str()),
            (ProcessEnd::Code(0), ""),
            "{}",
            run.ended.stderr.text()
        );
        assert!(rig.file("r/.git/done").exists());
    });
}

/// Run as root, this covers what the other tests cover for other users.
#[test]
fn a_user_other_than_root_is_contained_as_well() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root, so the other tests have shown it");
        return;
    }
    for containment in containments() {
        let rig = Rig::new(containment.clone());
        // An unprivileged user must be able to run the keeper, in a directory of its own.
        let keeper = rig.file("fake_agent");
        pilot_testkit::program::write(&keeper, std::fs::read(fake_agent()).unwrap());
        std::fs::set_permissions(rig.folder(), PermissionsExt::from_mode(0o755)).unwrap();
        chown(rig.folder(), Some(NOBODY), Some(NOBODY)).unwrap();
        let how = if rig.is_fallback() { "fallback" } else { "probe" };
        let ended = as_nobody(
            &rig,
            &[
                keeper.to_str().unwrap(),
                "supervise",
                how,
                rig.folder().to_str().unwrap(),
                "sh=id -u > uid; grep CapEff /proc/self/status > caps; grep -c . /proc/self/uid_map > map",
                COMMIT,
                &format!("orphan=setsid,ignore-term,beat={0}/beat", rig.folder().display()),
                &format!("await={}/beat", rig.folder().display()),
            ],
        );
        let Some(ended) = ended else {
            println!("skipped: no setpriv on this machine");
            return;
        };
        assert!(ended.starts_with("Code(0) Itself"), "{how}: {ended}");
        assert_eq!(std::fs::read_to_string(rig.file("uid")).unwrap(), format!("{NOBODY}\n"));
        assert_eq!(std::fs::read_to_string(rig.file("caps")).unwrap(), "CapEff:\t0000000000000000\n");
        assert!(rig.file("r/.git/done").exists(), "{how}");
        rig.expect_gone();
    }
}

#[expect(clippy::disallowed_methods, reason = "the test changes its user")]
fn as_nobody(rig: &Rig, argv: &[&str]) -> Option<String> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(argv);
    command.env_clear().envs(rig.launch("").env).env("HOME", rig.folder()).current_dir(rig.folder());
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}
