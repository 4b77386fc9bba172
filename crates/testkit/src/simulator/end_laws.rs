//! The laws of the end: hours after the last fault every task is over or waits for a person, and its ticket shows it.

use std::collections::BTreeSet;
use std::time::Duration;

use pilot_core::dispatch::{ProjectLoad, queued_behind};
use pilot_core::fact::{Ending, GivenUp, TaskFacts};
use pilot_core::id::{PrNumber, ProjectId, TaskKey};
use pilot_core::observed::{FailureKind, PrState};
use pilot_core::port::Marker;
use pilot_core::task::{Hold, Stage};
use pilot_core::turn::replay;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::{CallKind, Fault};
use super::forge::{PrModel, Thread, TicketModel};
use super::laws::{Broken, has_landed};
use super::world::World;

/// For how long no Pilot writes anything at the end.
const QUIET: Duration = Duration::from_secs(30 * 60);

impl World {
    pub(super) fn judge_end(&mut self) {
        let mut broken = None;
        for project in self.projects() {
            for store in 0..self.stores.len() {
                for (task, stage, _) in self.stores[store].tasks(&project) {
                    broken = broken
                        .or_else(|| self.judge_queued(store, &task, &stage))
                        .or_else(|| judge_rest(&task, &stage))
                        .or_else(|| self.judge_log(store, &task))
                        .or_else(|| self.judge_stored(store, &task, &stage))
                        .or_else(|| self.judge_shown(store, &task, &stage))
                        .or_else(|| self.judge_tidied(&task, &stage))
                        .or_else(|| self.judge_review_hold(&task, &stage));
                }
                broken = broken
                    .or_else(|| self.judge_outbox_empty(store))
                    .or_else(|| self.judge_released(store, &project));
            }
            broken = broken
                .or_else(|| self.judge_nothing_lost(&project))
                .or_else(|| self.judge_orphans(&project))
                .or_else(|| self.judge_answers(&project))
                .or_else(|| self.judge_questions(&project))
                .or_else(|| self.judge_labels_by_world(&project));
        }
        if broken.is_none() && !self.runs.is_empty() {
            broken = Some(("comes to rest", "an agent still runs".to_owned()));
        }
        if broken.is_none() && self.now.since(self.last_write) < QUIET {
            broken = Some(("an idle Pilot writes nothing", "something was written at the end".to_owned()));
        }
        if broken.is_none() && self.setup.is_scripted {
            broken = self.judge_script();
        }
        if let Some((law, how)) = broken {
            self.violated(law, how);
        }
    }

    /// A task waits for its turn while a task that began before is neither merged nor given up, and where one task at a time is
    /// configured; and it says so.
    fn judge_queued(&self, store: usize, task: &TaskFacts, stage: &Stage) -> Broken {
        let Stage::Queued { .. } = stage else { return None };
        let (project, policy) = (&task.project, self.policy(&task.project));
        let is_held = self.stores[store]
            .tasks(project)
            .into_iter()
            .any(|(other, stage, _)| other.key != task.key && matches!(stage, Stage::Held { .. }));
        let facts = self.stores[store].load_project(project).facts;
        let load = ProjectLoad { project: &facts, mode: policy.mode };
        let behind = queued_behind(&load, task, stage, self.now);
        let is_told = behind.is_some_and(|behind| behind.hold.is_some());
        let is_sequential = self.setup.sequential.contains(project);
        (!is_sequential || !is_held || !is_told).then(|| {
            (
                "comes to rest",
                format!("{} of {project} is queued: behind a held one {is_held}, said {is_told}", task.key),
            )
        })
    }

    /// One fault changes nothing of the result: three merged pull requests, and a closed one whose CI failed.
    fn judge_script(&self) -> Broken {
        let (project, _) = self.setup.projects.first()?;
        let forge = self.forge_of(project);
        let is_shipped = |ticket: &TicketModel| {
            let has = |label: &str| ticket.labels.contains(label);
            !ticket.is_open && has("pilot-done") && !has("pilot-failed") && !has("pilot-in-progress")
        };
        if let Some((key, ticket)) = forge.now.tickets.iter().find(|(_, ticket)| !is_shipped(ticket)) {
            return Some(("everything is merged", format!("{key} is {ticket:?}")));
        }
        let merged = forge.now.prs.values().filter(|pr| matches!(pr.state, PrState::Merged { .. })).count();
        let counts = (forge.now.tickets.len(), forge.now.prs.len(), merged);
        // That a ticket is gone stops its run.
        let is_gone = self
            .single_fault
            .is_some_and(|single| (single.call, single.fault) == (CallKind::Ticket, Fault::NotFound));
        let runs = if is_gone { 4..=5 } else { 4..=4 };
        if counts != (4, 4, 3) || !runs.contains(&self.totals.runs) {
            let runs = self.totals.runs;
            return Some((
                "exactly once",
                format!("tickets, pull requests, merges: {counts:?}; {runs} runs"),
            ));
        }
        (self.totals.tags == 0).then(|| ("everything is merged", "nothing is tagged".to_owned()))
    }

    /// The log alone gives the facts.
    fn judge_log(&self, store: usize, task: &TaskFacts) -> Broken {
        let log = self.stores[store].log(&task.project, &task.key);
        let replayed = replay(TaskFacts::new(task.project.clone(), task.key.clone()), &log);
        (replayed != *task).then(|| ("the log is the truth", format!("{} differs from its log", task.key)))
    }

    /// The store writes all of this as JSON.
    fn judge_stored(&self, store: usize, task: &TaskFacts, stage: &Stage) -> Broken {
        let log = self.stores[store].log(&task.project, &task.key);
        let project = self.stores[store].load_project(&task.project).facts;
        let same = same_in_json(task) && same_in_json(stage) && same_in_json(&log) && same_in_json(&project);
        (!same).then(|| ("facts survive being stored", format!("{} does not", task.key)))
    }

    /// The labels show the stage.
    fn judge_shown(&self, store: usize, task: &TaskFacts, stage: &Stage) -> Broken {
        let ticket = self.forge_of(&task.project).now.tickets.get(&task.key)?;
        let owner = self.forge_of(&task.project).now.claims.get(&task.key);
        let is_ours = self.daemons.iter().any(|daemon| daemon.store == store && Some(&daemon.owner) == owner);
        // After a command to the one Pilot about what the other has claimed, both write.
        let has_intervention = self.laws.interventions.contains(&(task.project.clone(), task.key.clone()));
        if !is_ours || task.life.elsewhere.is_some() || self.stores.len() > 1 && has_intervention {
            return None;
        }
        let has = |label: &str| ticket.labels.contains(label);
        let expect = match stage {
            Stage::Ended { ending: Ending::Done(_) } => "pilot-done",
            Stage::Ended { ending: Ending::GivenUp(GivenUp::PrClosed { .. }) } => "pilot-retry-ready",
            Stage::Ended { ending: Ending::GivenUp(_) }
            | Stage::Held { hold: Hold::CiKeepsFailing { .. } } => "pilot-failed",
            Stage::Ended { ending: Ending::Cancelled { .. } }
            | Stage::Held { hold: Hold::LabelGone | Hold::TicketClosed } => "",
            // Its author lost write access before the run started.
            Stage::Held { hold: Hold::Untrusted { .. } } if task.work().is_none() => return None,
            // A task that never wrote a label shows none.
            Stage::Queued { .. } => match &task.labels {
                Some(written) if written.labels.contains("pilot-in-progress") => "pilot-in-progress",
                Some(_) | None => "",
            },
            Stage::Checking { .. }
            | Stage::Held { .. }
            | Stage::Waiting { .. }
            | Stage::Claiming { .. }
            | Stage::Starting { .. }
            | Stage::Running { .. }
            | Stage::Paused { .. }
            | Stage::Stopping { .. }
            | Stage::Publishing { .. }
            | Stage::Opening { .. }
            | Stage::AwaitingCi { .. }
            | Stage::Merging { .. }
            | Stage::Failing { .. }
            | Stage::Closing { .. }
            | Stage::Continued { .. }
            | Stage::Landing { .. } => match task.labels {
                None => "",
                Some(_) => "pilot-in-progress",
            },
        };
        let own = ["pilot-in-progress", "pilot-done", "pilot-failed", "pilot-retry-ready"];
        let wrong: Vec<&str> = own.into_iter().filter(|label| has(label) != (*label == expect)).collect();
        (!wrong.is_empty()).then(|| {
            ("labels show the stage", format!("{} is {}, wrong: {wrong:?}", task.key, stage.as_str()))
        })
    }

    /// A question has one answer and a ticket one status comment, however many Pilots there are.
    fn judge_answers(&self, project: &ProjectId) -> Broken {
        let mut answered = BTreeSet::new();
        let own = self.forge_of(project).now.comments.iter().filter(|comment| comment.is_own);
        let mut about = own.filter_map(|comment| match &comment.marker {
            Some(marker @ (Marker::Reply(_) | Marker::Status(_))) => Some(marker.to_string()),
            Some(_) | None => None,
        });
        let twice = about.find(|marker| !answered.insert(marker.clone()))?;
        Some(("one answer", format!("{twice} is there twice")))
    }

    /// A trusted user's question on a ticket that Pilot has a task for is answered.
    fn judge_questions(&self, project: &ProjectId) -> Broken {
        let forge = self.forge_of(project);
        let own: Vec<&Marker> = {
            let own = forge.now.comments.iter().filter(|comment| comment.is_own);
            own.filter_map(|comment| comment.marker.as_ref()).collect()
        };
        let known: BTreeSet<TaskKey> = {
            let tasks = self.stores.iter().flat_map(|store| store.tasks(project));
            tasks.filter(|(task, _, _)| task.life.elsewhere.is_none()).map(|(task, _, _)| task.key).collect()
        };
        let prs: BTreeSet<PrNumber> = {
            let tasks = self.stores.iter().flat_map(|store| store.tasks(project));
            tasks.filter_map(|(task, _, _)| task.life.pr.map(|known| known.pr.number)).collect()
        };
        let mut asked = forge.now.comments.iter().filter(|comment| match &comment.on {
            // What was asked before Pilot had ever read the ticket may go unread.
            Thread::Ticket(ticket) => {
                let first_read = self.laws.first_read.get(&(project.clone(), ticket.clone()));
                known.contains(ticket) && first_read.is_some_and(|at| *at < comment.posted)
            }
            Thread::Pull(number) => {
                let known = self.laws.pr_known.get(&(project.clone(), *number));
                prs.contains(number) && known.is_some_and(|at| *at < comment.posted)
            }
        });
        let unanswered = asked.find(|comment| {
            let is_question = comment.text == "/pilot why" && forge.is_trusted(&comment.login);
            is_question && !own.contains(&&Marker::Reply(comment.id.clone()))
        })?;
        let (on, login) = (&unanswered.on, &unanswered.login);
        Some(("every question is answered", format!("{login} asked on {on:?} and got no answer")))
    }

    /// The labels of a ticket that no user touched agree with what became of its work.
    fn judge_labels_by_world(&self, project: &ProjectId) -> Broken {
        let forge = self.forge_of(project);
        let untouched = forge
            .now
            .tickets
            .iter()
            .filter(|(key, _)| !self.laws.interventions.contains(&(project.clone(), (*key).clone())));
        for (key, ticket) in untouched {
            let has = |label: &str| ticket.labels.contains(label);
            let has_landed = has_landed(forge, key, self.now);
            let own = ["pilot-in-progress", "pilot-done", "pilot-failed", "pilot-retry-ready"];
            let count = own.into_iter().filter(|label| has(label)).count();
            let is_claimed = forge.now.claims.contains_key(key);
            let is_done = has("pilot-done") && !has_landed;
            let is_in_progress = has("pilot-in-progress") && (has_landed || !is_claimed);
            if count > 1 || is_done || is_in_progress {
                let how = format!("{key}: landed {has_landed}, claimed {is_claimed}, {:?}", ticket.labels);
                return Some(("labels show the result", how));
            }
        }
        None
    }

    /// A task that a review holds continues when no review does any more.
    fn judge_review_hold(&self, task: &TaskFacts, stage: &Stage) -> Broken {
        let Stage::Held { hold: Hold::ChangesRequested { pr, .. } } = stage else { return None };
        let forge = self.forge_of(&task.project);
        let requests = forge.now.prs.get(pr).map(|pr| pr.requests()).unwrap_or_default();
        // Whether dan may write the forge does not say.
        let holds = requests.iter().any(|(login, _)| forge.is_trusted(login) || *login == "dan");
        (!holds).then(|| ("a review that is over holds nothing", format!("{} is held", task.key)))
    }

    /// What is done left nothing behind.
    fn judge_tidied(&self, task: &TaskFacts, stage: &Stage) -> Broken {
        let Stage::Ended { ending } = stage else { return None };
        let forge = self.forge_of(&task.project);
        // A pull request that a user pushed to is theirs.
        let head = task.life.pushed.as_ref().map(|pushed| &pushed.sha);
        let is_left_open = |pr: &PrModel| pr.is_open() && Some(&pr.head) == head;
        let known = task.life.pr.as_ref().and_then(|pr| forge.now.prs.get(&pr.pr.number));
        if known.is_some_and(|pr| is_left_open(pr)) {
            return Some((
                "tidied up",
                format!("{} of {} is over, and {:?} is open", task.key, task.project, known),
            ));
        }
        match ending {
            Ending::Done(_) => {
                // A user may open it again, or push to the branch.
                let is_untouched =
                    !self.laws.interventions.contains(&(task.project.clone(), task.key.clone()));
                let ticket_open = forge.now.tickets.get(&task.key).is_some_and(|ticket| ticket.is_open);
                let pushed = task.life.pushed.as_ref();
                let branch_left = pushed.is_some_and(|pushed| {
                    let there = forge.now.branches.get(&pushed.branch) == Some(&pushed.sha);
                    there && !self.laws.kept.contains(&pushed.branch)
                });
                let claim_left = task.claim_shown;
                (is_untouched && (ticket_open || branch_left || claim_left)).then(|| {
                    (
                        "tidied up",
                        format!("{}: open {ticket_open}, branch {branch_left}, claim {claim_left}", task.key),
                    )
                })
            }
            Ending::GivenUp(_) | Ending::Cancelled { .. } => None,
        }
    }

    /// No action that is due waits.
    fn judge_outbox_empty(&self, store: usize) -> Broken {
        let daemons = self.daemons.iter().filter(|daemon| daemon.store == store);
        let due = daemons.filter_map(|daemon| self.stores[store].next_due(&daemon.instance)).min()?;
        let late = self.now.since(due) > QUIET;
        late.then(|| ("comes to rest", "an action is due and not performed".to_owned()))
    }

    /// What was merged is tagged, where it should be.
    fn judge_released(&self, store: usize, project: &ProjectId) -> Broken {
        let facts = self.stores[store].load_project(project).facts;
        let wanted = self.policy(project).release.is_some();
        let (left, trouble) = (facts.unreleased.len(), &facts.trouble);
        (wanted && left > 0)
            .then(|| ("merges are tagged", format!("{left} merges in {project} have no tag: {trouble:?}")))
    }

    /// Every ticket that asks for work has a task.
    fn judge_nothing_lost(&self, project: &ProjectId) -> Broken {
        let known: BTreeSet<TaskKey> = self
            .stores
            .iter()
            .flat_map(|store| store.tasks(project).into_iter().map(|(task, _, _)| task.key))
            .collect();
        let tickets = self.forge_of(project).now.tickets.iter();
        let mut asking = tickets.filter(|(_, ticket)| ticket.is_open && ticket.labels.contains("pilot"));
        let lost = asking.find(|(key, _)| !known.contains(key))?;
        Some(("nothing is lost", format!("{} in {project} has no task", lost.0)))
    }

    /// Every open pull request of ours has a task that knows of it.
    fn judge_orphans(&self, project: &ProjectId) -> Broken {
        let known: BTreeSet<_> = self
            .stores
            .iter()
            .flat_map(|store| store.tasks(project))
            .filter_map(|(task, _, _)| task.life.pr.map(|pr| pr.pr.number))
            .collect();
        let prs = self.forge_of(project).now.prs.iter();
        let mut open = prs.filter(|(_, pr)| pr.is_open());
        let orphan = open.find(|(number, _)| !known.contains(number))?;
        Some(("no orphans", format!("no task knows {} in {project}", orphan.0.0)))
    }
}

fn same_in_json<T: Serialize + DeserializeOwned + PartialEq>(known: &T) -> bool {
    let json = serde_json::to_string(known).expect("facts are plain data");
    serde_json::from_str::<T>(&json).is_ok_and(|read| read == *known)
}

/// The task is over, or a person knows what to do.
fn judge_rest(task: &TaskFacts, stage: &Stage) -> Broken {
    let why = |stage: &str| Some(("comes to rest", format!("{} of {} is {stage}", task.key, task.project)));
    match stage {
        Stage::Ended { .. } => None,
        // What passes by itself has passed by now.
        Stage::Held { hold: Hold::Trouble { failure, lane } } if failure.kind != FailureKind::Conflict => {
            why(&format!("in trouble with {}: {failure}", lane.as_str()))
        }
        Stage::Held { hold: Hold::ClaimedElsewhere { .. } | Hold::DependsOn { .. } } => None,
        Stage::Held { hold: Hold::ProjectPaused { .. } | Hold::Breaker { .. } } => why(&format!("{stage:?}")),
        // Whether a queued one waits for a person was judged before.
        Stage::Held { .. } | Stage::Continued { .. } | Stage::Queued { .. } => None,
        Stage::Checking { .. }
        | Stage::Waiting { .. }
        | Stage::Claiming { .. }
        | Stage::Starting { .. }
        | Stage::Running { .. }
        | Stage::Paused { .. }
        | Stage::Stopping { .. }
        | Stage::Publishing { .. }
        | Stage::Opening { .. }
        | Stage::AwaitingCi { .. }
        | Stage::Merging { .. }
        | Stage::Failing { .. }
        | Stage::Closing { .. }
        | Stage::Landing { .. } => why(stage.as_str()),
    }
}
