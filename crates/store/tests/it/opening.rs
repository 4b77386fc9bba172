//! Making and opening the file, and files that are not ours to open.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pilot_core::redact::Secrets;
use pilot_store::{Kept, LATEST, Store, StoreError};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::world::{WORKS, World, at, run_of};

#[tokio::test]
async fn only_the_owner_can_read_what_is_made() {
    let world = World::new();
    let store = world.store().await;
    store.begin_execution(&run_of("GH-1", at(0))).await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.path().parent().unwrap()), 0o700);
    for entry in fs::read_dir(world.path().parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn the_rules_for_sqlite_are_in_force() {
    let world = World::new();
    let store = world.store().await;
    let unknown = pilot_store::RunId::generate(at(0));
    let line = pilot_store::LogLine::new(at(0), pilot_core::config::LogLevel::Info, "runner", "x");
    let refused = store.append_logs(&unknown, &[line]).await.unwrap_err();
    assert!(refused.to_string().contains("FOREIGN KEY"), "{refused}");
    let wal = world.path().with_extension("db-wal");
    assert!(wal.exists(), "no write-ahead log");
}

#[tokio::test]
async fn opening_again_finds_everything() {
    let world = World::new();
    let store = world.store().await;
    let run = store.begin_execution(&run_of("GH-1", at(0))).await.unwrap();
    store.close().await;
    let store = world.store().await;
    assert_eq!(store.execution(&run.id).await.unwrap(), Some(run));
    store.check().await.unwrap();
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let world = World::new();
    world.store().await.close().await;
    raw(&world, "PRAGMA user_version = 99").await;
    let before = fs::read(world.path()).unwrap();
    let refused = Store::open(&world.path(), Secrets::none()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, known: LATEST, .. }), "{refused}");
    assert!(refused.to_string().contains("upgrade Pilot"), "{refused}");
    assert_eq!(fs::read(world.path()).unwrap(), before);
}

#[tokio::test]
async fn another_programs_database_is_refused() {
    let world = World::new();
    fs::create_dir_all(world.path().parent().unwrap()).unwrap();
    raw(&world, "CREATE TABLE bookmarks (url TEXT)").await;
    let refused = Store::open(&world.path(), Secrets::none()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_copied_once() {
    let world = World::new();
    fs::create_dir_all(world.path().parent().unwrap()).unwrap();
    let garbage = b"this is no database, whatever its name says\n".repeat(100);
    fs::write(world.path(), &garbage).unwrap();
    fs::write(world.path().with_extension("db-wal"), "what was written last").unwrap();
    for _ in 0..3 {
        let refused = Store::open(&world.path(), Secrets::none()).await.unwrap_err();
        let copy = kept(&refused);
        let words = refused.to_string();
        assert!(words.contains("nothing was changed or deleted") && words.contains(copy), "{words}");
        assert_eq!(fs::read(world.path()).unwrap(), garbage);
        assert_eq!(fs::read(copy).unwrap(), garbage);
        assert_eq!(fs::read(format!("{copy}-wal")).unwrap(), b"what was written last");
        assert_eq!(fs::metadata(copy).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let copies = fs::read_dir(world.path().parent().unwrap()).unwrap();
    let copies = copies.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        name.contains(".corrupt-") && !name.ends_with("-wal")
    });
    assert_eq!(copies.count(), 1);
}

#[tokio::test]
async fn a_database_that_was_emptied_is_refused_and_a_new_one_is_not() {
    let world = World::new();
    let store = world.store().await;
    store.begin_execution(&run_of("GH-1", at(0))).await.unwrap();
    store.close().await;
    assert!(!world.path().with_extension("db-new").exists(), "only while it is made");
    fs::write(world.path(), "").unwrap();
    for suffix in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(world.path().with_extension(suffix));
    }
    let refused = Store::open(&world.path(), Secrets::none()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert!(refused.to_string().contains("it is empty, and was not before"), "{refused}");
    assert_eq!(fs::read(world.path()).unwrap(), b"", "nothing was written");
    // A process that dies while it makes a database leaves it for the next one to finish.
    fs::write(world.path().with_extension("db-new"), "").unwrap();
    world.store().await.close().await;
}

/// SQLite would take the empty file for a new database, and delete what was written last.
#[tokio::test]
async fn a_log_whose_database_is_gone_is_not_thrown_away() {
    let world = World::new();
    fs::create_dir_all(world.path().parent().unwrap()).unwrap();
    let log = world.path().with_extension("db-wal");
    fs::write(&log, "what was written last").unwrap();
    for present in [false, true] {
        if present {
            fs::write(world.path(), "").unwrap();
        }
        let refused = Store::open(&world.path(), Secrets::none()).await.unwrap_err();
        assert_eq!(fs::read(format!("{}-wal", kept(&refused))).unwrap(), b"what was written last");
        assert_eq!(fs::read(&log).unwrap(), b"what was written last");
    }
}

fn kept(refused: &StoreError) -> &str {
    let StoreError::Damaged { kept: Kept::At(copy), .. } = refused else { panic!("no copy: {refused}") };
    copy.to_str().expect("our paths are UTF-8")
}

#[tokio::test]
async fn damage_inside_is_found_by_the_check() {
    let world = World::new();
    let store = world.store().await;
    for second in 0..200 {
        store.begin_execution(&run_of("GH-1", at(second))).await.unwrap();
    }
    store.close().await;
    let mut bytes = fs::read(world.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0x55);
    fs::write(world.path(), bytes).unwrap();
    let found = world.store().await.check().await.unwrap_err();
    assert!(fs::metadata(kept(&found)).unwrap().len() > 8192, "{found}");
}

#[tokio::test]
async fn a_place_where_nothing_can_be_made_is_named() {
    let world = World::new();
    let file = world.path().parent().unwrap().parent().unwrap().join("file");
    fs::write(&file, "").unwrap();
    let refused = Store::open(&file.join("pilot.db"), Secrets::none()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Create { .. }), "{refused}");
    assert!(refused.to_string().contains("PILOT_HOME"), "{refused}");
}

async fn raw(world: &World, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(world.path()).create_if_missing(true);
    let mut connection = options.connect().await.expect(WORKS);
    sqlx::raw_sql(sql).execute(&mut connection).await.expect(WORKS);
    sqlx::Connection::close(connection).await.expect(WORKS);
}
