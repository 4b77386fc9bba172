//! Acts, call by call: what is looked at before anything is written, and what each answer leads to.

use std::collections::BTreeSet;

use super::{Next, Report, next};
use crate::ci::Conclusion;
use crate::fact::{Happened, Landed, News, ProjectHappened};
use crate::name::{Branch, CommentId, Generation, IssueNumber, PrNumber, TaskKey};
use crate::perform::{Answer, Call, CommentSeen, IssueRead, OwnIssue, Reply, TagSeen, Thread};
use crate::release::{Bump, NewTag};
use crate::seen::{FailureKind, Issue, IssueState, Mergeable, Pr, PrState};
use crate::task::tale::{Tale, at, failure, hash, issue, merged, policy, pr, reading, sha};
use crate::task::{Action, Known};
use crate::words::Meta;

fn branch() -> Branch {
    Branch::parse("pilot/GH-1").unwrap()
}

/// The call that comes next, after these answers.
fn call(action: &Action, said: &[Reply]) -> Call {
    match next(action, &policy(), said) {
        Next::Call(call) => call,
        Next::Report(report) => panic!("no call, but {report:?}"),
    }
}

fn report(action: &Action, said: &[Reply]) -> Report {
    match next(action, &policy(), said) {
        Next::Report(report) => *report,
        Next::Call(call) => panic!("no report, but {call:?}"),
    }
}

/// What happened to the task in the end.
fn happened(action: &Action, said: &[Reply]) -> Happened {
    match report(action, said) {
        Report::Task(happened) => happened,
        other @ (Report::Project(_) | Report::Tell { .. } | Report::Failed(_)) => panic!("{other:?}"),
    }
}

fn failed(action: &Action, said: &[Reply]) -> FailureKind {
    match report(action, said) {
        Report::Failed(failure) => failure.kind,
        other @ (Report::Project(_) | Report::Tell { .. } | Report::Task(_)) => panic!("{other:?}"),
    }
}

fn planned(tale: &Tale, lane: &str) -> Action {
    tale.action(lane).unwrap_or_else(|| panic!("{lane} in {:?}", tale.lanes())).clone()
}

fn read(issue: Issue) -> Reply {
    Ok(Answer::Issue(Some(Box::new(IssueRead { issue, silent: false, text: "text".to_owned() }))))
}

fn comment(id: u64, mine: bool, body: &str) -> CommentSeen {
    CommentSeen { id: CommentId(id), mine, body: body.to_owned() }
}

/// A task whose pull request is to be opened.
fn opening() -> Tale {
    let mut tale = Tale::running();
    let work = crate::task::tale::work(sha(10));
    tale.run_ends(crate::fact::RunEnding::Completed(Box::new(work)));
    tale.done("push", Happened::Pushed { branch: branch(), sha: sha(10) });
    tale
}

fn merging() -> Tale {
    let mut tale = Tale::opened();
    tale.judged(Conclusion::Success);
    tale
}

fn done() -> Tale {
    let mut tale = merging();
    tale.merges();
    tale.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    tale
}

/// Every action there is, as decisions make them.
fn all() -> Vec<Action> {
    let mut queued = Tale::queued();
    queued.claim();
    let mut starting = Tale::queued();
    starting.claim();
    starting.done("claim", Happened::ClaimPlaced { generation: Generation(1) });
    let mut pushing = Tale::running();
    let work = crate::task::tale::work(sha(10));
    pushing.run_ends(crate::fact::RunEnding::Completed(Box::new(work)));
    let mut failing = Tale::opened();
    failing.judged(Conclusion::Failure);
    let continued = Tale::continued();
    let mut asked = Tale::queued();
    let by = crate::task::tale::by_comment(5, crate::seen::Permission::Admin);
    asked.tell(Happened::Ordered { order: crate::fact::Order::Why, by });
    vec![
        planned(&queued, "claim"),
        planned(&starting, "run"),
        planned(&starting, "label"),
        planned(&Tale::running(), "comment"),
        planned(&pushing, "push"),
        planned(&opening(), "pr"),
        planned(&merging(), "merge"),
        planned(&failing, "fix"),
        planned(&continued, "close-pr"),
        planned(&done(), "close-issue"),
        planned(&done(), "delete-branch"),
        planned(&asked, "reply"),
        Action::FindPr { branch: branch(), marker: "mark".to_owned() },
        Action::ReleaseClaim { generation: Generation(1), task: TaskKey::of_issue(IssueNumber(1)) },
        Action::Tag(NewTag { commit: sha(11), bump: Bump::Patch, prefix: "v".to_owned() }),
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
        let odd = Ok(Answer::Permission(crate::seen::Permission::None));
        if let Action::Label { .. } = action {
            continue;
        }
        assert_eq!(failed(&action, &[odd]), FailureKind::Server, "{action:?}");
    }
}

#[test]
fn what_a_forge_would_do_twice_is_looked_for_first() {
    for action in all() {
        let first = call(&action, &[]);
        let creates = match &first {
            Call::CreatePr(_) | Call::CreateIssue { .. } | Call::Comment(..) | Call::CreateTag { .. } => true,
            Call::ClosePr(_) | Call::CloseIssue(_) | Call::Merge { .. } | Call::DeleteBranch { .. } => true,
            // These name what must be there, or set what may be set twice.
            Call::PlaceClaim { .. }
            | Call::ReleaseClaim { .. }
            | Call::Push { .. }
            | Call::AddLabels(..)
            | Call::RemoveLabel(..)
            | Call::EditComment(..) => false,
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
            | Call::Claim { .. }
            | Call::Tags => false,
        };
        assert!(!creates, "{action:?} begins with {first:?}");
    }
}

#[test]
fn a_pull_request_is_found_before_it_is_opened() {
    let action = planned(&opening(), "pr");
    let Action::OpenPr(new) = &action else { panic!() };
    assert_eq!(call(&action, &[]), Call::PrsOf(branch()));
    let none = || Ok(Answer::Prs(Vec::new()));
    assert_eq!(call(&action, &[none()]), Call::CreatePr(new.clone()));
    let opened = Happened::PrOpened { pr: pr(7, sha(10)) };
    assert_eq!(happened(&action, &[none(), Ok(Answer::Pr(pr(7, sha(10))))]), opened);
    let ours = Ok(Answer::Prs(vec![(pr(7, sha(10)), new.body.clone())]));
    assert_eq!(happened(&action, &[ours]), opened, "a reply was lost");
    let theirs = Ok(Answer::Prs(vec![(pr(8, sha(10)), "by hand".to_owned())]));
    assert_eq!(failed(&action, &[theirs]), FailureKind::Conflict);
}

#[test]
fn a_pull_request_that_was_opened_and_merged_meanwhile_is_not_opened_again() {
    let action = planned(&opening(), "pr");
    let Action::OpenPr(new) = &action else { panic!() };
    let of = |state: &PrState, head: u8| (Pr { state: state.clone(), ..pr(7, sha(head)) }, new.body.clone());
    for state in [PrState::Merged { commit: sha(11) }, PrState::Closed] {
        let (found, body) = of(&state, 10);
        let known = Happened::PrOpened { pr: found.clone() };
        assert_eq!(happened(&action, &[Ok(Answer::Prs(vec![(found, body)]))]), known);
        let earlier = Ok(Answer::Prs(vec![of(&state, 9)]));
        assert_eq!(call(&action, &[earlier]), Call::CreatePr(new.clone()), "of an earlier life");
    }
    let both = vec![of(&PrState::Closed, 10), (pr(8, sha(10)), "by hand".to_owned())];
    assert_eq!(failed(&action, &[Ok(Answer::Prs(both))]), FailureKind::Conflict);
}

#[test]
fn a_pull_request_that_may_be_there_is_found_or_is_not() {
    let action = Action::FindPr { branch: branch(), marker: "mark".to_owned() };
    let found = Ok(Answer::Prs(vec![(pr(7, sha(10)), "with the mark".to_owned())]));
    assert_eq!(happened(&action, &[found]), Happened::PrOpened { pr: pr(7, sha(10)) });
    let theirs = Ok(Answer::Prs(vec![(pr(7, sha(10)), "by hand".to_owned())]));
    assert_eq!(happened(&action, &[theirs]), Happened::NoPrFound { branch: branch() });
}

#[test]
fn a_merge_looks_once_more_and_names_the_commit() {
    let action = planned(&merging(), "merge");
    let seen = |pr: Pr| Ok(Answer::Pr(pr));
    let green = || Ok(Answer::Ci(reading(sha(10), Conclusion::Success)));
    assert_eq!(call(&action, &[]), Call::Pr(PrNumber(7)));
    assert_eq!(call(&action, &[seen(pr(7, sha(10)))]), Call::Ci(sha(10)));
    let Call::Merge { pr: number, sha: head, .. } = call(&action, &[seen(pr(7, sha(10))), green()]) else {
        panic!()
    };
    assert_eq!((number, head), (PrNumber(7), sha(10)));
    let said = [seen(pr(7, sha(10))), green(), Ok(Answer::Merged(sha(11)))];
    assert_eq!(happened(&action, &said), Happened::PrSeen { pr: merged(7, sha(10), sha(11)) });
    for other in [
        pr(7, sha(12)),
        merged(7, sha(10), sha(11)),
        Pr { state: PrState::Closed, ..pr(7, sha(10)) },
        Pr { mergeable: Mergeable::No, ..pr(7, sha(10)) },
    ] {
        assert_eq!(happened(&action, &[seen(other.clone())]), Happened::PrSeen { pr: other });
    }
    let red = reading(sha(10), Conclusion::Failure);
    let said = [seen(pr(7, sha(10))), Ok(Answer::Ci(red.clone()))];
    assert_eq!(happened(&action, &said), Happened::CiRead { reading: red });
}

#[test]
fn a_run_begins_with_the_text_of_today() {
    let mut tale = Tale::queued();
    tale.claim();
    tale.done("claim", Happened::ClaimPlaced { generation: Generation(1) });
    let action = planned(&tale, "run");
    assert_eq!(call(&action, &[]), Call::Issue(IssueNumber(1)));
    let begun = Happened::RunStarted { generation: Generation(1), body: hash(0), silent: false };
    assert_eq!(happened(&action, &[read(issue(1))]), begun);
    let mut edited = issue(1);
    edited.body.hash = hash(1);
    let closed = Issue { state: IssueState::Closed, ..issue(1) };
    let unlabelled = Issue { labels: BTreeSet::new(), ..issue(1) };
    for other in [edited, closed, unlabelled] {
        assert_eq!(happened(&action, &[read(other.clone())]), Happened::IssueSeen { issue: other });
    }
    assert_eq!(happened(&action, &[Ok(Answer::Issue(None))]), Happened::IssueGone);
}

#[test]
fn a_claim_is_ours_or_anothers() {
    let task = TaskKey::of_issue(IssueNumber(1));
    let generation = Generation(3);
    let action = Action::PlaceClaim { generation, task };
    assert_eq!(happened(&action, &[Ok(Answer::Claim(None))]), Happened::ClaimPlaced { generation });
    let owner = "other".to_owned();
    let lost = Happened::ClaimLost { generation, owner: owner.clone() };
    assert_eq!(happened(&action, &[Ok(Answer::Claim(Some(owner)))]), lost);
}

#[test]
fn a_close_has_one_last_word() {
    let tale = Tale::continued();
    let action = planned(&tale, "close-pr");
    let Action::ClosePr { marker, comment: word, .. } = &action else { panic!() };
    let open = || Ok(Answer::Pr(pr(7, sha(10))));
    let comments = |comments: Vec<CommentSeen>| Ok(Answer::Comments(comments));
    let thread = Thread::Pr(PrNumber(7));
    assert_eq!(call(&action, &[open()]), Call::Comments(thread));
    assert_eq!(call(&action, &[open(), comments(vec![])]), Call::Comment(thread, word.clone()));
    let close = Call::ClosePr(PrNumber(7));
    assert_eq!(call(&action, &[open(), comments(vec![]), Ok(Answer::Comment(CommentId(3)))]), close);
    let said = || comments(vec![comment(3, true, marker)]);
    assert_eq!(call(&action, &[open(), said()]), close, "it was said before");
    let spoof = comments(vec![comment(3, false, marker)]);
    assert!(
        matches!(call(&action, &[open(), spoof]), Call::Comment(..)),
        "a mark of somebody else's is text"
    );
    assert_eq!(
        happened(&action, &[open(), said(), Ok(Answer::Done)]),
        Happened::PrClosed { pr: PrNumber(7) }
    );
    let reads_closed = Pr { state: PrState::Closed, ..pr(7, sha(12)) };
    for other in [merged(7, sha(10), sha(11)), pr(7, sha(12)), reads_closed] {
        assert_eq!(happened(&action, &[Ok(Answer::Pr(other.clone()))]), Happened::PrSeen { pr: other });
    }
}

#[test]
fn a_fix_is_found_before_it_is_opened_and_needs_no_log() {
    let mut tale = Tale::opened();
    tale.judged(Conclusion::Failure);
    let action = planned(&tale, "fix");
    let own = |meta: Meta| {
        let issue = OwnIssue { number: IssueNumber(8), body: format!("text {}", meta.write()) };
        Ok(Answer::OwnIssues(vec![issue]))
    };
    let meta = |iteration: u32| Meta { branch: branch(), pr: PrNumber(7), iteration };
    let opened = Happened::FixOpened { issue: IssueNumber(8), iteration: 1, pr: PrNumber(7) };
    assert_eq!(call(&action, &[]), Call::OwnIssues("autopilot-fix".to_owned()));
    assert_eq!(happened(&action, &[own(meta(1))]), opened);
    let checks: BTreeSet<String> = ["build".to_owned()].into();
    assert_eq!(call(&action, &[own(meta(2))]), Call::CiLog { sha: sha(10), checks });
    let none = || own(meta(2));
    for log in [Ok(Answer::Log(None)), Err(failure(FailureKind::NotFound))] {
        let Call::CreateIssue { title, body, labels } = call(&action, &[none(), log]) else { panic!() };
        assert_eq!(
            (title.as_str(), labels),
            ("Fix CI: Add login", vec!["pilot".to_owned(), "autopilot-fix".to_owned()])
        );
        assert_eq!(Meta::read(&body), Some(meta(1)));
    }
    assert_eq!(failed(&action, &[none(), Err(failure(FailureKind::Server))]), FailureKind::Server);
    let said = [none(), Ok(Answer::Log(None)), Ok(Answer::NewIssue(IssueNumber(8)))];
    assert_eq!(happened(&action, &said), opened);
}

#[test]
fn a_branch_that_others_use_stays() {
    let action = planned(&done(), "delete-branch");
    let none = || Ok(Answer::Prs(Vec::new()));
    assert_eq!(call(&action, &[]), Call::PrsOnto(branch()));
    assert_eq!(call(&action, &[none()]), Call::DeleteBranch { branch: branch(), expect: sha(10) });
    assert_eq!(happened(&action, &[none(), Ok(Answer::Done)]), Happened::BranchDeleted { branch: branch() });
    let stacked = Ok(Answer::Prs(vec![(pr(9, sha(12)), String::new())]));
    assert!(matches!(happened(&action, &[stacked]), Happened::BranchKept { .. }));
    let pushed = [none(), Err(failure(FailureKind::Conflict))];
    assert!(matches!(happened(&action, &pushed), Happened::BranchKept { .. }), "somebody else's commits");
    assert_eq!(failed(&action, &[none(), Err(failure(FailureKind::Lost))]), FailureKind::Lost);
}

#[test]
fn an_issue_is_closed_once() {
    let action = planned(&done(), "close-issue");
    let closed = || read(Issue { state: IssueState::Closed, ..issue(1) });
    assert_eq!(happened(&action, &[closed()]), Happened::IssueClosed);
    assert_eq!(happened(&action, &[Ok(Answer::Issue(None))]), Happened::IssueClosed);
    assert_eq!(call(&action, &[read(issue(1))]), Call::CloseIssue(IssueNumber(1)));
    assert_eq!(happened(&action, &[read(issue(1)), Ok(Answer::Done)]), Happened::IssueClosed);
}

#[test]
fn the_status_comment_is_found_edited_and_never_written_twice() {
    let tale = Tale::running();
    let action = planned(&tale, "comment");
    let Action::Comment { marker, body, fingerprint, .. } = &action else { panic!() };
    let thread = Thread::Issue(IssueNumber(1));
    let comments = |comments: Vec<CommentSeen>| Ok(Answer::Comments(comments));
    assert_eq!(call(&action, &[comments(vec![])]), Call::Comment(thread, body.clone()));
    let two = comments(vec![comment(6, true, marker), comment(4, true, marker), comment(2, false, marker)]);
    assert_eq!(call(&action, &[two]), Call::EditComment(CommentId(4), body.clone()), "our own first one");
    let commented = Happened::Commented { comment: CommentId(4), fingerprint: fingerprint.clone() };
    assert_eq!(happened(&action, &[comments(vec![]), Ok(Answer::Comment(CommentId(4)))]), commented);
    let mut known = action.clone();
    if let Action::Comment { known, .. } = &mut known {
        *known = Known::Comment(CommentId(4));
    }
    assert_eq!(call(&known, &[]), Call::EditComment(CommentId(4), body.clone()));
    assert_eq!(happened(&known, &[Ok(Answer::Comment(CommentId(4)))]), commented);
    if let Action::Comment { known, .. } = &mut known {
        *known = Known::Silence;
    }
    assert_eq!(call(&known, &[]), Call::Comment(thread, body.clone()), "nobody had said anything");
    assert_eq!(happened(&known, &[Ok(Answer::Comment(CommentId(4)))]), commented);
}

#[test]
fn labels_are_set_one_call_after_the_other() {
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let label = |add: &[&str], remove: &[&str]| Action::Label {
        issue: IssueNumber(1),
        add: set(add),
        remove: set(remove),
        writes: 0,
    };
    let action = label(&["a"], &["b", "c"]);
    let done = |count: usize| vec![Ok(Answer::Done); count];
    assert_eq!(call(&action, &done(0)), Call::AddLabels(IssueNumber(1), set(&["a"])));
    assert_eq!(call(&action, &done(1)), Call::RemoveLabel(IssueNumber(1), "b".to_owned()));
    assert_eq!(call(&action, &done(2)), Call::RemoveLabel(IssueNumber(1), "c".to_owned()));
    assert_eq!(happened(&action, &done(3)), Happened::Labelled { labels: vec!["a".to_owned()] });
    assert_eq!(call(&label(&[], &["b"]), &[]), Call::RemoveLabel(IssueNumber(1), "b".to_owned()));
    assert_eq!(happened(&label(&[], &[]), &[]), Happened::Labelled { labels: vec![] });
}

#[test]
fn a_question_that_was_answered_is_not_answered_again() {
    let (to, marker) = (CommentId(5), "mark".to_owned());
    let action = Action::Reply { issue: IssueNumber(1), to, body: "answer".to_owned(), marker };
    let answered = Ok(Answer::Comments(vec![comment(6, true, "the mark")]));
    assert_eq!(happened(&action, &[answered]), Happened::Replied { to });
    let none = || Ok(Answer::Comments(Vec::new()));
    assert!(matches!(call(&action, &[none()]), Call::Comment(..)));
    assert_eq!(happened(&action, &[none(), Ok(Answer::Comment(CommentId(6)))]), Happened::Replied { to });
}

#[test]
fn of_several_answers_the_first_stands() {
    let action = Action::AnswerOnce { issue: IssueNumber(1), to: CommentId(5), marker: "mark".to_owned() };
    assert_eq!(call(&action, &[]), Call::Comments(Thread::Issue(IssueNumber(1))));
    let once = Happened::AnsweredOnce { to: CommentId(5) };
    for one in [vec![], vec![comment(6, true, "mark"), comment(7, false, "mark"), comment(8, true, "else")]] {
        assert_eq!(happened(&action, &[Ok(Answer::Comments(one))]), once);
    }
    let three = || Ok(Answer::Comments([8, 6, 7].map(|id| comment(id, true, "mark")).to_vec()));
    let edited = |id| Ok(Answer::Comment(CommentId(id)));
    let echo = |id| Call::EditComment(CommentId(id), "Answered above.".to_owned());
    assert_eq!(call(&action, &[three()]), echo(7));
    assert_eq!(call(&action, &[three(), edited(7)]), echo(8));
    assert_eq!(happened(&action, &[three(), edited(7), edited(8)]), once);
}

#[test]
fn a_commit_has_one_tag_and_it_is_on_the_base() {
    let action = Action::Tag(NewTag { commit: sha(11), bump: Bump::Minor, prefix: "v".to_owned() });
    let tags = |tags: &[(&str, u8)]| {
        let tags = tags.iter().map(|(name, digit)| TagSeen { name: (*name).to_owned(), commit: sha(*digit) });
        Ok(Answer::Tags(tags.collect()))
    };
    let tagged =
        |tag: &str| Report::Project(ProjectHappened::Tagged { tag: tag.to_owned(), commit: sha(11) });
    assert_eq!(report(&action, &[tags(&[("v1.0.0", 11)])]), tagged("v1.0.0"), "a reply was lost");
    let old = || tags(&[("v1.0.0", 1), ("nightly", 11)]);
    assert_eq!(call(&action, &[old()]), Call::OnBase(sha(11)));
    assert_eq!(failed(&action, &[old(), Ok(Answer::OnBase(false))]), FailureKind::Conflict);
    let name = "v1.1.0".to_owned();
    assert_eq!(call(&action, &[old(), Ok(Answer::OnBase(true))]), Call::CreateTag { name, commit: sha(11) });
    assert_eq!(report(&action, &[old(), Ok(Answer::OnBase(true)), Ok(Answer::Done)]), tagged("v1.1.0"));
}

#[test]
fn a_word_to_another_task_needs_no_call() {
    let to = TaskKey::of_issue(IssueNumber(8));
    let action = Action::Tell { to: to.clone(), issue: IssueNumber(8), news: News::LetGo };
    let Report::Tell { to: issue, happened, told } = report(&action, &[]) else { panic!() };
    assert_eq!((issue, *happened), (IssueNumber(8), Happened::Heard { news: News::LetGo }));
    assert_eq!(*told, Happened::Told { to, about: News::LetGo.kind() });
}

#[test]
fn what_may_be_closed_or_deleted_carries_its_evidence() {
    let tale = done();
    let landed = |action: &Action| -> Option<Landed> {
        let (Action::CloseIssue { landed, .. } | Action::DeleteBranch { landed, .. }) = action else {
            return None;
        };
        Some(landed.clone())
    };
    for lane in ["close-issue", "delete-branch"] {
        let landed = landed(&planned(&tale, lane)).expect("its evidence");
        assert_eq!((landed.commit(), landed.pr()), (&sha(11), PrNumber(7)));
    }
    assert!(tale.now > at(0));
}
