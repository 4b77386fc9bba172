//! The tracker, the forge and the git repository of one project, as one small model: tickets, comments, pull requests, checks,
//! refs. Its reads may be stale; its writes never are.

mod answer;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use pilot_core::ci::CheckState;
use pilot_core::id::{BodyHash, Branch, CommentId, HomeId, KeyStyle, PrNumber, References, Sha, TaskKey};
use pilot_core::intake::read_body;
use pilot_core::observed::{
    Author, AuthorKind, Mergeable, Pr, PrReview, PrState, ReviewDecision, Ticket, TicketState, Trust,
};
use pilot_core::port::{Marker, TagSeen};
use pilot_core::time::Timestamp;
use pilot_core::words::fingerprint;

/// How far back a stale read may look. Less than a Pilot waits before it believes a list.
pub(super) const MOST_STALE: Duration = Duration::from_secs(8);

/// How long the forge needs to find out whether a branch can be merged.
const MERGEABLE_AFTER: Duration = Duration::from_secs(7);

/// The account every Pilot writes with.
pub(super) const OWN_LOGIN: &str = "pilot-bot";

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) tickets: BTreeMap<TaskKey, Rc<TicketModel>>,
    pub(super) prs: BTreeMap<PrNumber, Rc<PrModel>>,
    /// In the order of their time.
    pub(super) comments: Vec<Rc<CommentModel>>,
    pub(super) branches: BTreeMap<Branch, Sha>,
    pub(super) claims: BTreeMap<TaskKey, HomeId>,
    pub(super) tags: Vec<TagSeen>,
    pub(super) base: Vec<Sha>,
    pub(super) ci: BTreeMap<Sha, Rc<Vec<CheckModel>>>,
    last_number: u64,
    last_comment: u64,
}

#[derive(Clone, Debug)]
pub(super) struct TicketModel {
    number: u64,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) marker: Option<Marker>,
    /// What its author wrote that it depends on.
    pub(super) depends_on: BTreeSet<TaskKey>,
    pub(super) author: Author,
    pub(super) labels: BTreeSet<String>,
    pub(super) is_open: bool,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct PrModel {
    pub(super) branch: Branch,
    pub(super) base: Branch,
    pub(super) head: Sha,
    pub(super) text: String,
    pub(super) marker: Marker,
    pub(super) state: PrState,
    pub(super) conflicts: bool,
    pub(super) opened: Timestamp,
    pub(super) head_since: Timestamp,
    /// In the order of their time; dismissed ones are gone.
    pub(super) reviews: Vec<(PrReview, Timestamp)>,
}

/// What a comment is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thread {
    Ticket(TaskKey),
    Pull(PrNumber),
}

#[derive(Clone, Debug)]
pub(super) struct CommentModel {
    pub(super) id: CommentId,
    pub(super) on: Thread,
    pub(super) login: String,
    pub(super) is_own: bool,
    pub(super) text: String,
    /// What the hidden part of the text says; only in our own comments does it count.
    pub(super) marker: Option<Marker>,
    pub(super) posted: Timestamp,
    pub(super) updated: Timestamp,
}

/// A comment to be added to the model.
#[derive(Debug)]
pub(super) struct CommentDraft<'d> {
    pub(super) on: Thread,
    pub(super) login: &'d str,
    pub(super) is_own: bool,
    pub(super) text: &'d str,
    pub(super) marker: Option<Marker>,
}

/// A ticket to be added to the model.
#[derive(Debug)]
pub(super) struct TicketDraft<'d> {
    pub(super) title: &'d str,
    pub(super) text: &'d str,
    pub(super) marker: Option<Marker>,
    pub(super) depends_on: BTreeSet<TaskKey>,
    pub(super) author: Author,
    pub(super) labels: BTreeSet<String>,
}

/// One report on a commit, with the moments at which it appears and ends.
#[derive(Clone, Debug)]
pub(super) struct CheckModel {
    pub(super) name: String,
    /// Whether it is a commit status, which forges keep apart from checks.
    pub(super) is_status: bool,
    pub(super) appears: Timestamp,
    pub(super) ends: Timestamp,
    pub(super) result: CheckState,
}

/// The tracker, forge and repository of one project.
#[derive(Debug)]
pub(super) struct Forge {
    pub(super) now: Rc<State>,
    before: VecDeque<(Timestamp, Rc<State>)>,
    references: References,
    pub(super) required: BTreeSet<String>,
    /// Which accounts may set Pilot to work; every other account may not.
    pub(super) people: BTreeMap<String, Trust>,
    /// Merged commits that appear on the base branch later, as on a replica that lags.
    pub(super) not_yet_on_base: BTreeMap<Sha, Timestamp>,
    /// Pull requests that read as closed for a moment, and until when.
    pub(super) glitches: BTreeMap<PrNumber, Timestamp>,
    /// Whether a merge closes the tickets it names: not where the base is not the repository's own default.
    pub(super) closes_tickets: bool,
    /// Tickets that were closed at some time.
    pub(super) ever_closed: BTreeSet<TaskKey>,
    pub(super) shas: u64,
}

pub(super) fn hash_text(text: &str) -> BodyHash {
    BodyHash::parse(&fingerprint(text).repeat(4)).expect("sixteen digits, four times")
}

impl TicketModel {
    fn read(&self, key: &TaskKey, keys: &KeyStyle) -> Ticket {
        Ticket {
            key: key.clone(),
            title: self.title.clone(),
            author: self.author.clone(),
            labels: self.labels.clone(),
            state: if self.is_open { TicketState::Open } else { TicketState::Closed },
            body: read_body(&self.text, hash_text(&self.text), keys),
            created_at: self.created,
            updated_at: self.updated,
        }
    }

    pub(super) fn is_own(&self) -> bool {
        self.author.kind == AuthorKind::Me
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

    pub(super) fn is_open(&self) -> bool {
        self.state == PrState::Open
    }

    /// Whose last review requests changes, and since when.
    pub(super) fn requests(&self) -> Vec<(&str, Timestamp)> {
        let last: BTreeMap<&str, (ReviewDecision, Timestamp)> =
            self.reviews.iter().map(|(review, at)| (review.login.as_str(), (review.decision, *at))).collect();
        let requests =
            last.into_iter().filter(|(_, (decision, _))| *decision == ReviewDecision::RequestChanges);
        requests.map(|(login, (_, at))| (login, at)).collect()
    }
}

impl CheckModel {
    pub(super) fn has_ended(&self, at: Timestamp) -> bool {
        at >= self.ends
    }
}

impl Forge {
    pub(super) fn new(first: Sha, references: &References) -> Forge {
        let state = State { base: vec![first], ..State::default() };
        Forge {
            now: Rc::new(state),
            before: VecDeque::new(),
            references: references.clone(),
            required: BTreeSet::new(),
            people: BTreeMap::new(),
            not_yet_on_base: BTreeMap::new(),
            glitches: BTreeMap::new(),
            closes_tickets: references.closing_word.is_some(),
            ever_closed: BTreeSet::new(),
            shas: 0,
        }
    }

    /// How a ticket is written in a text.
    pub(super) fn write_key(&self, key: &TaskKey) -> String {
        self.references.ticket(key)
    }

    pub(super) fn is_trusted(&self, login: &str) -> bool {
        self.people.get(login) == Some(&Trust::Trusted)
    }

    /// A new commit.
    pub(super) fn new_sha(&mut self) -> Sha {
        self.shas += 1;
        Sha::parse(&format!("{:016x}{:024x}", scramble(self.shas), self.shas)).expect("forty digits")
    }

    /// Changes the state; what was before stays readable for a while.
    pub(super) fn change<T>(&mut self, at: Timestamp, change: impl FnOnce(&mut State) -> T) -> T {
        self.before.push_back((at, Rc::clone(&self.now)));
        while self.before.front().is_some_and(|(until, _)| at.since(*until) > 2 * MOST_STALE) {
            self.before.pop_front();
        }
        change(Rc::make_mut(&mut self.now))
    }

    pub(super) fn change_ticket(
        &mut self,
        at: Timestamp,
        key: &TaskKey,
        change: impl FnOnce(&mut TicketModel),
    ) {
        self.change(at, |state| {
            if let Some(model) = state.tickets.get_mut(key) {
                let model = Rc::make_mut(model);
                change(model);
                model.updated = at;
            }
        });
        if self.now.tickets.get(key).is_some_and(|model| !model.is_open) {
            self.ever_closed.insert(key.clone());
        }
    }

    pub(super) fn change_pr(&mut self, at: Timestamp, number: PrNumber, change: impl FnOnce(&mut PrModel)) {
        self.change(at, |state| {
            if let Some(model) = state.prs.get_mut(&number) {
                change(Rc::make_mut(model));
            }
        });
    }

    pub(super) fn open_ticket(&mut self, draft: TicketDraft<'_>, at: Timestamp) -> TaskKey {
        let prefix = match &self.references.tickets {
            KeyStyle::Numbered { prefix } => prefix.clone(),
            KeyStyle::Whole => "ENG".to_owned(),
        };
        self.change(at, |state| {
            state.last_number += 1;
            let key = TaskKey::numbered(&prefix, state.last_number);
            let model = TicketModel {
                number: state.last_number,
                title: draft.title.to_owned(),
                text: draft.text.to_owned(),
                marker: draft.marker,
                depends_on: draft.depends_on,
                author: draft.author,
                labels: draft.labels,
                is_open: true,
                created: at,
                updated: at,
            };
            state.tickets.insert(key.clone(), Rc::new(model));
            key
        })
    }

    /// Adds a comment. One on a ticket changes the ticket.
    pub(super) fn add_comment(&mut self, draft: CommentDraft<'_>, at: Timestamp) -> CommentId {
        let on = draft.on.clone();
        let id = self.change(at, |state| {
            state.last_comment += 1;
            // Ids have no order.
            let id =
                CommentId::parse(&format!("{:016x}", scramble(state.last_comment))).expect("sixteen digits");
            state.comments.push(Rc::new(CommentModel {
                id: id.clone(),
                on: draft.on,
                login: draft.login.to_owned(),
                is_own: draft.is_own,
                text: draft.text.to_owned(),
                marker: draft.marker,
                posted: at,
                updated: at,
            }));
            id
        });
        if let Thread::Ticket(key) = on {
            self.change_ticket(at, &key, |_| ());
        }
        id
    }

    /// The state now and every one a reader may still have read.
    pub(super) fn recent_states(&self) -> impl Iterator<Item = &State> {
        self.before.iter().map(|(_, state)| &**state).chain([&*self.now])
    }

    /// Whether a commit is on the base branch, as a reader without lag sees it.
    pub(super) fn is_on_base(&self, commit: &Sha, at: Timestamp) -> bool {
        self.has_appeared(commit, at) && self.now.base.contains(commit)
    }

    fn has_appeared(&self, commit: &Sha, at: Timestamp) -> bool {
        self.not_yet_on_base.get(commit).is_none_or(|from| at >= *from)
    }

    /// The state as it was then.
    fn as_of(&self, then: Timestamp) -> &State {
        // The first state that was replaced after `then` was in force at `then`.
        let old = self.before.iter().find(|(until, _)| *until > then);
        old.map_or(&self.now, |(_, state)| state)
    }
}

/// Different numbers give different ones, in no order.
fn scramble(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
