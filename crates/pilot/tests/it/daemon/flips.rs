//! Every key that only the daemon reads does something: each is flipped in a real run, and what is seen of it differs.

use std::fs;

use serde_json::Value;

use super::world::World;
use crate::program::{Ended, run, within};

/// What a key is flipped to, and what of a run that finds no issue then is so.
struct Flip {
    key: &'static str,
    /// What stands in the configuration, and what instead of it; `@` is the world's folder.
    from: &'static str,
    to: &'static str,
    code: i32,
    /// What is said only when the key is flipped.
    says: &'static str,
}

const TOKEN: &str = "    token: ";
const GITHUB: &str = "  github:\n";
const PROJECT: &str = ", github: {owner: pilot, repo: shop}}";
const LIST: &str = "projects:\n  - {name: shop,";
const ORCHESTRATOR: &str = "orchestrator:\n";

const FLIPS: &[Flip] = &[
    Flip {
        key: "adapters.github.enabled",
        from: GITHUB,
        to: "  github:\n    enabled: false\n",
        code: 2,
        says: "adapters.github.enabled is false",
    },
    Flip {
        key: "adapters.github.token",
        from: TOKEN,
        to: "    token: x",
        code: 1,
        says: "create a new one and set it in `adapters.github.token`",
    },
    Flip {
        key: "adapters.github.api_url",
        from: "api_url: http://127.0.0.1:",
        to: "api_url: http://127.0.0.1:1/",
        code: 1,
        says: "`adapters.github.api_url` right?",
    },
    Flip {
        key: "adapters.github.app.id",
        from: GITHUB,
        to: "  github:\n    app: {id: 12}\n",
        code: 2,
        says: "adapters.github.app.id",
    },
    Flip {
        key: "adapters.github.app.installation_id",
        from: GITHUB,
        to: "  github:\n    app: {installation_id: 12}\n",
        code: 2,
        says: "an App needs id, installation_id and private_key",
    },
    Flip {
        key: "adapters.github.app.private_key",
        from: TOKEN,
        to: "    app: {id: 12, installation_id: 13, private_key: ~/missing.pem}\n    # ",
        code: 2,
        says: "read ~/missing.pem",
    },
    Flip {
        key: "adapters.github.app.private_key",
        from: TOKEN,
        to: "    app: {id: 12, installation_id: 13, private_key: ~/no-key.pem}\n    # ",
        code: 2,
        says: "read the private key of the GitHub App",
    },
    // Without a word in the project it is where `origin` leads; with this it is what the key says.
    Flip {
        key: "adapters.github.repo",
        from: "projects:\n",
        to: "projects:\n#",
        code: 1,
        says: "pilot/elsewhere",
    },
    Flip {
        key: "projects",
        from: LIST,
        to: "projects:\n  - {name: Store,",
        code: 0,
        says: "Store: working on",
    },
    Flip {
        key: "projects",
        from: PROJECT,
        to: ", github: {owner: pilot, repo: gone}}",
        code: 1,
        says: "pilot/gone",
    },
    Flip { key: "projects", from: PROJECT, to: ", default_branch: main}", code: 0, says: "/pilot/shop as @" },
    Flip {
        key: "logging.level",
        from: ORCHESTRATOR,
        to: "logging: {level: error}\norchestrator:\n",
        code: 0,
        says: "",
    },
    Flip {
        key: "logging.format",
        from: ORCHESTRATOR,
        to: "logging: {format: json}\norchestrator:\n",
        code: 0,
        says: "{\"about\":\"shop\"",
    },
];

#[test]
fn every_key_of_the_daemon_is_flipped() {
    let world = World::new();
    fs::write(world.path("no-key.pem"), "nothing").expect("a file");
    let before = world.once();
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    assert!(before.stderr.contains("info  shop: working on"), "{}", before.stderr);
    for flip in FLIPS {
        let after = flipped(&world, flip);
        assert_eq!(after.code, Some(flip.code), "{}: {}", flip.key, after.stderr);
        assert!(after.stderr.contains(flip.says), "{}: {}", flip.key, after.stderr);
        let is_news = !before.stderr.contains(flip.says) || flip.says.contains("/pilot/shop");
        assert!(is_news || after.stderr.is_empty(), "{}: {}", flip.key, after.stderr);
    }
    logs(&world);
    names(&world);
    labels(&world);
    as_many_at_once(&world);
}

fn flipped(world: &World, flip: &Flip) -> Ended {
    world.configure("");
    world.reconfigure(flip.from, flip.to);
    if flip.key == "adapters.github.repo" {
        world.reconfigure("projects:\n#", "#");
        world.reconfigure(GITHUB, "  github:\n    repo: pilot/elsewhere\n");
        let mut pilot = world.pilot(&["start", "--once"]);
        pilot.current_dir(world.shop());
        return run(pilot);
    }
    world.once()
}

/// The log goes where it is to, and is turned over as it is to.
fn logs(world: &World) {
    let file = world.path("said.log");
    let earlier = world.path("said.log.1");
    for (rotation, kept) in [
        ("{}", false),
        ("{max_size: 64KiB, max_backups: 2}", true),
        ("{max_size: 64KiB, max_backups: 0}", false),
    ] {
        fs::write(&file, "x\n".repeat(40_000)).expect("a file");
        world.configure("");
        let to = format!("logging: {{output: ~/said.log, rotation: {rotation}}}\norchestrator:\n");
        world.reconfigure(ORCHESTRATOR, &to);
        let ended = world.once();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let said = fs::read_to_string(&file).expect("a log");
        assert!(said.contains("shop: working on"), "{rotation}");
        assert_eq!(said.starts_with("x\n"), rotation == "{}", "{rotation}: turned over or not");
        assert_eq!(earlier.exists(), kept, "{rotation}");
        let _ = fs::remove_file(&earlier);
    }
}

/// A project is called by its name, whatever the case, or by its directory.
fn names(world: &World) {
    world.configure("");
    for (name, code) in [("SHOP", 0), ("./shop/", 0), ("nobody", 2)] {
        let ended = run(world.pilot(&["start", "--once", "--project", name]));
        assert_eq!(ended.code, Some(code), "{name}: {}", ended.stderr);
        assert_eq!(ended.stderr.contains("shop: working on"), code == 0, "{name}: {}", ended.stderr);
    }
}

/// Only issues with the label are worked on.
fn labels(world: &World) {
    let issue = world.file("feat: one", "Please.");
    world.configure("");
    world.reconfigure("polling: {", "polling: {label: robot, ");
    assert_eq!(world.once().code, Some(0));
    assert_eq!(world.stage(issue), "", "it has another label");
    world.configure("");
    assert_eq!(world.once().code, Some(0));
    assert_eq!(world.stage(issue), "done");
}

/// As many at once as may be.
fn as_many_at_once(world: &World) {
    world.reconfigure("max_concurrent: 4", "max_concurrent: 1");
    let begun = world.agents().len();
    let (one, two) = (world.file("feat: two", "please wait"), world.file("feat: three", "please wait"));
    let daemon = world.start();
    assert!(within(super::world::PATIENCE, || world.agents().len() > begun), "{}", world.log());
    // Another one that is queued after that shows that there was a turn for the second.
    let three = world.file("feat: four", "please wait");
    world.until(three, "queued");
    assert_eq!(world.agents().len() - begun, 1, "{}", world.log());
    daemon.kill();
    world.configure("");
    let daemon = world.start();
    for issue in [one, two, three] {
        world.until(issue, "running");
    }
    daemon.kill();
    let rows = run(world.pilot(&["status", "--json"]));
    let rows: Value = serde_json::from_str(&rows.stdout).expect("JSON");
    assert_eq!(rows["tasks"].as_array().map(Vec::len), Some(3));
}
