//! What people see of a task's work before they trust it: findings of the review, gates, the pull request.

use serde_json::{Value, json};

use super::world::World;
use crate::program::run;

/// Long enough to be reviewed.
const TITLE: &str = "Add the thing that the other thing needs";
const TEXT: &str = "Users need the thing.\n\nIt is in the manual.";

/// Adds a file, and says of it in a review what stands in the file `review`; without that file, nothing that can be read.
const AGENT: &str = r#"#!/bin/sh
prompt=$(cat)
export GIT_AUTHOR_NAME=Agent GIT_AUTHOR_EMAIL=agent@example.org
export GIT_COMMITTER_NAME=Agent GIT_COMMITTER_EMAIL=agent@example.org
case "$prompt" in
*pilot-review*)
  echo review >>"@/agents"
  [ -e "@/review" ] || { echo 'Looks good to me.'; exit; }
  printf '```pilot-review\n{"findings":%s}\n```\n' "$(cat "@/review")"
  exit ;;
esac
echo "$PILOT_TASK_ID $$" >>"@/agents"
echo "$PILOT_TASK_ID" >"$PILOT_TASK_ID.txt"
git add -A && git commit -qm "feat: $PILOT_TASK_ID"
printf 'I added the thing, see `%s.txt`.\n\nThis closes #77, @everyone. <!-- pilot-task GH-9 -->\n' "$PILOT_TASK_ID"
printf '```pilot-signal\n{"v":2,"type":"exit","exit_signal":true,"success":true,"reason":"all criteria are met"}\n```\n'
"#;

const BLOCKER: &str = r#"[{"severity":"blocker","file":"GH-1.txt","line":1,"text":"This deletes the <b>database</b>","fixed":false}]"#;

/// A world whose agents review, and say this.
fn reviewing(findings: Option<&str>) -> World {
    let world = World::new();
    let place = world.folder.path().to_string_lossy().into_owned();
    pilot_testkit::program::write(&world.path("agent.sh"), AGENT.replace("@/", &format!("{place}/")));
    world.reconfigure("review: {enabled: false}", "review: {enabled: true}");
    if let Some(findings) = findings {
        std::fs::write(world.path("review"), findings).expect("a file");
    }
    world
}

fn body(pull: &Value) -> &str {
    pull["body"].as_str().expect("a text")
}

#[test]
fn a_blocker_of_the_review_holds_until_a_person_lets_it_pass() {
    let world = reviewing(Some(BLOCKER));
    let issue = world.file(TITLE, TEXT);
    world.once();
    assert_eq!(world.stage(issue), "held", "{}", world.log());
    let pulls = world.pulls();
    assert_eq!(pulls[0]["state"], "open");
    let text = body(&pulls[0]);
    assert!(
        text.contains("- **blocker**, not fixed, `GH-1.txt:1`: This deletes the &lt;b>database&lt;/b>"),
        "{text}"
    );
    assert!(
        text.contains("**Pilot does not merge this:**") && text.contains("`/pilot resume` on #1"),
        "{text}"
    );
    let said = world.comments(issue).last().expect("a comment")["body"].as_str().expect("a text").to_owned();
    assert!(said.contains("Pilot's review of #2 found a problem that is not fixed"), "{said}");
    assert!(said.contains("`/pilot resume` continues with it as it is"), "{said}");
    let why = run(world.pilot(&["why", "GH-1"])).stdout;
    assert!(why.contains("This deletes the"), "{why}");
    world.once();
    assert_eq!(world.stage(issue), "held", "a restart changes nothing");
    world.change("POST", &format!("issues/{issue}/comments"), &json!({"body": "/pilot resume"}));
    world.once();
    assert_eq!(world.stage(issue), "done");
    assert_eq!(world.pulls().len(), 1);
}

#[test]
fn a_retry_starts_again_from_a_blocker() {
    let world = reviewing(Some(BLOCKER));
    let issue = world.file(TITLE, TEXT);
    world.once();
    assert_eq!(world.stage(issue), "held", "{}", world.log());
    std::fs::write(world.path("review"), "[]").expect("a file");
    world.change("POST", &format!("issues/{issue}/comments"), &json!({"body": "/pilot retry"}));
    world.once();
    assert_eq!(world.stage(issue), "done");
    let pulls = world.pulls();
    assert_eq!((pulls[0]["merged_at"].is_string(), &pulls[1]["state"]), (true, &json!("closed")));
    assert!(body(&pulls[0]).contains("Review: nothing found."), "{}", body(&pulls[0]));
}

#[test]
fn with_none_blocking_the_findings_are_told_and_hold_nothing() {
    let world = reviewing(Some(BLOCKER));
    world.reconfigure("review: {enabled: true}", "review: {enabled: true, blocking: none}");
    let issue = world.file(TITLE, TEXT);
    world.once();
    assert_eq!(world.stage(issue), "done");
    let pulls = world.pulls();
    assert!(body(&pulls[0]).contains("This deletes the"), "{}", body(&pulls[0]));
}

#[test]
fn a_review_that_cannot_be_read_is_tried_once_more_and_then_said_as_not_done() {
    let world = reviewing(None);
    let issue = world.file(TITLE, TEXT);
    world.once();
    assert_eq!(world.stage(issue), "done");
    let reviews = std::fs::read_to_string(world.path("agents")).expect("a file").matches("review").count();
    assert_eq!(reviews, 2);
    let pulls = world.pulls();
    let text = body(&pulls[0]);
    assert!(text.contains("Review not done: the reviewer's message holds no pilot-review block."), "{text}");
    assert!(text.contains("- The review was not done: "), "{text}");
}

#[test]
fn a_pull_request_says_what_was_asked_done_and_tested() {
    let world = reviewing(Some("[]"));
    world.reconfigure(
        "quality: {enabled: false}",
        "quality: {gates: [{name: test, command: \"test -e GH-1.txt\"}]}",
    );
    let issue = world.file(TITLE, TEXT);
    world.once();
    assert_eq!(world.stage(issue), "done");
    let pulls = world.pulls();
    assert_eq!(pulls[0]["title"], TITLE);
    let text = body(&pulls[0]);
    for part in [
        "Closes #1\n",
        "### What was asked\n\n> Users need the thing.\n",
        "> I added the thing, see `GH-1.txt`.\n>\n> This c\u{200b}loses #77, @\u{200b}everyone.\n",
        "Its exit signal says: all criteria are met\n",
        "1 commit, 1 file changed.\n",
        "- `test`: passed\n",
        "Review: nothing found.\n",
        " · log: `pilot logs GH-1`.\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("GH-9") && !text.contains("pilot-signal"), "{text}");
}

/// An agent that writes a file and does not commit it.
const LEAVES: &str = "#!/bin/sh\ncat >/dev/null\necho x >left.txt\necho 'I wrote left.txt.'\n";

/// Writes a file; its gate fails and prints a secret.
const GATE: &str = "quality: {on_failure: {max_retries: 0}, gates: [{name: test, command: \"echo FAILED test_login; \
                    echo $SHOP_TOKEN; exit 4\"}]}";

fn leaving() -> World {
    let world = World::new();
    pilot_testkit::program::write(&world.path("agent.sh"), LEAVES);
    world
}

#[test]
fn leftovers_are_committed_with_the_title_and_the_requester() {
    for (keys, trailer) in [("", false), ("  co_author: true\n", true)] {
        let world = leaving();
        world.reconfigure("  retry: {enabled: false}\n", &format!("  retry: {{enabled: false}}\n{keys}"));
        world.reconfigure("    release: {enabled: true}\n", "    auto_merge: false\n");
        let issue = world.file("Add the left file", "Please.");
        world.once();
        assert_eq!(world.stage(issue), "held", "{}", world.log());
        let head = world.pulls()[0]["head"]["sha"].as_str().expect("a commit").to_owned();
        let message = world.get(&format!("commits/{head}"))["commit"]["message"].clone();
        let message = message.as_str().expect("a text");
        assert!(message.starts_with("feat: Add the left file\n\nTask: GH-1"), "{message}");
        assert_eq!(
            message.contains("Co-authored-by: pilot <pilot@users.noreply.github.com>"),
            trailer,
            "{message}"
        );
    }
}

#[test]
fn a_failed_gate_shows_its_output_wherever_the_failure_is_told() {
    for push in [false, true] {
        let world = leaving();
        world.reconfigure("quality: {enabled: false}", GATE);
        world.reconfigure("    settle: 500ms\n", &format!("    settle: 500ms\n    push_failed: {push}\n"));
        let issue = world.file("Add the left file", "Please.");
        let ended = run_with_secret(&world, &["start", "--once"]);
        assert_eq!(world.stage(issue), "failed", "{ended:?}");
        let comments = world.comments(issue);
        let said = comments.last().expect("a comment")["body"].as_str().expect("a text");
        assert!(said.contains("The gate `test` failed (exit code 4)."), "{said}");
        assert!(
            said.contains("FAILED test_login") && said.contains("`pilot logs GH-1 --gate test`"),
            "{said}"
        );
        assert!(!said.contains("sup3r-s3cret-value"), "{said}");
        for args in [&["logs", "GH-1", "--gate", "test"][..], &["why", "GH-1"]] {
            let shown = run_with_secret(&world, args).stdout;
            assert!(shown.contains("FAILED test_login") && !shown.contains("sup3r-s3cret-value"), "{shown}");
            assert!(shown.contains("(exit code 4)"), "{shown}");
        }
        let unknown = run_with_secret(&world, &["logs", "GH-1", "--gate", "lint"]);
        assert_eq!(unknown.code, Some(2), "{unknown:?}");
        assert!(unknown.stderr.contains("its gates: test"), "{unknown:?}");
        let branches = world.get("branches").to_string();
        assert_eq!(branches.contains("pilot/GH-1-failed-g1"), push, "{branches}");
        assert_eq!(said.contains("Its work is on the branch `pilot/GH-1-failed-g1`."), push, "{said}");
    }
}

fn run_with_secret(world: &World, args: &[&str]) -> crate::program::Ended {
    let mut pilot = world.pilot(args);
    pilot.env("SHOP_TOKEN", "sup3r-s3cret-value");
    run(pilot)
}

#[test]
fn the_row_of_a_run_names_its_pull_request() {
    let world = World::new();
    let issue = world.file("feat: add a file", "Please.");
    world.once();
    assert_eq!(world.stage(issue), "done");
    let rows = run(world.pilot(&["logs", "GH-1", "--json"])).stdout;
    let row: Value = serde_json::from_str(rows.lines().next().expect("a line")).expect("JSON");
    assert_eq!(row["pr_url"], json!(format!("{}/pilot/shop/pull/2", world.client.url)), "{row}");
}

#[test]
fn a_run_that_fails_tells_its_code_and_the_agents_last_words() {
    let world = World::new();
    let agent = "#!/bin/sh\ncat >/dev/null\necho 'boom: cannot find module'\nexit 7\n";
    pilot_testkit::program::write(&world.path("agent.sh"), agent);
    let issue = world.file("feat: add a file", "Please.");
    world.once();
    assert_eq!(world.stage(issue), "failed");
    let comments = world.comments(issue);
    let said = comments.last().expect("a comment")["body"].as_str().expect("a text");
    assert!(said.contains("the agent exited with status 7"), "{said}");
    assert!(said.contains("The agent said last:\n\n> boom: cannot find module"), "{said}");
}

#[test]
fn an_issue_of_pilots_own_account_selects_the_branch() {
    let world = World::new();
    let main = world.get("git/ref/heads/main")["object"]["sha"].as_str().expect("a commit").to_owned();
    world.change("POST", "git/refs", &json!({"ref": "refs/heads/pilot/earlier", "sha": main}));
    let file = json!({"message": "earlier work", "content": "eA==", "branch": "pilot/earlier"});
    world.change("PUT", "contents/earlier.txt", &file);
    let issue = world.file("feat: go on", "Please.\n\n<!-- autopilot-meta branch:pilot/earlier -->");
    let ended = world.once();
    assert_eq!(world.stage(issue), "done", "{}", ended.stderr);
    let pulls = world.pulls();
    assert_eq!(pulls[0]["head"]["ref"], "pilot/earlier");
    let files = world.files();
    assert!(files.contains(&"earlier.txt".to_owned()) && files.contains(&"GH-1.txt".to_owned()), "{files:?}");
}
