use std::path::Path;

use pilot_core::config::Backend::{ClaudeCode, Codex, Command as AnyCommand, Gemini, Opencode, QwenCode};

use pilot_core::outcome::Reports;

use super::*;

const PROMPT: &str = "[PILOT-EXEC]\ndo it";

fn request() -> AgentRequest<'static> {
    AgentRequest {
        prompt: PROMPT,
        program: None,
        model: None,
        effort: None,
        resume: None,
        max_turns: None,
        permissions: Permissions::Everything,
        repo_settings: RepoSettings::Trusted,
        settings: None,
        extra_args: &[],
        images: &[],
        root: false,
        task: Task { id: "GH-12", branch: "pilot/GH-12", workspace: Path::new("/run/w") },
        command: None,
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn leaked(list: &[&str]) -> &'static [String] {
    Vec::leak(words(list))
}

fn images(list: &[&str]) -> &'static [PathBuf] {
    Vec::leak(list.iter().map(PathBuf::from).collect())
}

/// The call as one line: the environment's additions, the program, the arguments with blanks marked.
#[track_caller]
fn check(backend: Backend, request: &AgentRequest<'_>, expected: &str) {
    let call = invocation(backend, request).expect("a call");
    let env = call.env.iter().map(|(name, value)| format!("{name}={value}"));
    let args = [&call.program].into_iter().chain(&call.args).map(|arg| arg.replace(' ', "␣"));
    assert_eq!(env.chain(args).collect::<Vec<_>>().join(" "), expected);
    assert_eq!(call.stdin, request.prompt.as_bytes());
    assert!(!call.args.iter().any(|arg| arg.contains(PROMPT)), "the prompt must not be an argument");
}

#[track_caller]
fn refused(backend: Backend, request: &AgentRequest<'_>, expected: &str) {
    let error = invocation(backend, request).expect_err("no call");
    assert_eq!(error.to_string(), expected);
}

const CLAUDE: &str =
    "PILOT_EXECUTOR=1 claude -p --verbose --output-format stream-json --dangerously-skip-permissions";

#[test]
fn claude_options() {
    check(ClaudeCode, &request(), CLAUDE);
    check(ClaudeCode, &AgentRequest { model: Some("opus"), ..request() }, &format!("{CLAUDE} --model opus"));
    check(
        ClaudeCode,
        &AgentRequest { effort: Some("high"), ..request() },
        &format!("{CLAUDE} --effort high"),
    );
    check(ClaudeCode, &AgentRequest { resume: Some("s-1"), ..request() }, &format!("{CLAUDE} --resume s-1"));
    check(ClaudeCode, &AgentRequest { max_turns: Some(7), ..request() }, &format!("{CLAUDE} --max-turns 7"));
    let untrusted = AgentRequest { repo_settings: RepoSettings::Ignored, ..request() };
    check(ClaudeCode, &untrusted, &format!("{CLAUDE} --setting-sources user"));
    let extra = AgentRequest { extra_args: leaked(&["--append-system-prompt", "be kind"]), ..request() };
    check(ClaudeCode, &extra, &format!("{CLAUDE} --append-system-prompt be␣kind"));
    let other = AgentRequest { program: Some("/opt/claude"), ..request() };
    check(ClaudeCode, &other, &CLAUDE.replace(" claude ", " /opt/claude "));
    let all = AgentRequest {
        model: Some("m"),
        effort: Some("low"),
        resume: Some("s"),
        max_turns: Some(1),
        ..untrusted
    };
    let expected = format!("{CLAUDE} --model m --effort low --resume s --max-turns 1 --setting-sources user");
    check(ClaudeCode, &all, &expected);
}

#[test]
fn settings_for_one_run() {
    let settings = AgentRequest { settings: Some(r#"{"hooks":{}}"#), ..request() };
    check(ClaudeCode, &settings, &format!("{CLAUDE} --settings {{\"hooks\":{{}}}}"));
    assert_eq!(invocation(ClaudeCode, &settings).expect("a call").notices, [""; 0]);
    for own in [&["--settings", "own.json"][..], &["--settings=own.json"]] {
        let both = AgentRequest { extra_args: leaked(own), ..settings };
        check(ClaudeCode, &both, &format!("{CLAUDE} {}", own.join(" ")));
        let notices = invocation(ClaudeCode, &both).expect("a call").notices;
        assert!(
            notices[0].starts_with("quality.stop_hook has no effect, since executor.extra_args"),
            "{notices:?}"
        );
    }
    let without = invocation(Codex, &settings).expect("a call");
    assert_eq!(
        without.notices,
        [
            "quality.stop_hook has no effect with codex, which has no such hook; the gates run after the session"
        ]
    );
    assert!(!without.args.iter().any(|arg| arg.contains("hooks")));
}

#[test]
fn claude_permissions() {
    const BARE: &str = "PILOT_EXECUTOR=1 claude -p --verbose --output-format stream-json";
    let with = |permissions| AgentRequest { permissions, root: true, ..request() };
    let root = CLAUDE.replace("PILOT_EXECUTOR=1", "PILOT_EXECUTOR=1 IS_SANDBOX=1");
    check(ClaudeCode, &with(Permissions::Everything), &root);
    check(ClaudeCode, &with(Permissions::AsConfigured), BARE);
    let tools = Permissions::Only(leaked(&["Read", "Bash(git *)"]));
    check(ClaudeCode, &with(tools), &format!("{BARE} --allowedTools Read,Bash(git␣*)"));
    let reading = format!("{BARE} --tools Read,Glob,Grep --allowedTools Read,Glob,Grep");
    check(ClaudeCode, &with(Permissions::ReadOnly), &reading);
    let image = AgentRequest { images: images(&["/run/a.png"]), ..with(Permissions::ReadOnly) };
    check(ClaudeCode, &image, &reading);
}

#[test]
fn claude_reads_ten_megabytes_and_no_more() {
    let fits = "x".repeat(10_000_000);
    assert!(invocation(ClaudeCode, &AgentRequest { prompt: &fits, ..request() }).is_ok());
    let long = fits + "x";
    let expected = "the prompt has 10000001 bytes and claude-code reads at most 10000000: shorten the task";
    refused(ClaudeCode, &AgentRequest { prompt: &long, ..request() }, expected);
}

#[test]
fn codex_options() {
    const FIRST: &str = "PILOT_EXECUTOR=1 codex exec --json --skip-git-repo-check --disable plugins";
    const BASE: &str = "PILOT_EXECUTOR=1 codex exec --json --skip-git-repo-check --disable plugins \
                        --dangerously-bypass-approvals-and-sandbox";
    check(Codex, &request(), &format!("{BASE} -"));
    check(Codex, &AgentRequest { model: Some("gpt"), ..request() }, &format!("{BASE} --model gpt -"));
    let effort = AgentRequest { effort: Some("high"), ..request() };
    check(Codex, &effort, &format!("{BASE} -c model_reasoning_effort=\"high\" -"));
    let resumed = BASE.replace(" exec ", " exec resume ");
    check(Codex, &AgentRequest { resume: Some("t-1"), ..request() }, &format!("{resumed} t-1 -"));
    let extra = AgentRequest { extra_args: leaked(&["--oss"]), ..request() };
    check(Codex, &extra, &format!("{BASE} --oss -"));
    check(
        Codex,
        &AgentRequest { permissions: Permissions::AsConfigured, ..request() },
        &format!("{FIRST} -"),
    );
    let question =
        AgentRequest { permissions: Permissions::ReadOnly, images: images(&["/run/a.png"]), ..request() };
    check(Codex, &question, &format!("{FIRST} -c sandbox_mode=\"read-only\" --image=/run/a.png -"));
    let two = AgentRequest { images: images(&["/run/a.png", "/run/b.png"]), ..request() };
    check(Codex, &two, &format!("{BASE} --image=/run/a.png --image=/run/b.png -"));
    check(Codex, &AgentRequest { resume: Some("t-1"), ..two }, &format!("{resumed} t-1 -"));
    refused(
        Codex,
        &AgentRequest { max_turns: Some(3), ..request() },
        "the backend codex does not support a turn limit: limit the run's time or tokens",
    );
}

#[test]
fn opencode_options() {
    const BARE: &str = "PILOT_EXECUTOR=1 opencode run --format json";
    check(Opencode, &request(), &format!("{BARE} --auto"));
    let chosen =
        AgentRequest { model: Some("p/m"), effort: Some("high"), resume: Some("ses_1"), ..request() };
    check(Opencode, &chosen, &format!("{BARE} --auto --model p/m --variant high --session ses_1"));
    let question =
        AgentRequest { permissions: Permissions::ReadOnly, images: images(&["/run/a.png"]), ..request() };
    check(Opencode, &question, &format!("{BARE} --agent plan --file /run/a.png"));
    let two = AgentRequest { images: images(&["/run/a.png", "/run/b.png"]), ..request() };
    check(Opencode, &two, &format!("{BARE} --auto --file /run/a.png --file /run/b.png"));
    check(Opencode, &AgentRequest { resume: Some("s"), ..two }, &format!("{BARE} --auto --session s"));
    check(Opencode, &AgentRequest { permissions: Permissions::AsConfigured, ..request() }, BARE);
    refused(
        Opencode,
        &AgentRequest { model: Some("opus"), ..request() },
        "invalid model \"opus\" for opencode: write it as provider/model",
    );
}

#[test]
fn gemini_options() {
    const BARE: &str = "PILOT_EXECUTOR=1 GEMINI_CLI_TRUST_WORKSPACE=true gemini --output-format stream-json";
    check(Gemini, &request(), &format!("{BARE} --yolo --model gemini-2.5-pro"));
    let chosen = AgentRequest { model: Some("m"), resume: Some("s-1"), ..request() };
    check(Gemini, &chosen, &format!("{BARE} --yolo --model m --resume s-1"));
    let tools =
        AgentRequest { permissions: Permissions::Only(leaked(&["a", "b"])), model: Some("m"), ..request() };
    check(Gemini, &tools, &format!("{BARE} --allowed-tools a --allowed-tools b --model m"));
    let question = AgentRequest {
        permissions: Permissions::ReadOnly,
        images: images(&["/run/a.png"]),
        model: Some("m"),
        ..request()
    };
    check(Gemini, &question, &format!("{BARE} --approval-mode plan --include-directories /run --model m"));
    let effort = invocation(Gemini, &AgentRequest { effort: Some("high"), ..request() }).expect("a call");
    assert_eq!(effort.notices, ["gemini has no effort setting, so the effort \"high\" has no effect"]);
}

#[test]
fn qwen_options() {
    const BARE: &str = "PILOT_EXECUTOR=1 qwen --output-format stream-json";
    check(QwenCode, &request(), &format!("{BARE} --yolo"));
    let chosen = AgentRequest { model: Some("m"), resume: Some("s-1"), max_turns: Some(4), ..request() };
    check(QwenCode, &chosen, &format!("{BARE} --yolo --model m --resume s-1 --max-session-turns 4"));
    let untrusted = AgentRequest { repo_settings: RepoSettings::Ignored, ..request() };
    check(QwenCode, &untrusted, &format!("{BARE} --yolo --safe-mode"));
    let reading = AgentRequest { permissions: Permissions::ReadOnly, ..request() };
    check(QwenCode, &reading, &format!("{BARE} --approval-mode plan"));
    let tools = AgentRequest { permissions: Permissions::Only(leaked(&["a"])), ..request() };
    check(QwenCode, &tools, &format!("{BARE} --allowed-tools a"));
}

#[test]
fn any_command() {
    const ENV: &str = "PILOT_EXECUTOR=1 PILOT_TASK_ID=GH-12 PILOT_BRANCH=pilot/GH-12 PILOT_WORKSPACE=/run/w";
    let command = |argv, format| AgentRequest { command: Some(CommandLine { argv, format }), ..request() };
    let argv = leaked(&["my-agent", "--mode", "a b"]);
    let text = command(argv, Format::Text);
    check(AnyCommand, &text, &format!("{ENV} my-agent --mode a␣b"));
    let extra = AgentRequest { extra_args: leaked(&["-x"]), ..text };
    check(AnyCommand, &extra, &format!("{ENV} my-agent --mode a␣b -x"));
    let image = AgentRequest { images: images(&["/run/a.png"]), permissions: Permissions::ReadOnly, ..text };
    check(AnyCommand, &image, &format!("{ENV} PILOT_IMAGE=/run/a.png my-agent --mode a␣b"));
    let output = |request| invocation(AnyCommand, &request).expect("a call").output;
    assert_eq!(output(text), OutputFormat::Text);
    assert_eq!(output(command(argv, Format::StreamJson)), OutputFormat::Detected);
    let chosen = invocation(AnyCommand, &AgentRequest { model: Some("m"), ..text }).expect("a call");
    assert_eq!(chosen.notices, ["the command chooses its own model, so the model \"m\" has no effect"]);
    let missing = "the backend command has no program: set executor.command.argv";
    refused(AnyCommand, &request(), missing);
    refused(AnyCommand, &command(&[], Format::Text), missing);
    refused(AnyCommand, &command(leaked(&[""]), Format::Text), missing);
    refused(
        AnyCommand,
        &AgentRequest { resume: Some("s"), ..text },
        "the backend command does not support resuming a session: put it into executor.command.argv",
    );
}

#[test]
fn what_a_backend_cannot_do_is_refused() {
    let untrusted = AgentRequest { repo_settings: RepoSettings::Ignored, ..request() };
    let tools = AgentRequest { permissions: Permissions::Only(leaked(&["a"])), ..request() };
    let turns = AgentRequest { max_turns: Some(1), ..request() };
    for (backend, request, option) in [
        (Codex, untrusted, "trust_repo_settings: false"),
        (Opencode, untrusted, "trust_repo_settings: false"),
        (Gemini, untrusted, "trust_repo_settings: false"),
        (Codex, tools, "a list of allowed tools"),
        (Opencode, tools, "a list of allowed tools"),
        (Opencode, turns, "a turn limit"),
        (Gemini, turns, "a turn limit"),
    ] {
        match invocation(backend, &request) {
            Err(BackendError::Unsupported { option: refused, .. }) => assert_eq!(refused, option),
            other => panic!("{backend}: {other:?}"),
        }
    }
}

#[test]
fn no_value_is_read_as_an_option() {
    for backend in Backend::ALL {
        for (value, why) in [
            ("--dangerous", "it begins with a dash"),
            ("", "it is empty"),
            ("a\nb", "it contains a control character or is not UTF-8"),
        ] {
            let expected = format!("invalid model {value:?} for {backend}: {why}");
            refused(backend, &AgentRequest { model: Some(value), ..request() }, &expected);
            let expected = format!("invalid session {value:?} for {backend}: {why}");
            refused(backend, &AgentRequest { resume: Some(value), ..request() }, &expected);
            let expected = format!("invalid image {value:?} for {backend}: {why}");
            refused(backend, &AgentRequest { images: images(&[value]), ..request() }, &expected);
        }
    }
}

#[test]
fn what_is_printed_is_known() {
    for backend in Backend::ALL {
        let Some(agent) = backend.agent() else { continue };
        let call = invocation(backend, &request()).expect("a call");
        assert_eq!(call.output, OutputFormat::StreamJson(agent));
        assert_eq!(call.output.reports(), Reports::Always);
        assert!(install_hint(backend).contains("npm install"));
    }
    assert_eq!(
        (OutputFormat::Text.reports(), OutputFormat::Detected.reports()),
        (Reports::Maybe, Reports::Maybe)
    );
}
