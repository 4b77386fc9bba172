//! The demo's world: a folder of its own, a forge on loopback, a small project with CI, and a configuration.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use pilot_exec::git::{Remote, clone};
use pilot_forge::{Forge, Lags, Options};
use pilot_link::http::{Auth, Http, Method, Pace, Request, Resend, Settings, Url};
use pilot_store::RunId;
use serde_json::{Value, json};

use crate::agent::call::git_program;
use crate::clock;
use crate::config::Environment;
use crate::daemon::setup::WallPace;

pub(crate) const REPO: &str = "greet";

const README: &str = "# greet\n\nGreets the world.\n";
const GREET: &str = "#!/bin/sh\n# Greets the world.\necho \"Hello, world!\"\n";
const CI: &str = "\
# What CI runs on every push.
set -e
test \"$(sh greet.sh)\" = 'Hello, world!'
if test -e shout.sh; then
  said=$(sh shout.sh ada)
  test \"$said\" = 'HELLO, ADA!' || { echo \"shout.sh says '$said', which is not a shout: HELLO, ADA! would be\" >&2; exit 1; }
fi
";

pub(crate) struct DemoIssue {
    pub(crate) title: &'static str,
    pub(crate) body: &'static str,
}

pub(crate) const ISSUES: [DemoIssue; 3] = [
    DemoIssue {
        title: "feat: Greet people by name",
        body: "`sh greet.sh Ada` should say `Hello, Ada!`; without a name it greets the world as before.",
    },
    DemoIssue {
        title: "feat: Shout the greeting",
        body: "A script `shout.sh` that greets a person in capital letters.\n\nDepends on: #1",
    },
    DemoIssue {
        title: "docs: Say how to use it",
        body: "The README should show how to greet a person.\n\nDepends on: #1",
    },
];

/// A folder that goes when this does.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new(environment: &Environment) -> anyhow::Result<Folder> {
        let parent = environment.os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let name = RunId::generate(clock::now());
        let path = parent.join(format!("pilot-demo-{}", name.as_str().rsplit('-').next().unwrap_or("0")));
        fs::DirBuilder::new().mode(0o700).create(&path).with_context(|| {
            format!("make {}; set TMPDIR to a folder that can be written", path.display())
        })?;
        Ok(Folder { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

pub(crate) struct World {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) user: String,
    http: Http,
    auth: Auth,
}

impl World {
    /// How the forge is to run. Its lists and checks come late, but less late than a real one's.
    pub(crate) fn options(folder: &Path, environment: &Environment) -> Options {
        let mut options = Options::new(folder.join("forge"), environment.os("PATH").unwrap_or_default());
        let millis = std::time::Duration::from_millis;
        options.lags = Lags { checks: millis(200), mergeable: millis(100), lists: millis(100) };
        options.rate_limit = 1_000_000;
        options
    }

    pub(crate) fn of(forge: &Forge) -> anyhow::Result<World> {
        let pace: Arc<dyn Pace> = Arc::new(WallPace);
        Ok(World {
            url: forge.url().to_owned(),
            token: forge.token().to_owned(),
            user: forge.user().to_owned(),
            http: Http::new(Settings::default(), pace)?,
            auth: Auth::bearer(forge.token()).context("use the forge's token")?,
        })
    }

    /// A call to the forge, as a user could make it with curl.
    async fn ask(&self, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        let url = Url::parse(&format!("{}/{path}", self.url))?;
        let request = Request::new(method, url, Resend::Once).with_auth(&self.auth).with_json(body);
        let reply = self.http.send(&request).await.with_context(|| format!("ask the forge for {path}"))?;
        Ok(serde_json::from_slice(&reply.body)?)
    }

    pub(crate) async fn read(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, &self.repo(path), &Value::Null).await
    }

    fn repo(&self, path: &str) -> String {
        format!("repos/{}/{REPO}/{path}", self.user)
    }

    /// Makes the project: three files in one commit.
    pub(crate) async fn make_project(&self) -> anyhow::Result<()> {
        let new = json!({"name": REPO, "auto_init": true, "description": "What pilot demo works on"});
        self.ask(Method::POST, "user/repos", &new).await?;
        let main = self.ask(Method::GET, &self.repo("git/ref/heads/main"), &Value::Null).await?;
        let files = [("README.md", README), ("greet.sh", GREET), (".pilot/ci.sh", CI)];
        let entries = files.map(
            |(path, content)| json!({"path": path, "mode": "100644", "type": "blob", "content": content}),
        );
        let tree = self.ask(Method::POST, &self.repo("git/trees"), &json!({"tree": entries})).await?;
        let commit = json!({
            "message": "A greeting, and CI that tries it",
            "tree": tree["sha"],
            "parents": [main["object"]["sha"]],
        });
        let commit = self.ask(Method::POST, &self.repo("git/commits"), &commit).await?;
        let moved = json!({"sha": commit["sha"]});
        self.ask(Method::PATCH, &self.repo("git/refs/heads/main"), &moved).await?;
        Ok(())
    }

    /// Files an issue; its number.
    pub(crate) async fn file(&self, ticket: &DemoIssue) -> anyhow::Result<u64> {
        let new = json!({"title": ticket.title, "body": ticket.body, "labels": ["pilot"]});
        let made = self.ask(Method::POST, &self.repo("issues"), &new).await?;
        made["number"].as_u64().context("the forge gave the issue no number")
    }

    pub(crate) fn check_out(&self, folder: &Path, environment: &Environment) -> anyhow::Result<PathBuf> {
        let checkout = folder.join(REPO);
        let program = Arc::new(git_program(environment));
        let remote = Remote::parse(&format!("{}/{}/{REPO}.git", self.url, self.user))?.with_password(
            &self.user,
            &self.token,
            &std::env::current_exe()?,
        );
        clone(&program, &remote, &checkout)?;
        Ok(checkout)
    }

    pub(crate) fn configure(
        &self,
        folder: &Path,
        checkout: &Path,
        agent: Option<&str>,
    ) -> anyhow::Result<PathBuf> {
        let script = folder.join("agent.sh");
        fs::write(&script, include_str!("agent.sh"))?;
        let executor = match agent {
            Some(backend) => format!("  backend: {backend}\n"),
            None => format!(
                "  backend: command\n  command: {{argv: [sh, {}], format: stream-json}}\n",
                quoted(&script)
            ),
        };
        let text = format!(
            "adapters:\n  github:\n    token: {token}\n    api_url: {url}\n    polling: {{interval: 250ms}}\n\
             orchestrator:\n  autopilot:\n    environment: dev\n    ci_poll_interval: 250ms\n    settle: 1s\n    \
             release: {{enabled: true}}\n\
             executor:\n{executor}  review: {{enabled: false}}\n\
             quality:\n  gates:\n    - {{name: build, command: sh -n greet.sh}}\n\
             projects:\n  - {{name: {REPO}, path: {path}, github: {{owner: {user}, repo: {REPO}}}}}\n",
            token = self.token,
            url = self.url,
            user = self.user,
            path = quoted(checkout),
        );
        let file = folder.join("home/config.yaml");
        fs::create_dir_all(folder.join("home"))?;
        let mut options = fs::OpenOptions::new();
        std::io::Write::write_all(
            &mut options.write(true).create_new(true).mode(0o600).open(&file)?,
            text.as_bytes(),
        )?;
        Ok(file)
    }
}

fn quoted(path: &Path) -> String {
    serde_json::to_string(&path.to_string_lossy()).unwrap_or_default()
}
