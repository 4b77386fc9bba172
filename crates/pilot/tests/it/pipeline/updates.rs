//! `update` marks: files are written where they may be, all of a step's or none, and never twice.

use std::fs;

use super::Shop;
use crate::program::run;

fn update(path: &str, text: &str) -> String {
    format!("<pilot:update path=\"{path}\">{text}</pilot:update>\n")
}

const ONE: &str = "  - {id: a, agent: x}\n";

#[test]
fn updates_are_written_in_order() {
    let shop = Shop::of(ONE);
    shop.write(".pilot/notes/old.md", "old");
    let said = [
        update(".pilot/notes/new/a.md", "\nfirst\n"),
        update("./.pilot/notes/new/a.md", "second\n"),
        update(".pilot/notes/old.md", "new"),
        update(".pilot/empty", ""),
    ];
    shop.says(&[&said.concat()]);
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(shop.read(".pilot/notes/new/a.md"), "second\n");
    assert_eq!(shop.read(".pilot/notes/old.md"), "new");
    assert!(shop.yard.repo().join(".pilot/empty").is_file());
    let left = run_find(&shop);
    assert!(!left.contains(".pilot-update-"), "{left}");
}

fn run_find(shop: &Shop) -> String {
    let mut find = crate::program::command("find");
    find.arg(shop.yard.repo());
    run(find).stdout
}

#[test]
fn a_refusal_fails_the_step_before_anything_of_it_is_written() {
    for path in [
        "../escaped.md",
        "/tmp/escaped.md",
        ".pilot/../../escaped.md",
        "src/main.rs",
        ".git/hooks/pre-commit",
        ".pilot/pipeline.yaml",
        ".pilot/config.yaml",
        ".pilot/agents/a.md",
        ".pilot/prompts/a.md",
        ".pilot/out/escaped.md",
        ".pilot/good.md/x",
    ] {
        let shop = Shop::of(&format!("{ONE}  - {{id: b, agent: y}}\n"));
        fs::create_dir_all(shop.yard.file("outside")).expect("a folder");
        std::os::unix::fs::symlink("../../outside", shop.yard.repo().join(".pilot/out")).expect("a link");
        shop.says(&[&format!("{}{}", update(".pilot/good.md", "good"), update(path, "bad"))]);
        let before = (shop.yard.state(), fs::read_dir(shop.yard.file("")).expect("a folder").count());
        let ended = shop.run(&[]);
        assert_eq!((ended.code, shop.calls()), (Some(1), 1), "{path}: {ended:?}");
        assert!(
            ended.stdout.contains("is refused, nothing of this step was written"),
            "{path}: {}",
            ended.stdout
        );
        // The call left its prompt and number.
        let files = fs::read_dir(shop.yard.file("")).expect("a folder").count();
        assert_eq!((shop.yard.state(), files), (before.0, before.1 + 2), "{path}");
        assert_eq!(fs::read_dir(shop.yard.file("outside")).expect("a folder").count(), 0, "{path}");
    }
}

#[test]
fn a_broken_update_or_emit_fails_the_step() {
    for said in [
        "<pilot:update path=x>y</pilot:update>",
        "<pilot:update path=\".pilot/a\">cut",
        "<pilot:emit>x</pilot:emit>",
        "<pilot:emit key=\"../x\">v</pilot:emit>",
    ] {
        let shop = Shop::of(ONE);
        shop.says(&[&format!(
            "{}{said}\n<pilot:completed>done</pilot:completed>\n",
            update(".pilot/good.md", "good")
        )]);
        let ended = shop.run(&[]);
        assert_eq!(ended.code, Some(1), "{said}: {ended:?}");
        assert_eq!(shop.read(".pilot/good.md"), "", "{said}");
    }
}

#[test]
fn more_roots_are_the_users_to_give() {
    let shop = Shop::of(ONE);
    shop.says(&[&update("docs/a.md", "x"), &update("docs/a.md", "x")]);
    assert_eq!(shop.run(&[]).code, Some(1));
    shop.write(".pilot/config.yaml", "pipeline: {update_roots: [docs]}\n");
    let ended = shop.run(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(shop.read("docs/a.md"), "x");
}

/// A home directory that is a project: its `.pilot` is Pilot's own.
#[test]
fn pilots_own_directory_is_nobodys_to_write() {
    let shop = Shop::of(ONE);
    let inside = shop.yard.repo().join(".pilot/home");
    fs::create_dir_all(&inside).expect("a folder");
    fs::copy(shop.yard.home().join("config.yaml"), inside.join("config.yaml")).expect("a configuration");
    shop.says(&[&update(".pilot/home/data/pilot.db", "x")]);
    let mut pilot = shop.yard.pilot(&["run"]);
    pilot.env("PILOT_HOME", &inside);
    let ended = run(pilot);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("Pilot's own directory is never written by a mark"), "{}", ended.stdout);
}
