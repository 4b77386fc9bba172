//! Which class an error belongs to, from an agent's own words for it.
//!
//! Exact words come first, then sentences that no other error has, then the HTTP status. What the model itself said is
//! never looked at.

use crate::stream::Agent;

use super::class::Class;
use super::facts::{Last, ReportedError};

pub(super) fn of_result(last: &Last) -> Option<Class> {
    match last.terminal_reason.as_str() {
        "prompt_too_long" => return Some(Class::PromptTooLong),
        "max_turns" | "budget_exhausted" => return Some(Class::BudgetExceeded),
        _ => {}
    }
    match last.subtype.as_str() {
        "error_max_turns" | "error_max_budget_usd" => return Some(Class::BudgetExceeded),
        _ => {}
    }
    match last.stop_reason.as_str() {
        "refusal" | "content-filter" | "content_filter" => return Some(Class::Refused),
        _ => {}
    }
    of_trouble(&last.trouble).or_else(|| (last.terminal_reason == "api_error").then_some(Class::ApiError))
}

pub(super) fn of_trouble(trouble: &ReportedError) -> Option<Class> {
    let exact = trouble.kinds.iter().find_map(|kind| exact(kind));
    let status = trouble.status.or_else(|| status_in(&trouble.words));
    // A general word is weaker than what a sentence says: billing comes as `invalid_request` with status 400.
    exact
        .or_else(|| in_words(&trouble.words))
        .or_else(|| trouble.kinds.iter().find_map(|kind| general(kind)))
        .or_else(|| status.and_then(of_status))
}

pub(super) fn of_stderr(text: &str) -> Option<Class> {
    let text = text.to_lowercase();
    if has_any(&text, CONFIG) { Some(Class::InvalidConfig) } else { in_lower(&text) }
}

pub(super) fn of_start(reason: &str) -> Class {
    let reason = reason.to_lowercase();
    if reason.contains("argument list too long") {
        Class::PromptTooLong
    } else if has_any(&reason, NOT_STARTED) {
        Class::InvalidConfig
    } else {
        Class::Unknown
    }
}

pub(super) fn of_exit(agent: Agent, code: i32) -> Option<Class> {
    match agent {
        Agent::Gemini | Agent::Qwen => match code {
            41 => Some(Class::Auth),
            42 | 44 | 52 => Some(Class::InvalidConfig),
            53 => Some(Class::BudgetExceeded),
            // An HTTP status, of which a process keeps eight bits.
            144..=255 => u16::try_from(code).ok().and_then(|code| of_status(code + 256)),
            _ => None,
        },
        Agent::Claude | Agent::Codex | Agent::Opencode => None,
    }
}

fn exact(kind: &str) -> Option<Class> {
    match kind {
        "usage_limit_reached" | "rate_limit" | "rate_limit_error" | "usageLimitReached" => {
            Some(Class::RateLimit)
        }
        "billing_error" | "insufficient_quota" => Some(Class::Billing),
        "authentication_failed" | "authentication_error" | "permission_error" | "ProviderAuthError" => {
            Some(Class::Auth)
        }
        "model_not_found" | "ProviderModelNotFoundError" => Some(Class::ModelNotFound),
        "request_too_large" | "context_length_exceeded" | "ContextOverflowError" => {
            Some(Class::PromptTooLong)
        }
        _ => None,
    }
}

fn general(kind: &str) -> Option<Class> {
    match kind {
        "server_error" | "overloaded" | "overloaded_error" | "api_error" | "connection_failed"
        | "max_output_tokens" | "timeout_error" => Some(Class::ApiError),
        _ => None,
    }
}

/// Sentences of agents and APIs, in lower case, with a bar between them. The order matters: what is more special comes
/// first.
const SENTENCES: &[(Class, &str)] = &[
    (
        Class::SessionNotFound,
        "no conversation found with session id | no rollout found for thread | session not found | \
         no saved session found | error resuming session | invalid session identifier",
    ),
    (
        Class::Billing,
        "credit balance is too low | insufficient_quota | exceeded your current quota | payment required | \
         insufficient balance | billing hard limit",
    ),
    (
        Class::PromptTooLong,
        "prompt is too long | context_length_exceeded | maximum context length | \
         exceeds the context window | input token count exceeds | exceeds the maximum size | \
         request too large | stdin exceeds | input exceeds",
    ),
    (
        Class::ModelNotFound,
        "model_not_found | model not found | no such model | unknown model | invalid model name | \
         issue with the selected model | does not exist or you do not have access",
    ),
    (Class::ModelNotFound, "error: model: "),
    (
        Class::Auth,
        "invalid api key | incorrect api key | api key not valid | not logged in | please run /login | \
         failed to authenticate | authentication_error | 401 unauthorized | 403 forbidden | \
         token has expired | set an auth method | missing api key | no auth type",
    ),
    (
        Class::RateLimit,
        "rate_limit_error | rate limit | usage limit | hit your limit | -hour limit | weekly limit | \
         too many requests | resource_exhausted | quota exceeded",
    ),
    (
        Class::BudgetExceeded,
        "reached max session turns | reached maximum number of turns | reached maximum budget",
    ),
    (
        Class::ApiError,
        "overloaded | stream disconnected | connection dropped | connection refused | econnreset | \
         econnrefused | etimedout | enotfound | fetch failed | internal server error | \
         experiencing high demand | bad gateway | service unavailable | gateway timeout | \
         error sending request | exceeded retry limit | api error | invalid_request_error",
    ),
];

const CONFIG: &str = "cannot be used with root | unknown option | unknown argument | unexpected argument | \
    unrecognized option | unrecognized argument | invalid value | requires --verbose | could not start: | \
    is already in use | input must be provided | no input provided | error loading config | \
    invalid configuration | failed to parse config | invalid settings | \
    no such file or directory (os error 2)";

const NOT_STARTED: &str =
    "no such file | not found | not installed | permission denied | exec format | not executable";

fn has_any(text: &str, sentences: &str) -> bool {
    sentences.split(" | ").any(|sentence| text.contains(sentence))
}

fn in_words(words: &str) -> Option<Class> {
    in_lower(&words.to_lowercase())
}

fn in_lower(words: &str) -> Option<Class> {
    // A sentence of the API's own failures is weaker than a status in the same words.
    let class = SENTENCES.iter().find(|(_, sentences)| has_any(words, sentences)).map(|(class, _)| *class)?;
    if class == Class::ApiError { status_in(words).and_then(of_status).or(Some(class)) } else { Some(class) }
}

fn of_status(status: u16) -> Option<Class> {
    match status {
        401 | 403 => Some(Class::Auth),
        402 => Some(Class::Billing),
        404 => Some(Class::ModelNotFound),
        413 => Some(Class::PromptTooLong),
        429 => Some(Class::RateLimit),
        400..=599 => Some(Class::ApiError),
        _ => None,
    }
}

/// The HTTP status in a sentence: `API Error: 429 …`, `status 401`, `"code":400`.
fn status_in(words: &str) -> Option<u16> {
    ["api error: ", "status ", "status code ", "\"code\":", "\"code\": ", "\"statuscode\":"].iter().find_map(
        |lead| {
            let lower = words.to_ascii_lowercase();
            let (_, rest) = lower.split_once(lead)?;
            rest.get(..3)?.parse().ok().filter(|status| (400..600).contains(status))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::{Agent, Class, ReportedError, of_exit, of_start, of_stderr, of_trouble};

    fn check(status: Option<u16>, kinds: &[&str], words: &str, class: Option<Class>) {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        assert_eq!(of_trouble(&ReportedError { status, kinds, words: words.to_owned() }), class, "{words}");
    }

    #[test]
    fn errors_are_told_by_their_words() {
        check(None, &[], "", None);
        check(None, &[], "something odd", None);
        check(Some(429), &["rate_limit"], "API Error: Request rejected (429)", Some(Class::RateLimit));
        check(
            Some(400),
            &["invalid_request"],
            "API Error: 400 Your credit balance is too low",
            Some(Class::Billing),
        );
        check(Some(400), &["billing_error"], "Credit balance is too low", Some(Class::Billing));
        check(
            Some(400),
            &["invalid_request"],
            "prompt is too long: 1 > 0 maximum",
            Some(Class::PromptTooLong),
        );
        check(Some(400), &["invalid_request"], "API Error: 400 messages.1", Some(Class::ApiError));
        check(
            Some(413),
            &["invalid_request"],
            "Request exceeds the maximum size",
            Some(Class::PromptTooLong),
        );
        check(Some(404), &["model_not_found"], "There's an issue", Some(Class::ModelNotFound));
        check(Some(529), &["overloaded"], "", Some(Class::ApiError));
        check(None, &["connection_failed"], "Connection dropped (ECONNRESET)", Some(Class::ApiError));
        check(
            None,
            &["max_output_tokens"],
            "exceeded the 128000 output token maximum",
            Some(Class::ApiError),
        );
        check(None, &[], "unexpected status 401 Unauthorized: no", Some(Class::Auth));
        check(None, &[], "exceeded retry limit, last status: 429 Too Many Requests", Some(Class::RateLimit));
        check(None, &[], "We’re currently experiencing high demand, which may cause", Some(Class::ApiError));
        check(None, &[], "unexpected status 404 Not Found: model: nope, url: x", Some(Class::ModelNotFound));
        check(None, &[], "unexpected status 413 Payload Too Large: x", Some(Class::PromptTooLong));
        check(None, &[], "stream disconnected before completion: Transport error", Some(Class::ApiError));
        check(Some(401), &["APIError"], "invalid x-api-key", Some(Class::Auth));
        check(None, &[], r#"[API Error: {"error":{"code":503,"message":"x"}}]"#, Some(Class::ApiError));
        check(None, &[], r#"[API Error: {"error":{"code":403,"message":"x"}}]"#, Some(Class::Auth));
        check(None, &[], "[API Error: 429 slow down]", Some(Class::RateLimit));
        check(None, &[], "You exceeded your current quota (429)", Some(Class::Billing));
    }

    #[test]
    fn standard_error_tells_why_nothing_was_printed() {
        for (stderr, class) in [
            (
                "--dangerously-skip-permissions cannot be used with root/sudo privileges",
                Some(Class::InvalidConfig),
            ),
            ("error: unknown option '--no-such-flag'", Some(Class::InvalidConfig)),
            ("error: unexpected argument '--x' found", Some(Class::InvalidConfig)),
            ("Error: Session ID 1 is already in use.", Some(Class::InvalidConfig)),
            ("No conversation found with session ID: 9", Some(Class::SessionNotFound)),
            ("Error: thread/resume failed: no rollout found for thread id 0", Some(Class::SessionNotFound)),
            (
                "Error resuming session: No previous sessions found for this project.",
                Some(Class::SessionNotFound),
            ),
            ("No saved session found with ID 1. Run `qwen --resume`", Some(Class::SessionNotFound)),
            ("Error: piped stdin input exceeds 10MB.", Some(Class::PromptTooLong)),
            ("Not logged in · Please run /login", Some(Class::Auth)),
            ("Error: prompt is too long", Some(Class::PromptTooLong)),
            ("Reached max session turns for this session.", Some(Class::BudgetExceeded)),
            ("Reading additional input from stdin...\n", None),
            ("panicked at src/main.rs", None),
            ("", None),
        ] {
            assert_eq!(of_stderr(stderr), class, "{stderr}");
        }
    }

    #[test]
    fn exit_codes_mean_something_in_two_agents_only() {
        for (code, class) in [
            (144, Class::ApiError),
            (145, Class::Auth),
            (173, Class::RateLimit),
            (244, Class::ApiError),
            (41, Class::Auth),
            (53, Class::BudgetExceeded),
        ] {
            assert_eq!(of_exit(Agent::Gemini, code), Some(class), "{code}");
            assert_eq!(of_exit(Agent::Codex, code), None);
        }
        assert_eq!(of_exit(Agent::Qwen, 53), Some(Class::BudgetExceeded));
        assert_eq!(of_exit(Agent::Qwen, 1), None);
    }

    #[test]
    fn a_process_that_did_not_start_is_mostly_misconfigured() {
        assert_eq!(of_start("Argument list too long (os error 7)"), Class::PromptTooLong);
        assert_eq!(of_start("No such file or directory (os error 2)"), Class::InvalidConfig);
        assert_eq!(of_start("Resource temporarily unavailable (os error 11)"), Class::Unknown);
    }
}
