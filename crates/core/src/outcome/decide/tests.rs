use super::super::{
    Claims, EndedBy, Evidence, Git, GitFacts, Goal, Outcome, ProcessEnd, Reports, Stderr, StreamFacts,
};
use super::decide;
use crate::signal::{Found, scan};
use crate::stream::{Agent, AgentEvent, AgentFailure, AgentResult, Text};

/// A run to be judged: by default one that ended well, said so, and changed nothing.
struct Run {
    goal: Goal,
    agent: Option<Agent>,
    reports: Reports,
    end: Result<ProcessEnd, &'static str>,
    ended_by: EndedBy,
    oom: bool,
    events: Vec<AgentEvent<'static>>,
    marks: String,
    git: Git,
    stderr: &'static str,
}

fn run() -> Run {
    Run {
        goal: Goal::Change,
        agent: Some(Agent::Claude),
        reports: Reports::Always,
        end: Ok(ProcessEnd::Code(0)),
        ended_by: EndedBy::Itself,
        oom: false,
        events: vec![said("Done."), result("success", false)],
        marks: String::new(),
        git: Git::Read(GitFacts::default()),
        stderr: "",
    }
}

impl Run {
    fn events(self, events: impl IntoIterator<Item = AgentEvent<'static>>) -> Run {
        Run { events: events.into_iter().collect(), ..self }
    }
    fn exits(self, code: i32) -> Run {
        Run { end: Ok(ProcessEnd::Code(code)), ..self }
    }
    fn dies(self, signal: i32) -> Run {
        Run { end: Ok(ProcessEnd::Signal(signal)), ..self }.events([said("Working.")])
    }
    fn by(self, ended_by: EndedBy) -> Run {
        Run { ended_by, ..self }
    }
    fn commits(self, commits: u64, files_changed: u64) -> Run {
        Run { git: Git::Read(GitFacts { commits, files_changed, head_moved: commits > 0 }), ..self }
    }
    fn marks(self, marks: &str) -> Run {
        Run { marks: marks.to_owned(), ..self }
    }
    fn stderr(self, stderr: &'static str) -> Run {
        Run { stderr, ..self }
    }
    fn text_only(self) -> Run {
        Run { agent: None, reports: Reports::Maybe, ..self }.events([])
    }

    fn judge(&self) -> Outcome {
        let mut stream = StreamFacts::default();
        self.events.iter().for_each(|event| stream.observe(event));
        let mut claims = Claims::default();
        for found in scan(self.marks.as_bytes()) {
            if let Found::Signal(signal) = found {
                claims.observe(&signal);
            }
        }
        decide(&Evidence {
            goal: self.goal,
            agent: self.agent,
            reports: self.reports,
            end: self.end,
            ended_by: self.ended_by,
            oom: self.oom,
            stream: &stream,
            claims: &claims,
            git: &self.git,
            stderr: Stderr { head: self.stderr, tail: self.stderr },
        })
    }
}

fn said(words: &'static str) -> AgentEvent<'static> {
    AgentEvent::Text(Text { ordinal: 0, message: None, parent: None, delta: false, text: words.into() })
}

fn result(subtype: &'static str, is_error: bool) -> AgentEvent<'static> {
    AgentEvent::Result(Box::new(AgentResult { subtype: subtype.into(), is_error, ..AgentResult::default() }))
}

fn api_error(status: Option<u16>, word: &'static str, words: &'static str) -> [AgentEvent<'static>; 2] {
    [
        AgentEvent::Failure(Box::new(AgentFailure {
            class: Some(word.into()),
            status,
            message: words.into(),
            ..AgentFailure::default()
        })),
        AgentEvent::Result(Box::new(AgentResult {
            subtype: "success".into(),
            is_error: true,
            text: Some(words.into()),
            terminal_reason: Some("api_error".into()),
            api_error_status: status,
            ..AgentResult::default()
        })),
    ]
}

fn limit(status: &'static str, resets_at: u64) -> AgentEvent<'static> {
    AgentEvent::RateLimit { status: status.into(), resets_at: Some(resets_at), kind: None }
}

const BLOCKED: &str =
    "```pilot-signal\n{\"type\":\"exit\",\"success\":false,\"reason\":\"no database\"}\n```\n";
const DONE: &str = "```pilot-signal\n{\"type\":\"exit\",\"success\":true}\n```\n";

#[track_caller]
fn check(run: &Run, status: &str, class: Option<&str>, reason: &str) {
    let outcome = run.judge();
    let class_of = outcome.class().map(|class| class.as_str());
    assert_eq!((outcome.status().as_str(), class_of, outcome.reason()), (status, class, reason));
}

#[track_caller]
fn failed(run: &Run, class: &str, reason: &str) {
    check(run, "failed", Some(class), reason);
}

#[test]
fn completed_takes_a_clean_end_a_good_result_and_a_difference() {
    check(&run().commits(2, 1), "completed", None, "2 commits, 1 file changed");
    check(&run().text_only().commits(1, 3), "completed", None, "1 commit, 3 files changed");
    check(&run().commits(1, 1).marks(DONE), "completed", None, "1 commit, 1 file changed");
    failed(
        &run().commits(1, 1).exits(1),
        "unknown",
        "the agent exited with status 1, though its result says success (1 commit is kept)",
    );
    failed(
        &run().commits(1, 1).events([said("Done.")]),
        "unknown",
        "the agent's output ended without a result (1 commit is kept)",
    );
    failed(
        &run().text_only().commits(2, 1).exits(3),
        "unknown",
        "the agent exited with status 3 (2 commits are kept)",
    );
}

#[test]
fn nothing_changed_is_never_success() {
    check(&run(), "no_changes", Some("no_changes"), "nothing changed; the agent said: Done.");
    check(&run().marks(DONE), "no_changes", Some("no_changes"), "nothing changed; the agent said: Done.");
    check(
        &run().events([result("success", false)]),
        "no_changes",
        Some("no_changes"),
        "nothing changed and the agent said nothing",
    );
    check(&run().commits(1, 0), "no_changes", Some("no_changes"), "the agent's commits change nothing");
    check(&run().text_only(), "no_changes", Some("no_changes"), "nothing changed and the agent said nothing");
    let denied = || AgentEvent::Denied { tool: "Write".into(), id: None, message: "no".into() };
    let events = [denied(), denied(), said("end"), result("success", false)];
    check(
        &run().events(events),
        "no_changes",
        Some("no_changes"),
        "nothing changed: 2 tool calls were not allowed",
    );
}

#[test]
fn git_that_does_not_answer_is_not_an_empty_answer() {
    let unreadable = Run { git: Git::Unreadable { reason: "not a repository".into() }, ..run() };
    failed(&unreadable, "unknown", "git could not say what changed: not a repository");
    let rewritten =
        Run { git: Git::Read(GitFacts { commits: 0, files_changed: 3, head_moved: true }), ..run() };
    failed(&rewritten, "unknown", "the branch no longer stands on its base and holds no new commit");
}

#[test]
fn who_ended_it_gives_the_class_whatever_it_left() {
    for (by, status, class, reason) in [
        (EndedBy::Deadline, "failed", "timeout", "stopped at its time limit"),
        (EndedBy::Silence, "failed", "stalled", "stopped after a silence longer than its limit"),
        (EndedBy::Stagnation, "failed", "stagnated", "stopped because it got nowhere"),
        (EndedBy::Budget, "failed", "budget_exceeded", "stopped at its limit of tokens or money"),
        (EndedBy::Person, "cancelled", "cancelled", "stopped on request"),
        (EndedBy::Shutdown, "cancelled", "cancelled", "stopped because Pilot was stopped"),
    ] {
        check(&run().dies(15).by(by), status, Some(class), reason);
        check(&run().by(by), status, Some(class), reason);
        let oom = Run { oom: true, ..run().dies(9).by(by) };
        check(&oom, status, Some(class), reason);
        check(&run().commits(3, 1).by(by), status, Some(class), &format!("{reason} (3 commits are kept)"));
    }
    let retry = AgentEvent::Retry {
        attempt: 4,
        max: Some(10),
        delay_ms: None,
        status: Some(529),
        class: "overloaded".into(),
    };
    let waiting = Run { end: Ok(ProcessEnd::Signal(15)), ..run() }.by(EndedBy::Deadline).events([retry]);
    failed(
        &waiting,
        "timeout",
        "stopped at its time limit, while requests to the model failed (529 overloaded)",
    );
}

#[test]
fn a_kill_from_elsewhere_is_out_of_memory_only_when_the_kernel_says_so() {
    failed(&run().dies(9), "unknown", "killed by signal 9 from outside");
    failed(&run().dies(15).commits(1, 1), "unknown", "killed by signal 15 from outside (1 commit is kept)");
    let oom = |run: Run| Run { oom: true, ..run };
    failed(&oom(run().dies(9)), "oom_killed", "killed by the kernel for want of memory");
    failed(&oom(run().text_only().exits(137)), "oom_killed", "killed by the kernel for want of memory");
    failed(&run().text_only().exits(137), "unknown", "the agent exited with status 137, as after signal 9");
    failed(&oom(run().dies(15)), "unknown", "killed by signal 15 from outside");
    // A child of the agent's was killed; the agent went on and finished.
    check(&oom(run().commits(1, 1)), "completed", None, "1 commit, 1 file changed");
    failed(
        &oom(Run { end: Ok(ProcessEnd::Lost), ..run() }),
        "oom_killed",
        "killed by the kernel for want of memory",
    );
    failed(&Run { end: Ok(ProcessEnd::Lost), ..run() }, "unknown", "the agent's exit was not observed");
}

#[test]
fn an_agent_that_did_not_leave_after_its_exit_mark_is_judged_by_its_work() {
    let lingering = || run().dies(15).by(EndedBy::ExitMark);
    check(&lingering().commits(1, 1).marks(DONE), "completed", None, "1 commit, 1 file changed");
    check(
        &lingering().marks(DONE),
        "no_changes",
        Some("no_changes"),
        "nothing changed; the agent said: Working.",
    );
    check(
        &lingering().marks(BLOCKED).commits(1, 1),
        "blocked",
        Some("blocked"),
        "no database (1 commit is kept)",
    );
    let aborted = AgentResult {
        subtype: "error_during_execution".into(),
        is_error: true,
        terminal_reason: Some("aborted_tools".into()),
        ..AgentResult::default()
    };
    let aborted = run().exits(143).by(EndedBy::ExitMark).events([AgentEvent::Result(Box::new(aborted))]);
    check(&aborted.commits(1, 1), "completed", None, "1 commit, 1 file changed");
    let failing = lingering().commits(1, 1).events(api_error(Some(500), "server_error", "API Error: 500"));
    failed(&failing, "api_error", "API Error: 500 (1 commit is kept)");
}

#[test]
fn what_the_agent_says_against_itself_is_believed() {
    check(&run().marks(BLOCKED), "blocked", Some("blocked"), "no database");
    check(
        &run().marks(BLOCKED).commits(1, 1).exits(1),
        "blocked",
        Some("blocked"),
        "no database (1 commit is kept)",
    );
    check(&run().marks(&format!("{BLOCKED}{DONE}")), "blocked", Some("blocked"), "no database");
    let silent = "```pilot-signal\n{\"type\":\"exit\",\"success\":false}\n```\n";
    check(
        &run().marks(silent),
        "blocked",
        Some("blocked"),
        "the agent says that it cannot succeed and gives no reason",
    );
    let declines = |code| {
        run().exits(code).events([said("Looked.\nDECLINED: out of scope"), result("success", code != 0)])
    };
    check(&declines(0), "declined", Some("declined"), "out of scope");
    check(&declines(1), "declined", Some("declined"), "out of scope");
    check(&declines(0).marks(BLOCKED), "declined", Some("declined"), "out of scope");
}

#[test]
fn a_polite_refusal_with_an_error_code_is_no_changes() {
    let polite = |git: fn(Run) -> Run| {
        git(run().exits(1).events([said("I won’t implement this; please create an issue.")]))
    };
    check(
        &polite(|run| run),
        "no_changes",
        Some("no_changes"),
        "nothing changed; the agent said: I won’t implement this; please create an issue.",
    );
    failed(&polite(|run| run.commits(1, 1)), "unknown", "the agent exited with status 1 (1 commit is kept)");
    failed(&run().exits(1).events([said("Segfault.")]), "unknown", "the agent exited with status 1");
}

#[test]
fn api_errors_have_their_class_though_they_call_themselves_success() {
    for (status, word, words, class) in [
        (Some(400), "invalid_request", "API Error: 400 malformed", "api_error"),
        (Some(400), "billing_error", "Credit balance is too low", "billing"),
        (Some(400), "invalid_request", "prompt is too long: 2 tokens > 1 maximum", "prompt_too_long"),
        (Some(401), "authentication_failed", "Invalid API key", "auth"),
        (Some(403), "authentication_failed", "Failed to authenticate. API Error: 403", "auth"),
        (Some(404), "model_not_found", "There's an issue with the selected model (nope)", "model_not_found"),
        (Some(413), "invalid_request", "Request too large", "prompt_too_long"),
        (Some(429), "rate_limit", "API Error: Request rejected (429)", "rate_limit"),
        (Some(500), "server_error", "API Error: 500", "api_error"),
        (Some(529), "server_error", "API Error: 529 overloaded_error", "api_error"),
        (None, "unknown", "API Error: Connection dropped (ECONNRESET)", "api_error"),
        (None, "unknown", "API Error: something new", "api_error"),
    ] {
        failed(&run().exits(1).events(api_error(status, word, words)), class, words);
        // Versions before 2.1.200 say less in the result.
        let [failure, _] = api_error(status, word, words);
        let events = [failure, result("success", true)];
        failed(&run().exits(1).commits(1, 1).events(events), class, &format!("{words} (1 commit is kept)"));
    }
}

#[test]
fn a_rate_limit_carries_its_reset_time_and_nothing_else_does() {
    let [failure, end] = api_error(Some(429), "rate_limit", "You've hit your limit");
    let limited = run().exits(1).events([limit("rejected", 1_800_000_000), failure, end]).judge();
    assert_eq!((limited.class().unwrap().as_str(), limited.reset_at()), ("rate_limit", Some(1_800_000_000)));
    let [failure, end] = api_error(Some(500), "server_error", "API Error: 500");
    let warned = run().exits(1).events([limit("allowed_warning", 1_800_000_000), failure, end]).judge();
    assert_eq!((warned.class().unwrap().as_str(), warned.reset_at()), ("api_error", None));
    let cut_off = run().exits(1).events([limit("rejected", 7)]).judge();
    assert_eq!((cut_off.class().unwrap().as_str(), cut_off.reset_at()), ("rate_limit", Some(7)));
}

#[test]
fn limits_of_turns_and_money_fail_in_every_version() {
    for (subtype, is_error, code) in [
        ("error_max_turns", false, 0),
        ("error_max_turns", true, 1),
        ("error_max_budget_usd", false, 0),
        ("error_max_budget_usd", true, 1),
    ] {
        let outcome = run().exits(code).commits(1, 1).events([result(subtype, is_error)]).judge();
        assert_eq!(outcome.class().unwrap().as_str(), "budget_exceeded", "{subtype} {is_error}");
    }
    let qwen = Run { agent: Some(Agent::Qwen), ..run().exits(53).events([said("On it.")]) };
    failed(
        &qwen.stderr("Reached max session turns for this session."),
        "budget_exceeded",
        "the agent exited with status 53: Reached max session turns for this session.",
    );
    let gemini = Run { agent: Some(Agent::Gemini), ..run().exits(173).events([]) };
    failed(&gemini, "rate_limit", "the agent exited with status 173");
}

#[test]
fn the_apis_refusal_is_a_failure() {
    let refusal = AgentResult {
        subtype: "success".into(),
        is_error: true,
        text: Some("API Error: safeguards flagged this message".into()),
        stop_reason: Some("refusal".into()),
        terminal_reason: Some("api_error".into()),
        ..AgentResult::default()
    };
    let refused = || run().exits(1).events([AgentEvent::Result(Box::new(refusal.clone()))]);
    failed(&refused(), "refused", "API Error: safeguards flagged this message");
    let event = AgentEvent::Refusal { model: None, category: None };
    failed(
        &run().exits(1).events([event.clone(), result("success", true)]),
        "refused",
        "the agent exited with status 1, though its result says success",
    );
    // Another model answered after all.
    check(
        &run().commits(1, 1).events([event, result("success", false)]),
        "completed",
        None,
        "1 commit, 1 file changed",
    );
}

#[test]
fn an_interrupt_that_exits_with_zero_is_no_success() {
    let aborted = AgentResult {
        subtype: "error_during_execution".into(),
        is_error: true,
        terminal_reason: Some("aborted_streaming".into()),
        ..AgentResult::default()
    };
    let run = run().commits(1, 1).events([AgentEvent::Result(Box::new(aborted))]);
    failed(
        &run,
        "unknown",
        "the agent exited with status 0 after an error: interrupted from outside (1 commit is kept)",
    );
}

#[test]
fn an_agent_that_prints_nothing_is_told_by_its_standard_error() {
    let quiet = |stderr| run().exits(1).events([]).stderr(stderr);
    failed(
        &quiet("error: unknown option '--x'\n"),
        "invalid_config",
        "the agent exited with status 1: error: unknown option '--x'",
    );
    failed(
        &quiet("No conversation found with session ID: 9\n"),
        "session_not_found",
        "the agent exited with status 1: No conversation found with session ID: 9",
    );
    failed(
        &quiet("Not logged in · Please run /login"),
        "auth",
        "the agent exited with status 1: Not logged in · Please run /login",
    );
    failed(&quiet(""), "unknown", "the agent exited with status 1");
    // With a result at hand standard error is not asked.
    let warned = run().commits(1, 1).exits(1).stderr("warning: rate limit near");
    assert_eq!(warned.judge().class().unwrap().as_str(), "unknown");
}

#[test]
fn a_process_that_never_started_says_why() {
    let never = |reason: &'static str| Run { end: Err(reason), ..run().events([]) };
    failed(
        &never("No such file or directory (os error 2)"),
        "invalid_config",
        "the agent could not be started: No such file or directory (os error 2)",
    );
    failed(
        &never("Argument list too long"),
        "prompt_too_long",
        "the agent could not be started: Argument list too long",
    );
    failed(&never("out of processes"), "unknown", "the agent could not be started: out of processes");
}

#[test]
fn a_question_needs_an_answer_and_no_difference() {
    let asked = |run: Run| Run { goal: Goal::Answer, ..run };
    check(&asked(run()), "completed", None, "answered");
    check(
        &asked(run().events([result("success", false)])),
        "no_changes",
        Some("no_changes"),
        "the agent gave no answer",
    );
    failed(
        &asked(run().exits(1).events(api_error(Some(500), "server_error", "API Error: 500"))),
        "api_error",
        "API Error: 500",
    );
}

#[test]
fn long_words_are_shortened_in_the_middle() {
    let long: &'static str = Box::leak(format!("begin {} end", "wörd ".repeat(500)).into_boxed_str());
    let outcome = run().events([said(long), result("success", false)]).judge();
    assert!(
        outcome.reason().len() < 600
            && outcome.reason().contains("begin wörd")
            && outcome.reason().ends_with(" end")
    );
}

mod laws {
    use proptest::prelude::*;

    use super::*;

    fn any_end() -> impl Strategy<Value = Result<ProcessEnd, &'static str>> {
        prop_oneof![
            (0..3).prop_map(|code| Ok(ProcessEnd::Code(code))),
            Just(Ok(ProcessEnd::Code(137))),
            (1..16).prop_map(|signal| Ok(ProcessEnd::Signal(signal))),
            Just(Ok(ProcessEnd::Lost)),
            Just(Err("no")),
        ]
    }

    fn any_by() -> impl Strategy<Value = EndedBy> {
        prop::sample::select(vec![
            EndedBy::Itself,
            EndedBy::Deadline,
            EndedBy::Silence,
            EndedBy::Stagnation,
            EndedBy::Budget,
            EndedBy::Person,
            EndedBy::ExitMark,
            EndedBy::Shutdown,
        ])
    }

    fn any_event() -> impl Strategy<Value = AgentEvent<'static>> {
        prop::sample::select(vec![
            said("Done."),
            said("DECLINED: no"),
            said("I won't."),
            result("success", false),
            result("success", true),
            result("error_max_turns", false),
            limit("rejected", 1),
            AgentEvent::Refusal { model: None, category: None },
            AgentEvent::Alive,
        ])
    }

    proptest! {
        #[test]
        fn completed_is_never_said_without_its_evidence(
            end in any_end(),
            ended_by in any_by(),
            oom: bool,
            always: bool,
            events in prop::collection::vec(any_event(), 0..4),
            marks in prop::sample::select(vec!["", DONE, BLOCKED]),
            commits in 0..2_u64,
            files_changed in 0..2_u64,
            head_moved: bool,
            unreadable: bool,
        ) {
            let git = GitFacts { commits, files_changed, head_moved };
            let git = if unreadable { Git::Unreadable { reason: "no".into() } } else { Git::Read(git) };
            let reports = if always { Reports::Always } else { Reports::Maybe };
            let run = Run { end, ended_by, oom, reports, git, ..run() }.events(events).marks(marks);
            let outcome = run.judge();
            prop_assert!(!outcome.reason().is_empty());
            prop_assert_eq!(outcome.class().is_none(), outcome.status().as_str() == "completed");
            if outcome.class().is_none() {
                let left_alone = run.end == Ok(ProcessEnd::Code(0)) && run.ended_by == EndedBy::Itself;
                prop_assert!(left_alone || run.ended_by == EndedBy::ExitMark, "{:?} {:?}", run.end, run.ended_by);
                prop_assert!(!unreadable && commits > 0 && files_changed > 0);
                prop_assert!(marks != BLOCKED);
                let good = |event: &AgentEvent<'_>| {
                    if let AgentEvent::Result(result) = event { Some(result.succeeded()) } else { None }
                };
                prop_assert!(run.events.iter().rev().find_map(good).unwrap_or(true));
            }
        }
    }
}

#[test]
fn marks_are_no_words_for_people() {
    let words = "All set.\n<pilot:completed>brief</pilot:completed>";
    check(
        &run().events([said(words), result("success", false)]),
        "no_changes",
        Some("no_changes"),
        "nothing changed; the agent said: All set.",
    );
    check(
        &run().events([said("<pilot:completed>brief</pilot:completed>"), result("success", false)]),
        "no_changes",
        Some("no_changes"),
        "nothing changed and the agent said nothing",
    );
}

#[test]
fn an_error_in_json_is_told_in_its_words() {
    for (words, reason) in [
        (r#"{"error": {"message": "something is malformed", "code": null}}"#, "something is malformed"),
        (r#"[API Error: {"error":{"code":500,"message":"too busy"}}]"#, "too busy"),
        (r#"{"error": {"message": ""}}"#, r#"{"error": {"message": ""}}"#),
        ("a } before a {", "a } before a {"),
    ] {
        failed(&run().exits(1).events(api_error(Some(500), "server_error", words)), "api_error", reason);
    }
}

#[test]
fn codes_that_mean_a_signal_name_it() {
    for (code, reason) in [
        (143, "the agent exited with status 143, as after signal 15"),
        (144, "the agent exited with status 144"),
    ] {
        failed(&run().exits(code).events([said("Working.")]), "unknown", reason);
    }
}

#[test]
fn of_standard_error_the_error_is_told_and_not_the_hint_below_it() {
    let stderr =
        "warning: old\nerror: unexpected argument '--x' found\n\nFor more information, try '--help'.\n";
    failed(
        &run().exits(2).events([]).stderr(stderr),
        "invalid_config",
        "the agent exited with status 2: error: unexpected argument '--x' found",
    );
}
