//! How the model answers the calls of the three ports.

use std::collections::BTreeSet;
use std::rc::Rc;

use pilot_core::ci::{Check, CheckState, Required};
use pilot_core::id::{Branch, CommentId, HomeId, PrNumber, Sha, TaskKey};
use pilot_core::observed::{Author, AuthorKind, Failure, FailureKind, PrState, Trust};
use pilot_core::port::{
    Answer, Call, CommentPlace, CommentSeen, ForgeAnswer, ForgeCall, GitAnswer, GitCall, NewComment, NewPull,
    OwnTicket, PostedComment, PullSeen, Reply, TagSeen, TicketText, TrackerAnswer, TrackerCall,
};
use pilot_core::time::Timestamp;

use super::{CommentDraft, Forge, OWN_LOGIN, PrModel, State, Thread, TicketDraft};

fn failure(kind: FailureKind, why: &str) -> Failure {
    Failure::new(kind, why)
}

impl Forge {
    /// Answers a call that only reads, as things were at `then`.
    pub(in super::super) fn read(&self, call: &Call, home: &HomeId, then: Timestamp) -> Option<Reply> {
        match call {
            Call::Tracker(call) => Some(Ok(Answer::Tracker(self.read_tracker(call, then)?))),
            Call::Forge(call) => Some(self.read_forge(call, then)?.map(Answer::Forge)),
            Call::Git(call) => Some(Ok(Answer::Git(self.read_git(call, home, then)?))),
        }
    }

    /// What an adapter sends along to learn whether the answer to a poll changed: a hash of what the answer is made of.
    pub(in super::super) fn etag(&self, call: &TrackerCall, then: Timestamp) -> Option<u64> {
        let state = self.as_of(then);
        let parts: Vec<(&str, Timestamp)> = match call {
            TrackerCall::Labelled(label) => {
                let listed = state.tickets.iter();
                let listed = listed.filter(|(_, ticket)| ticket.is_open && ticket.labels.contains(label));
                listed.map(|(key, ticket)| (key.as_str(), ticket.updated)).collect()
            }
            TrackerCall::CommentsSince(since) => {
                let listed = state.comments.iter().filter(|comment| comment.updated >= *since);
                listed.map(|comment| (comment.id.as_str(), comment.updated)).collect()
            }
            TrackerCall::Ticket(_)
            | TrackerCall::Trust(_)
            | TrackerCall::Comments(_)
            | TrackerCall::AddComment(..)
            | TrackerCall::EditComment(..)
            | TrackerCall::AddLabels(..)
            | TrackerCall::RemoveLabel(..)
            | TrackerCall::Close(_)
            | TrackerCall::OwnTickets(_)
            | TrackerCall::Create(_) => return None,
        };
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for (id, updated) in parts {
            for byte in id.bytes().chain(updated.0.to_le_bytes()) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Some(hash)
    }

    fn read_tracker(&self, call: &TrackerCall, then: Timestamp) -> Option<TrackerAnswer> {
        let state = self.as_of(then);
        let keys = &self.references.tickets;
        Some(match call {
            TrackerCall::Labelled(label) => {
                let listed = state.tickets.iter();
                let listed = listed.filter(|(_, ticket)| ticket.is_open && ticket.labels.contains(label));
                let mut listed: Vec<_> = listed.collect();
                listed.sort_by_key(|(_, ticket)| ticket.number);
                let tickets = listed.into_iter().map(|(key, ticket)| ticket.read(key, keys));
                TrackerAnswer::Tickets(Some(tickets.collect()))
            }
            TrackerCall::CommentsSince(since) => TrackerAnswer::Posted(Some(posted(state, *since))),
            TrackerCall::Ticket(key) => TrackerAnswer::Ticket(state.tickets.get(key).map(|model| {
                let thread = Thread::Ticket(key.clone());
                let has_comments = state.comments.iter().any(|comment| comment.on == thread);
                Box::new(TicketText { ticket: model.read(key, keys), has_comments, text: model.text.clone() })
            })),
            TrackerCall::Trust(login) => {
                TrackerAnswer::Trust(self.people.get(login).copied().unwrap_or(Trust::Untrusted))
            }
            TrackerCall::Comments(key) => {
                TrackerAnswer::Comments(comments(state, &Thread::Ticket(key.clone())))
            }
            TrackerCall::OwnTickets(label) => {
                let own = state.tickets.iter();
                let own = own.filter(|(_, ticket)| ticket.is_own() && ticket.labels.contains(label));
                let mut own: Vec<_> = own.collect();
                own.sort_by_key(|(_, ticket)| ticket.number);
                let own =
                    own.into_iter().map(|(key, t)| OwnTicket { key: key.clone(), marker: t.marker.clone() });
                TrackerAnswer::OwnTickets(own.collect())
            }
            TrackerCall::AddComment(..)
            | TrackerCall::EditComment(..)
            | TrackerCall::AddLabels(..)
            | TrackerCall::RemoveLabel(..)
            | TrackerCall::Close(_)
            | TrackerCall::Create(_) => return None,
        })
    }

    fn read_forge(&self, call: &ForgeCall, then: Timestamp) -> Option<Result<ForgeAnswer, Failure>> {
        let state = self.as_of(then);
        Some(Ok(match call {
            ForgeCall::PullsFrom(branch) => ForgeAnswer::Pulls(pulls(state, then, |pr| pr.branch == *branch)),
            ForgeCall::PullsOnto(branch) => {
                ForgeAnswer::Pulls(pulls(state, then, |pr| pr.base == *branch && pr.is_open()))
            }
            ForgeCall::Pull(number) => match state.prs.get(number) {
                Some(pr) => ForgeAnswer::Pull(pr.read(*number, then)),
                None => return Some(Err(failure(FailureKind::NotFound, "no such pull request"))),
            },
            ForgeCall::Comments(number) => ForgeAnswer::Comments(comments(state, &Thread::Pull(*number))),
            ForgeCall::Reviews(number) => match state.prs.get(number) {
                Some(pr) => {
                    ForgeAnswer::Reviews(pr.reviews.iter().map(|(review, _)| review.clone()).collect())
                }
                None => return Some(Err(failure(FailureKind::NotFound, "no such pull request"))),
            },
            ForgeCall::MayWrite(login) => {
                ForgeAnswer::MayWrite(self.people.get(login).copied().unwrap_or(Trust::Untrusted))
            }
            ForgeCall::Checks(sha) => ForgeAnswer::Checks(checks(state, sha, then)),
            ForgeCall::Required(_) => ForgeAnswer::Required(Required::Known(self.required.clone())),
            ForgeCall::CheckLog { .. } => {
                ForgeAnswer::Log(Some("line 1\nerror: it does not work\n".to_owned()))
            }
            ForgeCall::Contains { sha, .. } => {
                ForgeAnswer::Contains(self.has_appeared(sha, then) && state.base.contains(sha))
            }
            ForgeCall::Tags => ForgeAnswer::Tags(state.tags.clone()),
            ForgeCall::CreatePull(_)
            | ForgeCall::ClosePull(_)
            | ForgeCall::AddComment(..)
            | ForgeCall::Merge { .. }
            | ForgeCall::CreateTag { .. } => return None,
        }))
    }

    fn read_git(&self, call: &GitCall, home: &HomeId, then: Timestamp) -> Option<GitAnswer> {
        let state = self.as_of(then);
        Some(match call {
            GitCall::FetchBase { from, .. } => {
                let head = || state.base.last().cloned().expect("a base branch has a commit");
                GitAnswer::Base(from.clone().unwrap_or_else(head))
            }
            GitCall::Contains { sha, .. } => {
                GitAnswer::Contains(self.has_appeared(sha, then) && state.base.contains(sha))
            }
            GitCall::ReadClaim(task) => {
                let owner = state.claims.get(task).filter(|owner| *owner != home);
                GitAnswer::Claim(owner.map(ToString::to_string))
            }
            GitCall::Head { branch, .. } => GitAnswer::Head(state.branches.get(branch).cloned()),
            // The checkout is not part of the model.
            GitCall::ForgetBranches(_) => GitAnswer::Done,
            GitCall::PlaceClaim(_)
            | GitCall::ReleaseClaim(_)
            | GitCall::Push { .. }
            | GitCall::DeleteBranch { .. } => return None,
        })
    }

    /// Answers a call that writes.
    pub(in super::super) fn write(&mut self, call: &Call, home: &HomeId, at: Timestamp) -> Reply {
        match call {
            Call::Tracker(call) => self.write_tracker(call, at).map(Answer::Tracker),
            Call::Forge(call) => self.write_forge(call, at).map(Answer::Forge),
            Call::Git(call) => self.write_git(call, home, at).map(Answer::Git),
        }
    }

    fn write_tracker(&mut self, call: &TrackerCall, at: Timestamp) -> Result<TrackerAnswer, Failure> {
        Ok(match call {
            TrackerCall::AddComment(key, new) => {
                TrackerAnswer::Comment(self.add_own_comment(Thread::Ticket(key.clone()), new, at))
            }
            TrackerCall::EditComment(_, id, new) => TrackerAnswer::Comment(self.edit_comment(id, new, at)?),
            TrackerCall::AddLabels(key, labels) => {
                self.change_ticket(at, key, |model| model.labels.extend(labels.iter().cloned()));
                TrackerAnswer::Done
            }
            TrackerCall::RemoveLabel(key, label) => {
                self.change_ticket(at, key, |model| {
                    model.labels.remove(label);
                });
                TrackerAnswer::Done
            }
            TrackerCall::Close(key) => {
                self.change_ticket(at, key, |model| model.is_open = false);
                TrackerAnswer::Done
            }
            TrackerCall::Create(new) => {
                let draft = TicketDraft {
                    title: &new.title,
                    text: &new.text,
                    marker: Some(new.marker.clone()),
                    depends_on: BTreeSet::new(),
                    author: Author { login: OWN_LOGIN.to_owned(), kind: AuthorKind::Me },
                    labels: new.labels.iter().cloned().collect(),
                };
                TrackerAnswer::Created(self.open_ticket(draft, at))
            }
            TrackerCall::Labelled(_)
            | TrackerCall::CommentsSince(_)
            | TrackerCall::Ticket(_)
            | TrackerCall::Trust(_)
            | TrackerCall::Comments(_)
            | TrackerCall::OwnTickets(_) => return Err(failure(FailureKind::Refused, "that is no write")),
        })
    }

    fn write_forge(&mut self, call: &ForgeCall, at: Timestamp) -> Result<ForgeAnswer, Failure> {
        match call {
            ForgeCall::CreatePull(new) => self.create_pull(new, at),
            ForgeCall::ClosePull(number) => self.close_pull(*number, at),
            ForgeCall::AddComment(number, new) => {
                Ok(ForgeAnswer::Comment(self.add_own_comment(Thread::Pull(*number), new, at)))
            }
            ForgeCall::Merge { pr, sha, .. } => self.merge(*pr, Some(sha), at).map(ForgeAnswer::Merged),
            ForgeCall::CreateTag { name, commit } => self.create_tag(name, commit, at),
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
            | ForgeCall::Tags => Err(failure(FailureKind::Refused, "that is no write")),
        }
    }

    fn write_git(&mut self, call: &GitCall, home: &HomeId, at: Timestamp) -> Result<GitAnswer, Failure> {
        match call {
            GitCall::PlaceClaim(task) => Ok(GitAnswer::Claim(self.place_claim(task, home, at))),
            GitCall::ReleaseClaim(task) => {
                if self.now.claims.get(task) == Some(home) {
                    self.change(at, |state| state.claims.remove(task));
                }
                Ok(GitAnswer::Done)
            }
            GitCall::Push { branch, sha, expect } => {
                self.push(branch, sha, expect.as_ref(), at).map(|()| GitAnswer::Done)
            }
            GitCall::DeleteBranch { branch, expect } => self.delete_branch(branch, expect, at),
            GitCall::FetchBase { .. }
            | GitCall::Contains { .. }
            | GitCall::ReadClaim(_)
            | GitCall::Head { .. }
            | GitCall::ForgetBranches(_) => Err(failure(FailureKind::Refused, "that is no write")),
        }
    }

    fn add_own_comment(&mut self, on: Thread, new: &NewComment, at: Timestamp) -> CommentId {
        let (text, marker) = (new.text.as_str(), new.marker.clone());
        self.add_comment(CommentDraft { on, login: OWN_LOGIN, is_own: true, text, marker }, at)
    }

    fn edit_comment(
        &mut self,
        id: &CommentId,
        new: &NewComment,
        at: Timestamp,
    ) -> Result<CommentId, Failure> {
        self.change(at, |state| {
            let comment = state.comments.iter_mut().find(|comment| comment.id == *id);
            let comment = comment.ok_or_else(|| failure(FailureKind::NotFound, "no such comment"))?;
            let comment = Rc::make_mut(comment);
            comment.text = new.text.clone();
            comment.marker = new.marker.clone();
            comment.updated = at;
            Ok(id.clone())
        })
    }

    fn create_pull(&mut self, new: &NewPull, at: Timestamp) -> Result<ForgeAnswer, Failure> {
        let Some(head) = self.now.branches.get(&new.branch).cloned() else {
            return Err(failure(FailureKind::Refused, "no such branch"));
        };
        if self.now.prs.values().any(|pr| pr.is_open() && pr.branch == new.branch) {
            return Err(failure(FailureKind::Refused, "a pull request already exists for this branch"));
        }
        Ok(self.change(at, |state| {
            state.last_number += 1;
            let number = PrNumber(state.last_number);
            let model = PrModel {
                branch: new.branch.clone(),
                base: new.base.clone(),
                head,
                text: new.text.clone(),
                marker: new.marker.clone(),
                state: PrState::Open,
                conflicts: false,
                opened: at,
                head_since: at,
                reviews: Vec::new(),
            };
            let pr = model.read(number, at);
            state.prs.insert(number, Rc::new(model));
            ForgeAnswer::Pull(pr)
        }))
    }

    fn close_pull(&mut self, number: PrNumber, at: Timestamp) -> Result<ForgeAnswer, Failure> {
        match self.now.prs.get(&number).map(|pr| pr.state.clone()) {
            Some(PrState::Open) => {
                self.change_pr(at, number, |pr| pr.state = PrState::Closed);
                Ok(ForgeAnswer::Done)
            }
            Some(PrState::Closed) => Ok(ForgeAnswer::Done),
            Some(PrState::Merged { .. }) => Err(failure(FailureKind::Refused, "it is merged")),
            None => Err(failure(FailureKind::NotFound, "no such pull request")),
        }
    }

    /// Merges, if the head is what it is said to be. Tickets that the text closes are closed.
    pub(in super::super) fn merge(
        &mut self,
        number: PrNumber,
        sha: Option<&Sha>,
        at: Timestamp,
    ) -> Result<Sha, Failure> {
        let Some(pr) = self.now.prs.get(&number).cloned() else {
            return Err(failure(FailureKind::NotFound, "no such pull request"));
        };
        if !pr.is_open() || pr.conflicts {
            return Err(failure(FailureKind::Refused, "it cannot be merged"));
        }
        if sha.is_some_and(|sha| *sha != pr.head) {
            return Err(failure(FailureKind::Conflict, "the head was modified"));
        }
        let commit = self.new_sha();
        let merged = commit.clone();
        self.change(at, |state| {
            state.base.push(merged.clone());
            if let Some(model) = state.prs.get_mut(&number) {
                Rc::make_mut(model).state = PrState::Merged { commit: merged };
            }
        });
        if self.closes_tickets {
            let named = pr.text.lines().filter_map(|line| line.strip_prefix("Closes "));
            let closed: Vec<TaskKey> = named.filter_map(|word| self.references.tickets.read(word)).collect();
            for key in closed {
                self.change_ticket(at, &key, |model| model.is_open = false);
            }
        }
        Ok(commit)
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
    pub(in super::super) fn push(
        &mut self,
        branch: &Branch,
        sha: &Sha,
        expect: Option<&Sha>,
        at: Timestamp,
    ) -> Result<(), Failure> {
        let present = self.now.branches.get(branch);
        if present == Some(sha) {
            return Ok(());
        }
        if present != expect {
            return Err(failure(FailureKind::Conflict, "the branch is not at the expected commit"));
        }
        self.change(at, |state| {
            state.branches.insert(branch.clone(), sha.clone());
            for pr in state.prs.values_mut().filter(|pr| pr.branch == *branch && pr.is_open()) {
                let pr = Rc::make_mut(pr);
                pr.head = sha.clone();
                pr.head_since = at;
            }
        });
        Ok(())
    }

    fn delete_branch(&mut self, branch: &Branch, expect: &Sha, at: Timestamp) -> Result<GitAnswer, Failure> {
        match self.now.branches.get(branch) {
            None => Ok(GitAnswer::Done),
            Some(present) if present == expect => {
                self.change(at, |state| {
                    state.branches.remove(branch);
                    for pr in state.prs.values_mut().filter(|pr| pr.branch == *branch && pr.is_open()) {
                        Rc::make_mut(pr).state = PrState::Closed;
                    }
                });
                Ok(GitAnswer::Done)
            }
            Some(_) => Err(failure(FailureKind::Conflict, "the branch is not at the expected commit")),
        }
    }

    fn create_tag(&mut self, name: &str, commit: &Sha, at: Timestamp) -> Result<ForgeAnswer, Failure> {
        match self.now.tags.iter().find(|tag| tag.name == name) {
            Some(tag) if tag.commit == *commit => return Ok(ForgeAnswer::Done),
            Some(_) => return Err(failure(FailureKind::Refused, "reference already exists")),
            None => {}
        }
        let tag = TagSeen { name: name.to_owned(), commit: commit.clone() };
        self.change(at, |state| state.tags.push(tag));
        Ok(ForgeAnswer::Done)
    }
}

fn posted(state: &State, since: Timestamp) -> Vec<PostedComment> {
    let listed = state.comments.iter().filter(|comment| comment.updated >= since);
    let posted = listed.map(|comment| PostedComment {
        on: match &comment.on {
            Thread::Ticket(key) => CommentPlace::Ticket(key.clone()),
            Thread::Pull(number) => CommentPlace::Pull(*number),
        },
        id: comment.id.clone(),
        posted_at: comment.posted,
        login: comment.login.clone(),
        text: comment.text.clone(),
    });
    posted.collect()
}

/// A marker counts only where our own account wrote it.
fn comments(state: &State, thread: &Thread) -> Vec<CommentSeen> {
    let on_thread = state.comments.iter().filter(|comment| comment.on == *thread);
    let seen = on_thread.map(|comment| CommentSeen {
        id: comment.id.clone(),
        posted_at: comment.posted,
        marker: comment.marker.clone().filter(|_| comment.is_own),
    });
    seen.collect()
}

fn pulls(state: &State, at: Timestamp, is_wanted: impl Fn(&PrModel) -> bool) -> Vec<PullSeen> {
    let wanted = state.prs.iter().filter(|(_, pr)| is_wanted(pr));
    let seen =
        wanted.map(|(number, pr)| PullSeen { pr: pr.read(*number, at), marker: Some(pr.marker.clone()) });
    seen.collect()
}

/// Checks and commit statuses, as an adapter that reads both translates them.
fn checks(state: &State, sha: &Sha, then: Timestamp) -> BTreeSet<Check> {
    let models = state.ci.get(sha).map(|models| models.as_slice()).unwrap_or_default();
    let visible = models.iter().filter(|model| then >= model.appears);
    let checks = visible.map(|model| Check {
        name: model.name.clone(),
        state: if model.has_ended(then) { model.result } else { CheckState::Pending },
    });
    checks.collect()
}
