//! People: asked at a terminal, waited for elsewhere, and obeyed when they stop.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::Shop;

const GATE: &str = "  - {id: a, agent: one}\n  - {id: g, gate: 'Ship it?'}\n  - {id: b, agent: two}\n";

/// Pilot at a terminal.
struct Terminal {
    pilot: Child,
    terminal: File,
    seen: String,
}

impl Terminal {
    fn open(shop: &Shop) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let slave = || -> Stdio {
            let file = File::options().read(true).write(true).open(&name).expect("the other end");
            OwnedFd::from(file).into()
        };
        let mut command = shop.yard.pilot(&["run"]);
        let pilot = command.stdin(slave()).stdout(slave()).stderr(slave()).spawn().expect("Pilot starts");
        // The command holds the other ends open.
        drop(command);
        Terminal { pilot, terminal: File::from(master), seen: String::new() }
    }

    /// Reads until these words stand on the screen.
    fn expect(&mut self, words: &str) {
        let mut bytes = [0; 4096];
        while !self.seen.contains(words) {
            let length = self.terminal.read(&mut bytes).unwrap_or(0);
            assert!(length > 0, "the screen ends before {words:?}: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
        self.seen.clear();
    }

    fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).expect("pilot reads");
    }

    /// Ctrl-C, as far as Pilot can tell.
    fn interrupts(&self) {
        let pid = Pid::from_raw(i32::try_from(self.pilot.id()).expect("a number")).expect("a process");
        kill_process(pid, Signal::INT).expect("it is there");
    }

    /// Reads until Pilot is gone.
    fn ends(mut self) -> Option<i32> {
        let mut bytes = [0; 4096];
        // The last writer's end is an error here.
        while self.terminal.read(&mut bytes).is_ok_and(|length| length > 0) {}
        self.pilot.wait().expect("it ends").code()
    }
}

#[test]
fn a_gate_waits_for_a_yes_at_a_terminal() {
    let shop = Shop::of(GATE);
    shop.says(&["x", "y"]);
    let mut terminal = Terminal::open(&shop);
    terminal.expect("Ship it?");
    terminal.types("nope\n");
    terminal.expect("Ship it?");
    assert_eq!(shop.calls(), 1, "only a yes goes on");
    terminal.types("y\n");
    assert_eq!((terminal.ends(), shop.calls()), (Some(0), 2));
    let no = Shop::of(GATE);
    no.says(&["x", "y"]);
    let mut terminal = Terminal::open(&no);
    terminal.expect("Ship it?");
    terminal.types("n\n");
    assert_eq!((terminal.ends(), no.calls()), (Some(1), 1));
}

#[test]
fn without_a_terminal_a_gate_holds_the_run_at_once() {
    let shop = Shop::of(GATE);
    shop.says(&["x", "y"]);
    for _ in 0..2 {
        let ended = shop.run(&[]);
        assert_eq!((ended.code, shop.calls()), (Some(3), 1), "{ended:?}");
        assert!(ended.stdout.contains("g asks: Ship it?"), "{}", ended.stdout);
    }
    let mut terminal = Terminal::open(&shop);
    terminal.expect("Ship it?");
    terminal.types("yes\n");
    assert_eq!((terminal.ends(), shop.calls()), (Some(0), 2), "the first step is not done again");
}

#[test]
fn an_agent_that_needs_a_person_gets_the_answer() {
    let steps = "  - {id: a, agent: build}\n  - {id: b, agent: next}\n";
    let shop = Shop::of(steps);
    shop.says(&["<pilot:blocked>Which database?</pilot:blocked>", "done", "done"]);
    let mut terminal = Terminal::open(&shop);
    terminal.expect("Which database?");
    terminal.types("the small one\n");
    assert_eq!((terminal.ends(), shop.calls()), (Some(0), 3));
    let prompt = std::fs::read_to_string(shop.yard.file("prompt-2")).expect("a prompt");
    assert!(prompt.contains("build\n\n## What a person answered\n"), "{prompt}");
    assert!(prompt.contains("Which database?\n\nThe answer:\n\nthe small one\n"), "{prompt}");
    let held = Shop::of(steps);
    held.says(&["<pilot:blocked>Which database?</pilot:blocked>", "done", "done"]);
    let ended = held.run(&[]);
    assert_eq!((ended.code, held.calls()), (Some(3), 1), "{ended:?}");
    assert!(ended.stdout.contains("a is blocked: Which database?"), "{}", ended.stdout);
    let mut terminal = Terminal::open(&held);
    terminal.expect("Which database?");
    terminal.types("\n");
    assert_eq!((terminal.ends(), held.calls()), (Some(3), 1), "a user at a terminal is asked first");
    let mut terminal = Terminal::open(&held);
    terminal.expect("Which database?");
    terminal.interrupts();
    assert_eq!((terminal.ends(), held.calls()), (Some(130), 1));
    let again = held.run(&[]);
    assert_eq!((again.code, held.calls()), (Some(0), 3), "who comes back has put it right: {again:?}");
    assert_eq!(held.prompts(), ["build", "build", "next"]);
}

#[test]
fn the_tree_is_drawn_at_a_terminal() {
    let shop = Shop::of(super::REVIEW_AND_FIX);
    shop.says(&[&super::reject("x"), "ok", super::APPROVE])
        .does(2, "commit a; touch @/here; until [ -e @/go ]; do sleep 0.01; done");
    let mut terminal = Terminal::open(&shop);
    shop.yard.expect_file("here");
    terminal.expect("▸ l         round 1 of 4");
    terminal.expect("  ↺ review  rejected");
    terminal.expect("  ▸ fix     running       0:00");
    std::fs::write(shop.yard.file("go"), "").expect("a file");
    terminal.expect("✓ l         approved");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn whoever_stops_pilot_stops_the_agent_and_keeps_the_state() {
    for signal in [Signal::INT, Signal::TERM] {
        let shop = Shop::of("  - {id: a, agent: one}\n  - {id: b, agent: two}\n");
        shop.says(&["x", "y", "y"]);
        shop.does(2, "touch @/here; sleep 100");
        let child = shop.start();
        shop.yard.expect_file("here");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
        kill_process(pid, signal).expect("it is there");
        assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(130));
        shop.yard.expect_gone();
        let again = shop.run(&[]);
        assert_eq!(again.code, Some(0), "{again:?}");
        assert!(again.stderr.contains("continues at b; --fresh would start over"), "{}", again.stderr);
        assert_eq!(shop.prompts(), ["one", "two", "two"]);
    }
}

#[test]
fn the_agent_that_lingers_after_its_last_word_is_ended_and_believed() {
    let shop = Shop::of("  - {id: a, agent: one}\n");
    // The yard gives a process a second after its mark.
    shop.does(1, "echo '<pilot:completed>done</pilot:completed>'; sleep 100");
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    shop.yard.expect_gone();
}
