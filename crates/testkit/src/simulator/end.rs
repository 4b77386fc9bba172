//! The end of a simulation: hours after the storm, everything is over or waits for a named person, and the forge shows it.

use std::collections::BTreeSet;
use std::time::Duration;

use pilot_core::fact::{Ending, GivenUp, TaskFacts};
use pilot_core::name::{IssueNumber, ProjectId};
use pilot_core::seen::{FailureKind, PrState};
use pilot_core::task::{Hold, Stage};
use pilot_core::turn::replay;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::{CallKind, Fault};
use super::forge::{IssueModel, PrModel};
use super::world::World;

/// Nothing is written by anybody for so long.
const QUIET: Duration = Duration::from_secs(30 * 60);

type Broken = Option<(&'static str, String)>;

impl World {
    pub(super) fn judge_the_end(&mut self) {
        let mut broken = None;
        for project in self.projects() {
            for ledger in 0..self.ledgers.len() {
                for (task, stage, _) in self.ledgers[ledger].tasks(&project) {
                    broken = broken
                        .or_else(|| at_rest(&task, &stage))
                        .or_else(|| self.log_agrees(ledger, &task))
                        .or_else(|| self.survives(ledger, &task, &stage))
                        .or_else(|| self.shown(ledger, &task, &stage))
                        .or_else(|| self.tidied_up(&task, &stage));
                }
                broken =
                    broken.or_else(|| self.outbox_empty(ledger)).or_else(|| self.released(ledger, &project));
            }
            broken = broken
                .or_else(|| self.nothing_lost(&project))
                .or_else(|| self.no_orphans(&project))
                .or_else(|| self.one_answer(&project));
        }
        if broken.is_none() && !self.runs.is_empty() {
            broken = Some(("comes to rest", "an agent still runs".to_owned()));
        }
        if broken.is_none() && self.now.since(self.last_write) < QUIET {
            broken = Some(("an idle Pilot is silent", "something was written at the very end".to_owned()));
        }
        if broken.is_none() && self.scene.scripted {
            broken = self.as_scripted();
        }
        if let Some((law, how)) = broken {
            self.broken(law, how);
        }
    }

    /// One fault among people and agents who all do their part changes nothing of what comes of it: three merged pull requests,
    /// and a closed one, of which the CI failed.
    fn as_scripted(&self) -> Broken {
        let (project, _) = self.scene.projects.first()?;
        let forge = self.forge_of(project);
        let shipped = |issue: &IssueModel| {
            let has = |label: &str| issue.labels.contains(label);
            !issue.open && has("pilot-done") && !has("pilot-failed") && !has("pilot-in-progress")
        };
        if let Some((number, issue)) = forge.now.issues.iter().find(|(_, issue)| !shipped(issue)) {
            return Some(("everything is merged", format!("{number} is {:?}", issue)));
        }
        let merged = forge.now.prs.values().filter(|pr| matches!(pr.state, PrState::Merged { .. })).count();
        let counts = (forge.now.issues.len(), forge.now.prs.len(), merged);
        // That an issue is gone stops its run.
        let gone =
            self.cell.is_some_and(|cell| (cell.call, cell.fault) == (CallKind::Issue, Fault::NotFound));
        let runs = if gone { 4..=5 } else { 4..=4 };
        if counts != (4, 4, 3) || !runs.contains(&self.story.runs) {
            let runs = self.story.runs;
            return Some(("exactly once", format!("issues, pull requests, merges: {counts:?}; {runs} runs")));
        }
        (self.story.tags == 0).then(|| ("everything is merged", "nothing is tagged".to_owned()))
    }

    /// The log alone gives the facts.
    fn log_agrees(&self, ledger: usize, task: &TaskFacts) -> Broken {
        let log = self.ledgers[ledger].log(&task.project, &task.key);
        let told = replay(TaskFacts::new(task.project.clone(), task.number), &log);
        (told != *task).then(|| ("the log is the truth", format!("{} reads otherwise", task.key)))
    }

    /// What is stored is what was known: the store writes all of this as JSON.
    fn survives(&self, ledger: usize, task: &TaskFacts, stage: &Stage) -> Broken {
        let log = self.ledgers[ledger].log(&task.project, &task.key);
        let project = self.ledgers[ledger].load_project(&task.project).facts;
        let same = same_in_json(task) && same_in_json(stage) && same_in_json(&log) && same_in_json(&project);
        (!same).then(|| ("facts survive being stored", format!("{} does not", task.key)))
    }

    /// Labels and comment say where it stands.
    fn shown(&self, ledger: usize, task: &TaskFacts, stage: &Stage) -> Broken {
        let issue = self.forge_of(&task.project).now.issues.get(&task.number)?;
        let owner = self.forge_of(&task.project).now.claims.get(&task.key);
        let ours = self.daemons.iter().any(|pilot| pilot.ledger == ledger && Some(&pilot.owner) == owner);
        // Whoever gives orders to a Pilot about what is another's has two that write.
        let pardoned = self.laws.pardons.contains(&(task.project.clone(), task.number));
        if !ours || task.life.elsewhere.is_some() || self.ledgers.len() > 1 && pardoned {
            return None;
        }
        let has = |label: &str| issue.labels.contains(label);
        let expect = match stage {
            Stage::Ended { ending: Ending::Done(_) } => "pilot-done",
            Stage::Ended { ending: Ending::GivenUp(GivenUp::PrClosed { .. }) } => "pilot-retry-ready",
            Stage::Ended { ending: Ending::GivenUp(_) }
            | Stage::Held { hold: Hold::CiKeepsFailing { .. } } => "pilot-failed",
            Stage::Ended { ending: Ending::Cancelled { .. } }
            | Stage::Held { hold: Hold::LabelGone | Hold::IssueClosed } => "",
            // Whoever never came to write it has nothing to show.
            Stage::Checking { .. }
            | Stage::Held { .. }
            | Stage::Waiting { .. }
            | Stage::Queued { .. }
            | Stage::Claiming { .. }
            | Stage::Starting { .. }
            | Stage::Running { .. }
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

    /// Whoever asked has one answer, however many Pilots there are.
    fn one_answer(&self, project: &ProjectId) -> Broken {
        let mut answered = BTreeSet::new();
        let own = self.forge_of(project).now.comments.values().filter(|comment| comment.mine);
        let mut marks =
            own.filter_map(|comment| comment.body.lines().find(|line| line.contains("pilot-reply")));
        let twice = marks.find(|mark| !answered.insert(*mark))?;
        Some(("one answer", format!("{twice} is there twice")))
    }

    /// What is done left nothing behind.
    fn tidied_up(&self, task: &TaskFacts, stage: &Stage) -> Broken {
        let Stage::Ended { ending } = stage else { return None };
        let forge = self.forge_of(&task.project);
        // What somebody else pushed to is theirs.
        let head = task.life.pushed.as_ref().map(|pushed| &pushed.sha);
        let left_open = |pr: &PrModel| pr.state == PrState::Open && Some(&pr.head) == head;
        let known = task.life.pr.as_ref().and_then(|pr| forge.now.prs.get(&pr.pr.number));
        let open_pr = known.is_some_and(|pr| left_open(pr));
        if open_pr {
            return Some((
                "tidied up",
                format!("{} of {} is over, and {:?} is open", task.key, task.project, known),
            ));
        }
        match ending {
            Ending::Done(_) => {
                // A person may open it again, or put something else on the branch.
                let untouched = !self.laws.pardons.contains(&(task.project.clone(), task.number));
                let issue_open = forge.now.issues.get(&task.number).is_some_and(|issue| issue.open);
                let pushed = task.life.pushed.as_ref();
                let branch_left = pushed.is_some_and(|pushed| {
                    let there = forge.now.branches.get(&pushed.branch) == Some(&pushed.sha);
                    there && !self.laws.kept.contains(&pushed.branch)
                });
                let claim_left = task.claim_shown;
                (untouched && (issue_open || branch_left || claim_left)).then(|| {
                    (
                        "tidied up",
                        format!("{}: open {issue_open}, branch {branch_left}, claim {claim_left}", task.key),
                    )
                })
            }
            Ending::GivenUp(_) | Ending::Cancelled { .. } => None,
        }
    }

    /// Nothing waits to be done that could be.
    fn outbox_empty(&self, ledger: usize) -> Broken {
        let due = self.ledgers[ledger].next_due()?;
        let late = self.now.since(due) > QUIET;
        late.then(|| ("comes to rest", "an action is due and nobody does it".to_owned()))
    }

    /// What was merged is tagged, where it should be.
    fn released(&self, ledger: usize, project: &ProjectId) -> Broken {
        let facts = self.ledgers[ledger].load_project(project).facts;
        let wanted = self.policy(project).release.is_some();
        let (left, trouble) = (facts.unreleased.len(), &facts.trouble);
        (wanted && left > 0)
            .then(|| ("merges are tagged", format!("{left} merges in {project} have no tag: {trouble:?}")))
    }

    /// Every issue that asks for work has a task.
    fn nothing_lost(&self, project: &ProjectId) -> Broken {
        let known: BTreeSet<IssueNumber> = self
            .ledgers
            .iter()
            .flat_map(|ledger| ledger.tasks(project).into_iter().map(|(task, _, _)| task.number))
            .collect();
        let issues = self.forge_of(project).now.issues.iter();
        let mut asking = issues.filter(|(_, issue)| issue.open && issue.labels.contains("pilot"));
        let lost = asking.find(|(number, _)| !known.contains(number))?;
        Some(("nothing is lost", format!("{} in {project} has no task", lost.0)))
    }

    /// Every open pull request of ours has a task that knows of it.
    fn no_orphans(&self, project: &ProjectId) -> Broken {
        let known: BTreeSet<_> = self
            .ledgers
            .iter()
            .flat_map(|ledger| ledger.tasks(project))
            .filter_map(|(task, _, _)| task.life.pr.map(|pr| pr.pr.number))
            .collect();
        let prs = self.forge_of(project).now.prs.iter();
        let mut open = prs.filter(|(_, pr)| pr.state == PrState::Open);
        let orphan = open.find(|(number, _)| !known.contains(number))?;
        Some(("no orphans", format!("{} in {project} is nobody's", orphan.0)))
    }
}

fn same_in_json<T: Serialize + DeserializeOwned + PartialEq>(known: &T) -> bool {
    let json = serde_json::to_string(known).expect("facts are plain data");
    serde_json::from_str::<T>(&json).is_ok_and(|read| read == *known)
}

/// It is over, or a person knows what to do.
fn at_rest(task: &TaskFacts, stage: &Stage) -> Broken {
    let why = |stage: &str| Some(("comes to rest", format!("{} of {} is {stage}", task.key, task.project)));
    match stage {
        Stage::Ended { .. } => None,
        // Something that would pass by itself has passed by now.
        Stage::Held { hold: Hold::Trouble { failure, lane } } if failure.kind != FailureKind::Conflict => {
            why(&format!("in trouble with {lane}: {failure}"))
        }
        Stage::Held { hold: Hold::Elsewhere { .. } | Hold::DependsOn { .. } } => None,
        Stage::Held { hold: Hold::ProjectPaused { .. } | Hold::Breaker { .. } } => why(&format!("{stage:?}")),
        Stage::Held { .. } | Stage::Continued { .. } => None,
        Stage::Checking { .. }
        | Stage::Waiting { .. }
        | Stage::Queued { .. }
        | Stage::Claiming { .. }
        | Stage::Starting { .. }
        | Stage::Running { .. }
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
