//! What is heard: each thing that ended, and what follows from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use pilot_core::fact::{Happened, ProjectHappened, RunEnding};
use pilot_core::intake::{Tracked, missing};
use pilot_core::name::{IssueNumber, ProjectId};
use pilot_core::perform::{self, Report};
use pilot_core::seen::Issue;
use pilot_core::task::Look;
use pilot_core::turn::{Applied, Input, Intent, ProjectInput};

use super::super::desk::{Told, now};
use super::super::failpoint;
use super::super::hands::{Ran, Whisper};
use super::super::perform::{Looked, Performed, Ready};
use super::super::poll::Polled;
use super::super::site::{Plot, Site};
use super::super::watch::Seen;
use super::{Daemon, Event, SILENCE, Until};
use crate::clock::Stopwatch;

impl Daemon<'_> {
    pub(super) async fn hear(&mut self, event: Event) -> anyhow::Result<()> {
        self.dirty = true;
        match event {
            Event::Connected(connected) => {
                let (plot, site) = *connected;
                self.connected(plot, site).await
            }
            Event::Polled(polled) => self.polled(polled).await,
            Event::Looked(looked) => self.looked(looked).await,
            Event::Performed(performed) => self.performed(*performed).await,
            Event::Ran(ran) => self.ran(ran).await,
            Event::Tidied(left) => {
                if let Some((name, why)) = left {
                    let words = format!(
                        "a branch of merged work is still in the checkout ({why}); Pilot tries again at its next start"
                    );
                    self.desk.log.warn(&name, &words);
                }
                Ok(())
            }
        }
    }

    async fn connected(&mut self, plot: Plot, site: Result<Arc<Site>, String>) -> anyhow::Result<()> {
        match site {
            Ok(site) => self.open(site).await?,
            Err(why) if self.until != Until::Stopped => anyhow::bail!("{}: {why}", plot.name),
            Err(why) => {
                if self.refusals.insert(plot.name.clone(), why.clone()).as_ref() != Some(&why) {
                    self.desk.log.error(&plot.name, &format!("{why}; asked again until it works"));
                }
                let again = now().after(self.config.adapters.github.polling.interval);
                self.plots.push((plot, again));
            }
        }
        self.connecting -= 1;
        Ok(())
    }

    /// Says once that a forge does not answer, and once that it does again.
    fn note_poll(&mut self, project: &ProjectId, failure: Option<&str>) -> anyhow::Result<()> {
        let Some(pulse) = self.polls.get_mut(project) else { return Ok(()) };
        let about = self.desk.sites.get(project).map_or("pilot", |site| site.name.as_str());
        match (failure, pulse.failing) {
            (Some(why), None) => {
                self.desk.log.warn(about, &format!("the forge does not answer: {why}"));
                pulse.failing = Some(Stopwatch::start());
            }
            (Some(why), Some(since)) if self.until == Until::Quiet && since.elapsed() > SILENCE => {
                anyhow::bail!("{about}: {why}; nothing is lost, start again when it answers");
            }
            (None, Some(_)) => {
                self.desk.log.info(about, "the forge answers again");
                pulse.failing = None;
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(())
    }

    async fn polled(&mut self, polled: Polled) -> anyhow::Result<()> {
        let Polled { project, issues, orders } = polled;
        let failure = issues.as_ref().err().or(orders.as_ref().err()).map(ToString::to_string);
        let failed = failure.is_some();
        self.note_poll(&project, failure.as_deref())?;
        match issues {
            Ok(Some(issues)) => {
                self.listed(&project, issues).await?;
                self.look_for_missing(&project).await?;
            }
            Ok(None) => self.look_for_missing(&project).await?,
            Err(_) => {}
        }
        let mut since = None;
        if let Ok((orders, next)) = orders {
            for ordered in orders {
                let happened = Happened::Ordered { order: ordered.order, by: ordered.by };
                let input = Input { happened, settles: None };
                if self.desk.store.load_task(&project, ordered.issue).await?.task_version > 0 {
                    self.tell(&project, ordered.issue, Some(&input)).await?;
                }
            }
            since = Some(next);
        }
        if let Some(pulse) = self.polls.get_mut(&project) {
            pulse.under_way = false;
            pulse.since = since.unwrap_or(pulse.since);
        }
        self.count_quiet(failed).await
    }

    /// A poll that brought nothing new while nothing is going on is a step towards the end of `--once`.
    async fn count_quiet(&mut self, failed: bool) -> anyhow::Result<()> {
        if self.until != Until::Quiet {
            return Ok(());
        }
        let version = self.desk.store.version().await?;
        let mut busy =
            failed || version != self.version || !self.hands.is_empty() || !self.looking.is_empty();
        for project in self.desk.sites.keys() {
            let facts = self.desk.store.load_project(project).await?.facts;
            busy |= !facts.active.is_empty();
        }
        self.quiet = if busy { 0 } else { self.quiet + 1 };
        Ok(())
    }

    /// The labelled issues were read.
    async fn listed(&mut self, project: &ProjectId, issues: Vec<Issue>) -> anyhow::Result<()> {
        let numbers: BTreeSet<IssueNumber> = issues.iter().map(|issue| issue.number).collect();
        for issue in issues {
            let number = issue.number;
            let input = Input { happened: Happened::IssueSeen { issue }, settles: None };
            self.tell(project, number, Some(&input)).await?;
        }
        if let Some(pulse) = self.polls.get_mut(project) {
            pulse.listed = Some(numbers);
        }
        Ok(())
    }

    /// Reads the issues that should be in the list and are not. Also where the list is the same as last time: a single read
    /// may have been stale, and a list that does not change never tells again.
    async fn look_for_missing(&mut self, project: &ProjectId) -> anyhow::Result<()> {
        let Some(listed) = self.polls.get(project).and_then(|pulse| pulse.listed.clone()) else {
            return Ok(());
        };
        let Some(site) = self.desk.sites.get(project).cloned() else { return Ok(()) };
        let rows = self.desk.store.tasks(project).await?;
        let tracked = rows.iter().map(|row| Tracked { issue: row.facts.number, stage: &row.stage });
        for issue in missing(&listed, tracked) {
            let facts = rows.iter().find(|row| row.facts.number == issue).map(|row| row.facts.clone());
            if let Some(facts) = facts {
                self.look(&site, facts, vec![Look::Issue]);
            }
        }
        Ok(())
    }

    async fn looked(&mut self, looked: Looked) -> anyhow::Result<()> {
        let Looked { project, issue, seen } = looked;
        let mut failed = false;
        for (look, reply) in seen {
            match perform::heard(&look, reply) {
                Ok(happened) => {
                    self.read |= look == Look::Issue && self.until == Until::Rest(issue);
                    self.tell(&project, issue, Some(&Input { happened, settles: None })).await?;
                }
                Err(failure) => {
                    self.desk.log.debug(&format!("GH-{}", issue.0), &format!("{look:?}: {failure}"));
                    failed = true;
                }
            }
        }
        self.looking.remove(&(project.clone(), issue));
        self.tell(&project, issue, None).await?;
        if failed {
            let Some(site) = self.desk.sites.get(&project) else { return Ok(()) };
            let later = now().after(site.policy.poll_interval);
            if let Some(wake) = self.desk.wakes.get_mut(&(project, issue)) {
                *wake = later.max(*wake);
            }
        }
        Ok(())
    }

    async fn performed(&mut self, performed: Performed) -> anyhow::Result<()> {
        let Performed { intent, report, ready } = performed;
        let (project, key) = (intent.project.clone(), intent.key.clone());
        let lane = key.lane().to_owned();
        if let Report::Failed(failure) = &report {
            let about = intent.task.as_ref().map_or(project.as_str(), |task| task.as_str());
            self.desk.log.warn(about, &format!("{lane}: {failure}"));
        }
        let settles = Some(key.clone());
        match (report, &intent.task) {
            (Report::Task(happened), Some(task)) => {
                let told = self.settle(&project, task.number(), &Input { happened, settles }).await?;
                self.begin(&project, told, ready).await?;
            }
            (Report::Failed(failure), Some(task)) => {
                let happened = Happened::Failed { key, failure };
                self.settle(&project, task.number(), &Input { happened, settles }).await?;
            }
            (Report::Tell { to, happened, told }, Some(task)) => {
                // First the one, then that it was: a death between the two tells it twice, not never.
                self.tell(&project, to, Some(&Input { happened: *happened, settles: None })).await?;
                failpoint::reach("tell-between");
                self.settle(&project, task.number(), &Input { happened: *told, settles }).await?;
            }
            (Report::Project(happened), _) => {
                self.desk.tell_project(&project, Some(&ProjectInput { happened, settles })).await?;
            }
            (Report::Failed(failure), None) => {
                let happened = ProjectHappened::Failed { key, failure };
                self.desk.tell_project(&project, Some(&ProjectInput { happened, settles })).await?;
            }
            (Report::Task(_) | Report::Tell { .. }, None) => {}
        }
        failpoint::reach(&format!("{lane}-after"));
        self.wake_project(&intent).await
    }

    /// What the project itself wants may depend on what became of the task.
    async fn wake_project(&mut self, intent: &Intent) -> anyhow::Result<()> {
        if intent.task.is_some() {
            self.desk.tell_project(&intent.project, None).await?;
        }
        Ok(())
    }

    async fn settle(
        &mut self,
        project: &ProjectId,
        issue: IssueNumber,
        input: &Input,
    ) -> anyhow::Result<Told> {
        let told = self.desk.settle(project, issue, input).await?;
        if let Some((task, generation)) = &told.stop {
            self.stop_run(project, task, *generation);
        }
        Ok(told)
    }

    /// Begins the run that was just written down.
    async fn begin(&mut self, project: &ProjectId, told: Told, ready: Option<Ready>) -> anyhow::Result<()> {
        let (Some(order), Some(ready)) = (told.run, ready) else { return Ok(()) };
        let Some(site) = self.desk.sites.get(project).cloned() else { return Ok(()) };
        let task = order.task.clone();
        // Heard again, because the database did not take all of it the first time: the run goes on already.
        let known = self.hands.get(&(project.clone(), task.clone()));
        if known.is_some_and(|hand| hand.generation == order.generation) {
            return Ok(());
        }
        failpoint::reach("run-starting");
        let (hand, running) = self.bench.start(&site, order, &ready).await;
        self.hands.insert((project.clone(), task), hand);
        self.jobs.spawn(async move { Event::Ran(running.await) });
        Ok(())
    }

    async fn ran(&mut self, ran: Ran) -> anyhow::Result<()> {
        let Ran { project, task, issue, generation, ending } = ran;
        failpoint::reach("run-ended");
        if let RunEnding::Stopped { class, reason, .. } = &ending {
            self.desk.log.warn(task.as_str(), &format!("the run ended as {}: {reason}", class.as_str()));
        }
        let happened = Happened::RunEnded { generation, ending };
        let told = self.tell(&project, issue, Some(&Input { happened, settles: None })).await?;
        if told.applied == Applied::Fenced {
            self.desk
                .log
                .warn(task.as_str(), "the run ended when its claim was another's; its work is kept in git");
        }
        self.ran.insert((project.clone(), issue));
        self.hands.remove(&(project, task));
        Ok(())
    }

    pub(super) fn overhear(&mut self, whisper: Whisper) {
        match whisper {
            Whisper::Progress { task, phase, percent } => {
                self.desk.log.debug(task.as_str(), &format!("{phase} {percent}%"));
                self.desk.watcher.see(&Seen::Progress { task: &task, phase: &phase, percent });
            }
            Whisper::Complaint { task, text } => self.desk.log.warn(task.as_str(), &text),
        }
    }
}
