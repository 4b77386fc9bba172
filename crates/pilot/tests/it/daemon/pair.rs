//! Two daemons at once: every task is done by one of them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::scene::Scene;
use super::world::PATIENCE;
use crate::forge::http::git;
use crate::program::{run, within};

/// The checkout of another user.
fn another_checkout(scene: &Scene) -> PathBuf {
    let world = &scene.world;
    let url = world.client.clone_url("pilot/shop");
    assert_eq!(run(git(world.folder.path(), &["clone", "-q", &url, "other-shop"])).code, Some(0));
    let checkout = world.path("other-shop");
    let clean = format!("{}/pilot/shop.git", world.client.url);
    assert_eq!(run(git(&checkout, &["remote", "set-url", "origin", &clean])).code, Some(0));
    checkout
}

/// Runs both until everything is done.
fn work_together(scene: &Scene, home: &Path, checkout: &Path) {
    let world = &scene.world;
    world.go();
    let daemons = [&world.home(), home].map(|home| world.start_at(home, &["start"], &[]));
    let (homes, checkouts) = ([&*world.home(), home], [&*world.shop(), checkout]);
    let mut last = Ok(());
    let done = within(PATIENCE, || {
        last = scene.check(&homes, &checkouts);
        last.is_ok()
    });
    assert!(done, "{last:?}\n{}", world.log());
    for daemon in daemons {
        daemon.signal(Signal::TERM);
        assert_eq!(daemon.end(), Some(0), "{}", world.log());
    }
    assert_eq!(scene.check(&homes, &checkouts), Ok(()), "{}", world.log());
    let mut tasks: Vec<String> = world.agents().into_iter().map(|(task, _)| task).collect();
    tasks.sort_unstable();
    let runs = tasks.len();
    tasks.dedup();
    // The four, and the fix.
    assert_eq!((runs, tasks.len()), (5, 5), "{tasks:?}\n{}", world.log());
}

#[test]
fn two_with_a_database_each_do_every_task_once() {
    let scene = Scene::new();
    let (home, checkout) = (scene.world.path("other-home"), another_checkout(&scene));
    scene.world.configure_at(&home, &checkout, "");
    work_together(&scene, &home, &checkout);
}

#[test]
fn two_on_one_database_do_every_task_once() {
    let scene = Scene::new();
    // One database is one machine's, so both work on the same checkout: a commit of the one is there for the other. Where it
    // is not, the push is tried until the one who has it tries, which may take minutes.
    let (home, checkout) = (scene.world.path("other-home"), scene.world.shop());
    scene.world.configure_at(&home, &checkout, "");
    let shared = scene.world.home().join("data");
    fs::create_dir_all(&shared).expect("a folder");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).expect("its owner's");
    symlink(&shared, home.join("data")).expect("a link");
    work_together(&scene, &home, &checkout);
}
