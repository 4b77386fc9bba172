//! The laws: what must never happen. They compare what a Pilot does with the world as it is, not as that Pilot believes it to be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pilot_core::ci::CheckState;
use pilot_core::fact::{CommandSource, Ending, GivenUp, RunEnding, TaskEvent, TaskMessage, UserCommand};
use pilot_core::id::{Branch, Generation, HomeId, PrNumber, ProjectId, Sha, TaskKey};
use pilot_core::observed::{AuthorKind, PrState};
use pilot_core::outcome::Class;
use pilot_core::perform::RunInput;
use pilot_core::policy::Watch;
use pilot_core::port::{Call, ForgeCall, GitCall, Marker, NewComment, NewPull, TrackerCall};
use pilot_core::task::{RunRequest, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Input, Loaded, Turn};

use super::agents::RunModel;
use super::forge::{Forge, MOST_STALE, Thread, hash_text};
use super::mutant::Mutant;
use super::request::{Request, short_call};
use super::world::World;

/// The most fixes in a row.
const MOST_FIXES: u32 = 3;

/// So many failed runs in a row stop a project, for so long.
const MOST_FAILURES: u32 = 3;
const BREAKER: Duration = Duration::from_secs(30 * 60);

/// The reviews are read so shortly before a merge: a reply may be late.
const LAST_LOOK: Duration = Duration::from_secs(60);

/// A run that was about to start when something changed may still start for so long.
const START_TIME: Duration = Duration::from_secs(120);

/// How long it takes at most until a run that shall stop is told to, where its Pilot is not frozen.
const SLOWEST_STOP: Duration = Duration::from_secs(120);

/// The source of a cancellation that a fix inherits from the ticket it is for.
const PARENT: &str = "the issue it belongs to";

/// A law and how it was broken.
pub(super) type Broken = Option<(&'static str, String)>;

/// What the laws remember.
#[derive(Debug, Default)]
pub(super) struct Laws {
    /// Tickets whose task a trusted user stopped or restarted, in any way.
    pub(super) interventions: BTreeSet<(ProjectId, TaskKey)>,
    /// Tickets whose work a trusted user gave up or asked for again: cancelled, retried, closed, without the label.
    pub(super) withdrawn: BTreeSet<(ProjectId, TaskKey)>,
    /// Tasks of which a run ended badly by itself.
    failed: BTreeSet<(ProjectId, TaskKey)>,
    /// Tasks that Pilot recorded as given up or cancelled, or whose ticket it was told is gone.
    given_up: BTreeSet<(ProjectId, TaskKey)>,
    /// Tickets whose run started, by the store whose Pilot started it, until Pilot or a user gave them up.
    pub(super) begun: BTreeMap<(ProjectId, TaskKey), usize>,
    /// Runs that the budget did not admit or stopped.
    over_budget: BTreeSet<(ProjectId, TaskKey, Generation)>,
    /// When a Pilot first recorded anything about a ticket.
    pub(super) first_read: BTreeMap<(ProjectId, TaskKey), Timestamp>,
    /// How many runs of a task ended since a user last asked for a retry, without those that a user stopped.
    attempts: BTreeMap<(ProjectId, TaskKey), u32>,
    /// By store and project: how many runs failed in a row, and when the last of them did.
    failures: BTreeMap<(usize, ProjectId), (u32, Timestamp)>,
    /// Branches that the forge reported as moved by others.
    pub(super) kept: BTreeSet<Branch>,
    /// When the reviews of a pull request were last read, by Pilot.
    pub(super) reviews_read: BTreeMap<(usize, ProjectId, PrNumber), Timestamp>,
    /// When a Pilot first knew the pull request of a task.
    pub(super) pr_known: BTreeMap<(ProjectId, PrNumber), Timestamp>,
    /// When tickets for fixes were opened.
    opened: BTreeMap<ProjectId, Vec<Timestamp>>,
}

impl Laws {
    pub(super) fn remember_ending(&mut self, run: &RunModel, ending: &RunEnding) {
        if matches!(ending, RunEnding::Stopped { .. }) {
            self.failed.insert((run.project.clone(), run.request.task.clone()));
        }
        if matches!(ending, RunEnding::OverBudget { .. }) {
            let request = &run.request;
            self.over_budget.insert((run.project.clone(), request.task.clone(), request.generation));
        }
    }

    pub(super) fn remember_withdrawal(&mut self, project: &ProjectId, ticket: &TaskKey) {
        let at = (project.clone(), ticket.clone());
        self.attempts.remove(&at);
        self.withdrawn.insert(at);
    }

    /// A user resumed a project: its failures are forgiven.
    pub(super) fn forget_failures(&mut self, project: &ProjectId) {
        self.failures.retain(|(_, of), _| of != project);
    }

    /// An ending was written. What a user stopped is no attempt, and a limit passes by itself.
    fn count_ending(
        &mut self,
        store: usize,
        project: &ProjectId,
        task: &TaskKey,
        ending: &RunEnding,
        at: Timestamp,
    ) {
        let class = match ending {
            RunEnding::Completed(_) => None,
            RunEnding::Stopped { class, .. } => Some(*class),
            RunEnding::OverBudget { .. } => return,
        };
        if class != Some(Class::Cancelled) {
            *self.attempts.entry((project.clone(), task.clone())).or_default() += 1;
        }
        let failures = self.failures.entry((store, project.clone())).or_default();
        match class {
            None => failures.0 = 0,
            Some(Class::Cancelled | Class::RateLimit) => {}
            Some(_) => *failures = (failures.0 + 1, at),
        }
    }
}

impl World {
    /// Judges a write that is about to be done.
    pub(super) fn judge_write(&mut self, request: &Request) {
        self.judge_outbox(request);
        let Request { project, home, call, .. } = request;
        let broken = match call {
            Call::Tracker(call) => self.judge_tracker_write(project, home, call),
            Call::Forge(call) => self.judge_forge_write(request.daemon, project, call),
            Call::Git(GitCall::Push { branch, sha, expect }) => self.judge_push(branch, sha, expect.as_ref()),
            Call::Git(GitCall::DeleteBranch { branch, expect }) => {
                judge_delete(self.forge_of(project), branch, expect)
            }
            Call::Git(_) => None,
        };
        if let Some((law, how)) = broken {
            self.violated(law, how);
        }
    }

    /// Intent before effect: the writer has taken the action from its outbox and not settled it.
    fn judge_outbox(&mut self, request: &Request) {
        let Request { daemon, epoch, project, call, key, .. } = request;
        let writer = &self.daemons[*daemon];
        if !writer.is_alive || writer.epoch != *epoch || self.is(Mutant::NoFencing) {
            return;
        }
        let store = &self.stores[writer.store];
        let tasks = store.tasks(project).into_iter().map(|(task, _, _)| Some(task.key)).chain([None]);
        let is_planned = key.as_ref().is_some_and(|key| {
            tasks.into_iter().any(|task| store.has_taken(project, task.as_ref(), key, &writer.instance))
        });
        if !is_planned {
            self.violated("intent before effect", format!("{} without an action", short_call(call)));
        }
    }

    fn judge_tracker_write(&mut self, project: &ProjectId, home: &HomeId, call: &TrackerCall) -> Broken {
        let forge = self.forge_of(project);
        match call {
            TrackerCall::AddLabels(ticket, labels) => self.judge_labels(project, home, ticket, labels),
            TrackerCall::Close(ticket) => (!has_landed(forge, ticket, self.now)).then(|| {
                ("closed means merged", format!("{ticket} is closed, and nothing of it is on the base"))
            }),
            TrackerCall::Create(new) => self.judge_fix(project, &new.marker),
            // Two Pilots that know nothing of each other may both answer; in the end one answer remains.
            TrackerCall::AddComment(_, NewComment { marker: Some(Marker::Reply(_)), .. })
                if self.stores.len() > 1 =>
            {
                None
            }
            TrackerCall::AddComment(ticket, new) => twin_comment(forge, &Thread::Ticket(ticket.clone()), new),
            TrackerCall::EditComment(_, id, _) => {
                let comment = forge.now.comments.iter().find(|comment| comment.id == *id);
                let is_own = comment.is_none_or(|comment| comment.is_own);
                (!is_own).then(|| ("own words only", format!("comment {id} is another user's")))
            }
            TrackerCall::RemoveLabel(..)
            | TrackerCall::Labelled(_)
            | TrackerCall::CommentsSince(_)
            | TrackerCall::Ticket(_)
            | TrackerCall::Trust(_)
            | TrackerCall::Comments(_)
            | TrackerCall::OwnTickets(_) => None,
        }
    }

    fn judge_forge_write(&self, daemon: usize, project: &ProjectId, call: &ForgeCall) -> Broken {
        let forge = self.forge_of(project);
        match call {
            ForgeCall::CreatePull(new) => twin_pr(forge, new)
                .map(|twin| ("one pull request a task", format!("{} is open beside {}", twin.0, new.branch))),
            ForgeCall::ClosePull(pr) => self.judge_close(project, *pr),
            ForgeCall::AddComment(pr, new) => twin_comment(forge, &Thread::Pull(*pr), new),
            ForgeCall::Merge { pr, sha, .. } => {
                self.judge_reviews(daemon, project, *pr).or_else(|| self.judge_merge(project, *pr, sha))
            }
            ForgeCall::CreateTag { name, commit } => judge_tag(forge, name, commit, self.now),
            ForgeCall::PullsFrom(_)
            | ForgeCall::PullsOnto(_)
            | ForgeCall::Pull(_)
            | ForgeCall::Comments(_)
            | ForgeCall::Reviews(_)
            | ForgeCall::MayWrite(_)
            | ForgeCall::Checks(_)
            | ForgeCall::Required(_)
            | ForgeCall::CheckLog { .. }
            | ForgeCall::Contains { .. }
            | ForgeCall::Tags => None,
        }
    }

    fn judge_labels(
        &self,
        project: &ProjectId,
        home: &HomeId,
        ticket: &TaskKey,
        labels: &BTreeSet<String>,
    ) -> Broken {
        let forge = self.forge_of(project);
        let owner = forge.now.claims.get(ticket);
        if labels.contains("pilot-in-progress") && owner != Some(home) {
            return Some((
                "claim before label",
                format!("{ticket} is labelled by {home}, claimed by {owner:?}"),
            ));
        }
        (labels.contains("pilot-done") && !has_landed(forge, ticket, self.now))
            .then(|| ("done means merged", format!("{ticket} is done, and nothing of it is on the base")))
    }

    /// A pull request is closed with a comment, and because CI failed or a user asked for it.
    fn judge_close(&self, project: &ProjectId, number: PrNumber) -> Broken {
        let forge = self.forge_of(project);
        forge.now.prs.get(&number).filter(|pr| pr.is_open())?;
        let has_comment = forge.now.comments.iter().any(|comment| {
            comment.is_own
                && comment.on == Thread::Pull(number)
                && comment.marker == Some(Marker::Closed(number))
        });
        if !has_comment {
            return Some(("a close has a comment", format!("{} is closed without a word", number.0)));
        }
        let has_fix = forge.now.tickets.values().any(
            |ticket| matches!(&ticket.marker, Some(Marker::Fix(meta)) if ticket.is_own() && meta.pr == number),
        );
        // A user may push between the read and the close.
        let heads = forge.recent_states().filter_map(|state| state.prs.get(&number)).map(|pr| &pr.head);
        let has_failed = heads.into_iter().any(|head| {
            let models = forge.now.ci.get(head).map(|models| models.as_slice()).unwrap_or_default();
            let is_over = models.iter().all(|model| model.has_ended(self.now));
            is_over && models.iter().any(|model| model.result == CheckState::Failed)
        });
        let is_asked_for = tickets_of(forge, number)
            .into_iter()
            .any(|ticket| self.laws.interventions.contains(&(project.clone(), ticket)));
        if has_fix && !has_failed && !is_asked_for {
            return Some((
                "a close has evidence",
                format!("{} is closed, and its CI is not over or did not fail", number.0),
            ));
        }
        (!has_fix && !is_asked_for)
            .then(|| ("a close has evidence", format!("{} is closed without any reason", number.0)))
    }

    /// Nothing is merged while the last review of a user with write access requests changes. What was written after the last
    /// look, or so shortly before that a stale read did not show it, could not be known; and the look is fresh.
    fn judge_reviews(&self, daemon: usize, project: &ProjectId, number: PrNumber) -> Broken {
        let forge = self.forge_of(project);
        let pr = forge.now.prs.get(&number).filter(|pr| pr.is_open())?;
        let read = self.laws.reviews_read.get(&(daemon, project.clone(), number)).copied();
        let was_frozen = self.now.since(self.daemons[daemon].frozen_until) < LAST_LOOK;
        let is_fresh = read.is_some_and(|read| was_frozen || self.now.since(read) < LAST_LOOK);
        let mut requests = pr.requests().into_iter().filter(|(login, _)| forge.is_trusted(login));
        let overlooked =
            requests.find(|(_, at)| !is_fresh || read.is_none_or(|read| at.after(MOST_STALE) < read));
        overlooked.map(|(login, _)| {
            let how = format!("{} is merged although {login} requests changes", number.0);
            ("people's reviews count", how)
        })
    }

    /// A merge is of a commit that a run made and that CI passed, all of it.
    fn judge_merge(&self, project: &ProjectId, number: PrNumber, sha: &Sha) -> Broken {
        let forge = self.forge_of(project);
        let pr = forge.now.prs.get(&number).filter(|pr| pr.is_open() && !pr.conflicts)?;
        let number = number.0;
        if pr.head != *sha && !self.is(Mutant::MergeWithoutSha) {
            return None;
        }
        if !self.commits.contains_key(&pr.head) {
            return Some(("merge what was judged", format!("{number} is merged at a commit without gates")));
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
        let has_verdict = |state: CheckState| match state {
            CheckState::Passed | CheckState::Skipped | CheckState::Ignored => true,
            CheckState::Pending | CheckState::Failed | CheckState::Undecided => false,
        };
        let is_good = models.iter().all(|model| model.has_ended(self.now) && has_verdict(model.result));
        let passed: BTreeSet<&String> = models
            .iter()
            .filter(|model| model.result == CheckState::Passed)
            .map(|model| &model.name)
            .collect();
        let is_required_missing = forge.required.iter().any(|name| {
            // A required check with no opinion ran; one that was skipped did not.
            let ran = |model: &&super::forge::CheckModel| model.result == CheckState::Ignored;
            !passed.contains(name) && !models.iter().filter(ran).any(|model| model.name == *name)
        });
        (!is_good || passed.is_empty() || is_required_missing)
            .then(|| ("merge what CI passed", format!("{number} is merged with {models:?}")))
    }

    /// A fix is asked for once, for a commit that failed, with a limit in a row and in an hour.
    fn judge_fix(&mut self, project: &ProjectId, marker: &Marker) -> Broken {
        let now = self.now;
        let opened = self.laws.opened.entry(project.clone()).or_default();
        opened.retain(|at| now.since(*at) < Duration::from_secs(3600));
        opened.push(now);
        let many = opened.len();
        let cap = self.policy(project).max_merges_per_hour;
        let Marker::Fix(meta) = marker else {
            return Some(("a fix is marked", format!("a ticket with the marker {marker}")));
        };
        let mut tickets = self.forge_of(project).now.tickets.iter();
        let twin = tickets.find(|(_, ticket)| ticket.is_own() && ticket.marker.as_ref() == Some(marker));
        if let Some((twin, _)) = twin {
            return Some(("one ticket a fix", format!("{twin} asks for the same")));
        }
        if many > cap {
            return Some(("tickets have a cap", format!("{many} tickets within the hour")));
        }
        (meta.iteration > MOST_FIXES)
            .then(|| ("fixes have an end", format!("fix {} in a row", meta.iteration)))
    }

    /// What is pushed was made by a run, goes to a branch of ours, and continues the commits on it.
    fn judge_push(&self, branch: &Branch, sha: &Sha, expect: Option<&Sha>) -> Broken {
        if !branch.as_str().starts_with("pilot/") {
            return Some(("own branches only", format!("{branch} is pushed to")));
        }
        let Some(commit) = self.commits.get(sha) else {
            return Some(("push what a run made", format!("no run made {sha}")));
        };
        let continues = !commit.is_fix || Some(&commit.base) == expect;
        (!continues).then(|| {
            ("a fix continues", format!("{sha} of {} does not start from what it replaces", commit.task))
        })
    }

    /// Judges a run that is about to start.
    pub(super) fn judge_start(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        request: &RunRequest,
        input: &RunInput,
    ) {
        let forge = self.forge_of(project);
        let (task, home) = (&request.task, &self.daemons[daemon].owner);
        let has_twin = self
            .runs
            .values()
            .any(|run| run.project == *project && run.request.task == *task && !self.is_frozen(run.daemon));
        let owner = forge.now.claims.get(task);
        let is_wanted = forge
            .recent_states()
            .filter_map(|state| state.tickets.get(task))
            .any(|ticket| ticket.is_open && ticket.labels.contains("pilot"));
        let Some(ticket) = forge.now.tickets.get(task) else { return };
        let is_trusted = match ticket.author.kind {
            AuthorKind::Me => request.iteration > 0,
            AuthorKind::Bot | AuthorKind::Person => {
                let login = &ticket.author.login;
                forge.is_trusted(login) || self.policy(project).trusted.contains(login)
            }
        };
        let early = ticket
            .depends_on
            .iter()
            .find(|key| forge.now.tickets.contains_key(key) && !forge.ever_closed.contains(*key));
        let broken = if has_twin {
            Some(("one run a task", format!("{task} has a run already")))
        } else if owner != Some(home) {
            Some(("claim before run", format!("{task} runs at {home}, claimed by {owner:?}")))
        } else if !is_trusted {
            Some(("only trusted work", format!("{task} was written by {}", ticket.author.login)))
        } else if hash_text(&input.read.text) != request.body {
            Some(("the text as admitted", format!("{task} runs with another text")))
        } else if !is_wanted {
            Some(("stopped is stopped", format!("{task} runs, closed or without its label")))
        } else if let Some(early) = early {
            Some(("dependencies first", format!("{task} runs before {early}")))
        } else {
            judge_base(forge, request, input)
                .or_else(|| self.judge_failures(daemon, project, request))
                .or_else(|| self.judge_sequence(daemon, project, request))
        };
        if let Some((law, how)) = broken {
            self.violated(law, how);
        }
        let store = self.daemons[daemon].store;
        self.laws.begun.insert((project.clone(), request.task.clone()), store);
    }

    /// Where one task at a time is configured, the next starts when the pull request of the current one is merged or given up:
    /// by a user, by Pilot itself, or because a configured time to wait for it is over. Until then the current one keeps its
    /// turn, whatever holds it. A fix belongs to the task whose CI it fixes.
    fn judge_sequence(&self, daemon: usize, project: &ProjectId, request: &RunRequest) -> Broken {
        if !self.setup.sequential.contains(project) {
            return None;
        }
        let (forge, store) = (self.forge_of(project), self.daemons[daemon].store);
        let root = root_of(forge, &request.task);
        let running = self
            .runs
            .values()
            .filter(|run| run.project == *project && !self.is_frozen(run.daemon))
            .filter(|run| self.daemons[run.daemon].store == store)
            .find(|run| root_of(forge, &run.request.task) != root);
        if let Some(run) = running {
            let how = format!("{} starts while {} runs", request.task, run.request.task);
            return Some(("one task at a time", how));
        }
        let begun: Vec<&TaskKey> = {
            let ours = self.laws.begun.iter().filter(|((of, _), by)| of == project && **by == store);
            ours.map(|((_, task), _)| task).collect()
        };
        // A fix, and one that began before, are not the next.
        if request.iteration > 0 || begun.iter().any(|task| root_of(forge, task) == root) {
            return None;
        }
        let current = begun.into_iter().find(|task| self.is_current(project, task, daemon))?;
        let how = format!("{} starts, and {current} is neither merged nor given up", request.task);
        Some(("one task at a time", how))
    }

    /// Whether a task that began is neither merged nor given up.
    fn is_current(&self, project: &ProjectId, task: &TaskKey, daemon: usize) -> bool {
        let forge = self.forge_of(project);
        let root = root_of(forge, task);
        let is_of_chain = |ticket: &TaskKey| root_of(forge, ticket) == root;
        let is_given_up = |given_up: &BTreeSet<(ProjectId, TaskKey)>| {
            given_up.iter().any(|(of, ticket)| of == project && is_of_chain(ticket))
        };
        let mut prs = forge
            .now
            .prs
            .iter()
            .filter(|(number, _)| tickets_of(forge, **number).last().is_some_and(|first| *first == root));
        let is_merged = prs.clone().any(|(_, pr)| matches!(pr.state, PrState::Merged { .. }));
        let wait = self.policy(project).pr_wait;
        // Without a pull request the time counts from the end of the run.
        let is_waited_for = wait.is_none_or(|wait| {
            prs.clone().next().is_some() && prs.all(|(_, pr)| self.now.since(pr.opened) < wait)
        });
        // Another Pilot took it over, or its text changed and it may not start again.
        let is_ours = forge.now.claims.get(task) == Some(&self.daemons[daemon].owner);
        is_ours
            && !is_merged
            && is_waited_for
            && !is_given_up(&self.laws.given_up)
            && !is_given_up(&self.laws.withdrawn)
    }

    /// After too many failed runs in a row a project waits, and so does a task after too many of its own.
    fn judge_failures(&self, daemon: usize, project: &ProjectId, request: &RunRequest) -> Broken {
        let task = &request.task;
        let attempts = self.laws.attempts.get(&(project.clone(), task.clone())).copied().unwrap_or(0);
        if attempts >= self.policy(project).max_attempts {
            return Some(("attempts have a cap", format!("{task} ran {attempts} times before")));
        }
        let (count, last) = self.laws.failures.get(&(self.daemons[daemon].store, project.clone()))?;
        let since = self.now.since(*last);
        (*count >= MOST_FAILURES && since > START_TIME && since < BREAKER).then(|| {
            let since = since.as_secs();
            ("failures stop a project", format!("{task} starts {since} s after {count} failures in a row"))
        })
    }

    /// Judges a turn that was written.
    pub(super) fn judge_turn(&mut self, daemon: usize, before: &Loaded, turn: &Turn, input: Option<&Input>) {
        let Some(change) = &turn.task else { return };
        let (old, new) = (&before.task, &change.facts);
        let project = &new.project;
        self.laws.first_read.entry((project.clone(), new.key.clone())).or_insert(self.now);
        if let Some(known) = &new.life.pr {
            self.laws.pr_known.entry((project.clone(), known.pr.number)).or_insert(self.now);
        }
        if let Some((Ending::GivenUp(_) | Ending::Cancelled { .. }, _)) = &new.life.ended {
            self.laws.begun.remove(&(project.clone(), new.key.clone()));
            self.laws.given_up.insert((project.clone(), new.key.clone()));
        }
        // What the forge calls gone counts as closed by a user.
        if let Some(TaskEvent::TicketGone) = input.map(|input| &input.event) {
            self.laws.given_up.insert((project.clone(), new.key.clone()));
        }
        if let Some(TaskEvent::RunEnded { generation, ending }) = input.map(|input| &input.event)
            && old.life.claim.as_ref().is_some_and(|claim| claim.generation == *generation)
        {
            let store = self.daemons[daemon].store;
            self.laws.count_ending(store, project, &new.key, ending, self.now);
            self.judge_over_budget(before, turn, *generation);
        }
        let command = input.and_then(|input| {
            let TaskEvent::CommandReceived { command, by } = &input.event else { return None };
            Some((*command, by))
        });
        let is_allowed = |by: &CommandSource| match by {
            CommandSource::Operator => true,
            CommandSource::Comment { login, .. } => self.forge_of(project).is_trusted(login),
        };
        let has_obeyed = old.life.cancelled != new.life.cancelled
            || old.life.paused != new.life.paused
            || old.life.number != new.life.number;
        let broken = if let (Some((_, by)), true) = (&command, has_obeyed)
            && !is_allowed(by)
        {
            Some(("commands need trust", format!("{} obeyed {by:?}", new.key)))
        } else if old.life.ended.is_some()
            && old.life.ended != new.life.ended
            && command.map(|(command, _)| command) != Some(UserCommand::Retry)
        {
            Some(("the end is the end", format!("{} continued after {:?}", new.key, old.life.ended)))
        } else if new.life.cancelled.is_some()
            && old.life.cancelled.is_none()
            && command.is_none()
            && !is_let_go(input)
        {
            Some(("commands need trust", format!("{} was cancelled without a command", new.key)))
        } else {
            match (&old.life.ended, &new.life.ended) {
                (None, Some((ending, _))) => self.judge_ending(project, &new.key, ending),
                (_, _) => None,
            }
        };
        if let Some((law, how)) = broken {
            self.violated(law, format!("{how} (pilot {daemon})"));
        }
    }

    /// What the budget did not admit or stopped counts against no cap and for no breaker.
    fn judge_over_budget(&mut self, before: &Loaded, turn: &Turn, generation: Generation) {
        let Some(change) = &turn.task else { return };
        let (old, new) = (&before.task, &change.facts);
        let run = (new.project.clone(), new.key.clone(), generation);
        let (was, is) = (&before.project.facts, &turn.project.facts);
        let counts =
            old.life.attempts != new.life.attempts || (was.failures, was.failed) != (is.failures, is.failed);
        if counts && self.laws.over_budget.contains(&run) {
            self.violated("the budget is no failure", format!("{} {generation} counts", new.key));
        }
    }

    fn judge_ending(&self, project: &ProjectId, task: &TaskKey, ending: &Ending) -> Broken {
        let forge = self.forge_of(project);
        match ending {
            Ending::Done(landed) => (!forge.is_on_base(landed.commit(), self.now)).then(|| {
                ("done means merged", format!("{task} is done, {} is not on the base", landed.commit()))
            }),
            Ending::GivenUp(GivenUp::PrClosed { pr }) => {
                let is_open = forge.now.prs.get(pr).is_some_and(|pr| pr.is_open());
                is_open.then(|| ("closed is closed", format!("{task} is given up, and {} is open", pr.0)))
            }
            Ending::GivenUp(GivenUp::Run { .. } | GivenUp::Attempts { .. }) => {
                let has_failed = self.laws.failed.contains(&(project.clone(), task.clone()));
                (!has_failed)
                    .then(|| ("a crash is no failure", format!("{task} is given up, and no run failed")))
            }
            Ending::GivenUp(GivenUp::FixGivenUp { .. }) => None,
            Ending::Cancelled { by } => {
                let is_asked_for = self.laws.interventions.iter().any(|(of, _)| of == project);
                (!is_asked_for && by != PARENT)
                    .then(|| ("commands need trust", format!("{task} was cancelled without a command")))
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
            if !seen.insert((run.project.clone(), run.request.task.clone())) {
                twin = Some(run.request.task.clone());
            }
        }
        if let Some(task) = twin {
            self.violated("one run a task", format!("{task} has two runs"));
        }
    }
}

impl World {
    /// A run that its task stops is told to, and does not end long after by itself.
    pub(super) fn judge_stop(&mut self, run: &RunModel) {
        let store = &self.stores[self.daemons[run.daemon].store];
        let log = store.log(&run.project, &run.request.task);
        let Some(last) = log.iter().rev().find(|entry| entry.stage.is_some()) else { return };
        let is_asked = matches!(&last.stage, Some(Stage::Stopping { generation, .. })
            if *generation == run.request.generation);
        if is_asked && !run.is_stopping && self.now.since(last.at) > SLOWEST_STOP {
            self.violated("a stop stops", format!("{} ran on", run.request.task));
        }
    }
}

fn is_let_go(input: Option<&Input>) -> bool {
    let event = input.map(|input| &input.event);
    matches!(event, Some(TaskEvent::MessageReceived { message: TaskMessage::LetGo }))
}

/// The tickets a pull request of ours is for: that of its task and, for a fix, those of the pull request it fixes.
pub(super) fn tickets_of(forge: &Forge, number: PrNumber) -> Vec<TaskKey> {
    let mut tickets = Vec::new();
    let mut next = Some(number);
    while let Some(Marker::Task(task)) =
        next.and_then(|number| forge.now.prs.get(&number)).map(|pr| &pr.marker)
    {
        next = match forge.now.tickets.get(task).filter(|ticket| ticket.is_own()).map(|t| &t.marker) {
            Some(Some(Marker::Fix(meta))) => Some(meta.pr),
            Some(_) | None => None,
        };
        tickets.push(task.clone());
    }
    tickets
}

/// The first ticket of the chain of fixes that a ticket is part of.
fn root_of(forge: &Forge, ticket: &TaskKey) -> TaskKey {
    match forge.now.tickets.get(ticket).filter(|ticket| ticket.is_own()).map(|ticket| &ticket.marker) {
        Some(Some(Marker::Fix(meta))) => tickets_of(forge, meta.pr).pop().unwrap_or_else(|| ticket.clone()),
        Some(_) | None => ticket.clone(),
    }
}

/// Whether work for a ticket is on the base branch.
pub(super) fn has_landed(forge: &Forge, ticket: &TaskKey, at: Timestamp) -> bool {
    forge.now.prs.iter().any(|(number, pr)| match &pr.state {
        PrState::Merged { commit } => {
            forge.is_on_base(commit, at) && tickets_of(forge, *number).contains(ticket)
        }
        PrState::Open | PrState::Closed => false,
    })
}

/// A run starts from the base branch as it was a moment ago, or from the commit whose CI failed.
fn judge_base(forge: &Forge, request: &RunRequest, input: &RunInput) -> Broken {
    let is_good = match &request.from {
        Some(from) => input.base == *from && forge.now.prs.values().any(|pr| pr.branch == request.branch),
        None => forge.now.base.contains(&input.base),
    };
    (!is_good).then(|| ("a run has its base", format!("{} starts from {}", request.task, input.base)))
}

/// Another open pull request of the same task.
fn twin_pr(forge: &Forge, new: &NewPull) -> Option<PrNumber> {
    let twin = forge.now.prs.iter().find(|(_, pr)| pr.is_open() && pr.marker == new.marker);
    // The same branch is refused by the forge itself.
    twin.filter(|(_, pr)| pr.branch != new.branch).map(|(number, _)| *number)
}

/// A comment of ours with the same marker.
fn twin_comment(forge: &Forge, on: &Thread, new: &NewComment) -> Broken {
    let marker = new.marker.as_ref()?;
    let mut comments = forge.now.comments.iter();
    let twin =
        comments.find(|other| other.is_own && other.on == *on && other.marker.as_ref() == Some(marker));
    twin.map(|twin| ("one comment", format!("{marker} exists already, as comment {}", twin.id)))
}

fn judge_delete(forge: &Forge, branch: &Branch, expect: &Sha) -> Broken {
    if forge.now.branches.get(branch) != Some(expect) {
        return None;
    }
    let uses = |pr: &super::forge::PrModel| pr.is_open() && (pr.branch == *branch || pr.base == *branch);
    if let Some((number, _)) = forge.now.prs.iter().find(|(_, pr)| uses(pr)) {
        return Some(("no branch in use is deleted", format!("{branch} is deleted under {}", number.0)));
    }
    let is_merged =
        forge.now.prs.values().any(|pr| {
            pr.branch == *branch && pr.head == *expect && matches!(pr.state, PrState::Merged { .. })
        });
    (!is_merged).then(|| ("nothing is lost", format!("{branch} is deleted with commits that are not merged")))
}

fn judge_tag(forge: &Forge, name: &str, commit: &Sha, at: Timestamp) -> Broken {
    let highest = forge.now.tags.iter().filter_map(|tag| read_version(&tag.name)).max();
    if forge.now.tags.iter().any(|tag| tag.name == name) {
        // Another Pilot made it, and the list that was read lacks it: the forge refuses.
        None
    } else if !forge.is_on_base(commit, at) {
        Some(("tags are on the base", format!("{name} is not")))
    } else if forge.now.tags.iter().any(|tag| tag.commit == *commit) {
        Some(("one tag a commit", format!("{name} is another")))
    } else if highest.is_some() && read_version(name) <= highest {
        Some(("versions go up", format!("{name} goes down")))
    } else {
        None
    }
}

fn read_version(tag: &str) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> = tag.strip_prefix('v')?.split('.').map(|part| part.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() == 3)
}
