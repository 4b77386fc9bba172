//! Acts, call by call: what is looked at before anything is written, and what each answer leads to.

use std::collections::BTreeSet;

use super::{Next, Report, next_step};
use crate::ci::CheckState;
use crate::fact::{Landed, ProjectEvent, TaskEvent, TaskMessage};
use crate::id::{Branch, Generation, PrNumber};
use crate::observed::{
    FailureKind, Mergeable, Pr, PrReview, PrState, ReviewDecision, Ticket, TicketState, Trust,
};
use crate::perform::run_input;
use crate::port::{
    Answer, Call, CommentSeen, FixMeta, ForgeAnswer, ForgeCall, GitAnswer, GitCall, Marker, NewComment,
    NewPull, OwnTicket, PullSeen, Reply, TagSeen, TicketText, TrackerAnswer, TrackerCall,
};
use crate::release::{Bump, NewTag};
use crate::task::scenario::{
    Scenario, at, comment_id, failure, gh, hash, merged, policy, pr, reading, sha, ticket,
};
use crate::task::{Action, StatusComment};

fn branch() -> Branch {
    Branch::parse("pilot/GH-1").unwrap()
}

/// The call that comes next, after these answers.
fn call(action: &Action, said: &[Reply]) -> Call {
    match next_step(action, &policy(), said) {
        Next::Call(call) => call,
        Next::Done(report) => panic!("no call, but {report:?}"),
    }
}

fn report(action: &Action, said: &[Reply]) -> Report {
    match next_step(action, &policy(), said) {
        Next::Done(report) => report,
        Next::Call(call) => panic!("no report, but {call:?}"),
    }
}

/// What happened to the task in the end.
fn event(action: &Action, said: &[Reply]) -> TaskEvent {
    match report(action, said) {
        Report::Task(event) => event,
        other @ (Report::Project(_) | Report::Message { .. } | Report::Failed(_)) => panic!("{other:?}"),
    }
}

fn failed(action: &Action, said: &[Reply]) -> FailureKind {
    match report(action, said) {
        Report::Failed(failure) => failure.kind,
        other @ (Report::Project(_) | Report::Message { .. } | Report::Task(_)) => panic!("{other:?}"),
    }
}

fn planned(scenario: &Scenario, lane: &str) -> Action {
    scenario.action(lane).unwrap_or_else(|| panic!("{lane} in {:?}", scenario.lanes())).clone()
}

fn tracker(answer: TrackerAnswer) -> Reply {
    Ok(Answer::Tracker(answer))
}

fn forge(answer: ForgeAnswer) -> Reply {
    Ok(Answer::Forge(answer))
}

fn git(answer: GitAnswer) -> Reply {
    Ok(Answer::Git(answer))
}

fn read(ticket: Ticket) -> Reply {
    let read = TicketText { ticket, has_comments: true, text: "text".to_owned() };
    tracker(TrackerAnswer::Ticket(Some(Box::new(read))))
}

/// A pull request with the marker of task 1, or without any.
fn pull(pr: Pr, is_ours: bool) -> PullSeen {
    PullSeen { pr, marker: is_ours.then(|| Marker::Task(gh(1))) }
}

/// A comment posted at the second of its id.
fn comment(number: i64, marker: Option<&Marker>) -> CommentSeen {
    CommentSeen { id: comment_id(number), posted_at: at(number), marker: marker.cloned() }
}

/// A task whose pull request is to be opened.
fn opening() -> Scenario {
    let mut scenario = Scenario::running();
    let work = crate::task::scenario::work(sha(10));
    scenario.run_ends(crate::fact::RunEnding::Completed(Box::new(work)));
    scenario.done("push", TaskEvent::Pushed { branch: branch(), sha: sha(10) });
    scenario
}

fn merging() -> Scenario {
    let mut scenario = Scenario::opened();
    scenario.judged(CheckState::Passed);
    scenario
}

fn done() -> Scenario {
    let mut scenario = merging();
    scenario.merges();
    scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    scenario
}

/// Every action there is, as decisions make them.
fn all() -> Vec<Action> {
    let mut queued = Scenario::queued();
    queued.claim();
    let mut starting = Scenario::queued();
    starting.claim();
    starting.done("claim", TaskEvent::ClaimPlaced { generation: Generation(1) });
    let mut pushing = Scenario::running();
    let work = crate::task::scenario::work(sha(10));
    pushing.run_ends(crate::fact::RunEnding::Completed(Box::new(work)));
    let mut failing = Scenario::opened();
    failing.judged(CheckState::Failed);
    let continued = Scenario::continued();
    let mut asked = Scenario::queued();
    let by = crate::task::scenario::by_comment(5, Trust::Trusted);
    asked.tell(TaskEvent::CommandReceived { command: crate::fact::UserCommand::Why, by });
    vec![
        planned(&queued, "claim"),
        planned(&starting, "run"),
        planned(&starting, "label"),
        planned(&Scenario::running(), "comment"),
        planned(&pushing, "push"),
        planned(&opening(), "pr"),
        planned(&merging(), "merge"),
        planned(&failing, "fix"),
        planned(&continued, "close-pr"),
        planned(&done(), "close-ticket"),
        planned(&done(), "delete-branch"),
        planned(&asked, "reply"),
        Action::FindPr { branch: branch(), marker: Marker::Task(gh(1)) },
        Action::ReleaseClaim { generation: Generation(1), task: gh(1) },
        Action::Tag(NewTag { commit: sha(11), bump: Bump::Patch, prefix: "v".to_owned(), last: None }),
    ]
}

#[test]
fn whatever_fails_is_reported_as_it_is() {
    for action in all() {
        for kind in [FailureKind::NotSent, FailureKind::Lost, FailureKind::Server, FailureKind::RateLimited] {
            assert_eq!(failed(&action, &[Err(failure(kind))]), kind, "{action:?}");
        }
    }
}

#[test]
fn an_answer_to_another_question_is_a_failure() {
    for action in all() {
        let odd = tracker(TrackerAnswer::Trust(Trust::Untrusted));
        assert_eq!(failed(&action, &[odd]), FailureKind::Server, "{action:?}");
    }
}

/// Whether a call creates, closes, merges or deletes without naming what must be there.
fn is_blind_effect(call: &Call) -> bool {
    match call {
        Call::Tracker(call) => match call {
            TrackerCall::Create(_) | TrackerCall::AddComment(..) | TrackerCall::Close(_) => true,
            // These set what may be set twice.
            TrackerCall::AddLabels(..) | TrackerCall::RemoveLabel(..) | TrackerCall::EditComment(..) => false,
            TrackerCall::Labelled(_)
            | TrackerCall::CommentsSince(_)
            | TrackerCall::Ticket(_)
            | TrackerCall::Trust(_)
            | TrackerCall::Comments(_)
            | TrackerCall::OwnTickets(_) => false,
        },
        Call::Forge(call) => match call {
            ForgeCall::CreatePull(_)
            | ForgeCall::ClosePull(_)
            | ForgeCall::AddComment(..)
            | ForgeCall::Merge { .. }
            | ForgeCall::CreateTag { .. } => true,
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
            | ForgeCall::Tags => false,
        },
        Call::Git(call) => match call {
            GitCall::DeleteBranch { .. } | GitCall::ForgetBranches(_) => true,
            // These name what must be there.
            GitCall::PlaceClaim(_) | GitCall::ReleaseClaim(_) | GitCall::Push { .. } => false,
            GitCall::FetchBase { .. }
            | GitCall::Contains { .. }
            | GitCall::ReadClaim(_)
            | GitCall::Head { .. } => false,
        },
    }
}

#[test]
fn what_would_be_done_twice_is_looked_for_first() {
    for action in all() {
        let first = call(&action, &[]);
        assert!(!is_blind_effect(&first), "{action:?} begins with {first:?}");
    }
}

#[test]
fn a_pull_request_is_found_before_it_is_opened() {
    let action = planned(&opening(), "pr");
    assert_eq!(call(&action, &[]), Call::Forge(ForgeCall::PullsFrom(branch())));
    let none = || forge(ForgeAnswer::Pulls(Vec::new()));
    assert_eq!(call(&action, &[none()]), create_pull(&action));
    let opened = TaskEvent::PrOpened { pr: pr(7, sha(10)) };
    assert_eq!(event(&action, &[none(), forge(ForgeAnswer::Pull(pr(7, sha(10))))]), opened);
    let ours = forge(ForgeAnswer::Pulls(vec![pull(pr(7, sha(10)), true)]));
    assert_eq!(event(&action, &[ours]), opened, "a reply was lost");
    let theirs = forge(ForgeAnswer::Pulls(vec![pull(pr(8, sha(10)), false)]));
    assert_eq!(failed(&action, &[theirs]), FailureKind::Conflict);
}

fn create_pull(action: &Action) -> Call {
    let Action::OpenPr(new) = action else { panic!() };
    Call::Forge(ForgeCall::CreatePull(NewPull {
        branch: new.branch.clone(),
        base: new.base.clone(),
        title: new.title.clone(),
        text: new.body.clone(),
        marker: Marker::Task(gh(1)),
    }))
}

#[test]
fn a_pull_request_that_was_opened_and_merged_meanwhile_is_not_opened_again() {
    let action = planned(&opening(), "pr");
    let of = |state: &PrState, head: u8| pull(Pr { state: state.clone(), ..pr(7, sha(head)) }, true);
    for state in [PrState::Merged { commit: sha(11) }, PrState::Closed] {
        let found = of(&state, 10);
        let known = TaskEvent::PrOpened { pr: found.pr.clone() };
        assert_eq!(event(&action, &[forge(ForgeAnswer::Pulls(vec![found]))]), known);
        let earlier = forge(ForgeAnswer::Pulls(vec![of(&state, 9)]));
        assert_eq!(call(&action, &[earlier]), create_pull(&action), "of an earlier life");
    }
    let both = vec![of(&PrState::Closed, 10), pull(pr(8, sha(10)), false)];
    assert_eq!(failed(&action, &[forge(ForgeAnswer::Pulls(both))]), FailureKind::Conflict);
}

#[test]
fn a_pull_request_that_may_exist_is_found_or_is_not() {
    let action = Action::FindPr { branch: branch(), marker: Marker::Task(gh(1)) };
    let found = forge(ForgeAnswer::Pulls(vec![pull(pr(7, sha(10)), true)]));
    assert_eq!(event(&action, &[found]), TaskEvent::PrOpened { pr: pr(7, sha(10)) });
    let theirs = forge(ForgeAnswer::Pulls(vec![pull(pr(7, sha(10)), false)]));
    assert_eq!(event(&action, &[theirs]), TaskEvent::NoPrFound { branch: branch() });
}

/// The two replies that make up a reading of CI.
fn ci_replies(state: CheckState) -> [Reply; 2] {
    let reading = reading(sha(10), state);
    [forge(ForgeAnswer::Checks(reading.checks)), forge(ForgeAnswer::Required(reading.required))]
}

#[test]
fn a_merge_looks_once_more_and_names_the_commit() {
    let action = planned(&merging(), "merge");
    let seen = |pr: Pr| forge(ForgeAnswer::Pull(pr));
    let [checks, required] = ci_replies(CheckState::Passed);
    let mut said = Vec::new();
    assert_eq!(call(&action, &said), Call::Forge(ForgeCall::Pull(PrNumber(7))));
    said.push(seen(pr(7, sha(10))));
    assert_eq!(call(&action, &said), Call::Forge(ForgeCall::Checks(sha(10))));
    said.push(checks);
    assert_eq!(call(&action, &said), Call::Forge(ForgeCall::Required(Branch::parse("main").unwrap())));
    said.push(required);
    assert_eq!(call(&action, &said), Call::Forge(ForgeCall::Reviews(PrNumber(7))));
    said.push(reviews(&[]));
    let Call::Forge(ForgeCall::Merge { pr: number, sha: head, .. }) = call(&action, &said) else { panic!() };
    assert_eq!((number, head), (PrNumber(7), sha(10)));
    let lost = [said.clone(), vec![Err(failure(FailureKind::Lost))]].concat();
    assert_eq!(failed(&action, &lost), FailureKind::Lost);
    said.push(forge(ForgeAnswer::Merged(sha(11))));
    assert_eq!(event(&action, &said), TaskEvent::PrRead { pr: merged(7, sha(10), sha(11)) });
    for other in [
        pr(7, sha(12)),
        merged(7, sha(10), sha(11)),
        Pr { state: PrState::Closed, ..pr(7, sha(10)) },
        Pr { mergeable: Mergeable::No, ..pr(7, sha(10)) },
    ] {
        assert_eq!(event(&action, &[seen(other.clone())]), TaskEvent::PrRead { pr: other });
    }
    let [checks, required] = ci_replies(CheckState::Failed);
    let red = reading(sha(10), CheckState::Failed);
    assert_eq!(event(&action, &[seen(pr(7, sha(10))), checks, required]), TaskEvent::CiRead { reading: red });
    let [checks, _] = ci_replies(CheckState::Pending);
    let TaskEvent::CiRead { reading } = event(&action, &[seen(pr(7, sha(10))), checks]) else { panic!() };
    assert_eq!(reading.required, crate::ci::Required::Unknown, "not asked while something is pending");
}

fn reviews(of: &[(&str, ReviewDecision)]) -> Reply {
    let review = |(login, decision): &(&str, ReviewDecision)| PrReview {
        login: (*login).to_owned(),
        decision: *decision,
    };
    forge(ForgeAnswer::Reviews(of.iter().map(review).collect()))
}

#[test]
fn a_user_with_write_access_who_requests_changes_keeps_it_from_being_merged() {
    use ReviewDecision::{Approve, RequestChanges};
    let action = planned(&merging(), "merge");
    let [checks, required] = ci_replies(CheckState::Passed);
    let before = [forge(ForgeAnswer::Pull(pr(7, sha(10)))), checks, required];
    let said = |more: &[Reply]| [before.to_vec(), more.to_vec()].concat();
    let may_write = |trust| forge(ForgeAnswer::MayWrite(trust));
    let requested = |by: &[&str]| {
        let requested_by = by.iter().map(|login| (*login).to_owned()).collect();
        TaskEvent::ReviewsRead { pr: PrNumber(7), requested_by }
    };
    let both = || reviews(&[("ann", RequestChanges), ("eve", RequestChanges), ("cat", Approve)]);
    let ask = |login: &str| Call::Forge(ForgeCall::MayWrite(login.to_owned()));
    assert_eq!(call(&action, &said(&[both()])), ask("ann"));
    assert_eq!(call(&action, &said(&[both(), may_write(Trust::Trusted)])), ask("eve"));
    for (eve, by) in [(Trust::Untrusted, &["ann"][..]), (Trust::Unknown, &["ann", "eve"])] {
        let said = said(&[both(), may_write(Trust::Trusted), may_write(eve)]);
        assert_eq!(event(&action, &said), requested(by), "{eve:?}");
    }
    let strangers = said(&[both(), may_write(Trust::Untrusted), may_write(Trust::Untrusted)]);
    assert!(matches!(call(&action, &strangers), Call::Forge(ForgeCall::Merge { .. })));
    for unread in [
        said(&[Err(failure(FailureKind::Server))]),
        said(&[both(), Err(failure(FailureKind::Server))]),
        said(&[reviews(&[]), forge(ForgeAnswer::Done)]),
    ] {
        assert_eq!(failed(&action, &unread), FailureKind::Server, "unknown never merges");
    }
    let approved = said(&[reviews(&[("ann", RequestChanges), ("ann", Approve)])]);
    assert!(matches!(call(&action, &approved), Call::Forge(ForgeCall::Merge { .. })));
    let mut scenario = merging();
    scenario.policy.trusted = ["Ann".to_owned()].into();
    let listed = said(&[reviews(&[("ann", RequestChanges)])]);
    let step = next_step(&action, &scenario.policy, &listed);
    assert_eq!(step, Next::Done(Report::Task(requested(&["ann"]))), "a user who is listed needs no look");
}

#[test]
fn a_pull_request_whose_changes_are_requested_is_not_given_up_for_a_fix() {
    let mut scenario = Scenario::opened();
    scenario.judged(CheckState::Failed);
    let action = planned(&scenario, "fix");
    let said =
        [reviews(&[("ann", ReviewDecision::RequestChanges)]), forge(ForgeAnswer::MayWrite(Trust::Trusted))];
    let requested_by = ["ann".to_owned()].into();
    assert_eq!(event(&action, &said), TaskEvent::ReviewsRead { pr: PrNumber(7), requested_by });
}

#[test]
fn a_run_begins_with_the_text_of_today() {
    let mut scenario = Scenario::queued();
    scenario.claim();
    scenario.done("claim", TaskEvent::ClaimPlaced { generation: Generation(1) });
    let action = planned(&scenario, "run");
    assert_eq!(call(&action, &[]), Call::Tracker(TrackerCall::Ticket(gh(1))));
    let base = Branch::parse("main").unwrap();
    let fetch = GitCall::FetchBase { base, branch: branch(), from: None };
    assert_eq!(call(&action, &[read(ticket(1))]), Call::Git(fetch));
    let said = vec![read(ticket(1)), git(GitAnswer::Base(sha(3)))];
    let started = TaskEvent::RunStarted { generation: Generation(1), body: hash(0), without_comments: false };
    assert_eq!(event(&action, &said), started);
    assert_eq!(run_input(said).map(|input| (input.base, input.read.text)), Some((sha(3), "text".to_owned())));
    let unfetched = [read(ticket(1)), Err(failure(FailureKind::NotSent))];
    assert_eq!(failed(&action, &unfetched), FailureKind::NotSent);
    let mut edited = ticket(1);
    edited.body.hash = hash(1);
    let closed = Ticket { state: TicketState::Closed, ..ticket(1) };
    let unlabelled = Ticket { labels: BTreeSet::new(), ..ticket(1) };
    for other in [edited, closed, unlabelled] {
        assert_eq!(event(&action, &[read(other.clone())]), TaskEvent::TicketRead { ticket: other });
    }
    assert_eq!(event(&action, &[tracker(TrackerAnswer::Ticket(None))]), TaskEvent::TicketGone);
}

#[test]
fn a_claim_is_ours_or_anothers() {
    let task = gh(1);
    let generation = Generation(3);
    let action = Action::PlaceClaim { generation, task };
    assert_eq!(event(&action, &[git(GitAnswer::Claim(None))]), TaskEvent::ClaimPlaced { generation });
    let owner = "other".to_owned();
    let lost = TaskEvent::ClaimLost { generation, owner: owner.clone() };
    assert_eq!(event(&action, &[git(GitAnswer::Claim(Some(owner)))]), lost);
}

#[test]
fn a_close_has_one_last_comment() {
    let scenario = Scenario::continued();
    let action = planned(&scenario, "close-pr");
    let Action::ClosePr { marker, comment: text, .. } = &action else { panic!() };
    let open = || forge(ForgeAnswer::Pull(pr(7, sha(10))));
    let comments = |comments: Vec<CommentSeen>| forge(ForgeAnswer::Comments(comments));
    assert_eq!(call(&action, &[open()]), Call::Forge(ForgeCall::Comments(PrNumber(7))));
    let new = NewComment { text: text.clone(), marker: Some(marker.clone()) };
    let add = Call::Forge(ForgeCall::AddComment(PrNumber(7), new));
    assert_eq!(call(&action, &[open(), comments(vec![])]), add);
    let close = Call::Forge(ForgeCall::ClosePull(PrNumber(7)));
    let added = forge(ForgeAnswer::Comment(comment_id(3)));
    assert_eq!(call(&action, &[open(), comments(vec![]), added]), close);
    let said = || comments(vec![comment(3, Some(marker))]);
    assert_eq!(call(&action, &[open(), said()]), close, "it was written before");
    assert_eq!(call(&action, &[open(), comments(vec![comment(3, None)])]), add, "another comment");
    let closed = [open(), said(), forge(ForgeAnswer::Done)];
    assert_eq!(event(&action, &closed), TaskEvent::PrClosed { pr: PrNumber(7) });
    let reads_closed = Pr { state: PrState::Closed, ..pr(7, sha(12)) };
    for other in [merged(7, sha(10), sha(11)), pr(7, sha(12)), reads_closed] {
        assert_eq!(
            event(&action, &[forge(ForgeAnswer::Pull(other.clone()))]),
            TaskEvent::PrRead { pr: other }
        );
    }
}

#[test]
fn a_fix_is_found_before_it_is_opened_and_needs_no_log() {
    let mut scenario = Scenario::opened();
    scenario.judged(CheckState::Failed);
    let action = planned(&scenario, "fix");
    let marker = |iteration: u32| Marker::Fix(FixMeta { branch: branch(), pr: PrNumber(7), iteration });
    let own = |iteration: u32| {
        let ticket = OwnTicket { key: gh(8), marker: Some(marker(iteration)) };
        tracker(TrackerAnswer::OwnTickets(vec![ticket]))
    };
    let opened = TaskEvent::FixOpened { ticket: gh(8), iteration: 1, pr: PrNumber(7) };
    let none = || reviews(&[]);
    assert_eq!(call(&action, &[]), Call::Forge(ForgeCall::Reviews(PrNumber(7))));
    assert_eq!(call(&action, &[none()]), Call::Tracker(TrackerCall::OwnTickets("autopilot-fix".to_owned())));
    assert_eq!(event(&action, &[none(), own(1)]), opened);
    let checks: BTreeSet<String> = ["build".to_owned()].into();
    assert_eq!(call(&action, &[none(), own(2)]), Call::Forge(ForgeCall::CheckLog { sha: sha(10), checks }));
    let no_log = || forge(ForgeAnswer::Log(None));
    for log in [no_log(), Err(failure(FailureKind::NotFound))] {
        let Call::Tracker(TrackerCall::Create(new)) = call(&action, &[none(), own(2), log.clone()]) else {
            panic!()
        };
        assert_eq!(
            (new.title.as_str(), new.labels),
            ("Fix CI: Add login", vec!["pilot".to_owned(), "autopilot-fix".to_owned()])
        );
        assert_eq!(new.marker, marker(1));
        let created = tracker(TrackerAnswer::Created(gh(8)));
        assert_eq!(event(&action, &[none(), own(2), log.clone(), created]), opened);
        let lost = [none(), own(2), log, Err(failure(FailureKind::Lost))];
        assert_eq!(failed(&action, &lost), FailureKind::Lost);
    }
    assert_eq!(failed(&action, &[none(), own(2), Err(failure(FailureKind::Server))]), FailureKind::Server);
}

#[test]
fn a_branch_that_others_use_stays() {
    let action = planned(&done(), "delete-branch");
    let none = || forge(ForgeAnswer::Pulls(Vec::new()));
    assert_eq!(call(&action, &[]), Call::Forge(ForgeCall::PullsOnto(branch())));
    let delete = GitCall::DeleteBranch { branch: branch(), expect: sha(10) };
    assert_eq!(call(&action, &[none()]), Call::Git(delete));
    let deleted = [none(), git(GitAnswer::Done)];
    assert_eq!(event(&action, &deleted), TaskEvent::BranchDeleted { branch: branch() });
    let stacked = forge(ForgeAnswer::Pulls(vec![pull(pr(9, sha(12)), false)]));
    assert!(matches!(event(&action, &[stacked]), TaskEvent::BranchKept { .. }));
    let pushed = [none(), Err(failure(FailureKind::Conflict))];
    assert!(matches!(event(&action, &pushed), TaskEvent::BranchKept { .. }), "commits of others");
    assert_eq!(failed(&action, &[none(), Err(failure(FailureKind::Lost))]), FailureKind::Lost);
}

#[test]
fn a_ticket_is_closed_once() {
    let action = planned(&done(), "close-ticket");
    let closed = || read(Ticket { state: TicketState::Closed, ..ticket(1) });
    assert_eq!(event(&action, &[closed()]), TaskEvent::TicketClosed);
    let gone = || tracker(TrackerAnswer::Ticket(None));
    let not_found = || Err(failure(FailureKind::NotFound));
    for said in [read(ticket(1)), gone()] {
        assert_eq!(call(&action, std::slice::from_ref(&said)), Call::Tracker(TrackerCall::Close(gh(1))));
        assert_eq!(event(&action, &[said, tracker(TrackerAnswer::Done)]), TaskEvent::TicketClosed);
    }
    assert_eq!(event(&action, &[gone(), not_found()]), TaskEvent::TicketClosed, "two answers agree");
    assert_eq!(failed(&action, &[read(ticket(1)), not_found()]), FailureKind::NotFound);
}

#[test]
fn the_status_comment_is_found_edited_and_never_written_twice() {
    let scenario = Scenario::running();
    let action = planned(&scenario, "comment");
    let Action::Comment { marker, body, fingerprint, .. } = &action else { panic!() };
    let new = || NewComment { text: body.clone(), marker: Some(marker.clone()) };
    let add = || Call::Tracker(TrackerCall::AddComment(gh(1), new()));
    let edit = || Call::Tracker(TrackerCall::EditComment(gh(1), comment_id(4), new()));
    let comments = |comments: Vec<CommentSeen>| tracker(TrackerAnswer::Comments(comments));
    let written = || tracker(TrackerAnswer::Comment(comment_id(4)));
    assert_eq!(call(&action, &[comments(vec![])]), add());
    let two = comments(vec![comment(6, Some(marker)), comment(4, Some(marker)), comment(2, None)]);
    assert_eq!(call(&action, &[two]), edit(), "our own first one");
    let commented = TaskEvent::Commented { comment: comment_id(4), fingerprint: fingerprint.clone() };
    assert_eq!(event(&action, &[comments(vec![]), written()]), commented);
    let with = |status: StatusComment| {
        let mut action = action.clone();
        if let Action::Comment { known, .. } = &mut action {
            *known = status;
        }
        action
    };
    let known = with(StatusComment::Written(comment_id(4)));
    assert_eq!(call(&known, &[]), edit());
    assert_eq!(event(&known, &[written()]), commented);
    let absent = with(StatusComment::Absent);
    assert_eq!(call(&absent, &[]), add(), "the ticket had no comments");
    assert_eq!(event(&absent, &[written()]), commented);
}

#[test]
fn labels_are_set_one_call_after_the_other() {
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let label = |add: &[&str], remove: &[&str]| Action::Label {
        ticket: gh(1),
        add: set(add),
        remove: set(remove),
        writes: 0,
    };
    let action = label(&["a"], &["b", "c"]);
    let done = |count: usize| vec![tracker(TrackerAnswer::Done); count];
    let remove = |name: &str| Call::Tracker(TrackerCall::RemoveLabel(gh(1), name.to_owned()));
    assert_eq!(call(&action, &done(0)), Call::Tracker(TrackerCall::AddLabels(gh(1), set(&["a"]))));
    assert_eq!(call(&action, &done(1)), remove("b"));
    assert_eq!(call(&action, &done(2)), remove("c"));
    assert_eq!(event(&action, &done(3)), TaskEvent::Labelled { labels: vec!["a".to_owned()] });
    assert_eq!(call(&label(&[], &["b"]), &[]), remove("b"));
    assert_eq!(event(&label(&[], &[]), &[]), TaskEvent::Labelled { labels: vec![] });
}

#[test]
fn a_question_that_was_answered_is_not_answered_again() {
    let (to, marker) = (comment_id(5), Marker::Reply(comment_id(5)));
    let (body, replied) = ("answer".to_owned(), TaskEvent::Replied { to: to.clone() });
    let action = Action::Reply { ticket: gh(1), pr: None, to, body, marker: marker.clone() };
    let answered = tracker(TrackerAnswer::Comments(vec![comment(6, Some(&marker))]));
    assert_eq!(event(&action, &[answered]), replied);
    let none = || tracker(TrackerAnswer::Comments(Vec::new()));
    assert!(matches!(call(&action, &[none()]), Call::Tracker(TrackerCall::AddComment(..))));
    assert_eq!(event(&action, &[none(), tracker(TrackerAnswer::Comment(comment_id(6)))]), replied);
    let Action::Reply { ticket, to, body, marker, .. } = action else { panic!() };
    let on_pr = Action::Reply { ticket, pr: Some(PrNumber(7)), to, body, marker };
    let none = || forge(ForgeAnswer::Comments(Vec::new()));
    assert_eq!(call(&on_pr, &[]), Call::Forge(ForgeCall::Comments(PrNumber(7))));
    assert!(matches!(call(&on_pr, &[none()]), Call::Forge(ForgeCall::AddComment(PrNumber(7), _))));
    assert_eq!(event(&on_pr, &[none(), forge(ForgeAnswer::Comment(comment_id(6)))]), replied);
}

#[test]
fn of_several_answers_the_first_stays() {
    let marker = Marker::Reply(comment_id(5));
    let action = Action::AnswerOnce { ticket: gh(1), to: comment_id(5), marker: marker.clone() };
    assert_eq!(call(&action, &[]), Call::Tracker(TrackerCall::Comments(gh(1))));
    let once = TaskEvent::AnsweredOnce { to: comment_id(5) };
    let other = Marker::Status(gh(1));
    for one in [vec![], vec![comment(6, Some(&marker)), comment(7, None), comment(8, Some(&other))]] {
        assert_eq!(event(&action, &[tracker(TrackerAnswer::Comments(one))]), once);
    }
    let three = || {
        let three = [8, 6, 7].map(|number| comment(number, Some(&marker)));
        tracker(TrackerAnswer::Comments(three.to_vec()))
    };
    let edited = |number| tracker(TrackerAnswer::Comment(comment_id(number)));
    let echo = |number| {
        let new = NewComment { text: "Answered above.".to_owned(), marker: None };
        Call::Tracker(TrackerCall::EditComment(gh(1), comment_id(number), new))
    };
    assert_eq!(call(&action, &[three()]), echo(7));
    assert_eq!(call(&action, &[three(), edited(7)]), echo(8));
    assert_eq!(event(&action, &[three(), edited(7), edited(8)]), once);
}

#[test]
fn a_commit_has_one_tag_and_it_is_on_the_base() {
    let action =
        Action::Tag(NewTag { commit: sha(11), bump: Bump::Minor, prefix: "v".to_owned(), last: None });
    let tags = |tags: &[(&str, u8)]| {
        let tags = tags.iter().map(|(name, digit)| TagSeen { name: (*name).to_owned(), commit: sha(*digit) });
        forge(ForgeAnswer::Tags(tags.collect()))
    };
    let tagged = |tag: &str| Report::Project(ProjectEvent::Tagged { tag: tag.to_owned(), commit: sha(11) });
    assert_eq!(report(&action, &[tags(&[("v1.0.0", 11)])]), tagged("v1.0.0"), "a reply was lost");
    let old = || tags(&[("v1.0.0", 1), ("nightly", 11)]);
    let base = || Branch::parse("main").unwrap();
    let by_git = GitCall::Contains { branch: base(), sha: sha(11) };
    assert_eq!(call(&action, &[old()]), Call::Git(by_git));
    let (unseen, seen) = (|| git(GitAnswer::Contains(false)), || git(GitAnswer::Contains(true)));
    let by_forge = ForgeCall::Contains { branch: base(), sha: sha(11) };
    assert_eq!(call(&action, &[old(), unseen()]), Call::Forge(by_forge));
    let on_base = |on_base| forge(ForgeAnswer::Contains(on_base));
    assert_eq!(failed(&action, &[old(), unseen(), on_base(false)]), FailureKind::Conflict);
    let create = ForgeCall::CreateTag { name: "v1.1.0".to_owned(), commit: sha(11) };
    for looks in [vec![old(), seen()], vec![old(), unseen(), on_base(true)]] {
        assert_eq!(call(&action, &looks), Call::Forge(create.clone()));
        let created = [looks.clone(), vec![forge(ForgeAnswer::Done)]].concat();
        assert_eq!(report(&action, &created), tagged("v1.1.0"));
        let lost = [looks, vec![Err(failure(FailureKind::Lost))]].concat();
        assert_eq!(failed(&action, &lost), FailureKind::Lost);
    }
}

#[test]
fn a_message_to_another_task_needs_no_call() {
    let action = Action::SendMessage { to: gh(8), message: TaskMessage::LetGo };
    let Report::Message { to, received, sent } = report(&action, &[]) else { panic!() };
    assert_eq!((to, *received), (gh(8), TaskEvent::MessageReceived { message: TaskMessage::LetGo }));
    assert_eq!(*sent, TaskEvent::MessageSent { to: gh(8), about: TaskMessage::LetGo.kind() });
}

#[test]
fn what_may_be_closed_or_deleted_carries_its_evidence() {
    let scenario = done();
    let landed = |action: &Action| -> Option<Landed> {
        let (Action::CloseTicket { landed, .. } | Action::DeleteBranch { landed, .. }) = action else {
            return None;
        };
        Some(landed.clone())
    };
    for lane in ["close-ticket", "delete-branch"] {
        let landed = landed(&planned(&scenario, lane)).expect("its evidence");
        assert_eq!((landed.commit(), landed.pr()), (&sha(11), PrNumber(7)));
    }
    assert!(scenario.now > at(0));
}
