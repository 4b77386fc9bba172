//! The laws: what must never happen, whatever does. They look at the world as it is, not at what a Pilot believes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use pilot_core::fact::{By, Ending, GivenUp, Happened, News, Order, RunEnding};
use pilot_core::name::{BodyHash, Branch, HomeId, IssueNumber, PrNumber, ProjectId, Sha, TaskKey};
use pilot_core::perform::{Answer, Call, Reply, Thread};
use pilot_core::policy::Watch;
use pilot_core::release::Version;
use pilot_core::seen::{AuthorKind, PrState};
use pilot_core::task::{Key, NewPr, RunOrder, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Input, Loaded, Turn};
use pilot_core::words::Meta;

use super::agents::RunModel;
use super::forge::{Forge, PrModel, hash};
use super::mutant::Mutant;
use super::world::World;

/// The most fixes in a row.
const MOST_FIXES: u32 = 3;

/// Who cancels a fix that nobody needs any more.
const LINEAGE: &str = "the issue it belongs to";

/// What the laws remember.
#[derive(Debug, Default)]
pub(super) struct Laws {
    /// Issues whose task somebody with the right to do so stopped or began again, in any way.
    pub(super) pardons: BTreeSet<(ProjectId, IssueNumber)>,
    /// Tasks of which a run ended badly, all by itself.
    failed: BTreeSet<(ProjectId, TaskKey)>,
    /// Since when a task has been active.
    active_since: BTreeMap<(ProjectId, TaskKey), Timestamp>,
    /// The text an issue had when it was last read for a run.
    texts: BTreeMap<(ProjectId, IssueNumber), BodyHash>,
    /// Branches that the forge said somebody else had pushed to.
    pub(super) kept: BTreeSet<Branch>,
    /// Issues for fixes, by when they were opened.
    opened: BTreeMap<ProjectId, Vec<Timestamp>>,
}

impl Laws {
    /// A forge answered.
    pub(super) fn read(&mut self, project: &ProjectId, key: Option<&Key>, reply: &Reply) {
        if let (Some("run"), Ok(Answer::Issue(Some(read)))) = (key.map(Key::lane), reply) {
            self.texts.insert((project.clone(), read.issue.number), read.issue.body.hash.clone());
        }
    }
    pub(super) fn ended(&mut self, run: &RunModel, ending: &RunEnding) {
        if matches!(ending, RunEnding::Stopped { .. }) {
            self.failed.insert((run.project.clone(), run.order.task.clone()));
        }
    }
}

impl World {
    /// A write is about to be done. Whether it may be is asked of the world as it is.
    pub(super) fn judge_write(
        &mut self,
        daemon: usize,
        epoch: u64,
        home: &HomeId,
        project: &ProjectId,
        call: &Call,
        key: Option<&Key>,
    ) {
        self.judge_intent(daemon, epoch, project, call, key);
        let forge = self.forge_of(project);
        let now = self.now;
        let broken: Option<(&'static str, String)> = match call {
            Call::AddLabels(issue, labels) => self.judge_labels(project, home, *issue, labels),
            Call::CreatePr(new) => twin_pr(forge, new)
                .map(|twin| ("one pull request a task", format!("{twin} is open beside {}", new.branch))),
            Call::ClosePr(pr) => self.judge_close(project, *pr),
            Call::Merge { pr, sha, .. } => self.judge_merge(project, *pr, sha),
            Call::CloseIssue(issue) => (!landed(forge, *issue, now)).then(|| {
                ("closed means merged", format!("{issue} is closed, and nothing of it is on the base"))
            }),
            Call::DeleteBranch { branch, expect } => judge_delete(forge, branch, expect),
            Call::CreateIssue { body, .. } => self.judge_fix(project, body),
            // Two Pilots that know nothing of each other may both answer; in the end one answer stands.
            Call::Comment(_, body) if body.contains("pilot-reply") && self.ledgers.len() > 1 => None,
            Call::Comment(on, body) => twin_comment(forge, *on, body),
            Call::CreateTag { name, commit } => judge_tag(forge, name, commit, now),
            Call::Push { branch, sha, expect } => self.judge_push(branch, sha, expect.as_ref()),
            Call::EditComment(id, _) => {
                let mine = forge.now.comments.get(id).is_none_or(|comment| comment.mine);
                (!mine).then(|| ("own words only", format!("comment {} is somebody else's", id.0)))
            }
            Call::RemoveLabel(..)
            | Call::PlaceClaim { .. }
            | Call::ReleaseClaim { .. }
            | Call::Issue(_)
            | Call::Permission(_)
            | Call::Comments(_)
            | Call::OwnIssues(_)
            | Call::PrsOf(_)
            | Call::PrsOnto(_)
            | Call::Pr(_)
            | Call::Ci(_)
            | Call::CiLog { .. }
            | Call::OnBase(_)
            | Call::Tags
            | Call::Claim { .. } => None,
        };
        if let Some((law, how)) = broken {
            self.broken(law, how);
        }
    }

    /// Intent before effect: who writes has the action in its outbox, taken and not settled.
    fn judge_intent(
        &mut self,
        daemon: usize,
        epoch: u64,
        project: &ProjectId,
        call: &Call,
        key: Option<&Key>,
    ) {
        let pilot = &self.daemons[daemon];
        if !pilot.alive || pilot.epoch != epoch || self.is(Mutant::NoFencing) {
            return;
        }
        let ledger = &self.ledgers[pilot.ledger];
        let tasks = ledger.tasks(project).into_iter().map(|(task, _, _)| Some(task.key)).chain([None]);
        let intended = key.is_some_and(|key| {
            tasks.into_iter().any(|task| ledger.has_taken(project, task.as_ref(), key, &pilot.instance))
        });
        if !intended {
            self.broken("intent before effect", format!("{} without an action", super::talk::short(call)));
        }
    }

    fn judge_labels(
        &self,
        project: &ProjectId,
        home: &HomeId,
        issue: IssueNumber,
        labels: &BTreeSet<String>,
    ) -> Option<(&'static str, String)> {
        let forge = self.forge_of(project);
        let owner = forge.now.claims.get(&TaskKey::of_issue(issue));
        if labels.contains("pilot-in-progress") && owner != Some(home) {
            return Some((
                "claim before label",
                format!("{issue} is labelled by {home}, claimed by {owner:?}"),
            ));
        }
        (labels.contains("pilot-done") && !landed(forge, issue, self.now))
            .then(|| ("done means merged", format!("{issue} is done, and nothing of it is on the base")))
    }

    /// A pull request is closed with a word, and because CI failed or somebody said so.
    fn judge_close(&self, project: &ProjectId, number: PrNumber) -> Option<(&'static str, String)> {
        let forge = self.forge_of(project);
        let pr = forge.now.prs.get(&number).filter(|pr| pr.state == PrState::Open)?;
        let mark = format!("<!-- pilot-closed {} -->", number.0);
        let word = forge
            .now
            .comments
            .values()
            .any(|comment| comment.on == Thread::Pr(number) && comment.body.contains(&mark));
        if !word {
            return Some(("a close has a word", format!("{number} is closed in silence")));
        }
        let fix = forge.now.issues.values().any(|issue| {
            issue.author.kind == AuthorKind::Me
                && Meta::read(&issue.body).is_some_and(|meta| meta.pr == number)
        });
        // Somebody may push between the look and the close.
        let heads = forge.lately().filter_map(|state| state.prs.get(&number)).map(|pr| &pr.head);
        let failed = heads.into_iter().any(|head| {
            let models = forge.now.ci.get(head).map(|models| models.as_slice()).unwrap_or_default();
            let over = models.iter().all(|model| model.has_ended(self.now));
            over && models.iter().any(|model| model.failed())
        });
        let pardoned = closes(pr).iter().any(|issue| self.laws.pardons.contains(&(project.clone(), *issue)));
        if fix && !failed && !pardoned {
            return Some((
                "a close has evidence",
                format!("{number} is closed, and its CI is not over or not bad"),
            ));
        }
        (!fix && !pardoned)
            .then(|| ("a close has evidence", format!("{number} is closed without any reason")))
    }

    /// A merge is of a commit that a run made and CI passed, all of it.
    fn judge_merge(
        &self,
        project: &ProjectId,
        number: PrNumber,
        sha: &Sha,
    ) -> Option<(&'static str, String)> {
        let forge = self.forge_of(project);
        let pr = forge.now.prs.get(&number).filter(|pr| pr.state == PrState::Open && !pr.conflicts)?;
        if pr.head != *sha && !self.is(Mutant::MergeWithoutSha) {
            return None;
        }
        if !self.commits.contains_key(&pr.head) {
            return Some((
                "merge what was judged",
                format!("{number} is merged at a commit no gate has seen"),
            ));
        }
        if !self.policy(project).auto_merge {
            return Some((
                "merge what may be merged",
                format!("{number} is merged, which is left to people"),
            ));
        }
        if self.policy(project).ci.watch == Watch::Nothing {
            return None;
        }
        let models = forge.now.ci.get(&pr.head).map(|models| models.as_slice()).unwrap_or_default();
        let good = models.iter().all(|model| model.has_ended(self.now) && model.lets_pass());
        let ran = models
            .iter()
            .any(|model| model.result == pilot_core::ci::Conclusion::Success || model.status_api);
        (!good || !ran).then(|| ("merge what CI passed", format!("{number} is merged with {models:?}")))
    }

    /// A fix is asked for once, for a commit that failed, at most so often in a row and in an hour.
    fn judge_fix(&mut self, project: &ProjectId, body: &str) -> Option<(&'static str, String)> {
        let now = self.now;
        let opened = self.laws.opened.entry(project.clone()).or_default();
        opened.retain(|at| now.since(*at) < Duration::from_secs(3600));
        opened.push(now);
        let many = opened.len();
        let cap = self.policy(project).max_merges_per_hour;
        let Some(meta) = Meta::read(body) else {
            return Some(("a fix says what it is", "an issue without its mark".to_owned()));
        };
        let forge = self.forge_of(project);
        let twin = forge.now.issues.iter().find(|(_, issue)| {
            issue.author.kind == AuthorKind::Me && Meta::read(&issue.body).as_ref() == Some(&meta)
        });
        if let Some((twin, _)) = twin {
            return Some(("one issue a fix", format!("{twin} asks for the same")));
        }
        if many > cap {
            return Some(("issues have a cap", format!("{many} issues within the hour")));
        }
        (meta.iteration > MOST_FIXES)
            .then(|| ("fixes have an end", format!("fix {} in a row", meta.iteration)))
    }

    /// What is pushed was made by a run, to a branch of ours, on top of what it goes on from.
    fn judge_push(&self, branch: &Branch, sha: &Sha, expect: Option<&Sha>) -> Option<(&'static str, String)> {
        if !branch.as_str().starts_with("pilot/") {
            return Some(("own branches only", format!("{branch} is pushed to")));
        }
        let Some(commit) = self.commits.get(sha) else {
            return Some(("push what a run made", format!("{sha} was made by nobody")));
        };
        let goes_on =
            commit.from.is_none() || commit.from.as_ref() == expect || self.commits.contains_key(sha);
        (!goes_on).then(|| ("a fix goes on", format!("{sha} forgets what was there")))
    }

    /// A run is about to begin.
    pub(super) fn judge_start(&mut self, daemon: usize, project: &ProjectId, order: &RunOrder) {
        let forge = self.forge_of(project);
        let home = &self.daemons[daemon].owner;
        let twin = self.runs.values().any(|run| {
            let frozen = self.is_frozen(run.daemon);
            run.project == *project && run.order.task == order.task && !frozen
        });
        let owner = forge.now.claims.get(&order.task);
        let readable: Vec<_> = forge.lately().filter_map(|state| state.issues.get(&order.issue)).collect();
        let Some(issue) = forge.now.issues.get(&order.issue) else { return };
        let trusted = match issue.author.kind {
            AuthorKind::Me => order.iteration > 0,
            AuthorKind::Bot | AuthorKind::Person => {
                let rights =
                    forge.people.get(&issue.author.login).is_some_and(|permission| permission.may_order());
                rights || self.policy(project).trusted.contains(&issue.author.login)
            }
        };
        let depends = pilot_core::intake::read_body(&issue.body, hash(&issue.body)).depends_on;
        let early = depends
            .iter()
            .find(|number| forge.now.issues.contains_key(number) && !forge.ever_closed.contains(number));
        let broken = if twin {
            Some(("one run a task", format!("{} has a run already", order.task)))
        } else if owner != Some(home) {
            Some(("claim before run", format!("{} runs at {home}, claimed by {owner:?}", order.task)))
        } else if !trusted {
            Some(("only trusted work", format!("{} was written by {}", order.task, issue.author.login)))
        } else if self.laws.texts.get(&(project.clone(), order.issue)) != Some(&order.body) {
            Some(("the text of today", format!("{} runs with an old text", order.task)))
        } else if !readable.iter().any(|issue| issue.open && issue.labels.contains("pilot")) {
            Some(("stopped is stopped", format!("{} runs, closed or without its label", order.task)))
        } else if let Some(early) = early {
            Some(("dependencies first", format!("{} runs before {early}", order.task)))
        } else {
            self.judge_turn_in_queue(daemon, project, order)
        };
        if let Some((law, how)) = broken {
            self.broken(law, how);
        }
    }

    /// One at a time means one at a time, until its pull request is merged or given up.
    fn judge_turn_in_queue(
        &self,
        daemon: usize,
        project: &ProjectId,
        order: &RunOrder,
    ) -> Option<(&'static str, String)> {
        if !self.scene.sequential.contains(project) {
            return None;
        }
        let tasks = self.ledgers[self.daemons[daemon].ledger].tasks(project);
        let root =
            tasks.iter().find(|(task, _, _)| task.key == order.task).map(|(task, _, _)| task.root())?;
        let wait = self.policy(project).pr_wait;
        let since = |task: &TaskKey| self.laws.active_since.get(&(project.clone(), task.clone()));
        let own = since(&order.task)?;
        let other = tasks.iter().find(|(task, stage, _)| {
            let young = task.life.pr.as_ref().is_none_or(|pr| self.now.since(pr.opened) < wait);
            let before = since(&task.key).is_some_and(|other| other < own);
            task.root() != root && stage.is_active() && young && before
        });
        other.map(|(task, stage, _)| {
            ("one task at a time", format!("{} begins while {} is {}", order.task, task.key, stage.as_str()))
        })
    }

    /// A turn was written.
    pub(super) fn judge_turn(&mut self, daemon: usize, before: &Loaded, turn: &Turn, input: Option<&Input>) {
        let Some(change) = &turn.task else { return };
        let (old, new) = (&before.task, &change.facts);
        let project = &new.project;
        if change.stage.is_active() && !before.stage.as_ref().is_some_and(Stage::is_active) {
            self.laws.active_since.insert((project.clone(), new.key.clone()), self.now);
        }
        let order = input.and_then(|input| {
            let Happened::Ordered { order, by } = &input.happened else { return None };
            Some((*order, by))
        });
        let allowed = |by: &By| match by {
            By::Operator => true,
            By::Comment { login, .. } => {
                self.forge_of(project).people.get(login).is_some_and(|permission| permission.may_order())
            }
        };
        let obeyed = old.life.cancelled != new.life.cancelled
            || old.life.paused != new.life.paused
            || old.life.number != new.life.number;
        let broken = if let (Some((_, by)), true) = (&order, obeyed)
            && !allowed(by)
        {
            Some(("orders need rights", format!("{} obeyed {by:?}", new.key)))
        } else if old.life.ended.is_some()
            && old.life.ended != new.life.ended
            && order.map(|(order, _)| order) != Some(Order::Retry)
        {
            Some(("the end is the end", format!("{} went on after {:?}", new.key, old.life.ended)))
        } else if new.life.attempts > self.policy(project).max_attempts {
            Some(("attempts have a cap", format!("{} ran {} times", new.key, new.life.attempts)))
        } else if new.life.cancelled.is_some()
            && old.life.cancelled.is_none()
            && order.is_none()
            && !let_go(input)
        {
            Some(("orders need rights", format!("{} was cancelled by nobody", new.key)))
        } else {
            match (&old.life.ended, &new.life.ended) {
                (None, Some((ending, _))) => self.judge_ending(project, new.number, &new.key, ending),
                (_, _) => None,
            }
        };
        if let Some((law, how)) = broken {
            self.broken(law, format!("{how} (pilot {daemon})"));
        }
    }

    fn judge_ending(
        &self,
        project: &ProjectId,
        issue: IssueNumber,
        task: &TaskKey,
        ending: &Ending,
    ) -> Option<(&'static str, String)> {
        let forge = self.forge_of(project);
        match ending {
            Ending::Done(landed) => {
                let there = forge.is_on_base(landed.commit(), self.now);
                (!there).then(|| {
                    ("done means merged", format!("{task} is done, {} is not there", landed.commit()))
                })
            }
            Ending::GivenUp(GivenUp::PrClosed { pr }) => {
                let open = forge.now.prs.get(pr).is_some_and(|pr| pr.state == PrState::Open);
                open.then(|| ("closed is closed", format!("{task} is given up, and {pr} is open")))
            }
            Ending::GivenUp(GivenUp::Run { .. } | GivenUp::Attempts { .. }) => {
                let failed = self.laws.failed.contains(&(project.clone(), task.clone()));
                (!failed)
                    .then(|| ("death is no failure", format!("{task} is given up, and no run of it failed")))
            }
            Ending::GivenUp(GivenUp::FixGivenUp { .. }) => None,
            Ending::Cancelled { by } => {
                let pardoned = self.laws.pardons.iter().any(|(of, _)| of == project) || by == LINEAGE;
                (!pardoned).then(|| ("orders need rights", format!("{issue} was cancelled by nobody")))
            }
        }
    }

    /// At no time two agents work on one task.
    pub(super) fn judge_runs(&mut self) {
        if self.runs.len() < 2 {
            return;
        }
        let mut seen = BTreeSet::new();
        let mut twin = None;
        for run in self.runs.values().filter(|run| !self.is_frozen(run.daemon)) {
            if !seen.insert((run.project.clone(), run.order.task.clone())) {
                twin = Some(run.order.task.clone());
            }
        }
        if let Some(task) = twin {
            self.broken("one run a task", format!("{task} has two runs"));
        }
    }
}

fn let_go(input: Option<&Input>) -> bool {
    matches!(input.map(|input| &input.happened), Some(Happened::Heard { news: News::LetGo }))
}

/// The issues a pull request of ours closes.
fn closes(pr: &PrModel) -> Vec<IssueNumber> {
    let numbers = pr.body.lines().filter_map(|line| line.strip_prefix("Closes #")?.parse().ok());
    numbers.map(IssueNumber).collect()
}

/// Whether work for an issue is on the base branch.
pub(super) fn landed(forge: &Forge, issue: IssueNumber, at: Timestamp) -> bool {
    forge.now.prs.values().any(|pr| match &pr.state {
        PrState::Merged { commit } => closes(pr).contains(&issue) && forge.is_on_base(commit, at),
        PrState::Open | PrState::Closed => false,
    })
}

/// An open pull request of the same task.
fn twin_pr(forge: &Forge, new: &NewPr) -> Option<PrNumber> {
    let task = |marker: &str| marker.split_whitespace().nth(2).map(str::to_owned);
    let ours =
        |pr: &Rc<PrModel>| pr.body.lines().find(|line| line.starts_with("<!-- pilot-task ")).and_then(task);
    let twin =
        forge.now.prs.iter().find(|(_, pr)| pr.state == PrState::Open && ours(pr) == task(&new.marker));
    // The same branch is refused by the forge itself.
    twin.filter(|(_, pr)| pr.branch != new.branch).map(|(number, _)| *number)
}

/// A comment of ours with the same mark.
fn twin_comment(forge: &Forge, on: Thread, body: &str) -> Option<(&'static str, String)> {
    let mark = body.lines().find(|line| line.starts_with("<!-- pilot-"))?;
    let twin = forge
        .now
        .comments
        .iter()
        .find(|(_, comment)| comment.mine && comment.on == on && comment.body.contains(mark));
    twin.map(|(id, _)| ("one comment", format!("{mark} is there already, as comment {}", id.0)))
}

fn judge_delete(forge: &Forge, branch: &Branch, expect: &Sha) -> Option<(&'static str, String)> {
    if forge.now.branches.get(branch) != Some(expect) {
        return None;
    }
    let open = forge
        .now
        .prs
        .iter()
        .find(|(_, pr)| pr.state == PrState::Open && (pr.branch == *branch || pr.base == *branch));
    if let Some((number, _)) = open {
        return Some(("no branch in use is deleted", format!("{branch} is deleted under {number}")));
    }
    let merged =
        forge.now.prs.values().any(|pr| {
            pr.branch == *branch && pr.head == *expect && matches!(pr.state, PrState::Merged { .. })
        });
    (!merged).then(|| ("nothing is lost", format!("{branch} is deleted, and its commits are nowhere")))
}

fn judge_tag(forge: &Forge, name: &str, commit: &Sha, at: Timestamp) -> Option<(&'static str, String)> {
    let read = |name: &str| Version::read(name, "v");
    let highest = forge.now.tags.iter().filter_map(|tag| read(&tag.name)).max();
    if !forge.is_on_base(commit, at) {
        Some(("tags are on the base", format!("{name} is not")))
    } else if forge.now.tags.iter().any(|tag| tag.commit == *commit) {
        Some(("one tag a commit", format!("{name} is another")))
    } else if highest.is_some() && read(name) < highest {
        Some(("versions go up", format!("{name} goes down")))
    } else {
        None
    }
}
