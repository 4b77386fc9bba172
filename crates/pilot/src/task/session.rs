//! One session of an agent: called, driven to its end, paused for a person and gone on with.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::config::Effort;
use pilot_core::outcome::{Class, Goal};
use pilot_exec::backend::{BackendKind, Invocation};
use pilot_exec::environment::{Rules, environment};
use pilot_exec::process::{Containment, Deadlines, Ended, EndedBy, Launch, Limits, Why};
use pilot_store::StreamRecorder;

use super::control;
use super::drive::{Drive, Ending};
use super::evidence::Session;
use super::listen::Listener;
use super::plan::{Agent, Plan};
use crate::config::Environment;

/// What an agent is told that only has to go on.
pub(crate) const GO_ON: &str = "Go on with the task where you left off.";

/// What every session of a run has in common.
pub(crate) struct Sessions<'s> {
    pub(crate) plan: &'s Plan,
    pub(crate) environment: &'s Environment,
    pub(crate) containment: Containment,
    /// Where the agent works.
    pub(crate) tree: PathBuf,
    pub(crate) branch: String,
    /// Its private directory for temporary files.
    pub(crate) tmp: PathBuf,
    /// The images that the task shows.
    pub(crate) images: Vec<PathBuf>,
}

/// What one session is to do.
#[derive(Clone, Debug)]
pub(crate) struct Call<'c> {
    pub(crate) agent: &'c Agent,
    pub(crate) prompt: String,
    /// The prompt in a session that was forgotten, which has to hear everything.
    pub(crate) afresh: String,
    /// The session to go on with.
    pub(crate) resume: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<Effort>,
    pub(crate) timeout: Duration,
    pub(crate) permissions: Permission,
    /// Settings for this session alone, in the agent's own form.
    pub(crate) settings: Option<String>,
}

/// What the agent of a session may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// What is configured.
    Configured,
    /// Read.
    Read,
}

/// What becomes of a run that was paused.
enum AfterPause {
    /// A person said to go on.
    GoOn,
    /// A person ended it.
    Cancel,
    /// Nobody came.
    GiveUp,
}

impl Sessions<'_> {
    /// Runs the agent until it ends for good: after a pause that a person ended it goes on, and a session it has
    /// forgotten begins anew.
    pub(crate) async fn run(
        &self,
        mut call: Call<'_>,
        drive: &mut Drive<'_>,
        listener: &mut Listener,
        recorder: &mut StreamRecorder,
    ) -> anyhow::Result<Session> {
        loop {
            let invocation = self.invocation(&call)?;
            listener.begin(invocation.output, call.resume.is_some());
            drive.purse.begin(call.model.as_deref(), drive.watch.elapsed());
            let session =
                |ended| Session { ended, output: invocation.output, agent: call.agent.kind.agent() };
            let launch = self.launch(&call, &invocation)?;
            let (ended, ending) = match drive.run(launch, &self.containment, listener, recorder).await {
                Ok(ran) => ran,
                Err(error) => return Ok(session(Err(error.to_string()))),
            };
            let session = session(Ok(ended));
            if call.resume.is_some() && is_forgotten(&session, listener) {
                drive.view.note("The agent has forgotten its session; it starts anew in the same worktree.");
                call = Call { resume: None, prompt: call.afresh.clone(), ..call };
                continue;
            }
            let then = match ending {
                Ending::Over => AfterPause::GiveUp,
                Ending::Cancelled => AfterPause::Cancel,
                Ending::Paused => self.after_pause(drive, listener).await,
            };
            match then {
                AfterPause::GiveUp => return Ok(session),
                AfterPause::Cancel => {
                    let by = EndedBy::Stopped(Why::Cancelled);
                    let ended = session.ended.map(|ended| Ended { by, ..ended });
                    return Ok(Session { ended, ..session });
                }
                AfterPause::GoOn => {
                    drive.purse.lift();
                    drive.beyond = None;
                    call = self.go_on(call, listener);
                }
            }
        }
    }

    /// The call after a pause. A program of one's own has no sessions: it starts again, with its work where it left it.
    fn go_on<'c>(&self, call: Call<'c>, listener: &Listener) -> Call<'c> {
        let session = listener.facts.session().filter(|_| call.agent.kind != BackendKind::Command);
        match session {
            Some(session) => Call { resume: Some(session.to_owned()), prompt: GO_ON.to_owned(), ..call },
            None => Call { resume: None, prompt: call.afresh.clone(), ..call },
        }
    }

    pub(crate) fn invocation(&self, call: &Call<'_>) -> anyhow::Result<Invocation> {
        self.plan.invocation(call, &self.branch, &self.tree, &self.images)
    }

    pub(crate) fn launch(&self, call: &Call<'_>, invocation: &Invocation) -> anyhow::Result<Launch> {
        let executor = &self.plan.config()?.executor;
        let rules = Rules { pass: &executor.env.pass, deny: &executor.env.deny };
        let extras: Vec<(OsString, OsString)> =
            invocation.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let ours: BTreeMap<OsString, OsString> = self.environment.all().clone();
        Ok(Launch {
            env: environment(&ours, &rules, &extras, &self.tmp),
            stdin: invocation.stdin.clone(),
            limits: Limits {
                memory: executor.limits.memory,
                processes: executor.limits.processes.map(u64::from),
                file_size: executor.limits.file_size,
            },
            deadlines: Deadlines {
                total: Some(call.timeout),
                silence: Some(executor.silence_timeout),
                grace: executor.grace,
            },
            ..Launch::new(argv(&call.agent.program, invocation), &self.tree)
        })
    }

    /// Waits for a person after a pause.
    async fn after_pause(&self, drive: &mut Drive<'_>, listener: &mut Listener) -> AfterPause {
        let wait = drive.executor.pause_timeout;
        // One that came before the pause was for nothing.
        drive.control.take(control::Order::Resume);
        let from = drive.watch.elapsed();
        listener.monitor.paused(from);
        drive.view.warn(&format!(
            "The agent is stopped and the run waits: `pilot resume {key}` goes on, `pilot cancel {key}` ends it.",
            key = self.plan.job.key
        ));
        loop {
            tokio::select! {
                () = drive.interrupts.wait() => return AfterPause::Cancel,
                () = tokio::time::sleep(Duration::from_millis(200)) => {}
            }
            if drive.control.take(control::Order::Cancel) {
                return AfterPause::Cancel;
            }
            if drive.control.take(control::Order::Resume) {
                listener.resumed(drive.watch.elapsed());
                return AfterPause::GoOn;
            }
            if drive.watch.elapsed() - from >= wait {
                return AfterPause::GiveUp;
            }
        }
    }
}

/// Whether the agent ended because it does not know the session it was to go on with.
fn is_forgotten(session: &Session, listener: &Listener) -> bool {
    session.outcome_so_far(Goal::Change, listener).class() == Some(Class::SessionNotFound)
}

/// The agent's arguments as the kernel takes them.
fn argv(program: &Path, invocation: &Invocation) -> Vec<OsString> {
    let program = [program.as_os_str().to_owned()];
    program.into_iter().chain(invocation.args.iter().map(OsString::from)).collect()
}
