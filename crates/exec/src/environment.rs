//! The environment an agent or a gate gets: an allow-list over Pilot's own, never a copy of it.
//!
//! | variable | fate |
//! |---|---|
//! | matches `deny` | never |
//! | set by Pilot for this run | always |
//! | a secret of a forge, a tracker, a chat, a cloud, or of Pilot | only if `pass` names it exactly |
//! | matches the allow-list or `pass` | yes |
//! | anything else | no |
//!
//! `SSH_AUTH_SOCK` counts as a forge secret: with it an agent can push wherever its user can. Variables that steer git
//! (`GIT_*`) pass only when named exactly, since one inherited `GIT_DIR` sends every commit elsewhere.
//!
//! A gate runs what an agent wrote, and needs no model: the agents' own variables never pass, whatever `pass` says. Where
//! toolchains live does.
//!
//! Must never know: where Pilot's own environment comes from.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What any program needs: directories, locale, network proxies.
const GENERAL: &str = "
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TERM COLORTERM NO_COLOR TZ XDG_*
    http_proxy https_proxy no_proxy all_proxy ftp_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY
    FTP_PROXY
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO
";

/// What agents need and gates must not see; some are keys.
const AGENTS: &str = "
    ANTHROPIC_* CLAUDE_* OPENAI_* CODEX_* GEMINI_* GOOGLE_* QWEN_* DASHSCOPE_* OPENCODE_* IS_SANDBOX
    DISABLE_* API_TIMEOUT_MS MAX_THINKING_TOKENS BASH_DEFAULT_TIMEOUT_MS BASH_MAX_TIMEOUT_MS
    MCP_TIMEOUT
";

/// Where toolchains live: paths, no secrets.
const TOOLCHAINS: &str = "
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOCACHE GOMODCACHE GOTOOLCHAIN JAVA_HOME
    ANDROID_HOME NVM_DIR PNPM_HOME BUN_INSTALL VOLTA_HOME VIRTUAL_ENV PYENV_ROOT PYENV_VERSION
";

/// What would give an agent more than its task (forges; trackers; chats and mail; clouds, registries and stores; Pilot
/// itself): only an exact name in `pass` lets one of these through.
const SECRET: &str = "
    GITHUB_* GH_* GITLAB_* GL_* CI_JOB_* CI_REGISTRY_* BITBUCKET_* GITEA_* FORGEJO_* AZURE_*
    SYSTEM_ACCESSTOKEN GIT_* SSH_*
    LINEAR_* JIRA_* ATLASSIAN_* CONFLUENCE_* ASANA_* PLANE_* TRELLO_* NOTION_*
    TELEGRAM_* SLACK_* DISCORD_* MATTERMOST_* TEAMS_* PAGERDUTY_* TWILIO_* SMTP_*
    AWS_* CARGO_REGISTRY_* NPM_TOKEN NODE_AUTH_TOKEN DOCKER_* VAULT_* KUBECONFIG DATABASE_URL PG*
    PILOT_*
";

/// Matches a secret's pattern but holds none.
const HARMLESS: &str = "GIT_SSL_CAINFO";

/// What a run adds to, lets through and keeps from an agent's environment.
#[derive(Clone, Debug, Default)]
pub struct Rules<'a> {
    /// Further names or patterns that pass (`executor.env.pass`); `*` stands for any run of characters.
    pub pass: &'a [String],
    pub deny: &'a [String],
}

type Variables = BTreeMap<OsString, OsString>;

/// The whole environment of an agent, in the order of its names, from Pilot's own (`ours`). `extras` are what Pilot sets on
/// purpose; `tmpdir` is the run's private directory for temporary files.
pub fn environment(
    ours: &Variables,
    rules: &Rules<'_>,
    extras: &[(OsString, OsString)],
    tmpdir: &Path,
) -> Vec<(OsString, OsString)> {
    let mut theirs = copy(ours, |name| passes(name, rules, &[GENERAL, AGENTS]));
    theirs.extend(extras.iter().cloned());
    set_and_deny(&mut theirs, rules, tmpdir);
    // Programs detect by this variable that Pilot started them.
    theirs.insert("PILOT_EXECUTOR".into(), "1".into());
    theirs.into_iter().collect()
}

/// The whole environment of a gate, in the order of its names, from Pilot's own or that of the agent it runs in (`ours`).
pub fn gate_environment(ours: &Variables, rules: &Rules<'_>, tmpdir: &Path) -> Vec<(OsString, OsString)> {
    let mut theirs =
        copy(ours, |name| !is_listed(AGENTS, name) && passes(name, rules, &[GENERAL, TOOLCHAINS]));
    // No terminal: no colours, no prompts.
    for (name, value) in [("CI", "1"), ("NO_COLOR", "1"), ("TERM", "dumb")] {
        theirs.insert(name.into(), value.into());
    }
    set_and_deny(&mut theirs, rules, tmpdir);
    theirs.into_iter().collect()
}

fn copy(ours: &Variables, may_pass: impl Fn(&OsStr) -> bool) -> Variables {
    let passed = ours.iter().filter(|(name, _)| may_pass(name));
    passed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn set_and_deny(theirs: &mut Variables, rules: &Rules<'_>, tmpdir: &Path) {
    for name in ["TMPDIR", "TMP", "TEMP"] {
        theirs.insert(name.into(), tmpdir.into());
    }
    theirs.retain(|name, _| !any(rules.deny, name));
}

/// Whether a variable of Pilot's own may be seen. What is denied is taken away later, with everything else.
fn passes(name: &OsStr, rules: &Rules<'_>, allowed: &[&str]) -> bool {
    let named = rules.pass.iter().any(|pattern| name == pattern.as_str());
    let secret = is_listed(SECRET, name) && name != HARMLESS;
    let allowed = allowed.iter().any(|list| is_listed(list, name));
    named || (!secret && (allowed || any(rules.pass, name)))
}

fn is_listed(list: &str, name: &OsStr) -> bool {
    list.split_whitespace().any(|pattern| matches(pattern, name))
}

fn any(patterns: &[String], name: &OsStr) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// `*` stands for any run of characters, everything else for itself.
fn matches(pattern: &str, name: &OsStr) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.as_bytes().strip_prefix(first.as_bytes()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = find(rest, piece.as_bytes()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last.as_bytes())
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    text.windows(piece.len()).position(|window| window == piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn names(ours: &[&str], pass: &[&str], deny: &[&str], extras: &[&str]) -> Vec<String> {
        let pair = |name: &&str| (OsString::from(name), OsString::from("x"));
        let ours = ours.iter().map(pair).collect();
        let extras: Vec<_> = extras.iter().map(pair).collect();
        let rules = Rules { pass: &strings(pass), deny: &strings(deny) };
        let theirs = environment(&ours, &rules, &extras, Path::new("/run/tmp"));
        let always = ["TMPDIR", "TMP", "TEMP", "PILOT_EXECUTOR"];
        let names = theirs.into_iter().map(|(name, _)| name.into_string().unwrap());
        names.filter(|name| !always.contains(&name.as_str())).collect()
    }

    #[test]
    fn the_tables_have_one_fate_for_each_name() {
        for (name, passes) in [
            ("PATH", true),
            ("HOME", true),
            ("LC_ALL", true),
            ("LC_", true),
            ("LCX", false),
            ("https_proxy", true),
            ("HTTPS_PROXY", true),
            ("NO_PROXY", true),
            ("SSL_CERT_FILE", true),
            ("NODE_EXTRA_CA_CERTS", true),
            ("GIT_SSL_CAINFO", true),
            ("XDG_CONFIG_HOME", true),
            ("ANTHROPIC_API_KEY", true),
            ("CLAUDE_CONFIG_DIR", true),
            ("OPENAI_BASE_URL", true),
            ("CODEX_HOME", true),
            ("GEMINI_API_KEY", true),
            ("GOOGLE_CLOUD_PROJECT", true),
            ("QWEN_X", true),
            ("OPENCODE_CONFIG", true),
            ("IS_SANDBOX", true),
            ("DISABLE_AUTOUPDATER", true),
            ("TMPDIR_OLD", false),
            ("EDITOR", false),
            ("NODE_OPTIONS", false),
            ("LD_PRELOAD", false),
            ("GITHUB_TOKEN", false),
            ("GH_TOKEN", false),
            ("GITLAB_TOKEN", false),
            ("GL_TOKEN", false),
            ("AZURE_DEVOPS_EXT_PAT", false),
            ("SYSTEM_ACCESSTOKEN", false),
            ("LINEAR_API_KEY", false),
            ("JIRA_API_TOKEN", false),
            ("ATLASSIAN_TOKEN", false),
            ("ASANA_TOKEN", false),
            ("PLANE_API_KEY", false),
            ("TELEGRAM_BOT_TOKEN", false),
            ("SLACK_BOT_TOKEN", false),
            ("DISCORD_TOKEN", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("SSH_AUTH_SOCK", false),
            ("GIT_DIR", false),
            ("PILOT_HOME", false),
            ("PILOT_GATEWAY_TOKEN", false),
            ("DATABASE_URL", false),
            ("path", false),
            ("", false),
        ] {
            let expected: &[&str] = if passes { &[name] } else { &[] };
            assert_eq!(names(&[name], &[], &[], &[]), expected, "{name:?}");
        }
    }

    #[test]
    fn a_pattern_passes_no_secret_and_an_exact_name_passes_anything() {
        let ours = ["MY_TOOL", "GITHUB_TOKEN", "GH_TOKEN", "EDITOR", "PILOT_HOME"];
        assert_eq!(names(&ours, &["*"], &[], &[]), ["EDITOR", "MY_TOOL"]);
        assert_eq!(names(&ours, &["GITHUB_*", "*_TOKEN"], &[], &[]), Vec::<String>::new());
        assert_eq!(names(&ours, &["GITHUB_TOKEN"], &[], &[]), ["GITHUB_TOKEN"]);
    }

    #[test]
    fn denied_is_denied() {
        let ours = ["PATH", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "MY_TOOL"];
        assert_eq!(names(&ours, &["MY_*"], &["ANTHROPIC_*", "MY_TOOL"], &[]), ["PATH"]);
        assert_eq!(
            names(&ours, &["MY_TOOL"], &["MY_TOOL"], &["MY_TOOL"])[..2],
            ["ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"]
        );
        assert_eq!(names(&["PATH"], &[], &["*"], &["PILOT_TASK_ID"]), Vec::<String>::new());
    }

    #[test]
    fn what_pilot_sets_on_purpose_is_there() {
        assert_eq!(names(&["PILOT_TASK_ID"], &[], &[], &["PILOT_TASK_ID"]), ["PILOT_TASK_ID"]);
        let ours = BTreeMap::from([("TMPDIR".into(), "/tmp".into()), ("PILOT_EXECUTOR".into(), "0".into())]);
        let theirs = environment(&ours, &Rules::default(), &[], Path::new("/run/tmp"));
        let pairs: Vec<_> =
            theirs.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
        assert_eq!(
            pairs,
            [("PILOT_EXECUTOR", "1"), ("TEMP", "/run/tmp"), ("TMP", "/run/tmp"), ("TMPDIR", "/run/tmp")]
        );
    }

    #[test]
    fn a_gate_sees_neither_keys_nor_more_than_it_needs() {
        let gate = |name: &str, pass: &[&str], deny: &[&str]| {
            let ours = BTreeMap::from([(name.into(), "x".into())]);
            let rules = Rules { pass: &strings(pass), deny: &strings(deny) };
            let theirs = gate_environment(&ours, &rules, Path::new("/run/tmp"));
            theirs.iter().any(|(theirs, value)| theirs == name && value == "x")
        };
        for (name, passes) in [
            ("PATH", true),
            ("HOME", true),
            ("HTTPS_PROXY", true),
            ("CARGO_HOME", true),
            ("GOPATH", true),
            ("ANTHROPIC_API_KEY", false),
            ("ANTHROPIC_AUTH_TOKEN", false),
            ("CLAUDE_CODE_OAUTH_TOKEN", false),
            ("OPENAI_API_KEY", false),
            ("CODEX_HOME", false),
            ("GEMINI_API_KEY", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", false),
            ("DASHSCOPE_API_KEY", false),
            ("OPENCODE_CONFIG", false),
            ("GITHUB_TOKEN", false),
            ("SSH_AUTH_SOCK", false),
            ("GIT_DIR", false),
            ("PILOT_HOME", false),
            ("PILOT_EXECUTOR", false),
            ("NODE_OPTIONS", false),
            ("LD_PRELOAD", false),
            ("CI", false),
            ("TMPDIR", false),
        ] {
            assert_eq!(gate(name, &[], &[]), passes, "{name}");
        }
        assert!(gate("MY_TOOL", &["MY_*"], &[]) && gate("DATABASE_URL", &["DATABASE_URL"], &[]));
        assert!(!gate("MY_TOOL", &["MY_*"], &["MY_TOOL"]) && !gate("DATABASE_URL", &["DATABASE_*"], &[]));
        assert!(!gate("ANTHROPIC_API_KEY", &["ANTHROPIC_API_KEY", "*"], &[]));
        let theirs = gate_environment(&BTreeMap::new(), &Rules::default(), Path::new("/run/tmp"));
        let pairs: Vec<String> =
            theirs.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        let expected =
            ["CI=1", "NO_COLOR=1", "TEMP=/run/tmp", "TERM=dumb", "TMP=/run/tmp", "TMPDIR=/run/tmp"];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, matched) in [
            ("A", "A", true),
            ("A", "AB", false),
            ("A*", "A", true),
            ("A*", "AB", true),
            ("*B", "AB", true),
            ("*B", "ABC", false),
            ("A*C", "AC", true),
            ("A*A", "A", false),
            ("A*B*C", "AxBxC", true),
            ("A*B*C", "AxCxB", false),
            ("A**", "AB", true),
            ("*", "", true),
            ("", "", true),
            ("", "A", false),
        ] {
            assert_eq!(matches(pattern, name.as_ref()), matched, "{pattern:?} {name:?}");
        }
    }
}
