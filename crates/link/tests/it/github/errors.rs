//! Every refusal has a name and says what to do.

use pilot_link::error::{CallFault, Forbidden};
use pilot_link::http::HeldBack;

use super::shapes::{repository, said};
use super::{ISSUE, Scene, TOKEN};
use crate::server::{Act, Server, answer, ok, refuse};

/// What GitHub answers, the name we have for it, and words that name the way out.
fn refusals() -> Vec<(Act, &'static str, &'static str)> {
    let with = |status, headers: &[(&str, &str)], message: &str| {
        Act::Say(answer(status, headers, &format!("{{\"message\":\"{message}\"}}")))
    };
    let permission = [("X-Accepted-GitHub-Permissions", "issues=write")];
    vec![
        (
            refuse(401, "Bad credentials"),
            "unauthorised",
            "create a new one and set it in `adapters.github.token`",
        ),
        (
            with(403, &permission, "Resource not accessible by personal access token"),
            "forbidden: rights",
            "give the token the permission issues=write",
        ),
        (
            refuse(403, "Must have admin rights to Repository."),
            "forbidden: rights",
            "write access to contents",
        ),
        (
            with(
                403,
                &[("X-GitHub-SSO", "required; url=https://x")],
                "Resource protected by organization SAML enforcement.",
            ),
            "forbidden: sign-on",
            "single sign-on",
        ),
        (
            refuse(
                403,
                "Although you appear to have the correct authorization credentials, the `o` organization has an IP allow list enabled",
            ),
            "forbidden: address",
            "allow list",
        ),
        (refuse(403, "Sorry"), "forbidden: other", "ask an owner"),
        (refuse(403, "Repository was archived so is read-only."), "archived", "unarchive it"),
        (refuse(404, "Not Found"), "not found", "check the name, and that the token may read"),
        (refuse(410, "Issues are disabled for this repo"), "not found", "Issues are disabled"),
        (refuse(409, "Git Repository is empty."), "conflict", "read it again"),
        (refuse(422, "Validation Failed"), "validation", "change what is sent"),
        (refuse(405, "Method Not Allowed"), "refused", "status 405"),
        (
            with(429, &[("Retry-After", "60")], "slow"),
            "rate limited",
            "rate limited until 2026-11-16T00:00:01Z",
        ),
        (refuse(403, "You have exceeded a secondary rate limit."), "rate limited", "retries by itself"),
        (
            Act::Say(answer(301, &[("Location", "https://elsewhere.example/x")], "")),
            "renamed",
            "put the new name",
        ),
    ]
}

fn name(why: &CallFault) -> &'static str {
    match why {
        CallFault::Unreachable { .. } => "unreachable",
        CallFault::Unauthorised { .. } => "unauthorised",
        CallFault::Forbidden { reason: Forbidden::Permission, .. } => "forbidden: rights",
        CallFault::Forbidden { reason: Forbidden::SingleSignOn, .. } => "forbidden: sign-on",
        CallFault::Forbidden { reason: Forbidden::Address, .. } => "forbidden: address",
        CallFault::Forbidden { reason: Forbidden::Other, .. } => "forbidden: other",
        CallFault::NotFound { .. } => "not found",
        CallFault::Archived => "archived",
        CallFault::Renamed { .. } => "renamed",
        CallFault::RateLimited { .. } => "rate limited",
        CallFault::Conflict { .. } => "conflict",
        CallFault::Validation { .. } => "validation",
        CallFault::Refused { .. } => "refused",
        CallFault::Server { .. } => "server",
        CallFault::Malformed { .. } => "malformed",
        CallFault::TooMuch { .. } => "too much",
        CallFault::Unconfirmed { .. } => "unknown",
        CallFault::BadName { .. } => "bad name",
    }
}

#[tokio::test]
async fn refusals_are_told_apart_and_name_the_way_out() {
    for (act, expected, words) in refusals() {
        let scene = Scene::of([act.clone()]).await;
        let error = scene.repo.comments(ISSUE).await.unwrap_err();
        assert_eq!(name(&error.why), expected, "{error}");
        let told = error.to_string();
        assert!(
            told.starts_with("list the comments on #12 of ada/engine: ") && told.contains(words),
            "{told}"
        );
        assert_eq!(scene.server.seen().len(), 1, "{told}");
        let scene = Scene::of([act]).await;
        let error = scene.repo.close_issue(ISSUE).await.unwrap_err();
        assert_eq!(name(&error.why), expected, "the same for an effect: {error}");
    }
}

#[tokio::test]
async fn trouble_of_the_server_is_an_error_for_reads_and_a_doubt_for_effects() {
    for (act, read) in [
        (refuse(500, "oops"), "server"),
        (Act::Break(Vec::new()), "unreachable"),
        (ok("<html>login</html>"), "malformed"),
        (ok("{\"number\":12}"), "malformed"),
    ] {
        let scene = Scene::of(vec![act.clone(); 3]).await;
        let error = scene.repo.comments(ISSUE).await.unwrap_err();
        assert_eq!(name(&error.why), read, "{error}");
        let scene = Scene::of(vec![act; 3]).await;
        let error = scene.repo.close_issue(ISSUE).await.unwrap_err();
        assert_eq!(name(&error.why), "unknown", "{error}");
    }
}

#[tokio::test]
async fn a_renamed_repository_tells_its_new_name() {
    let gone = |to: &str| Act::Say(answer(301, &[("Location", to)], "{\"message\":\"Moved Permanently\"}"));
    let now = ok("{\"full_name\":\"ada/machine\"}");
    let scene = Scene::of([gone("/repositories/7/issues/12"), now]).await;
    let error = scene.repo.comments(ISSUE).await.unwrap_err();
    assert!(error.to_string().contains("renamed to ada/machine"), "{error}");
    assert_eq!(scene.server.lines()[1], "GET /repositories/7");

    let elsewhere = Server::start([ok("{\"full_name\":\"evil/engine\"}")]).await;
    let scene = Scene::of([gone(elsewhere.at("repositories/7").as_str())]).await;
    let error = scene.repo.comments(ISSUE).await.unwrap_err();
    assert_eq!(error.why, CallFault::Renamed { to: None });
    assert!(elsewhere.seen().is_empty(), "the token stays at home");

    let mut other = repository();
    other["full_name"] = "ada/machine".into();
    let error = Scene::of([said(&other)]).await.repo.facts().await.unwrap_err();
    assert!(error.to_string().contains("renamed to ada/machine"), "{error}");
}

#[tokio::test]
async fn an_issue_that_was_transferred_is_gone_and_the_repository_is_not_renamed() {
    let moved = Act::Say(answer(301, &[("Location", "/repositories/9/issues/3")], "{}"));
    let other = ok("{\"full_name\":\"ada/elsewhere\"}");
    let scene = Scene::of([moved.clone(), other.clone(), said(&repository())]).await;
    assert_eq!(scene.repo.ticket(ISSUE).await.unwrap(), None);
    let scene = Scene::of([moved.clone(), other.clone(), moved, other]).await;
    let error = scene.repo.ticket(ISSUE).await.unwrap_err();
    assert!(matches!(error.why, CallFault::Renamed { .. }), "{error}");
}

#[tokio::test]
async fn fields_of_a_refusal_are_read_in_every_form() {
    for (errors, expected) in [
        (
            "[{\"resource\":\"Issue\",\"field\":\"title\",\"code\":\"missing_field\"}]",
            "; title missing_field",
        ),
        ("[{\"code\":\"custom\",\"message\":\"No commits\"}]", "; No commits"),
        ("[\"too long\",7]", "; too long;  "),
        ("\"simply wrong\"", "; simply wrong"),
        ("null", ""),
    ] {
        let body = format!("{{\"message\":\"Validation Failed\",\"errors\":{errors}}}");
        let scene = Scene::of([Act::Say(answer(422, &[], &body))]).await;
        let error = scene.repo.comments(ISSUE).await.unwrap_err();
        let expected = format!("invalid (Validation Failed{expected}); change");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[tokio::test]
async fn names_that_would_lead_elsewhere_are_refused_before_anything_is_sent() {
    let scene = Scene::of([]).await;
    for label in ["..", ".", ""] {
        // Without its last part this address would take off every label.
        let error = scene.repo.remove_label(ISSUE, label).await.unwrap_err();
        assert_eq!(name(&error.why), "bad name", "{error}");
    }
    assert!(scene.server.seen().is_empty());
    scene.server.then([ok("[]")]);
    scene.repo.remove_label(ISSUE, "a/../b ?#%").await.unwrap();
    assert_eq!(scene.server.lines(), ["DELETE /repos/ada/engine/issues/12/labels/a%2F..%2Fb%20%3F%23%25"]);
}

#[tokio::test]
async fn a_request_says_who_asks_and_in_which_language() {
    let scene = Scene::known([ok("[]")]).await;
    scene.repo.comments(ISSUE).await.unwrap();
    let seen = &scene.server.seen()[1];
    let bearer = format!("Bearer {TOKEN}");
    for (header, value) in [
        ("authorization", bearer.as_str()),
        ("accept", "application/vnd.github+json"),
        ("x-github-api-version", "2022-11-28"),
    ] {
        assert_eq!(seen.header(header), Some(value));
    }
    let shown = format!("{:?}", scene.repo);
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn a_hold_is_kept_for_every_call() {
    let scene = Scene::of([refuse(403, "You have exceeded a secondary rate limit")]).await;
    for _ in 0..3 {
        let error = scene.repo.comments(ISSUE).await.unwrap_err();
        assert!(matches!(error.why, CallFault::RateLimited { limit: HeldBack::SlowDown, .. }), "{error}");
    }
    assert_eq!(scene.server.seen().len(), 1);
}
