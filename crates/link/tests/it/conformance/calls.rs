//! Every call of the tracker and the forge, with the answer each adapter must give.

use std::collections::BTreeSet;

use pilot_core::ci::{Check, CheckState, Required};
use pilot_core::id::{BodyHash, Branch, CommentId, PrNumber, Sha, TaskKey};
use pilot_core::intake::read_body;
use pilot_core::observed::{
    Author, AuthorKind, Mergeable, Pr, PrReview, PrState, ReviewDecision, Ticket, TicketState, Trust,
};
use pilot_core::policy::MergeMethod;
use pilot_core::port::{
    Answer, Call, CommentPlace, CommentSeen, FixMeta, ForgeAnswer, ForgeCall, Marker, NewComment, NewPull,
    NewTicket, OwnTicket, PostedComment, PullSeen, TagSeen, TicketText, TrackerAnswer, TrackerCall,
};
use pilot_core::time::Timestamp;

pub(super) const HEAD: &str = "1111111111111111111111111111111111111111";
pub(super) const MERGED: &str = "3333333333333333333333333333333333333333";

/// When everything in these tests was written: 2026-11-15T20:00:00Z.
pub(super) const THEN: Timestamp = Timestamp(1_794_772_800_000_000);

/// SHA-256 of "Add login\nPlease.".
const HASH: &str = "c6204b9019153c6878c3f8b1d8e4947ed89169ef7ff5138ca28208256e4dad90";

/// Whether a call changes something, and whether it may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    Idempotent,
    Once,
}

/// A call and what it must come to.
pub(super) struct Row {
    pub(super) call: Call,
    pub(super) effect: Effect,
    pub(super) answer: Answer,
    /// The answer where what it is about does not exist; none for a failure.
    pub(super) absent: Option<Answer>,
    /// What the last request must contain.
    pub(super) sends: Vec<&'static str>,
}

impl Row {
    fn tracker(effect: Effect, call: TrackerCall, answer: TrackerAnswer) -> Row {
        let (call, answer) = (Call::Tracker(call), Answer::Tracker(answer));
        Row { call, effect, answer, absent: None, sends: Vec::new() }
    }

    fn forge(effect: Effect, call: ForgeCall, answer: ForgeAnswer) -> Row {
        let (call, answer) = (Call::Forge(call), Answer::Forge(answer));
        Row { call, effect, answer, absent: None, sends: Vec::new() }
    }

    fn or_absent(self, answer: Answer) -> Row {
        Row { absent: Some(answer), ..self }
    }

    fn sending(self, sends: &[&'static str]) -> Row {
        Row { sends: sends.to_vec(), ..self }
    }
}

pub(super) fn all_calls(key: fn(u64) -> TaskKey) -> Vec<Row> {
    let rows: Vec<Row> = tracker_reads(key)
        .into_iter()
        .chain(tracker_effects(key))
        .chain(forge_reads(key))
        .chain(forge_effects(key))
        .collect();
    let names: BTreeSet<usize> = rows.iter().map(|row| index_of(&row.call)).collect();
    assert_eq!(names, (0..CALLS).collect(), "every call has a row");
    rows
}

const CALLS: usize = 28;

/// A new call breaks the build here, and has no row until it gets one.
fn index_of(call: &Call) -> usize {
    match call {
        Call::Tracker(call) => match call {
            TrackerCall::Labelled(_) => 0,
            TrackerCall::CommentsSince(_) => 1,
            TrackerCall::Ticket(_) => 2,
            TrackerCall::Trust(_) => 3,
            TrackerCall::Comments(_) => 4,
            TrackerCall::AddComment(_, _) => 5,
            TrackerCall::EditComment(_, _, _) => 6,
            TrackerCall::AddLabels(_, _) => 7,
            TrackerCall::RemoveLabel(_, _) => 8,
            TrackerCall::Close(_) => 9,
            TrackerCall::OwnTickets(_) => 10,
            TrackerCall::Create(_) => 11,
        },
        Call::Forge(call) => match call {
            ForgeCall::PullsFrom(_) => 12,
            ForgeCall::PullsOnto(_) => 13,
            ForgeCall::Pull(_) => 14,
            ForgeCall::CreatePull(_) => 15,
            ForgeCall::ClosePull(_) => 16,
            ForgeCall::Comments(_) => 17,
            ForgeCall::AddComment(_, _) => 18,
            ForgeCall::Merge { .. } => 19,
            ForgeCall::Checks(_) => 20,
            ForgeCall::Required(_) => 21,
            ForgeCall::CheckLog { .. } => 22,
            ForgeCall::Contains { .. } => 23,
            ForgeCall::Tags => 24,
            ForgeCall::CreateTag { .. } => 25,
            ForgeCall::Reviews(_) => 26,
            ForgeCall::MayWrite(_) => 27,
        },
        Call::Git(call) => panic!("{call:?} is answered by git"),
    }
}

fn tracker_reads(key: fn(u64) -> TaskKey) -> Vec<Row> {
    let label = || "pilot".to_owned();
    let read = |call, answer| Row::tracker(Effect::None, call, answer);
    let text = TicketText { ticket: ticket(key(12)), has_comments: false, text: "Please.".to_owned() };
    let posted = PostedComment {
        on: CommentPlace::Ticket(key(12)),
        id: comment_id(),
        posted_at: THEN,
        login: "ada".to_owned(),
        text: "/pilot why".to_owned(),
    };
    vec![
        read(TrackerCall::Labelled(label()), TrackerAnswer::Tickets(Some(vec![ticket(key(12))]))),
        read(TrackerCall::CommentsSince(THEN), TrackerAnswer::Posted(Some(vec![posted]))),
        read(TrackerCall::Ticket(key(12)), TrackerAnswer::Ticket(Some(Box::new(text))))
            .or_absent(Answer::Tracker(TrackerAnswer::Ticket(None))),
        read(TrackerCall::Trust("ada".to_owned()), TrackerAnswer::Trust(Trust::Trusted))
            .or_absent(Answer::Tracker(TrackerAnswer::Trust(Trust::Untrusted))),
        read(TrackerCall::Comments(key(12)), TrackerAnswer::Comments(vec![status_comment(key)])),
        read(
            TrackerCall::OwnTickets(label()),
            TrackerAnswer::OwnTickets(vec![OwnTicket { key: key(13), marker: Some(fix_marker()) }]),
        ),
    ]
}

fn tracker_effects(key: fn(u64) -> TaskKey) -> Vec<Row> {
    let comment = || NewComment { text: "Working.".to_owned(), marker: Some(Marker::Status(key(12))) };
    let new = NewTicket {
        title: "Fix CI".to_owned(),
        text: "It broke.".to_owned(),
        labels: vec!["pilot".to_owned()],
        marker: fix_marker(),
    };
    let label = || "pilot-done".to_owned();
    let written = || TrackerAnswer::Comment(comment_id());
    vec![
        Row::tracker(Effect::Once, TrackerCall::AddComment(key(12), comment()), written())
            .sending(&["Working.", "pilot-status"]),
        Row::tracker(
            Effect::Idempotent,
            TrackerCall::EditComment(key(12), comment_id(), comment()),
            written(),
        )
        .sending(&["Working.", "pilot-status"]),
        Row::tracker(
            Effect::Idempotent,
            TrackerCall::AddLabels(key(12), [label()].into()),
            TrackerAnswer::Done,
        )
        .sending(&["pilot-done"]),
        Row::tracker(Effect::Idempotent, TrackerCall::RemoveLabel(key(12), label()), TrackerAnswer::Done)
            .or_absent(Answer::Tracker(TrackerAnswer::Done)),
        Row::tracker(Effect::Idempotent, TrackerCall::Close(key(12)), TrackerAnswer::Done),
        Row::tracker(Effect::Once, TrackerCall::Create(new), TrackerAnswer::Created(key(13))).sending(&[
            "Fix CI",
            "It broke.",
            "autopilot-meta branch:pilot/T-12 pr:7 iteration:1",
        ]),
    ]
}

fn forge_reads(key: fn(u64) -> TaskKey) -> Vec<Row> {
    let read = |call, answer| Row::forge(Effect::None, call, answer);
    let pulls = || ForgeAnswer::Pulls(vec![PullSeen { pr: pull(), marker: Some(Marker::Task(key(12))) }]);
    let checks = [("build", CheckState::Passed), ("lint", CheckState::Failed)];
    let checks = checks.map(|(name, state)| Check { name: name.to_owned(), state });
    let reviews = [("ada", ReviewDecision::RequestChanges), ("grace", ReviewDecision::Approve)];
    let reviews = reviews.map(|(login, decision)| PrReview { login: login.to_owned(), decision });
    let contains = ForgeCall::Contains { branch: branch("main"), sha: sha(HEAD) };
    let tag = TagSeen { name: "v1.0.0".to_owned(), commit: sha(HEAD) };
    let log = ForgeCall::CheckLog { sha: sha(HEAD), checks: ["build".to_owned()].into() };
    vec![
        read(ForgeCall::PullsFrom(branch("pilot/T-12")), pulls()),
        read(ForgeCall::PullsOnto(branch("main")), pulls()),
        read(ForgeCall::Pull(PrNumber(7)), ForgeAnswer::Pull(pull())),
        read(ForgeCall::Comments(PrNumber(7)), ForgeAnswer::Comments(vec![status_comment(key)])),
        read(ForgeCall::Reviews(PrNumber(7)), ForgeAnswer::Reviews(reviews.into())),
        read(ForgeCall::MayWrite("ada".to_owned()), ForgeAnswer::MayWrite(Trust::Trusted))
            .or_absent(Answer::Forge(ForgeAnswer::MayWrite(Trust::Untrusted))),
        read(ForgeCall::Checks(sha(HEAD)), ForgeAnswer::Checks(checks.into())),
        read(
            ForgeCall::Required(branch("main")),
            ForgeAnswer::Required(Required::Known(["build".to_owned()].into())),
        ),
        read(log, ForgeAnswer::Log(Some("build:\nerror: boom\n\n".to_owned())))
            .or_absent(Answer::Forge(ForgeAnswer::Log(None))),
        read(contains, ForgeAnswer::Contains(true)),
        read(ForgeCall::Tags, ForgeAnswer::Tags(vec![tag])),
    ]
}

fn forge_effects(key: fn(u64) -> TaskKey) -> Vec<Row> {
    let new = NewPull {
        branch: branch("pilot/T-12"),
        base: branch("main"),
        title: "Add login".to_owned(),
        text: "It works.".to_owned(),
        marker: Marker::Task(key(12)),
    };
    let merge = ForgeCall::Merge {
        pr: PrNumber(7),
        sha: sha(HEAD),
        method: MergeMethod::Squash,
        title: "Add login (#7)".to_owned(),
    };
    let comment = NewComment { text: "Working.".to_owned(), marker: Some(Marker::Status(key(12))) };
    let tag = ForgeCall::CreateTag { name: "v1.0.0".to_owned(), commit: sha(HEAD) };
    vec![
        Row::forge(Effect::Once, ForgeCall::CreatePull(new), ForgeAnswer::Pull(pull())).sending(&[
            "pilot/T-12",
            "main",
            "Add login",
            "It works.",
            "pilot-task",
        ]),
        Row::forge(Effect::Idempotent, ForgeCall::ClosePull(PrNumber(7)), ForgeAnswer::Done),
        Row::forge(
            Effect::Once,
            ForgeCall::AddComment(PrNumber(7), comment),
            ForgeAnswer::Comment(comment_id()),
        )
        .sending(&["Working.", "pilot-status"]),
        Row::forge(Effect::Once, merge, ForgeAnswer::Merged(sha(MERGED))).sending(&[HEAD, "squash"]),
        Row::forge(Effect::Once, tag, ForgeAnswer::Done).sending(&["v1.0.0", HEAD]),
    ]
}

fn ticket(key: TaskKey) -> Ticket {
    let hash = BodyHash::parse(HASH).expect("a hash");
    Ticket {
        key,
        title: "Add login".to_owned(),
        author: Author { login: "ada".to_owned(), kind: AuthorKind::Person },
        labels: ["pilot".to_owned()].into(),
        state: TicketState::Open,
        body: read_body("Please.", hash, &pilot_core::id::KeyStyle::Whole),
        created_at: THEN,
        updated_at: THEN,
    }
}

fn pull() -> Pr {
    Pr {
        number: PrNumber(7),
        branch: branch("pilot/T-12"),
        head: sha(HEAD),
        state: PrState::Open,
        mergeable: Mergeable::Unknown,
    }
}

fn status_comment(key: fn(u64) -> TaskKey) -> CommentSeen {
    CommentSeen { id: comment_id(), posted_at: THEN, marker: Some(Marker::Status(key(12))) }
}

pub(super) fn fix_marker() -> Marker {
    Marker::Fix(FixMeta { branch: branch("pilot/T-12"), pr: PrNumber(7), iteration: 1 })
}

fn comment_id() -> CommentId {
    CommentId::parse("9").expect("an id")
}

fn branch(name: &str) -> Branch {
    Branch::parse(name).expect("a branch")
}

fn sha(text: &str) -> Sha {
    Sha::parse(text).expect("a commit")
}
