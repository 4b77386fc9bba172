//! Executing the jobs of the schedule.

use std::sync::Arc;

use pilot_core::dispatch::{self, Candidate, ProjectLoad};
use pilot_core::fact::{ProjectFacts, TaskEvent};
use pilot_core::id::{Branch, ProjectId, Sha};
use pilot_core::port::{Call, GitCall};
use pilot_core::schedule::{Job, Reading, Record, RecordFor, TaskRef, TrackedTask};
use pilot_core::task::{Query, RunRequest};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, LoadedProject, turn};

use super::super::inbox::Inbound;
use super::super::perform::{perform, poll, run_queries};
use super::super::project::OpenProject;
use super::super::{command_files, failpoint};
use super::Daemon;
use crate::calendar::Calendar;
use crate::clock;

/// How many tasks of a queue are considered.
const CONSIDERED: u32 = 50;

impl Daemon<'_> {
    pub(super) async fn execute(&mut self, job: &Job) -> anyhow::Result<()> {
        let store = &self.recorder.store;
        match job {
            Job::Connect { name } => self.connect(name),
            Job::RenewLease => {
                let now = clock::now();
                store.renew(&self.recorder.me, now).await?;
                let left = store.lapsed(&self.recorder.me, now).await?;
                self.schedule.take_over(left);
            }
            Job::BeginInstance => {
                let recorder = &self.recorder;
                let left = store.begin_instance(&recorder.home, &recorder.me, clock::now()).await?;
                self.schedule.take_over(left);
            }
            Job::Record(record) => self.record(record).await?,
            Job::RecordProject { project, input } => {
                if let Some(wake) = self.recorder.record_project(project, input.as_ref()).await? {
                    self.schedule.project_recorded(project, wake);
                }
                if let Some(key) = input.as_ref().and_then(|input| input.settles.as_ref()) {
                    failpoint::reach(&format!("{}-after", key.lane().as_str()));
                }
            }
            Job::ReadTasks { project, reading } => self.read_tasks(project, *reading).await?,
            Job::LookAt { task } => self.look_at(task).await?,
            Job::RunQueries { task, queries } => self.start_queries(task, queries).await?,
            Job::CheckTask { task } => {
                let loaded = store.load_task(&task.0, &task.1).await?;
                if let Some(stage) = &loaded.stage {
                    self.schedule.task_checked(task, &TrackedTask { facts: &loaded.task, stage });
                }
            }
            Job::Dispatch { is_budget_checked } => self.dispatch(*is_budget_checked).await?,
            Job::Poll { project, since } => self.start_poll(project, *since),
            Job::TakeActions { room } => {
                let room = u32::try_from(*room).unwrap_or(u32::MAX);
                let entries = store.take_due(&self.recorder.me, clock::now(), room).await?;
                self.schedule.actions_taken(entries);
            }
            Job::Perform { entry } => {
                let Some(opened) = self.opened(&entry.project) else { return Ok(()) };
                let entry = (**entry).clone();
                self.start(async move { Inbound::Performed(Box::new(perform(opened, entry).await)) });
            }
            Job::StopRun { task, generation } => {
                let worker = self.workers.get(task).filter(|worker| worker.generation == *generation);
                if let Some(worker) = worker {
                    worker.stop();
                }
            }
            Job::ForgetBranches { project, branches } => self.forget_branches(project, branches.clone()),
            Job::CountActive => self.count_active().await?,
            Job::CommandDone { id } => command_files::remove(id),
            Job::CommandRefused { id, task: (project, task) } => {
                let why = format!(
                    "this daemon does not work on {project}, so nothing was done: add it to projects in the configuration, \
                     and start again"
                );
                self.recorder.log.warn(task.as_str(), &why);
                command_files::refuse(id, &why);
            }
        }
        Ok(())
    }

    fn opened(&self, project: &ProjectId) -> Option<Arc<OpenProject>> {
        self.recorder.open_projects.get(project).cloned()
    }

    /// Starts a call or a run; its result is sent to the inbox.
    fn start(&mut self, work: impl Future<Output = Inbound> + Send + 'static) {
        let inbox = self.inbox.clone();
        self.under_way.spawn(async move { inbox.send(work.await).await });
    }

    fn connect(&mut self, name: &str) {
        let Some(setup) = self.setups.get(name).cloned() else { return };
        let (shared, config, name) = (self.shared.clone(), self.config.clone(), name.to_owned());
        self.start(async move {
            let opened = setup.connect(&shared, &config).await;
            Inbound::Connected(name, opened.map(Arc::new).map_err(|error| format!("{error:#}")))
        });
    }

    async fn record(&mut self, record: &Record) -> anyhow::Result<()> {
        let recorded = self.recorder.record(record).await?;
        match (&record.purpose, recorded.applied) {
            (RecordFor::RunEnded, Applied::Fenced) => {
                let words = "the run ended after its claim was taken over; its work is kept in git";
                self.recorder.log.warn(record.task.1.as_str(), words);
            }
            (RecordFor::Claim { .. }, _) => failpoint::reach("claimed"),
            (_, _) => {}
        }
        self.schedule.recorded(record, &recorded, self.clock());
        if let Some(request) = recorded.run {
            self.start_run(&record.task, request).await?;
        }
        if let Some(input) = &record.input {
            if matches!(input.event, TaskEvent::MessageReceived { .. }) {
                failpoint::reach("message-between");
            }
            if let Some(key) = &input.settles {
                failpoint::reach(&format!("{}-after", key.lane().as_str()));
            }
        }
        Ok(())
    }

    /// Starts the run that was just recorded.
    async fn start_run(&mut self, task: &TaskRef, request: RunRequest) -> anyhow::Result<()> {
        let input = self.run_inputs.remove(task);
        let (Some(input), Some(opened)) = (input, self.opened(&task.0)) else { return Ok(()) };
        failpoint::reach("run-starting");
        self.schedule.run_started(task.clone(), request.generation);
        let (worker, running) = self.launcher.start(&opened, request, &input).await;
        self.workers.insert(task.clone(), worker);
        self.start(async move { Inbound::WorkerExited(running.await) });
        Ok(())
    }

    async fn read_tasks(&mut self, project: &ProjectId, reading: Reading) -> anyhow::Result<()> {
        let store = &self.recorder.store;
        if let Some(opened) =
            self.recorder.open_projects.get(project).filter(|_| reading == Reading::AtOpening)
        {
            store.record_checkout(project, &opened.path.to_string_lossy()).await?;
        }
        let rows = store.tasks(project).await?;
        let tasks: Vec<TrackedTask<'_>> =
            rows.iter().map(|row| TrackedTask { facts: &row.facts, stage: &row.stage }).collect();
        self.schedule.tasks_read(project, reading, &tasks);
        Ok(())
    }

    async fn look_at(&mut self, task: &TaskRef) -> anyhow::Result<()> {
        let Some(opened) = self.opened(&task.0) else { return Ok(()) };
        let loaded = self.recorder.store.load_task(&task.0, &task.1).await?;
        let decided = turn(&loaded, None, &opened.policy, clock::now());
        let queries = decided.task.map_or_else(Vec::new, |change| change.queries);
        self.schedule.looked(task.clone(), queries);
        Ok(())
    }

    async fn start_queries(&mut self, task: &TaskRef, queries: &[Query]) -> anyhow::Result<()> {
        let Some(opened) = self.opened(&task.0) else { return Ok(()) };
        let facts = self.recorder.store.load_task(&task.0, &task.1).await?.task;
        let queries = queries.to_vec();
        self.start(async move { Inbound::Queried(run_queries(opened, facts, queries).await) });
        Ok(())
    }

    fn start_poll(&mut self, project: &ProjectId, since: Timestamp) {
        let Some(opened) = self.opened(project) else { return };
        self.start(async move {
            let (project, polled) = poll(opened, since).await;
            Inbound::Polled(project, polled)
        });
    }

    /// Deletes branches of merged tasks from the checkout. What could not be deleted is deleted at the next start.
    fn forget_branches(&mut self, project: &ProjectId, branches: Vec<(Branch, Sha)>) {
        let Some(opened) = self.opened(project) else { return };
        self.start(async move {
            let called = opened.call(&Call::Git(GitCall::ForgetBranches(branches))).await;
            Inbound::BranchesForgotten(
                opened.name.clone(),
                called.map(|_| ()).map_err(|failure| failure.detail),
            )
        });
    }

    async fn count_active(&mut self) -> anyhow::Result<()> {
        let mut is_any_active = false;
        for project in self.recorder.open_projects.keys() {
            is_any_active |= !self.recorder.store.load_project(project).await?.facts.active.is_empty();
        }
        let version = self.recorder.store.version().await?;
        self.schedule.active_counted(is_any_active, version);
        Ok(())
    }

    /// Claims the next task of the queue, if there is room.
    async fn dispatch(&mut self, is_budget_checked: bool) -> anyhow::Result<()> {
        let mut loaded: Vec<LoadedProject> = Vec::new();
        let mut candidates: Vec<Candidate> = Vec::new();
        for project in self.recorder.open_projects.keys() {
            loaded.push(self.recorder.store.load_project(project).await?);
            candidates.extend(self.recorder.store.queued(project, CONSIDERED).await?);
        }
        if !is_budget_checked && self.free_funded(&loaded).await? {
            return Ok(());
        }
        let loads = loaded.iter().filter_map(|project| {
            let mode = self.recorder.open_projects.get(&project.facts.id)?.policy.mode;
            Some(ProjectLoad { project: &project.facts, mode })
        });
        let loads: Vec<ProjectLoad<'_>> = loads.collect();
        let Some(task) = self.schedule.choose(&loads, &candidates, clock::now()) else { return Ok(()) };
        let before = self.recorder.store.load_task(&task.0, &task.1).await?.task.generation;
        let (home, me) = (self.recorder.home.clone(), self.recorder.me.clone());
        self.schedule.claim(task, before, home, me);
        Ok(())
    }

    /// Frees the tasks that waited for the budget and fit now.
    async fn free_funded(&mut self, projects: &[LoadedProject]) -> anyhow::Result<bool> {
        if projects.iter().all(|project| project.facts.unfunded.is_empty()) {
            return Ok(false);
        }
        let window = Calendar::of_this_machine().window(clock::now())?;
        let standing = self.recorder.store.standing(&window, None).await?;
        let facts: Vec<&ProjectFacts> = projects.iter().map(|project| &project.facts).collect();
        let funded = dispatch::funded(&facts, &self.config.budget, &standing, &window);
        Ok(self.schedule.budget_freed(funded))
    }
}
