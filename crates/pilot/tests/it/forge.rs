//! `pilot forge serve` as its user runs it.

pub(crate) mod http;
mod kills;
mod large;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::program::{pilot, run};

/// A forge that runs, and what it printed first.
struct Served {
    child: Child,
    said: Value,
}

impl Served {
    fn at(root: &Path, more: &[&str]) -> Served {
        let root = root.to_str().expect("UTF-8");
        let mut args = vec!["forge", "serve", "--root", root, "--json"];
        args.extend(more);
        let mut child = pilot(&args).stdout(Stdio::piped()).spawn().expect("start");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        Served { child, said: serde_json::from_str(&line).expect("JSON") }
    }

    fn word(&self, name: &str) -> &str {
        self.said[name].as_str().expect("a word")
    }

    /// A GET of `/user`, and the head of its answer with the body.
    fn user(&self) -> String {
        let host = self.word("url").strip_prefix("http://").expect("plain HTTP");
        let mut stream = TcpStream::connect(host).expect("it answers");
        let token = self.word("token");
        write!(
            stream,
            "GET /user HTTP/1.1\r\nHost: x\r\nAuthorization: token {token}\r\nConnection: close\r\n\r\n"
        )
        .expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it says something");
        answer
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a number")).expect("a number");
        kill_process(pid, signal).expect("it is there");
        self.child.wait().expect("it ends").code()
    }
}

#[test]
fn it_says_where_it_is_and_ends_when_told() {
    let home = tempfile::tempdir().unwrap();
    let first = Served::at(home.path(), &["--lags", "none", "--rate-limit", "7"]);
    assert_eq!(first.word("user"), "pilot");
    let answer = first.user();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("x-ratelimit-limit: 7"), "{answer}");
    let token = first.word("token").to_owned();
    let second = run(pilot(&["forge", "serve", "--root", home.path().to_str().unwrap()]));
    assert_eq!(second.code, Some(2));
    assert!(second.stderr.contains("another forge is running there"), "{}", second.stderr);
    assert_eq!(first.end(Signal::TERM), Some(0));

    let again = Served::at(home.path(), &[]);
    assert_eq!(again.word("token"), token, "the token stays");
    assert_eq!(again.end(Signal::INT), Some(130));
    let killed =
        Served::at(home.path(), &["--token", "another-token", "--ci-jobs", "1", "--ci-command", "true"]);
    assert_eq!(killed.end(Signal::KILL), None);
    let last = Served::at(home.path(), &[]);
    assert_eq!(last.word("token"), "another-token");
    assert!(last.user().starts_with("HTTP/1.1 200 OK"));
    assert_eq!(last.end(Signal::TERM), Some(0));
}

#[test]
fn wrong_use_is_told() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("forge");
    let plan = home.path().join("plan.json");
    std::fs::write(&plan, r#"{"rules": [{"route": "*", "fault": "explode"}]}"#).unwrap();
    let strange = home.path().join("strange.json");
    std::fs::write(
        &strange,
        "{\n  \"rules\": [\n    {\"route\": \"*\", \"fault\": \"refuse\", \"cals\": [1]}\n  ]\n}",
    )
    .unwrap();
    std::fs::write(home.path().join("file"), "").unwrap();
    for (place, name) in [("foreign", "forge.db"), ("spoilt", "token")] {
        std::fs::create_dir(home.path().join(place)).unwrap();
        std::fs::write(home.path().join(place).join(name), "something else\n").unwrap();
    }
    let (foreign, spoilt) = (home.path().join("foreign"), home.path().join("spoilt"));
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = busy.local_addr().unwrap().to_string();
    let (root, plan) = (root.to_str().unwrap(), plan.to_str().unwrap());
    let file = home.path().join("file");
    for (args, words) in [
        (vec!["--root", root, "--listen", "0.0.0.0:0"], "use an address like 127.0.0.1:3000"),
        (vec!["--root", root, "--listen", "localhost:0"], "like 127.0.0.1:3000"),
        (vec!["--root", root, "--listen", &busy], "--listen 127.0.0.1:0 takes a free port"),
        (vec!["--root", root, "--faults", plan], "unknown variant `explode`"),
        (vec!["--root", root, "--faults", plan], "at line 1 column 44; see docs/forge.md"),
        (vec!["--root", root, "--faults", strange.to_str().unwrap()], "unknown field `cals`"),
        (vec!["--root", root, "--faults", strange.to_str().unwrap()], "at line 3 column"),
        (vec!["--root", root, "--faults", "no-such-file"], "cannot read no-such-file"),
        (vec!["--root", root, "--token", "short"], "8 to 255 letters"),
        (vec!["--root", root, "--token", "short"], "the token of --token"),
        (vec!["--root", spoilt.to_str().unwrap()], "spoilt/token: it must have"),
        (
            vec!["--root", foreign.to_str().unwrap()],
            "not a SQLite database; move it away or use another --root",
        ),
        (vec!["--root", file.to_str().unwrap()], "Not a directory"),
        (vec!["--root", file.to_str().unwrap()], "--root takes a directory that you may write to"),
        (vec!["--root", "/proc/forge"], "--root takes a directory that you may write to"),
        (vec!["--root", root, "--ci-jobs", "0"], "invalid value"),
        (vec![], "--root <DIR>"),
    ] {
        let mut all = vec!["forge", "serve"];
        all.extend(&args);
        let ended = run(pilot(&all));
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
    }
    let kept = std::fs::read_to_string(foreign.join("forge.db")).unwrap();
    assert_eq!(kept, "something else\n", "what is not ours stays");
}
