//! The command line: what a person sees before anything else works.

use std::fs;
use std::io;
use std::process::Stdio;

use crate::program::{command, feed, pilot, run};

#[test]
fn version_is_the_packages() {
    for flag in ["--version", "-V"] {
        let ended = run(pilot(&[flag]));
        assert_eq!(ended.code, Some(0));
        assert_eq!(ended.stdout, concat!("pilot ", env!("CARGO_PKG_VERSION"), "\n"));
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn help_names_every_command_an_example_and_the_exit_codes() {
    for flag in ["--help", "-h"] {
        let ended = run(pilot(&[flag]));
        assert_eq!(ended.code, Some(0));
        for wanted in ["  signals ", "  completions ", "Examples:", "Exit codes:"] {
            assert!(ended.stdout.contains(wanted), "{flag} does not say {wanted:?}:\n{}", ended.stdout);
        }
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn help_of_signals_names_every_choice() {
    let ended = run(pilot(&["signals", "--help"]));
    assert_eq!(ended.code, Some(0));
    for wanted in [
        "--input",
        "stream-json",
        "--agent",
        "claude",
        "codex",
        "opencode",
        "gemini",
        "qwen",
        "--strip",
        "[FILE]",
    ] {
        assert!(ended.stdout.contains(wanted), "no {wanted:?} in:\n{}", ended.stdout);
    }
}

#[test]
fn wrong_use_ends_with_2_and_says_what_to_do() {
    for (args, hint) in [
        (&[][..], "Usage:"),
        (&["signal"], "'signals'"),
        (&["completion", "bash"], "'completions'"),
        (&["signals", "--stripe"], "'--strip'"),
        (&["signals", "--input", "json"], "stream-json"),
        (&["signals", "--agent", "claud"], "'claude'"),
        (&["completions", "cobol"], "bash"),
        (&["completions"], "<SHELL>"),
    ] {
        let ended = run(pilot(args));
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert_eq!(ended.stdout, "", "{args:?}: data goes to standard output, complaints do not");
        assert!(ended.stderr.contains(hint), "{args:?} does not say {hint:?}:\n{}", ended.stderr);
    }
}

#[test]
fn completions_are_written_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = run(pilot(&["completions", shell]));
        assert_eq!(ended.code, Some(0), "{shell}: {ended:?}");
        for wanted in ["signals", "completions", "strip"] {
            assert!(ended.stdout.contains(wanted), "{shell}: no {wanted:?}");
        }
    }
}

#[test]
fn completions_for_bash_are_bash() {
    let script = run(pilot(&["completions", "bash"])).stdout;
    let mut bash = command("bash");
    bash.arg("-n");
    let ended = feed(bash, script.as_bytes());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn every_command_has_a_manual_page_that_is_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().join("man/man1");
    let ended = run(pilot(&["man", &place.display().to_string()]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    let help = run(pilot(&["--help"])).stdout;
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let names = commands.lines().map_while(|line| line.strip_prefix("  ")?.split_whitespace().next());
    for name in names {
        assert!(place.join(format!("pilot-{name}.1")).is_file(), "no page for {name}");
    }
    let own = fs::read_to_string(place.join("pilot.1")).expect("a page");
    assert_eq!(run(pilot(&["man"])).stdout, own);
    if !std::path::Path::new("/usr/bin/groff").exists() {
        println!("skipped the look with groff: it is not installed");
        return;
    }
    for page in fs::read_dir(&place).expect("pages") {
        let page = page.expect("a page").path();
        let mut groff = command("/usr/bin/groff");
        groff.args(["-man", "-ww", "-Tutf8", "-z"]).arg(&page);
        let ended = run(groff);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", page.display());
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let (reader, writer) = io::pipe().expect("make a pipe");
    drop(reader);
    let mut completions = pilot(&["completions", "bash"]);
    completions.stdout(Stdio::from(writer));
    let ended = run(completions);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_is_a_failure() {
    // Writing to this device always fails for want of space; only Linux has it.
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut completions = pilot(&["completions", "bash"]);
    completions.stdout(full);
    let ended = run(completions);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("pilot: "), "{}", ended.stderr);
}

/// Git starts a program by its name alone, so the name counts as well as the word.
#[test]
fn git_gets_its_own_password_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("__askpass");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pilot"), &link).unwrap();
    let asked = "Password for 'https://x-access-token@forge.example': ";
    for (question, told) in
        [(asked, "s3cr3t\n"), ("Password for 'https://x-access-token@evil.example': ", "")]
    {
        for mut git_asks in [command(&link), pilot(&["__askpass"])] {
            git_asks.arg(question).env_clear();
            git_asks.env("PILOT_ASKPASS_FOR", "https://x-access-token@forge.example");
            git_asks.env("PILOT_ASKPASS_PASSWORD", "s3cr3t");
            let ended = run(git_asks);
            assert_eq!((ended.stdout.as_str(), ended.code), (told, Some(i32::from(told.is_empty()))));
        }
    }
}
