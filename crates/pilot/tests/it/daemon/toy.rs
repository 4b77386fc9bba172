//! A project whose tracker and forge are not GitHub: the toy's service, with a real forge behind it for git, CI and merges.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::world::World;
use crate::forge::http::Client;
use crate::program::run;

/// Answers the toy's requests by those of a forge.
struct ToyService {
    forge: Client,
    /// Markers by what they are on: the toy keeps them apart from texts.
    marks: BTreeMap<String, Value>,
}

/// The state of a reply and its body.
type Said = Result<Value, u16>;

impl ToyService {
    fn ask(&self, method: &str, path: &str, body: &Value) -> Said {
        let answer = self.forge.ask(method, &format!("/repos/pilot/shop/{path}"), body).ok_or(502_u16)?;
        if answer.status < 300 { Ok(answer.json) } else { Err(answer.status) }
    }

    fn get(&self, path: &str) -> Said {
        self.ask("GET", path, &Value::Null)
    }

    /// A list of the forge, each item translated.
    fn list(&self, path: &str, translate: impl Fn(&Value) -> Value) -> Said {
        let found = self.get(path)?;
        let items = found.as_array().or(found["check_runs"].as_array()).cloned().unwrap_or_default();
        Ok(json!({"items": items.iter().map(translate).collect::<Vec<_>>(), "next": null}))
    }

    fn answer(&mut self, method: &str, path: &str, body: &Value) -> Said {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.trim_start_matches("/acme/shop/").split('/').collect();
        let key = |key: &str| key.trim_start_matches("TOY-").to_owned();
        match (method, &parts[..]) {
            ("GET", ["project"]) => Ok(json!({
                "default_branch": "main",
                "is_archived": false,
                "clone_url": format!("{}/pilot/shop.git", self.forge.url),
                "web_url": "https://toy.example/shop",
            })),
            ("GET", ["accounts", _]) => Ok(json!({"is_member": true})),
            ("GET", ["writers", _]) => Ok(json!({"answer": true})),
            ("GET", ["comments"] | ["pulls", _, "reviews"]) => Ok(json!({"items": [], "next": null})),
            ("GET", ["tickets"]) => {
                let state = if query.contains("open=1") { "open" } else { "all" };
                let label = query.rsplit("label=").next().unwrap_or_default();
                self.list(&format!("issues?state={state}&labels={label}"), |issue| self.ticket(issue))
            }
            ("GET", ["tickets", ticket]) => {
                self.get(&format!("issues/{}", key(ticket))).map(|issue| self.ticket(&issue))
            }
            ("POST", ["tickets"]) => {
                let new = json!({"title": body["title"], "body": body["text"], "labels": body["labels"]});
                let made = self.ask("POST", "issues", &new)?;
                self.marks.insert(format!("ticket {}", made["number"]), body["mark"].clone());
                Ok(self.ticket(&made))
            }
            ("POST", ["tickets", ticket, "labels"]) => {
                self.ask("POST", &format!("issues/{}/labels", key(ticket)), &json!({"labels": body}))?;
                Ok(json!({}))
            }
            ("GET", ["tickets", _, "labels"]) => Ok(json!({})),
            ("DELETE", ["tickets", ticket, "labels", label]) => {
                self.ask("DELETE", &format!("issues/{}/labels/{label}", key(ticket)), &Value::Null)?;
                Ok(json!({}))
            }
            ("PUT", ["tickets", ticket, "closed"]) => {
                self.ask("PATCH", &format!("issues/{}", key(ticket)), &json!({"state": "closed"}))?;
                Ok(json!({}))
            }
            ("GET", ["tickets" | "pulls", on, "comments"]) => {
                self.list(&format!("issues/{}/comments", key(on)), |comment| self.comment(comment))
            }
            ("POST", ["tickets" | "pulls", on, "comments"]) => {
                self.write_comment("POST", &format!("issues/{}/comments", key(on)), body)
            }
            ("PUT", ["comments", id]) => self.write_comment("PATCH", &format!("issues/comments/{id}"), body),
            (_, ["pulls", ..]) => self.answer_pull(method, &parts, query, body),
            _ => self.answer_code(method, &parts, body),
        }
    }

    fn answer_pull(&mut self, method: &str, parts: &[&str], query: &str, body: &Value) -> Said {
        match (method, parts) {
            ("GET", ["pulls"]) => {
                let branch = query.rsplit('=').next().unwrap_or_default();
                let path = match query.contains("open=1") {
                    true => format!("pulls?state=open&base={branch}"),
                    false => format!("pulls?state=all&head=pilot:{branch}"),
                };
                self.list(&path, |pull| self.pull(pull))
            }
            ("GET", ["pulls", number]) => self.get(&format!("pulls/{number}")).map(|pull| self.pull(&pull)),
            ("POST", ["pulls"]) => {
                let new = json!({
                    "title": body["title"], "body": body["text"], "head": body["from"], "base": body["onto"],
                });
                let made = self.ask("POST", "pulls", &new)?;
                self.marks.insert(format!("pull {}", made["number"]), body["mark"].clone());
                Ok(self.pull(&made))
            }
            ("PUT", ["pulls", number, "closed"]) => {
                self.ask("PATCH", &format!("pulls/{number}"), &json!({"state": "closed"}))?;
                Ok(json!({}))
            }
            ("PUT", ["pulls", number, "merge"]) => {
                let merge = json!({"sha": body["head"], "merge_method": body["method"], "commit_title": body["title"]});
                let merged = self.ask("PUT", &format!("pulls/{number}/merge"), &merge)?;
                Ok(json!({"commit": merged["sha"]}))
            }
            _ => Err(404),
        }
    }

    fn answer_code(&self, method: &str, parts: &[&str], body: &Value) -> Said {
        match (method, parts) {
            ("GET", ["commits", sha, "checks"]) => self.list(&format!("commits/{sha}/check-runs"), |run| {
                let state = match run["conclusion"].as_str() {
                    Some("success") => "passed",
                    Some(_) => "failed",
                    None => "runs",
                };
                json!({"name": run["name"], "state": state})
            }),
            ("GET", ["required", ..]) => Ok(json!({"answer": []})),
            ("GET", ["branches", branch, "contains", sha]) => {
                let status = self.get(&format!("compare/{branch}...{sha}"))?["status"].clone();
                Ok(json!({"answer": status == "behind" || status == "identical"}))
            }
            ("GET", ["tags"]) => {
                self.list("tags", |tag| json!({"name": tag["name"], "commit": tag["commit"]["sha"]}))
            }
            ("POST", ["tags"]) => {
                let name = format!("refs/tags/{}", body["name"].as_str().unwrap_or_default());
                self.ask("POST", "git/refs", &json!({"ref": name, "sha": body["commit"]}))?;
                Ok(json!({}))
            }
            _ => Err(404),
        }
    }

    fn write_comment(&mut self, method: &str, path: &str, body: &Value) -> Said {
        let written = self.ask(method, path, &json!({"body": body["text"]}))?;
        self.marks.insert(format!("comment {}", written["id"]), body["mark"].clone());
        Ok(self.comment(&written))
    }

    fn ticket(&self, issue: &Value) -> Value {
        let labels = issue["labels"].as_array().cloned().unwrap_or_default();
        json!({
            "key": format!("TOY-{}", issue["number"]),
            "title": issue["title"],
            "text": issue["body"].as_str().unwrap_or_default(),
            "author": "ada",
            "labels": labels.iter().map(|label| label["name"].clone()).collect::<Vec<_>>(),
            "is_open": issue["state"] == "open",
            "at": 1,
            "comments": issue["comments"],
            "mark": self.marks.get(&format!("ticket {}", issue["number"])),
        })
    }

    fn comment(&self, comment: &Value) -> Value {
        let id = comment["id"].to_string();
        let mark = self.marks.get(&format!("comment {id}"));
        json!({"id": id, "at": 1, "author": "pilot-bot", "text": comment["body"], "mark": mark, "on": "TOY-1"})
    }

    fn pull(&self, pull: &Value) -> Value {
        let merged = pull["merged_at"].is_string().then(|| pull["merge_commit_sha"].clone());
        json!({
            "number": pull["number"],
            "branch": pull["head"]["ref"],
            "head": pull["head"]["sha"],
            "merged": merged,
            "is_open": pull["state"] == "open",
            "can_merge": pull["mergeable"],
            "mark": self.marks.get(&format!("pull {}", pull["number"])),
        })
    }

    /// Answers one request; without the key it is refused.
    fn serve(&mut self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let (mut line, mut length, mut has_key) = (String::new(), 0, false);
        reader.read_line(&mut line)?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap_or(0),
                "x-toy-key" => has_key = value == self.forge.token,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let said = if has_key { self.answer(method, path, &body) } else { Err(401) };
        let (status, text) = match said {
            Ok(value) => (200, value.to_string()),
            Err(status) => (status, json!({"message": path}).to_string()),
        };
        let length = text.len();
        let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        reader.into_inner().write_all(format!("{head}{text}").as_bytes())
    }
}

#[test]
fn a_ticket_of_another_service_becomes_a_merged_pull_request() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let config = fs::read_to_string(world.home().join("config.yaml")).expect("a file");
    let (_, rest) = config.split_once("orchestrator:").expect("a section");
    let rest = rest.replace("github: {owner: pilot, repo: shop}", "toy: {project: acme/shop}");
    let adapters = format!(
        "adapters:\n  github: {{enabled: false}}\n  toy: {{api_url: \"http://{address}\", key: {}, interval: 200ms}}\n",
        world.client.token
    );
    fs::write(world.home().join("config.yaml"), format!("{adapters}orchestrator:{rest}")).expect("a file");
    world.file("feat: add a file", "Please.");
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut service = ToyService { forge: world.client.clone(), marks: BTreeMap::new() };
            for stream in listener.incoming().flatten() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                // A request that its client gave up has no reply.
                let _ = service.serve(stream);
            }
        });
        let ended = run(world.pilot(&["start", "--once"]));
        is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(address));
        ended
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("working on https://toy.example/shop as @pilot-bot"), "{}", ended.stderr);
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert!(pulls[0]["merged_at"].is_string(), "{}", ended.stderr);
    assert!(world.files().contains(&"TOY-1.txt".to_owned()), "{:?}", world.files());
    let closed = world.get("issues/1");
    assert_eq!(closed["state"], "closed");
    assert!(closed["labels"].to_string().contains("pilot-done"), "{closed}");
    assert_eq!(world.get("tags")[0]["name"], "v0.1.0");
    let why = run(world.pilot(&["why", "TOY-1"]));
    assert!(why.stdout.contains("done: Merged: PR !2, commit "), "{}", why.stdout);
}
