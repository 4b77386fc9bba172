//! A directory, a mark that every process of the test carries, and every containment that works here.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pilot_exec::process::{Containment, ContainmentKind, Ended, Launch, Output, Running};
use pilot_testkit::agent::fake_agent;
use tempfile::TempDir;

/// The name of the variable that carries the mark.
const MARK: &str = "PILOT_TEST_MARK";

pub(crate) struct Rig {
    pub(crate) containment: Containment,
    folder: TempDir,
    mark: String,
}

/// What a program said and how it ended.
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) ended: Ended,
}

/// Runs the test with each containment.
pub(crate) fn each(test: impl AsyncFn(Rig)) {
    for containment in containments() {
        println!("{}", containment.describe());
        block_on(test(Rig::new(containment.clone())));
    }
}

/// Runs the test with each containment in which the kernel kills every process.
pub(crate) fn each_namespace(test: impl AsyncFn(Rig)) {
    for containment in
        containments().iter().filter(|way| matches!(way.kind(), ContainmentKind::Namespace { .. }))
    {
        block_on(test(Rig::new(containment.clone())));
    }
}

pub(crate) fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(test);
}

/// What is in force here, what it would be without root, and the fallback.
pub(crate) fn containments() -> &'static [Containment] {
    static WAYS: OnceLock<Vec<Containment>> = OnceLock::new();
    WAYS.get_or_init(|| {
        let mut ways = vec![Containment::probe(fake_agent())];
        match ways[0].kind() {
            ContainmentKind::Namespace { user: false, .. } => {
                ways.push(Containment::forced(
                    fake_agent(),
                    ContainmentKind::Namespace { user: true, proc: true },
                ));
            }
            ContainmentKind::Namespace { user: true, .. } => {}
            ContainmentKind::Fallback { why } => {
                println!("skipped: no namespaces on this machine ({why})");
                return ways;
            }
        }
        ways.push(Containment::forced(fake_agent(), ContainmentKind::Fallback { why: "a test".to_owned() }));
        ways
    })
}

impl Rig {
    pub(crate) fn new(containment: Containment) -> Self {
        static RIGS: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), RIGS.fetch_add(1, Ordering::Relaxed));
        Self { containment, folder: tempfile::tempdir().expect("a folder"), mark }
    }

    pub(crate) fn here() -> Self {
        Self::new(containments()[0].clone())
    }

    pub(crate) fn is_fallback(&self) -> bool {
        matches!(self.containment.kind(), ContainmentKind::Fallback { .. })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The scripted agent with these steps; `@` is the rig's folder.
    pub(crate) fn launch(&self, steps: &str) -> Launch {
        let folder = self.folder().to_str().expect("a UTF-8 folder");
        let steps = steps.split_whitespace().map(|step| step.replace('@', folder).into());
        let argv = std::iter::once(OsString::from(fake_agent())).chain(steps);
        let mut launch = Launch::new(argv, self.folder());
        launch.env = vec![(MARK.into(), self.mark.clone().into()), ("PATH".into(), "/usr/bin:/bin".into())];
        // A test that hangs is worse than one that fails.
        launch.deadlines.total = Some(Duration::from_secs(60));
        launch
    }

    pub(crate) async fn start(&self, launch: Launch) -> Running {
        Running::start(launch, &self.containment).await.expect("it starts")
    }

    /// From start to end.
    pub(crate) async fn run(&self, launch: Launch) -> Run {
        let running = self.start(launch).await;
        self.finish(running).await
    }

    /// Waits for the end, and checks that no process is left.
    pub(crate) async fn finish(&self, mut running: Running) -> Run {
        let mut stdout = Vec::new();
        while let Some(output) = running.next().await {
            if let Output::Stdout(bytes) = output {
                stdout.extend_from_slice(bytes);
            }
        }
        let ended = running.end().await;
        assert_eq!(self.alive(), Vec::<String>::new(), "left after {ended:?}");
        Run { stdout: String::from_utf8_lossy(&stdout).into_owned(), ended }
    }

    /// A supervisor of its own, which runs the agent with these steps.
    #[expect(clippy::disallowed_methods, reason = "the test starts what it kills")]
    pub(crate) fn supervisor(&self, steps: &str) -> Command {
        let how = match self.containment.kind() {
            ContainmentKind::Namespace { user: true, .. } => "user",
            ContainmentKind::Namespace { user: false, .. } => "probe",
            ContainmentKind::Fallback { .. } => "fallback",
        };
        let launch = self.launch(steps);
        let mut command = Command::new(fake_agent());
        command.args(["supervise", how]).arg(self.folder()).args(&launch.argv[1..]);
        command.env_clear().envs(launch.env);
        command
    }

    /// Every living process that carries the mark: agents, but no keeper.
    pub(crate) fn alive(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.mark);
        let carries = |folder: &PathBuf| {
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let folders = fs::read_dir("/proc").expect("a /proc").flatten().map(|entry| entry.path());
        let lines = folders.filter(carries).map(|folder| {
            let line = fs::read(folder.join("cmdline")).unwrap_or_default();
            format!("{} {}", folder.display(), String::from_utf8_lossy(&line).replace('\0', " "))
        });
        lines.collect()
    }

    /// Soon no process carries the mark any more.
    pub(crate) fn expect_gone(&self) {
        assert!(within(PATIENCE, || self.alive().is_empty()), "still there: {:?}", self.alive());
    }

    /// There is such a file.
    pub(crate) fn expect_file(&self, name: &str) {
        let file = self.file(name);
        assert!(within(PATIENCE, || file.exists()), "never came: {}", file.display());
    }
}

/// The direct children of a process.
pub(crate) fn children(parent: &Child) -> Vec<i32> {
    let tasks = fs::read_to_string(format!("/proc/{0}/task/{0}/children", parent.id())).unwrap_or_default();
    tasks.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

/// Gone, or a zombie: not every machine's init reaps.
pub(crate) fn is_dead(pid: impl Display) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

/// For what has to happen: only a failing test waits so long, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until the condition holds or the time is over.
pub(crate) fn within(time: Duration, mut so: impl FnMut() -> bool) -> bool {
    let step = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while !so() {
        if waited >= time {
            return false;
        }
        let _ = rustix::event::poll(&mut [], Some(&step.try_into().expect("a short time")));
        waited += step;
    }
    true
}
