//! The verdict: evidence in, one outcome out.

use std::borrow::Cow;

use serde_json::Value;

use super::class::Class;
use super::evidence::{EndedBy, Evidence, Git, GitFacts, Goal, ProcessEnd, Reports};
use super::facts::{Last, ReportedError};
use super::{Outcome, trouble};
use crate::signal::strip;
use crate::text::{truncate, truncate_front};

/// The longest quote of foreign text in a reason, in bytes.
const QUOTE_LIMIT: usize = 500;
const SIGKILL: i32 = 9;

/// What a shell says of a child that `SIGKILL` ended.
const CODE_OF_SIGKILL: i32 = 128 + SIGKILL;

/// Says what a run came to.
///
/// The order is the precedence: what we did to it, what the agent says against itself, how it died, what failed, and only
/// then what git holds. So `completed` needs a clean end, a last result that is none or good, and a difference in git.
pub fn decide(evidence: &Evidence<'_>) -> Outcome {
    let outcome = ended_by_us(evidence)
        .or_else(|| never_ran(evidence))
        .or_else(|| says_no(evidence))
        .or_else(|| killed(evidence))
        .or_else(|| failed(evidence))
        .unwrap_or_else(|| delivered(evidence));
    with_kept_work(evidence, outcome)
}

fn ended_by_us(evidence: &Evidence<'_>) -> Option<Outcome> {
    let (class, words) = match evidence.ended_by {
        EndedBy::Itself | EndedBy::ExitMark => return None,
        EndedBy::Deadline => (Class::Timeout, "stopped at its time limit"),
        EndedBy::Silence => (Class::Stalled, "stopped after a silence longer than its limit"),
        EndedBy::Stagnation => (Class::Stagnated, "stopped because it got nowhere"),
        EndedBy::Budget => (Class::BudgetExceeded, "stopped at its limit of tokens or money"),
        EndedBy::Person => (Class::Cancelled, "stopped on request"),
        EndedBy::Shutdown => (Class::Cancelled, "stopped because Pilot was stopped"),
    };
    // An agent that waits for a failing API is ended by a deadline; the API is the cause.
    let meanwhile = evidence.stream.retry.as_ref().map(|retry| {
        let status = retry.status.map(|status| format!("{status} ")).unwrap_or_default();
        format!(", while requests to the model failed ({status}{})", retry.kinds.join(" "))
    });
    Some(Outcome::not_completed(class, format!("{words}{}", meanwhile.unwrap_or_default())))
}

fn never_ran(evidence: &Evidence<'_>) -> Option<Outcome> {
    match evidence.end {
        Ok(ProcessEnd::Code(_) | ProcessEnd::Signal(_)) => None,
        Err(reason) => {
            let words = format!("the agent could not be started: {}", one_line(reason));
            Some(Outcome::not_completed(trouble::of_start(reason), words))
        }
        Ok(ProcessEnd::Lost) if evidence.oom => Some(out_of_memory()),
        Ok(ProcessEnd::Lost) => {
            Some(Outcome::not_completed(Class::Unknown, "the agent's exit was not observed"))
        }
    }
}

/// The agent speaks against itself, and is believed.
fn says_no(evidence: &Evidence<'_>) -> Option<Outcome> {
    if let Some(reason) = evidence.stream.declined() {
        return Some(Outcome::not_completed(Class::Declined, reason));
    }
    let reason = evidence.claims.blocked()?;
    let reason =
        if reason.is_empty() { "the agent says that it cannot succeed and gives no reason" } else { reason };
    Some(Outcome::not_completed(Class::Blocked, reason))
}

fn killed(evidence: &Evidence<'_>) -> Option<Outcome> {
    if evidence.ended_by == EndedBy::ExitMark {
        return None;
    }
    let by_kill = matches!(evidence.end, Ok(ProcessEnd::Signal(SIGKILL) | ProcessEnd::Code(CODE_OF_SIGKILL)));
    if evidence.oom && by_kill {
        return Some(out_of_memory());
    }
    match evidence.end {
        Ok(ProcessEnd::Signal(signal)) => {
            let words = format!("killed by signal {signal} from outside");
            Some(Outcome::not_completed(Class::Unknown, words))
        }
        Ok(ProcessEnd::Code(_) | ProcessEnd::Lost) | Err(_) => None,
    }
}

fn out_of_memory() -> Outcome {
    Outcome::not_completed(Class::OomKilled, "killed by the kernel for want of memory")
}

/// The exit code when it speaks against the run. An agent that we ended after its own exit mark has none that counts.
fn bad_code(evidence: &Evidence<'_>) -> Option<i32> {
    match evidence.end {
        Ok(ProcessEnd::Code(code)) if code != 0 && evidence.ended_by != EndedBy::ExitMark => Some(code),
        Ok(ProcessEnd::Code(_) | ProcessEnd::Signal(_) | ProcessEnd::Lost) | Err(_) => None,
    }
}

/// The last result when it speaks against the run. That our own signal interrupted it does not.
fn bad_result<'e>(evidence: &Evidence<'e>) -> Option<&'e Last> {
    let last = evidence.stream.last.as_ref().filter(|last| !last.succeeded)?;
    let ours = evidence.ended_by == EndedBy::ExitMark && last.terminal_reason.starts_with("aborted");
    (!ours).then_some(last)
}

fn failed(evidence: &Evidence<'_>) -> Option<Outcome> {
    let (code, result) = (bad_code(evidence), bad_result(evidence));
    let cut_off = evidence.reports == Reports::Always
        && evidence.stream.last.as_ref().is_none()
        && evidence.ended_by != EndedBy::ExitMark;
    if code.is_none() && result.is_none() && !cut_off {
        return None;
    }
    let class = class_of_failure(evidence, code, result);
    if class.is_none() && polite_refusal(evidence) {
        return Some(no_changes(evidence));
    }
    let class = class.unwrap_or(Class::Unknown);
    let reset_at = evidence.stream.resets_at().filter(|_| class == Class::RateLimit);
    let reason = reason_of_failure(evidence, code, result);
    Some(Outcome { reset_at, ..Outcome::not_completed(class, reason) })
}

fn class_of_failure(evidence: &Evidence<'_>, code: Option<i32>, result: Option<&Last>) -> Option<Class> {
    let stream = evidence.stream;
    if result.is_some() && stream.refused {
        return Some(Class::Refused);
    }
    let by_stream = match result {
        Some(last) => trouble::of_result(&Last {
            trouble: joined(&last.trouble, stream.failure.as_ref()),
            ..last.clone()
        }),
        None => stream.failure.as_ref().and_then(trouble::of_trouble),
    };
    by_stream
        .or_else(|| stream.limited.then_some(Class::RateLimit))
        .or_else(|| stream.retry.as_ref().and_then(trouble::of_trouble))
        .or_else(|| {
            // With a result at hand, standard error holds warnings.
            let told = stream.last.as_ref().is_none() && code.is_some();
            let text = told.then(|| format!("{}\n{}", evidence.stderr.head, evidence.stderr.tail))?;
            trouble::of_stderr(&text)
        })
        .or_else(|| trouble::of_exit(evidence.agent?, code?))
}

/// A result and the error before it are one story, told in two places by the versions of the agents.
fn joined(result: &ReportedError, failure: Option<&ReportedError>) -> ReportedError {
    let Some(failure) = failure else { return result.clone() };
    ReportedError {
        status: result.status.or(failure.status),
        kinds: [&result.kinds[..], &failure.kinds].concat(),
        words: format!("{}\n{}", result.words, failure.words),
    }
}

fn reason_of_failure(evidence: &Evidence<'_>, code: Option<i32>, result: Option<&Last>) -> String {
    let ended = match code {
        // A program that cleans up after a signal ends with its number so; other codes of that range are its own.
        Some(code @ (130 | CODE_OF_SIGKILL | 143)) => {
            format!("the agent exited with status {code}, as after signal {}", code - 128)
        }
        Some(code) => format!("the agent exited with status {code}"),
        None if result.is_some() => "the agent exited with status 0 after an error".to_owned(),
        None => "the agent's output ended without a result".to_owned(),
    };
    if result.is_some_and(|last| last.terminal_reason.starts_with("aborted")) {
        return format!("{ended}: interrupted from outside");
    }
    let told = [result.map(|last| &last.trouble), evidence.stream.failure.as_ref()];
    let told = told.into_iter().flatten().map(|trouble| trouble.words.trim()).find(|words| !words.is_empty());
    if let Some(words) = told {
        return one_line(&readable(words));
    }
    match result.or(evidence.stream.last.as_ref()).map(|last| last.subtype.as_str()) {
        Some("success") => format!("{ended}, though its result says success"),
        Some(subtype) => format!("{ended}: {subtype}"),
        None => match [evidence.stderr.tail, evidence.stderr.head].into_iter().find_map(telling_line) {
            Some(line) => format!("{ended}: {}", one_line(line)),
            None => ended,
        },
    }
}

/// Whether an agent that exits with an error says, in prose, that it will not do it. Exit 0 needs no guess.
fn polite_refusal(evidence: &Evidence<'_>) -> bool {
    const PHRASES: &[&str] = &[
        "i will not",
        "i won't",
        "i cannot",
        "i can't",
        "i'm not able to",
        "i am not able to",
        "i'm unable to",
        "i am unable to",
        "i must decline",
        "create an issue",
        "create a github issue",
    ];
    let message = evidence.stream.final_message().to_lowercase().replace('’', "'");
    let unchanged = matches!(evidence.git, Git::Read(git) if git.files_changed == 0 && !git.head_moved);
    unchanged
        && evidence.stream.last.as_ref().is_none_or(|last| last.succeeded)
        && PHRASES.iter().any(|words| message.contains(words))
}

/// The run ended well; what did it bring?
fn delivered(evidence: &Evidence<'_>) -> Outcome {
    match (evidence.goal, evidence.git) {
        (Goal::Answer, _) if evidence.stream.final_message().trim().is_empty() => no_changes(evidence),
        (Goal::Answer, _) => Outcome::completed("answered".to_owned()),
        (Goal::Change, Git::Unreadable { reason }) => {
            let words = format!("git could not say what changed: {}", one_line(reason));
            Outcome::not_completed(Class::Unknown, words)
        }
        (Goal::Change, Git::Read(GitFacts { commits: 0, head_moved: true, .. })) => Outcome::not_completed(
            Class::Unknown,
            "the branch no longer stands on its base and holds no new commit",
        ),
        (Goal::Change, Git::Read(GitFacts { commits: 0, .. } | GitFacts { files_changed: 0, .. })) => {
            no_changes(evidence)
        }
        (Goal::Change, Git::Read(git)) => Outcome::completed(brought(git)),
    }
}

pub(super) fn brought(git: &GitFacts) -> String {
    format!("{}, {} changed", count(git.commits, "commit"), count(git.files_changed, "file"))
}

fn no_changes(evidence: &Evidence<'_>) -> Outcome {
    // Marks are for Pilot; a person reads the words around them.
    let message = strip(evidence.stream.final_message().as_bytes());
    let message = String::from_utf8_lossy(&message);
    let denials = evidence.stream.denials();
    let commits = matches!(evidence.git, Git::Read(git) if git.commits > 0);
    let words = if evidence.goal == Goal::Answer {
        "the agent gave no answer".to_owned()
    } else if commits {
        "the agent's commits change nothing".to_owned()
    } else if denials > 0 {
        format!(
            "nothing changed: {} not allowed",
            if denials == 1 { "a tool call was".into() } else { format!("{denials} tool calls were") }
        )
    } else if message.trim().is_empty() {
        "nothing changed and the agent said nothing".to_owned()
    } else {
        format!("nothing changed; the agent said: {}", one_line(&message))
    };
    Outcome::not_completed(Class::NoChanges, words)
}

/// Work of a run that did not complete is not lost, and its reader is told.
fn with_kept_work(evidence: &Evidence<'_>, outcome: Outcome) -> Outcome {
    match (outcome.class, evidence.git) {
        (None | Some(Class::NoChanges), _) | (_, Git::Unreadable { .. }) => outcome,
        (Some(_), Git::Read(git)) if git.commits == 0 => outcome,
        (Some(_), Git::Read(git)) => {
            let kept = count(git.commits, "commit");
            let verb = if git.commits == 1 { "is" } else { "are" };
            Outcome { reason: format!("{} ({kept} {verb} kept)", outcome.reason), ..outcome }
        }
    }
}

fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The line of standard error that says most: the last that calls itself an error, else the last.
fn telling_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &str| line.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("error:"));
    lines.clone().rfind(|line| is_error(line)).or_else(|| lines.next_back())
}

/// The message of an API's error that an agent hands on as it came, as JSON; anything else as it is.
fn readable(words: &str) -> Cow<'_, str> {
    let body = words.find('{').zip(words.rfind('}')).and_then(|(start, end)| words.get(start..=end));
    let error: Option<Value> = body.and_then(|body| serde_json::from_str(body).ok());
    let message = error.as_ref().and_then(|error| error["error"]["message"].as_str());
    match message.map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => Cow::Owned(message.to_owned()),
        None => Cow::Borrowed(words),
    }
}

fn one_line(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() <= QUOTE_LIMIT {
        return line;
    }
    let end = truncate_front(&line, QUOTE_LIMIT / 4);
    format!("{} … {end}", truncate(&line, QUOTE_LIMIT * 3 / 4))
}

#[cfg(test)]
mod tests;
