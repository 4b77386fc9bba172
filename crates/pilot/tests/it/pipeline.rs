//! `pilot run` as its user runs it: a project, a pipeline, and an agent that is a small shell script with a score to play from.

mod agents;
mod corpus;
mod crash;
mod person;
mod updates;

use std::fs;
use std::process::Child;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Ended, run};
use crate::yard::Yard;

/// The agent: its n-th call keeps the prompt in `prompt-n`, does what `do-n` says, prints `say-n` and ends with `exit-n`. What it
/// does for every call is in `do`.
const AGENT: &str = "n=$(( $(cat @/calls 2>/dev/null || echo 0) + 1 )); echo $n >@/calls
cat >@/prompt-$n
for file in @/do @/do-$n; do [ ! -e $file ] || . $file; done
[ ! -e @/say-$n ] || cat @/say-$n
exit $(cat @/exit-$n 2>/dev/null || echo 0)";

/// A project with a pipeline.
pub(crate) struct Shop {
    pub(crate) yard: Yard,
}

impl Shop {
    pub(crate) fn new(pipeline: &str) -> Shop {
        let shop = Shop { yard: Yard::new() };
        shop.yard.agent(AGENT, &[]);
        shop.write(".pilot/pipeline.yaml", pipeline);
        shop
    }

    /// The same with these steps below `pipeline:`.
    pub(crate) fn of(steps: &str) -> Shop {
        Shop::new(&format!("version: \"1\"\npipeline:\n{steps}"))
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.yard.repo().join(name);
        fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }

    /// What a file of the project holds; empty when there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.yard.repo().join(name)).unwrap_or_default()
    }

    /// What the agent says when it is called for the n-th time, from 1.
    pub(crate) fn says(&self, answers: &[&str]) -> &Shop {
        for (number, answer) in (1..).zip(answers) {
            fs::write(self.yard.file(&format!("say-{number}")), answer).expect("a file");
        }
        self
    }

    /// What the agent does in its n-th call, as a shell script; in every call for 0.
    pub(crate) fn does(&self, call: usize, script: &str) -> &Shop {
        let name = if call == 0 { "do".to_owned() } else { format!("do-{call}") };
        let root = self.yard.file("").display().to_string();
        fs::write(self.yard.file(&name), script.replace("@/", &root)).expect("a file");
        self
    }

    /// What the agent's n-th call ends with.
    pub(crate) fn exits(&self, call: usize, code: i32) -> &Shop {
        fs::write(self.yard.file(&format!("exit-{call}")), code.to_string()).expect("a file");
        self
    }

    /// Runs `pilot run` with these arguments.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        run(self.yard.pilot(&[&["run"], args].concat()))
    }

    /// Starts `pilot run --json`.
    pub(crate) fn start(&self) -> Child {
        let mut pilot = self.yard.pilot(&["run", "--json"]);
        pilot.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("Pilot starts")
    }

    /// How often the agent was called.
    pub(crate) fn calls(&self) -> usize {
        let calls = fs::read_to_string(self.yard.file("calls")).unwrap_or_default();
        calls.trim().parse().unwrap_or(0)
    }

    /// The prompts so far, without Pilot's header and card.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let prompt = |call: usize| {
            let text = fs::read_to_string(self.yard.file(&format!("prompt-{call}"))).expect("a prompt");
            let text = text.strip_prefix("[PILOT-EXEC]\n").unwrap_or_else(|| panic!("no header: {text}"));
            let (own, _) = text.split_once("\n\n## ").expect("a card");
            own.to_owned()
        };
        (1..=self.calls()).map(prompt).collect()
    }

    /// The report of the last run, for programs and for people.
    pub(crate) fn report(&self) -> (Value, String) {
        let folders = fs::read_dir(self.yard.home().join("pipelines")).expect("runs").flatten();
        let mut folders: Vec<_> = folders.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        let folder = folders.pop().expect("a run");
        let json = fs::read_to_string(folder.join("report.json")).expect("a report");
        let text = fs::read_to_string(folder.join("report.md")).expect("a report");
        (serde_json::from_str(&json).expect("JSON"), text)
    }
}

pub(crate) const APPROVE: &str = "Good.\n<pilot:approve/>\n";

pub(crate) fn reject(why: &str) -> String {
    format!("No.\n<pilot:reject>{why}</pilot:reject>\n")
}

const REVIEW_AND_FIX: &str = "  - id: l
    loop: {until: approve, max_rounds: 4}
    steps:
      - {id: review, agent: 'Look, round {{round}}'}
      - {id: fix, agent: 'Fix: {{FEEDBACK}}'}
";

#[test]
fn a_review_loop_goes_from_rejection_to_approval_in_the_checkout_itself() {
    let shop = Shop::of(REVIEW_AND_FIX);
    shop.says(&[&reject("no tests"), "Fixed.", APPROVE]).does(2, "commit tests.txt");
    let head = shop.yard.git(&["rev-parse", "HEAD"]);
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(shop.prompts(), ["Look, round 1", "Fix: no tests", "Look, round 2"]);
    assert_eq!(shop.read("tests.txt"), "tests.txt\n", "the work is in the checkout");
    assert_eq!(shop.yard.git(&["rev-parse", "HEAD~1"]), head);
    assert_eq!(shop.yard.git(&["branch", "--show-current"]), "trunk/main");
    assert_eq!(shop.yard.git(&["worktree", "list"]).lines().count(), 1);
    shop.yard.expect_gone();
    let (report, text) = shop.report();
    assert_eq!(report["status"], "completed");
    let steps: Vec<(&str, &str)> = report["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| (step["at"].as_str().expect("a step"), step["status"].as_str().expect("a status")))
        .collect();
    assert_eq!(
        steps,
        [("l", "approved"), ("l#1/review", "rejected"), ("l#1/fix", "completed"), ("l#2/review", "approved")]
    );
    assert!(text.contains("| `l#1/review` | agent | rejected | 1 |"), "{text}");
    // Reviewers are asked for a verdict, others are not.
    let card = |call: usize| fs::read_to_string(shop.yard.file(&format!("prompt-{call}"))).expect("a prompt");
    assert!(card(1).contains("<pilot:approve>") && !card(2).contains("<pilot:approve>"));
}

#[test]
fn events_are_json_lines_and_lines_are_for_people() {
    let shop = Shop::of("  - {id: a, agent: hello}\n  - {id: b, shell: echo hi}\n");
    shop.says(&["<pilot:completed>said hello</pilot:completed>", "<pilot:completed/>"]);
    let ended = shop.run(&["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let events: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let shown: Vec<String> = events
        .iter()
        .map(|event| {
            let word = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", word("event"), word("at"), word("fact"), word("status"))
                .trim_end()
                .to_owned()
        })
        .collect();
    assert_eq!(
        shown,
        [
            "run",
            "step a started running",
            "step a ended completed",
            "step b started running",
            "step b ended completed",
            "end   completed"
        ]
    );
    assert_eq!(events[2]["marks"], serde_json::json!(["completed"]));
    assert_eq!(ended.stderr, "");
    let plain = shop.run(&[]);
    assert!(plain.stderr.contains("a: attempt 1 by command\n"), "{}", plain.stderr);
    assert!(plain.stdout.starts_with("Pipeline completed: 2 steps\n"), "{}", plain.stdout);
}

#[test]
fn every_mark_that_does_not_count_is_in_the_report_with_its_place() {
    let shop = Shop::of(REVIEW_AND_FIX);
    let odd = "Fine `<pilot:approve/>`\n> <pilot:approve/>\n\ngood <pilot:approve/>\n<pilot:aprove/>\n<pilot:completed/>\n<pilot:skip/>\n";
    shop.says(&[odd, odd]);
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains("the reviewer said skip and neither approved nor rejected, twice"),
        "{}",
        ended.stdout
    );
    let (report, text) = shop.report();
    let codes: Vec<&str> = report["marks_not_counted"]
        .as_array()
        .expect("marks")
        .iter()
        .map(|mark| mark["code"].as_str().expect("a code"))
        .collect();
    let once = ["in_code_span", "in_quote", "not_on_own_line", "unknown_tag", "multiple_terminals"];
    assert_eq!(codes, [once, once].concat());
    for line in [
        "`l#1/review`: `<pilot:approve>` not on own line",
        "message 1, line 4, bytes ",
        "`<pilot:aprove>` unknown tag (approve)",
        "multiple terminals (completed, skip; the worst one counts)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn what_cannot_be_filled_in_stops_before_anything_starts() {
    for (prompt, words) in [
        ("{{emit.plan}}", "nothing is called \"emit.plan\""),
        ("{{file:notes.md}}", "find \"notes.md\" in the project"),
        ("{{file:link.md}}", "symbolic link"),
    ] {
        let shop = Shop::of(&format!("  - {{id: a, agent: 'do {prompt}'}}\n"));
        std::os::unix::fs::symlink("/etc/passwd", shop.yard.repo().join("link.md")).expect("a link");
        let ended = shop.run(&[]);
        assert_eq!((ended.code, shop.calls()), (Some(1), 0), "{ended:?}");
        assert!(ended.stdout.contains(words), "{prompt}: {}", ended.stdout);
    }
}

#[test]
fn values_go_in_as_they_are_and_are_never_looked_at_again() {
    let shop = Shop::new(
        "version: \"1\"\ninputs: {who: '{{file:secret.md}}'}\npipeline:\n\
         \x20 - {id: a, agent: 'one'}\n\
         \x20 - {id: b, agent: 'W={{who}} F={{file:f.md}} E={{emit.e}} A={{agent:helper}} B={{default_branch}} D={{diff}}'}\n",
    );
    shop.write(".pilot/f.md", "file {{emit.e}} {{who}}");
    shop.write(".pilot/agents/helper.md", "---\nmodel: big\n---\nHelp {{who}}.\n");
    shop.says(&["<pilot:emit key=\"e\">{{file:f.md}} \\{{x}}</pilot:emit>", "ok"]);
    let head = shop.yard.git(&["rev-parse", "HEAD"]);
    let ended = shop.run(&["--input", "who={{emit.e}}; $(touch pwned)"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        shop.prompts()[1],
        format!(
            "W={{{{emit.e}}}}; $(touch pwned) F=file {{{{emit.e}}}} {{{{who}}}} E={{{{file:f.md}}}} \\{{{{x}}}} \
             A=Start a sub-agent with the model big, give it the task between the two lines, and report its findings only.\n\
             --- helper ---\nHelp {{{{who}}}}.\n--- end of helper --- B=trunk/main D=git diff {head}"
        )
    );
}

#[test]
fn the_shell_gets_values_as_variables_and_never_as_text() {
    let shop = Shop::new(
        "version: \"1\"\ninputs: {x: 'a; touch pwned'}\npipeline:\n\
         \x20 - {id: a, agent: emit}\n\
         \x20 - {id: s, shell: 'touch hit-{{x}}; echo \"<{{emit.e}}>\" >out; echo \"$PILOT_INPUT_x|$PILOT_EMIT_e\" >>out'}\n",
    );
    shop.says(&["<pilot:emit key=\"e\">$(touch pwned2) `touch pwned3` \"; touch pwned4</pilot:emit>"]);
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let emitted = "$(touch pwned2) `touch pwned3` \"; touch pwned4";
    assert_eq!(shop.read("out"), format!("<{emitted}>\na; touch pwned|{emitted}\n"));
    let entries = fs::read_dir(shop.yard.repo()).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, [".git", ".gitignore", ".pilot", "README.md", "hit-a; touch pwned", "out"]);
}

#[test]
fn looking_creates_nothing() {
    let shop = Shop::new(
        "version: \"1\"\ninputs: {goal: fly}\npipeline:\n\
         \x20 - {id: a, agent: 'Do {{goal}} with {{emit.x}} in {{round}}', model: big}\n\
         \x20 - {id: t, loop: {over: [p, q], as: T}, steps: [{id: s, shell: 'echo {{T}}'}]}\n\
         \x20 - {id: g, gate: 'Sure about {{goal}}?'}\n",
    );
    let before = (shop.yard.state(), shop.yard.home_state());
    let plan = shop.run(&["--dry-run", "--input", "goal=swim"]);
    assert_eq!(plan.code, Some(0), "{plan:?}");
    for words in [
        "a  (agent, big)\n  | [PILOT-EXEC]\n  | Do swim with {{emit.x}} in {{round}}\n",
        "t  (loop over each T)\n  s  (shell, echo {{T}})\n    | echo {{T}}\n",
        "g  (gate)\n  | Sure about swim?\n",
        "Nothing was run. Names in {{…}} get their values during the run.\n",
    ] {
        assert!(plan.stdout.contains(words), "{words}: {}", plan.stdout);
    }
    let steps = run(shop.yard.pilot(&["steps"]));
    assert_eq!(
        (steps.code, steps.stdout.as_str()),
        (Some(0), "· a  (agent, big)\n· t  (loop over each T)\n  · s  (shell, echo {{T}})\n· g  (gate)\n")
    );
    let valid = run(shop.yard.pilot(&["validate"]));
    assert_eq!((valid.code, valid.stdout.as_str()), (Some(0), "ok: 4 steps\n"));
    let schema: Value =
        serde_json::from_str(&run(shop.yard.pilot(&["validate", "--schema"])).stdout).expect("JSON");
    assert_eq!(schema["title"], "A pipeline of Pilot's");
    assert_eq!((shop.yard.state(), shop.yard.home_state()), before);
}

#[test]
fn a_pipeline_to_begin_with_is_written_and_runs() {
    let yard = Yard::new();
    yard.agent("cat >/dev/null; echo '<pilot:approve/>'", &[]);
    let written = run(yard.pilot(&["init", "--pipeline"]));
    assert_eq!(written.code, Some(0), "{written:?}");
    assert!(
        written.stdout.starts_with("Wrote .pilot/pipeline.yaml\nWrote .pilot/agents/reviewer.md\n"),
        "{}",
        written.stdout
    );
    let again = run(yard.pilot(&["init", "--pipeline", "code-review"]));
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(
        again.stderr.contains(".pilot/pipeline.yaml exists already: move it away first"),
        "{}",
        again.stderr
    );
    assert_eq!(run(yard.pilot(&["init", "--pipeline", "nonsense"])).code, Some(2));
    let missing = run(yard.pilot(&["run"]));
    assert!(
        missing.stderr.contains("the input goal has no value; give it with --input goal=…"),
        "{}",
        missing.stderr
    );
    let ended = run(yard.pilot(&["run", "--input", "goal=fly"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn wrong_use_is_told_before_anything_is_made() {
    let shop = Shop::of(
        "  - {id: a, agent: x}\n  - {id: l, loop: {until: completed}, steps: [{id: in1, agent: y}]}\n",
    );
    for (args, words) in [
        (vec!["--from", "zz"], "there is no step \"zz\"; there are a, l"),
        (vec!["--from", "in1"], "in1 is inside a loop; --from and --only take a step at the top level: a, l"),
        (vec!["--only", "zz"], "there is no step \"zz\""),
        (vec!["--input", "x"], "write NAME=VALUE"),
        (vec!["--input", "x=1"], "--input \"x\": the pipeline has no inputs"),
        (vec!["--fresh", "--from", "a"], "cannot be used with"),
    ] {
        let ended = shop.run(&args);
        assert_eq!((ended.code, shop.calls()), (Some(2), 0), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
    }
    shop.write(".pilot/pipeline.yaml", "version: \"1\"\npipeline:\n  - {id: a, agent: x, tool: gemini}\n");
    let missing = shop.run(&[]);
    assert_eq!(missing.code, Some(2));
    assert!(
        missing.stderr.contains("step a: \"gemini\" was not found on the PATH: install it with"),
        "{}",
        missing.stderr
    );
    let empty = Yard::new();
    let none = run(empty.pilot(&["run"]));
    assert_eq!(none.code, Some(2));
    assert!(
        none.stderr.contains(".pilot/pipeline.yaml: no such file; `pilot init --pipeline"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_pipeline_needs_no_repository() {
    let yard = Yard::bare();
    yard.agent("cat >/dev/null; echo done", &[]);
    fs::create_dir(yard.repo().join(".pilot")).expect("a folder");
    let file = yard.repo().join(".pilot/pipeline.yaml");
    fs::write(&file, "version: \"1\"\npipeline:\n  - {id: a, agent: x}\n").expect("a file");
    let ended = run(yard.pilot(&["run"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    fs::write(&file, "version: \"1\"\npipeline:\n  - {id: a, agent: 'see {{diff}}'}\n").expect("a file");
    let ended = run(yard.pilot(&["run"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains("{{diff}} has no value: this folder is in no git repository with a commit"),
        "{}",
        ended.stdout
    );
}

#[test]
fn two_at_once_in_one_folder_are_one_too_many() {
    let shop = Shop::of("  - {id: a, agent: x}\n");
    shop.says(&["done"]).does(1, "touch @/here; until [ -e @/go ]; do sleep 0.01; done");
    let first = shop.start();
    shop.yard.expect_file("here");
    let second = shop.run(&[]);
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.stderr.contains("another `pilot run` works in this folder"), "{}", second.stderr);
    fs::write(shop.yard.file("go"), "").expect("a file");
    assert_eq!(first.wait_with_output().expect("it ends").status.code(), Some(0));
}

#[test]
fn files_items_and_patterns_are_gone_through_in_order() {
    let steps = |over: &str| {
        format!(
            "  - {{id: l, loop: {{over: {over}, as: T, order: desc}}, steps: [{{id: a, agent: '{{{{T}}}}'}}]}}\n"
        )
    };
    let check = |over: &str, expect: &[&str]| {
        let shop = Shop::of(&steps(over));
        for file in ["b.md", "a.md", "c.txt", "10.md", "9.md"] {
            shop.write(&format!("tasks/{file}"), file);
        }
        shop.write("docs/deep/x.rs", "x.rs");
        shop.write("docs/y.rs", "y.rs");
        std::os::unix::fs::symlink("/etc/passwd", shop.yard.repo().join("tasks/z.md")).expect("a link");
        shop.says(&["ok"; 8]);
        let ended = shop.run(&[]);
        assert_eq!(ended.code, Some(0), "{over}: {ended:?}");
        assert_eq!(shop.prompts(), expect, "{over}");
    };
    check("tasks", &["b.md", "a.md", "9.md", "10.md"]);
    check("tasks/", &["b.md", "a.md", "9.md", "10.md"]);
    check("'docs/**/*.rs'", &["y.rs", "x.rs"]);
    check("[one, two, 3]", &["3", "two", "one"]);
    check("'tasks/none*'", &[]);
    let shop = Shop::of(&steps("nowhere"));
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("l: there is no folder \"nowhere\""), "{}", ended.stdout);
}

#[test]
fn a_step_takes_no_longer_than_it_may() {
    let shop = Shop::of(
        "  - {id: s, shell: 'touch @/sleeps; sleep 100', timeout: 1s}\n".replace("@/", "../").as_str(),
    );
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("s: stopped at its time limit"), "{}", ended.stdout);
    shop.yard.expect_gone();
}

#[test]
fn another_agent_takes_over_when_the_first_one_fails() {
    let shop = Shop::of(
        "  - {id: a, agent: x, retry: 1, fallback: {tool: custom, script: other.sh, args: [--fast]}}\n",
    );
    shop.exits(1, 1).exits(2, 1).says(&["no", "no"]);
    pilot_testkit::program::write(
        &shop.yard.repo().join("other.sh"),
        "#!/bin/sh\necho \"$1\" \"$(head -n 2 \"$2\" | tail -n 1)\" >took; echo \"$2\" >file; echo done\n",
    );
    let ended = shop.run(&[]);
    assert_eq!((ended.code, shop.calls()), (Some(0), 2), "{ended:?}");
    assert_eq!(shop.read("took"), "--fast x\n");
    assert!(!std::path::Path::new(shop.read("file").trim()).exists(), "the prompt's file is gone");
}

/// The pipelines that the page shows are good ones, and run.
#[test]
fn samples_of_the_page_run() {
    let page = include_str!("../../../../docs/pipelines.md");
    let samples: Vec<&str> =
        page.split("```yaml sample\n").skip(1).filter_map(|piece| piece.split("```").next()).collect();
    assert_eq!(samples.len(), 2);
    for sample in samples {
        let shop = Shop::new(
            &sample.replace("tool: codex", "tool: command").replace("fallback: codex", "fallback: command"),
        );
        shop.yard.agent(
            "cat >/dev/null; echo '<pilot:emit key=\"kind\">bug</pilot:emit>'; echo '<pilot:approve/>'",
            &[],
        );
        let ended = shop.run(&[]);
        // The first one ends at its gate.
        let code = if sample.contains("gate: \"") { 3 } else { 0 };
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
}
