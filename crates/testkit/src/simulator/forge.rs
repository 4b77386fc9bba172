//! A forge, small enough to hold in mind: issues, pull requests, checks, refs. Its reads may be stale; its writes never are.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use pilot_core::ci::{Check, CheckState, Conclusion, Reading, Required, StatusMark, StatusState};
use pilot_core::intake::read_body;
use pilot_core::name::{BodyHash, Branch, CommentId, HomeId, IssueNumber, PrNumber, Sha, TaskKey};
use pilot_core::perform::{Answer, Call, CommentSeen, IssueRead, OwnIssue, Reply, TagSeen, Thread};
use pilot_core::seen::{
    Author, AuthorKind, Failure, FailureKind, Issue, IssueState, Mergeable, Permission, Pr, PrState,
};
use pilot_core::task::NewPr;
use pilot_core::time::Timestamp;
use pilot_core::words::fingerprint;

/// How far back a stale read may look. Less than a Pilot waits before it believes a list.
pub(super) const MOST_STALE: Duration = Duration::from_secs(8);

/// How long the forge needs to find out whether a branch can be merged.
const MERGEABLE_AFTER: Duration = Duration::from_secs(7);

/// The labelled issues as a reply has them, with the mark to ask again by: nothing where nothing changed.
pub(super) type Listed = Option<(Vec<Issue>, u64)>;

/// Everything on the forge at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) issues: BTreeMap<IssueNumber, Rc<IssueModel>>,
    pub(super) prs: BTreeMap<PrNumber, Rc<PrModel>>,
    pub(super) comments: BTreeMap<CommentId, Rc<CommentModel>>,
    pub(super) branches: BTreeMap<Branch, Sha>,
    pub(super) claims: BTreeMap<TaskKey, HomeId>,
    pub(super) tags: Vec<TagSeen>,
    pub(super) base: Vec<Sha>,
    pub(super) ci: BTreeMap<Sha, Rc<Vec<CheckModel>>>,
    /// How often an issue changed.
    pub(super) issue_changes: u64,
    last_number: u64,
    last_comment: u64,
}

#[derive(Clone, Debug)]
pub(super) struct IssueModel {
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: Author,
    pub(super) labels: BTreeSet<String>,
    pub(super) open: bool,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct PrModel {
    pub(super) branch: Branch,
    pub(super) base: Branch,
    pub(super) head: Sha,
    pub(super) body: String,
    pub(super) state: PrState,
    pub(super) conflicts: bool,
    pub(super) head_since: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct CommentModel {
    pub(super) on: Thread,
    pub(super) login: String,
    pub(super) mine: bool,
    pub(super) body: String,
}

/// One report on a commit, with the moments at which it appears and ends.
#[derive(Clone, Debug)]
pub(super) struct CheckModel {
    pub(super) name: String,
    pub(super) status_api: bool,
    pub(super) appears: Timestamp,
    pub(super) ends: Timestamp,
    pub(super) result: Conclusion,
}

/// The forge of one project.
#[derive(Debug)]
pub(super) struct Forge {
    pub(super) now: Rc<State>,
    before: VecDeque<(Timestamp, Rc<State>)>,
    pub(super) required: BTreeSet<String>,
    /// What each account may do; others may nothing.
    pub(super) people: BTreeMap<String, Permission>,
    /// Merged commits that show up on the base branch later, as a replica that lags.
    pub(super) not_yet_on_base: BTreeMap<Sha, Timestamp>,
    /// Pull requests that read as closed for a moment, and until when.
    pub(super) glitches: BTreeMap<PrNumber, Timestamp>,
    /// Whether a merge closes the issues it names: not where the base is not the repository's own default.
    pub(super) closes_issues: bool,
    /// Issues that were closed at some time.
    pub(super) ever_closed: BTreeSet<IssueNumber>,
    shas: u64,
}

pub(super) fn hash(text: &str) -> BodyHash {
    BodyHash::parse(&fingerprint(text).repeat(4)).expect("sixteen digits, four times")
}

impl IssueModel {
    fn read(&self, number: IssueNumber) -> Issue {
        Issue {
            number,
            title: self.title.clone(),
            author: self.author.clone(),
            labels: self.labels.clone(),
            state: if self.open { IssueState::Open } else { IssueState::Closed },
            body: read_body(&self.body, hash(&self.body)),
            created_at: self.created,
            updated_at: self.updated,
        }
    }
}

impl PrModel {
    fn read(&self, number: PrNumber, at: Timestamp) -> Pr {
        let mergeable = if at.since(self.head_since) < MERGEABLE_AFTER {
            Mergeable::Unknown
        } else if self.conflicts {
            Mergeable::No
        } else {
            Mergeable::Yes
        };
        let (branch, head) = (self.branch.clone(), self.head.clone());
        Pr { number, branch, head, state: self.state.clone(), mergeable }
    }
}

impl CheckModel {
    pub(super) fn has_ended(&self, at: Timestamp) -> bool {
        at >= self.ends
    }

    /// Whether it speaks for the commit, or has nothing to say.
    pub(super) fn lets_pass(&self) -> bool {
        match self.result {
            Conclusion::Success | Conclusion::Neutral | Conclusion::Skipped => true,
            Conclusion::Cancelled | Conclusion::ActionRequired | Conclusion::Stale => self.status_api,
            Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure => false,
        }
    }

    pub(super) fn failed(&self) -> bool {
        match self.result {
            Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure => true,
            Conclusion::Success
            | Conclusion::Neutral
            | Conclusion::Cancelled
            | Conclusion::Skipped
            | Conclusion::ActionRequired
            | Conclusion::Stale => false,
        }
    }
}

impl Forge {
    pub(super) fn new(first: Sha) -> Forge {
        let state = State { base: vec![first], ..State::default() };
        Forge {
            now: Rc::new(state),
            before: VecDeque::new(),
            required: BTreeSet::new(),
            people: BTreeMap::new(),
            not_yet_on_base: BTreeMap::new(),
            glitches: BTreeMap::new(),
            closes_issues: true,
            ever_closed: BTreeSet::new(),
            shas: 0,
        }
    }

    /// A commit nobody has seen before.
    pub(super) fn new_sha(&mut self) -> Sha {
        self.shas += 1;
        let mixed = self.shas.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Sha::parse(&format!("{mixed:016x}{:024x}", self.shas)).expect("forty digits")
    }

    /// Changes the forge; what was before stays readable for a while.
    pub(super) fn change<T>(&mut self, at: Timestamp, change: impl FnOnce(&mut State) -> T) -> T {
        self.before.push_back((at, Rc::clone(&self.now)));
        while self.before.front().is_some_and(|(until, _)| at.since(*until) > 2 * MOST_STALE) {
            self.before.pop_front();
        }
        change(Rc::make_mut(&mut self.now))
    }

    pub(super) fn change_issue(
        &mut self,
        at: Timestamp,
        issue: IssueNumber,
        change: impl FnOnce(&mut IssueModel),
    ) {
        self.change(at, |state| {
            if let Some(model) = state.issues.get_mut(&issue) {
                let model = Rc::make_mut(model);
                change(model);
                model.updated = at;
                state.issue_changes += 1;
            }
        });
        if self.now.issues.get(&issue).is_some_and(|model| !model.open) {
            self.ever_closed.insert(issue);
        }
    }

    /// The state now and every one a reader may still have seen.
    pub(super) fn lately(&self) -> impl Iterator<Item = &State> {
        self.before.iter().map(|(_, state)| &**state).chain([&*self.now])
    }

    /// Whether a commit is on the base branch, in truth.
    pub(super) fn is_on_base(&self, commit: &Sha, at: Timestamp) -> bool {
        let there = self.not_yet_on_base.get(commit).is_none_or(|from| at >= *from);
        there && self.now.base.contains(commit)
    }

    /// The forge as it was then.
    fn as_of(&self, then: Timestamp) -> &State {
        // The first state that was replaced after `then` was in force at `then`.
        let old = self.before.iter().find(|(until, _)| *until > then);
        old.map_or(&self.now, |(_, state)| state)
    }

    /// Answers a question, as things were at `then`.
    pub(super) fn read(&self, call: &Call, home: &HomeId, then: Timestamp) -> Option<Reply> {
        let state = self.as_of(then);
        let answer = match call {
            Call::Issue(issue) => Answer::Issue(state.issues.get(issue).map(|model| {
                let thread = Thread::Issue(*issue);
                let silent = !state.comments.values().any(|comment| comment.on == thread);
                Box::new(IssueRead { issue: model.read(*issue), silent, text: model.body.clone() })
            })),
            Call::Permission(login) => {
                Answer::Permission(self.people.get(login).copied().unwrap_or(Permission::None))
            }
            Call::Comments(thread) => {
                let on = state.comments.iter().filter(|(_, comment)| comment.on == *thread);
                Answer::Comments(
                    on.map(|(id, comment)| CommentSeen {
                        id: *id,
                        mine: comment.mine,
                        body: comment.body.clone(),
                    })
                    .collect(),
                )
            }
            Call::OwnIssues(label) => {
                let mine = state
                    .issues
                    .iter()
                    .filter(|(_, issue)| issue.author.kind == AuthorKind::Me && issue.labels.contains(label));
                Answer::OwnIssues(
                    mine.map(|(number, issue)| OwnIssue { number: *number, body: issue.body.clone() })
                        .collect(),
                )
            }
            Call::PrsOf(branch) => Answer::Prs(prs(state, then, |pr| pr.branch == *branch)),
            Call::PrsOnto(branch) => {
                Answer::Prs(prs(state, then, |pr| pr.base == *branch && pr.state == PrState::Open))
            }
            Call::Pr(number) => match state.prs.get(number) {
                Some(pr) => Answer::Pr(pr.read(*number, then)),
                None => return Some(Err(Failure::new(FailureKind::NotFound, "no such pull request"))),
            },
            Call::Ci(sha) => Answer::Ci(self.reading(state, sha, then)),
            Call::CiLog { .. } => Answer::Log(Some("line 1\nerror: it does not work\n".to_owned())),
            Call::OnBase(sha) => {
                let there = self.not_yet_on_base.get(sha).is_none_or(|from| then >= *from);
                Answer::OnBase(there && state.base.contains(sha))
            }
            Call::Tags => Answer::Tags(state.tags.clone()),
            Call::Claim { task } => {
                let owner = state.claims.get(task).filter(|owner| *owner != home);
                Answer::Claim(owner.map(ToString::to_string))
            }
            Call::Comment(..)
            | Call::EditComment(..)
            | Call::AddLabels(..)
            | Call::RemoveLabel(..)
            | Call::CloseIssue(_)
            | Call::CreateIssue { .. }
            | Call::CreatePr(_)
            | Call::ClosePr(_)
            | Call::Merge { .. }
            | Call::PlaceClaim { .. }
            | Call::ReleaseClaim { .. }
            | Call::Push { .. }
            | Call::DeleteBranch { .. }
            | Call::CreateTag { .. } => return None,
        };
        Some(Ok(answer))
    }

    /// Every open issue with a label, if anything changed since.
    pub(super) fn labelled(&self, label: &str, etag: u64, then: Timestamp) -> Listed {
        let state = self.as_of(then);
        if state.issue_changes == etag {
            return None;
        }
        let labelled = state.issues.iter().filter(|(_, issue)| issue.open && issue.labels.contains(label));
        Some((labelled.map(|(number, issue)| issue.read(*number)).collect(), state.issue_changes))
    }

    /// Every comment on issues behind a given one.
    pub(super) fn comments_behind(
        &self,
        last: CommentId,
        then: Timestamp,
    ) -> Vec<(CommentId, IssueNumber, CommentModel)> {
        let comments = self.as_of(then).comments.iter().filter(|(id, comment)| **id > last && !comment.mine);
        comments
            .filter_map(|(id, comment)| match comment.on {
                Thread::Issue(issue) => Some((*id, issue, (**comment).clone())),
                Thread::Pr(_) => None,
            })
            .collect()
    }

    fn reading(&self, state: &State, sha: &Sha, then: Timestamp) -> Reading {
        let mut reading = Reading {
            sha: sha.clone(),
            checks: BTreeSet::new(),
            statuses: BTreeSet::new(),
            required: Required::Known(self.required.clone()),
        };
        let models = state.ci.get(sha).map(|models| models.as_slice()).unwrap_or_default();
        for model in models.iter().filter(|model| then >= model.appears) {
            let ended = model.has_ended(then);
            if model.status_api {
                let state = match (ended, model.failed()) {
                    (false, _) => StatusState::Pending,
                    (true, true) => StatusState::Failure,
                    (true, false) => StatusState::Success,
                };
                reading.statuses.insert(StatusMark { context: model.name.clone(), state });
            } else {
                let state = if ended { CheckState::Completed(model.result) } else { CheckState::InProgress };
                reading.checks.insert(Check { name: model.name.clone(), state });
            }
        }
        reading
    }

    /// Does what is asked.
    pub(super) fn write(&mut self, call: &Call, home: &HomeId, at: Timestamp) -> Reply {
        match call {
            Call::Comment(on, body) => Ok(Answer::Comment(self.comment(*on, "pilot-bot", true, body, at))),
            Call::EditComment(id, body) => self.edit_comment(*id, body, at),
            Call::AddLabels(issue, labels) => {
                self.change_issue(at, *issue, |model| model.labels.extend(labels.iter().cloned()));
                Ok(Answer::Done)
            }
            Call::RemoveLabel(issue, label) => {
                self.change_issue(at, *issue, |model| {
                    model.labels.remove(label);
                });
                Ok(Answer::Done)
            }
            Call::CloseIssue(issue) => {
                self.change_issue(at, *issue, |model| model.open = false);
                Ok(Answer::Done)
            }
            Call::CreateIssue { title, body, labels } => {
                let author = Author { login: "pilot-bot".to_owned(), kind: AuthorKind::Me };
                Ok(Answer::NewIssue(self.open_issue(
                    title,
                    body,
                    author,
                    labels.iter().cloned().collect(),
                    at,
                )))
            }
            Call::CreatePr(new) => self.create_pr(new, at),
            Call::ClosePr(number) => self.close_pr(*number, at),
            Call::Merge { pr, sha, .. } => self.merge(*pr, Some(sha), at),
            Call::PlaceClaim { task } => Ok(Answer::Claim(self.place_claim(task, home, at))),
            Call::ReleaseClaim { task } => {
                if self.now.claims.get(task) == Some(home) {
                    self.change(at, |state| state.claims.remove(task));
                }
                Ok(Answer::Done)
            }
            Call::Push { branch, sha, expect } => self.push(branch, sha, expect.as_ref(), at),
            Call::DeleteBranch { branch, expect } => self.delete_branch(branch, expect, at),
            Call::CreateTag { name, commit } => self.create_tag(name, commit, at),
            Call::Issue(_)
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
            | Call::Claim { .. } => Err(Failure::new(FailureKind::Refused, "that is no write")),
        }
    }

    pub(super) fn open_issue(
        &mut self,
        title: &str,
        body: &str,
        author: Author,
        labels: BTreeSet<String>,
        at: Timestamp,
    ) -> IssueNumber {
        self.change(at, |state| {
            state.last_number += 1;
            state.issue_changes += 1;
            let number = IssueNumber(state.last_number);
            let (title, body) = (title.to_owned(), body.to_owned());
            let model = IssueModel { title, body, author, labels, open: true, created: at, updated: at };
            state.issues.insert(number, Rc::new(model));
            number
        })
    }

    pub(super) fn comment(
        &mut self,
        on: Thread,
        login: &str,
        mine: bool,
        body: &str,
        at: Timestamp,
    ) -> CommentId {
        self.change(at, |state| {
            state.last_comment += 1;
            let id = CommentId(state.last_comment);
            let comment = CommentModel { on, login: login.to_owned(), mine, body: body.to_owned() };
            state.comments.insert(id, Rc::new(comment));
            id
        })
    }

    fn edit_comment(&mut self, id: CommentId, body: &str, at: Timestamp) -> Reply {
        self.change(at, |state| match state.comments.get_mut(&id) {
            Some(comment) => {
                Rc::make_mut(comment).body = body.to_owned();
                Ok(Answer::Comment(id))
            }
            None => Err(Failure::new(FailureKind::NotFound, "no such comment")),
        })
    }

    fn create_pr(&mut self, new: &NewPr, at: Timestamp) -> Reply {
        let refused = |why: &str| Err(Failure::new(FailureKind::Refused, why));
        let Some(head) = self.now.branches.get(&new.branch).cloned() else {
            return refused("no such branch");
        };
        let open = |pr: &Rc<PrModel>| pr.state == PrState::Open && pr.branch == new.branch;
        if self.now.prs.values().any(open) {
            return refused("a pull request already exists for this branch");
        }
        Ok(self.change(at, |state| {
            state.last_number += 1;
            let number = PrNumber(state.last_number);
            let model = PrModel {
                branch: new.branch.clone(),
                base: new.base.clone(),
                head,
                body: new.body.clone(),
                state: PrState::Open,
                conflicts: false,
                head_since: at,
            };
            let pr = model.read(number, at);
            state.prs.insert(number, Rc::new(model));
            Answer::Pr(pr)
        }))
    }

    pub(super) fn change_pr(&mut self, at: Timestamp, number: PrNumber, change: impl FnOnce(&mut PrModel)) {
        self.change(at, |state| {
            if let Some(model) = state.prs.get_mut(&number) {
                change(Rc::make_mut(model));
            }
        });
    }

    fn close_pr(&mut self, number: PrNumber, at: Timestamp) -> Reply {
        match self.now.prs.get(&number).map(|pr| pr.state.clone()) {
            Some(PrState::Open) => {
                self.change_pr(at, number, |pr| pr.state = PrState::Closed);
                Ok(Answer::Done)
            }
            Some(PrState::Closed) => Ok(Answer::Done),
            Some(PrState::Merged { .. }) => Err(Failure::new(FailureKind::Refused, "it is merged")),
            None => Err(Failure::new(FailureKind::NotFound, "no such pull request")),
        }
    }

    /// Merges, if the head is what it is said to be. Issues that the text closes are closed.
    pub(super) fn merge(&mut self, number: PrNumber, sha: Option<&Sha>, at: Timestamp) -> Reply {
        let refused = |kind, why: &str| Err(Failure::new(kind, why));
        let Some(pr) = self.now.prs.get(&number).cloned() else {
            return refused(FailureKind::NotFound, "no such pull request");
        };
        if pr.state != PrState::Open || pr.conflicts {
            return refused(FailureKind::Refused, "it cannot be merged");
        }
        if sha.is_some_and(|sha| *sha != pr.head) {
            return refused(FailureKind::Conflict, "the head was modified");
        }
        let commit = self.new_sha();
        let merged = commit.clone();
        self.change(at, |state| {
            state.base.push(merged.clone());
            if let Some(model) = state.prs.get_mut(&number) {
                Rc::make_mut(model).state = PrState::Merged { commit: merged };
            }
        });
        if !self.closes_issues {
            return Ok(Answer::Merged(commit));
        }
        let closes = pr.body.lines().filter_map(|line| line.strip_prefix("Closes #")?.parse().ok());
        for issue in closes.map(IssueNumber).collect::<Vec<_>>() {
            self.change_issue(at, issue, |model| model.open = false);
        }
        Ok(Answer::Merged(commit))
    }

    fn place_claim(&mut self, task: &TaskKey, home: &HomeId, at: Timestamp) -> Option<String> {
        match self.now.claims.get(task) {
            Some(owner) if owner == home => None,
            Some(owner) => Some(owner.to_string()),
            None => {
                self.change(at, |state| state.claims.insert(task.clone(), home.clone()));
                None
            }
        }
    }

    /// Moves a branch, and with it the head of its open pull request.
    pub(super) fn push(&mut self, branch: &Branch, sha: &Sha, expect: Option<&Sha>, at: Timestamp) -> Reply {
        let there = self.now.branches.get(branch);
        if there == Some(sha) {
            return Ok(Answer::Done);
        }
        if there != expect {
            return Err(Failure::new(FailureKind::Conflict, "the branch is not where it should be"));
        }
        self.change(at, |state| {
            state.branches.insert(branch.clone(), sha.clone());
            for pr in state.prs.values_mut().filter(|pr| pr.branch == *branch && pr.state == PrState::Open) {
                let pr = Rc::make_mut(pr);
                pr.head = sha.clone();
                pr.head_since = at;
            }
        });
        Ok(Answer::Done)
    }

    fn delete_branch(&mut self, branch: &Branch, expect: &Sha, at: Timestamp) -> Reply {
        match self.now.branches.get(branch) {
            None => Ok(Answer::Done),
            Some(there) if there == expect => {
                self.change(at, |state| {
                    state.branches.remove(branch);
                    for pr in
                        state.prs.values_mut().filter(|pr| pr.branch == *branch && pr.state == PrState::Open)
                    {
                        Rc::make_mut(pr).state = PrState::Closed;
                    }
                });
                Ok(Answer::Done)
            }
            Some(_) => Err(Failure::new(FailureKind::Conflict, "the branch is not where it should be")),
        }
    }

    fn create_tag(&mut self, name: &str, commit: &Sha, at: Timestamp) -> Reply {
        if self.now.tags.iter().any(|tag| tag.name == name) {
            return Err(Failure::new(FailureKind::Refused, "reference already exists"));
        }
        let tag = TagSeen { name: name.to_owned(), commit: commit.clone() };
        self.change(at, |state| state.tags.push(tag));
        Ok(Answer::Done)
    }
}

fn prs(state: &State, at: Timestamp, wanted: impl Fn(&PrModel) -> bool) -> Vec<(Pr, String)> {
    let wanted = state.prs.iter().filter(|(_, pr)| wanted(pr));
    wanted.map(|(number, pr)| (pr.read(*number, at), pr.body.clone())).collect()
}
