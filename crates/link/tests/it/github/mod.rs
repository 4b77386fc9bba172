//! GitHub's client against a scripted GitHub.

mod app;
mod ci;
mod effects;
mod errors;
mod lists;
mod merging;
mod pictures;
pub(crate) mod shapes;

use pilot_core::id::{Branch, PrNumber, Sha};
use pilot_link::github::{Credentials, Github, Repo, RepoName};
use pilot_link::http::{Http, Settings};

use crate::pace::TestPace;
use crate::server::{Act, Server, ok};

const TOKEN: &str = "ghp_s3cr3tt0k3n0f0urs";

/// The commits of these tests.
const HEAD: &str = "1111111111111111111111111111111111111111";
const OTHER: &str = "2222222222222222222222222222222222222222";
const MERGED: &str = "3333333333333333333333333333333333333333";

/// A GitHub that answers as scripted, and the client of one of its repositories.
struct Scene {
    server: Server,
    github: Github,
    repo: Repo,
}

impl Scene {
    async fn of(script: impl IntoIterator<Item = Act>) -> Self {
        let server = Server::start(script).await;
        let http = Http::new(Settings::default(), TestPace::new()).expect("a client");
        let credentials = Credentials::Token(TOKEN.to_owned());
        let github = Github::new(http, server.url().as_str(), credentials).expect("a client");
        let repo = github.repo(RepoName::parse("ada/engine").expect("a name"));
        Self { server, github, repo }
    }

    /// The same; our own login is known already.
    async fn known(script: impl IntoIterator<Item = Act>) -> Self {
        let me = ok("{\"login\":\"pilot-bot\",\"type\":\"User\"}");
        let scene = Self::of([me].into_iter().chain(script)).await;
        scene.github.login().await.expect("our login");
        scene
    }

    /// How many requests of this kind came in.
    fn count(&self, start: &str) -> usize {
        self.server.lines().iter().filter(|line| line.starts_with(start)).count()
    }
}

fn sha(text: &str) -> Sha {
    Sha::parse(text).expect("a full name")
}

fn branch(name: &str) -> Branch {
    Branch::parse(name).expect("a branch")
}

const ISSUE: u64 = 12;

const PULL: PrNumber = PrNumber(7);
