//! Handling what arrives in the inbox: it is reported to the schedule, and logged where a person wants to know.

use std::sync::Arc;

use pilot_core::fact::RunEnding;
use pilot_core::id::ProjectId;
use pilot_core::perform::{Polled, Report};
use pilot_core::schedule::{PollNotice, RunUntil};

use super::super::inbox::Inbound;
use super::super::perform::{Performed, Queried};
use super::super::project::OpenProject;
use super::super::workers::{WorkerExited, WorkerUpdate};
use super::super::{command_files, failpoint};
use super::Daemon;

impl Daemon<'_> {
    pub(super) fn handle(&mut self, message: Inbound) -> anyhow::Result<()> {
        match message {
            Inbound::Connected(name, opened) => return self.connected(&name, opened),
            Inbound::Polled(project, polled) => return self.polled(&project, polled),
            Inbound::Queried(queried) => self.queried(queried),
            Inbound::Performed(performed) => self.performed(*performed),
            Inbound::BranchesForgotten(name, forgotten) => {
                self.schedule.call_ended();
                if let Err(why) = forgotten {
                    let words = format!(
                        "a branch of merged work is still in the checkout ({why}); Pilot tries again at its next start"
                    );
                    self.recorder.log.warn(&name, &words);
                }
            }
            Inbound::Worker(WorkerUpdate::Progress { task, generation, progress }) => {
                self.recorder.note_progress(task, generation, progress);
            }
            Inbound::Worker(WorkerUpdate::Complaint { task, text }) => {
                self.recorder.log.warn(task.1.as_str(), &text);
            }
            Inbound::WorkerExited(exited) => self.worker_exited(exited),
            Inbound::Command(file) => self.schedule.receive_command(file.id(), file.command, file.task),
            Inbound::UnreadableCommand(file) => {
                let words = format!(
                    "{} is no command that this version can read and was removed: give it again, as in `pilot cancel GH-12`",
                    file.display()
                );
                self.recorder.log.warn("pilot", &words);
                command_files::remove(&file.to_string_lossy());
            }
            Inbound::Stop { is_urgent } => self.stop(is_urgent),
        }
        Ok(())
    }

    fn connected(&mut self, name: &str, opened: Result<Arc<OpenProject>, String>) -> anyhow::Result<()> {
        let clock = self.clock();
        match opened {
            Ok(opened) => {
                self.refusals.remove(name);
                self.recorder.log.info(name, &format!("working on {} as @{}", opened.html_url, opened.me));
                let (project, interval) = (opened.id.clone(), opened.policy.poll_interval);
                self.outages.end(&project);
                self.recorder.open_projects.insert(project.clone(), opened);
                self.schedule.opened(name, project, interval, clock);
            }
            Err(why) if self.until != RunUntil::Stopped => anyhow::bail!("{name}: {why}"),
            Err(why) => {
                if let Some(project) = self.setups.get(name).map(|setup| setup.id.clone()) {
                    self.outages.begin(project, &why);
                }
                if self.refusals.insert(name.to_owned(), why.clone()).as_ref() != Some(&why) {
                    self.recorder.log.error(name, &format!("{why}; asked again until it works"));
                }
                self.schedule.not_opened(name, clock);
            }
        }
        Ok(())
    }

    fn polled(&mut self, project: &ProjectId, polled: Polled) -> anyhow::Result<()> {
        let notice = self.schedule.polled(project, polled, self.clock());
        let about = self.recorder.open_projects.get(project).map_or("pilot", |opened| opened.name.as_str());
        match notice {
            Some(PollNotice::StoppedAnswering(why)) => {
                self.outages.begin(project.clone(), &why);
                self.recorder.log.warn(about, &format!("the forge does not answer: {why}"));
            }
            Some(PollNotice::AnswersAgain) => {
                self.outages.end(project);
                self.recorder.log.info(about, "the forge answers again");
            }
            Some(PollNotice::GiveUp(why)) => {
                anyhow::bail!("{about}: {why}; nothing is lost, start again when it answers");
            }
            None => {}
        }
        Ok(())
    }

    fn queried(&mut self, queried: Queried) {
        let Queried { task, found } = queried;
        let mut has_failed = false;
        for (query, event) in found {
            match event {
                Ok(event) => self.schedule.query_answered(&task, &query, event),
                Err(failure) => {
                    self.recorder.log.debug(task.1.as_str(), &format!("{query:?}: {failure}"));
                    has_failed = true;
                }
            }
        }
        self.schedule.queries_ended(task, has_failed);
    }

    fn performed(&mut self, performed: Performed) {
        let Performed { entry, report, input } = performed;
        if let Report::Failed(failure) = &report {
            let about = entry.task.as_ref().map_or(entry.project.as_str(), |task| task.as_str());
            self.recorder.log.warn(about, &format!("{}: {failure}", entry.key.lane().as_str()));
        }
        if let (Some(input), Some(task)) = (input, &entry.task) {
            self.run_inputs.insert((entry.project.clone(), task.clone()), input);
        }
        self.schedule.performed(&entry, report);
    }

    fn worker_exited(&mut self, exited: WorkerExited) {
        let WorkerExited { task, generation, ending } = exited;
        failpoint::reach("run-ended");
        if let RunEnding::Stopped { class, reason, .. } = &ending {
            let words = format!("the run ended as {}: {reason}", class.as_str());
            self.recorder.log.warn(task.1.as_str(), &words);
        }
        self.workers.remove(&task);
        self.schedule.run_ended(task, generation, ending);
    }

    fn stop(&mut self, is_urgent: bool) {
        let finishing = self.schedule.stop(is_urgent, self.clock());
        if finishing > 0 {
            let seconds = pilot_core::schedule::DRAIN.as_secs();
            self.recorder.log.info("pilot", &format!("stopping; {finishing} may finish within {seconds}s"));
        }
    }
}
