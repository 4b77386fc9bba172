//! A GitHub App mints its tokens, keeps them while they live, and acts under its own name.

use std::sync::Arc;
use std::time::Duration;

use pilot_link::error::CallFault;
use pilot_link::forge::Forge;
use pilot_link::github::{AppKey, Credentials, Github, GithubForge, GithubSetupError, RepoName};
use pilot_link::http::{Http, Pace, Settings};
use serde_json::json;

use super::shapes::said;
use crate::pace::TestPace;
use crate::server::{Act, Server, ok, refuse};

/// A key that opens nothing.
const PEM: &str = include_str!("../../fixtures/app-key.pem");

fn minted(token: &str, until: &str) -> Act {
    said(&json!({"token": token, "expires_at": until, "permissions": {"issues": "write"}}))
}

#[tokio::test]
async fn tokens_are_minted_kept_and_renewed() {
    let no_tags = || ok("[]");
    let server = Server::start([
        minted("ghs_one", "2026-11-16T00:59:01Z"),
        no_tags(),
        no_tags(),
        minted("ghs_two", "2026-11-16T01:55:01Z"),
        no_tags(),
        refuse(401, "Bad credentials"),
        minted("ghs_three", "2026-11-16T01:55:01Z"),
        no_tags(),
        ok("{\"slug\":\"our-pilot\"}"),
    ])
    .await;
    let pace = TestPace::new();
    let http = Http::new(Settings::default(), Arc::clone(&pace) as Arc<dyn Pace>).unwrap();
    let app = AppKey::parse("Iv1.abc", 42, PEM).unwrap();
    let github = Github::new(http, server.url().as_str(), Credentials::App(app)).unwrap();
    let repo = github.repo(RepoName::parse("ada/engine").unwrap());
    repo.tags().await.unwrap();
    repo.tags().await.unwrap();
    let forge = Forge::Github(GithubForge::new(repo.clone()));
    let credential = forge.git_credential().await.unwrap();
    assert_eq!((credential.user, credential.password.expose()), ("x-access-token", "ghs_one"));
    pace.pass(Duration::from_secs(3400));
    repo.tags().await.unwrap();
    repo.tags().await.unwrap();
    assert_eq!(github.login().await.unwrap(), "our-pilot[bot]");
    assert_eq!(github.login().await.unwrap(), "our-pilot[bot]");
    assert!(server.is_done());
    let tokens: Vec<String> = server
        .seen()
        .iter()
        .filter(|seen| seen.line().contains("/tags?"))
        .map(|seen| seen.header("authorization").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        tokens,
        ["Bearer ghs_one", "Bearer ghs_one", "Bearer ghs_two", "Bearer ghs_two", "Bearer ghs_three"]
    );
    assert_eq!(server.lines()[0], "POST /app/installations/42/access_tokens");
    let jwt = server.seen()[0].header("authorization").unwrap_or_default().to_owned();
    assert_eq!(jwt.matches('.').count(), 2, "{jwt}");
    let shown = format!("{github:?}");
    assert!(!shown.contains("ghs_"), "{shown}");
}

#[tokio::test]
async fn an_app_that_is_refused_says_so() {
    for (acts, words) in [
        (vec![refuse(401, "A JSON web token could not be decoded")], "token is refused"),
        (vec![refuse(404, "Integration not found")], "not found"),
        (vec![ok("{\"token\":\"ghs_x\"}")], "no token in the reply"),
        (vec![ok("{\"token\":\"\",\"expires_at\":\"2026-11-16T00:59:01Z\"}")], "no token in the reply"),
    ] {
        let server = Server::start(acts).await;
        let http = Http::new(Settings::default(), TestPace::new()).unwrap();
        let app = AppKey::parse("12", 42, PEM).unwrap();
        let github = Github::new(http, server.url().as_str(), Credentials::App(app)).unwrap();
        let error = github.repo(RepoName::parse("ada/engine").unwrap()).tags().await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn credentials_that_cannot_work_are_refused_at_once() {
    let http = Http::new(Settings::default(), TestPace::new()).unwrap();
    for token in ["", " \n", "two words\nlines"] {
        let error = Github::new(http.clone(), "https://api.github.com", Credentials::Token(token.to_owned()));
        assert!(matches!(error, Err(GithubSetupError::Token)), "{token:?}");
    }
    let error = AppKey::parse("12", 42, "nonsense").unwrap_err();
    assert!(error.to_string().contains("download a new one"), "{error}");
    let error = Github::new(http, "http://forge.example/", Credentials::Token("x".to_owned())).unwrap_err();
    assert!(error.to_string().contains("unencrypted"), "{error}");
    assert!(!format!("{:?}", Credentials::Token("s3cr3t".to_owned())).contains("s3cr3t"));
    assert!(matches!(RepoName::parse("x").unwrap_err().why, CallFault::BadName { .. }));
}
