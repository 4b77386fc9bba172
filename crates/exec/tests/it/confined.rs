//! Files by untrusted paths: whatever a path says, and whatever links there are, nothing outside changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use pilot_core::pipeline::{UpdateRules, update_path};
use pilot_exec::confined::{Confined, ConfinedError};
use tempfile::TempDir;

const RULES: UpdateRules<'_> = UpdateRules { roots: &[], home: None };

/// A project beside files outside of it, with links between them.
struct ConfinedProject(TempDir);

impl ConfinedProject {
    fn new() -> ConfinedProject {
        let field = ConfinedProject(tempfile::tempdir().expect("a place"));
        for folder in [
            "outside/deep",
            "project/.pilot/agents",
            "project/.pilot/prompts",
            "project/.pilot/real",
            "project/.git/hooks",
            "project/src",
        ] {
            fs::create_dir_all(field.path(folder)).expect("a folder");
        }
        for file in [
            "outside/secret",
            "outside/only-outside",
            "outside/deep/x.md",
            "project/.pilot/pipeline.yaml",
            "project/.pilot/config.yaml",
            "project/.pilot/agents/reviewer.md",
            "project/.pilot/prompts/a.md",
            "project/.git/config",
            "project/.git/hooks/pre-commit",
            "project/src/main.rs",
        ] {
            fs::write(field.path(file), format!("this is {file}\n")).expect("a file");
        }
        for (link, to) in [
            (".pilot/out", "../../outside"),
            (".pilot/absolute", field.path("outside").to_str().expect("UTF-8")),
            (".pilot/secret", "../../outside/secret"),
            (".pilot/real/up", ".."),
            (".pilot/hang", "nowhere"),
            (".pilot/git", "../.git"),
            (".pilot/self", "self"),
            (".pilot/proc", "/proc/self/cwd"),
        ] {
            symlink(to, field.path("project").join(link)).expect("a link");
        }
        field
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn project(&self) -> Confined {
        Confined::open(&self.path("project")).expect("it is there")
    }

    /// Everything that no update may change.
    fn decoy(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        for root in
            ["outside", "project/.git", "project/src", "project/.pilot/agents", "project/.pilot/prompts"]
        {
            collect(&self.path(root), &mut seen);
        }
        for file in ["project/.pilot/pipeline.yaml", "project/.pilot/config.yaml"] {
            collect(&self.path(file), &mut seen);
        }
        let names = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(self.path(folder)).expect("a folder");
            let mut names: Vec<String> = entries
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        seen.insert(PathBuf::from("here"), names(".").join(" "));
        seen.insert(PathBuf::from("project"), names("project").join(" "));
        seen
    }
}

fn collect(path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let meta = path.symlink_metadata().expect("it is there");
    let mode = meta.permissions().mode();
    if meta.is_dir() {
        seen.insert(path.to_owned(), format!("{mode:o}"));
        for entry in fs::read_dir(path).expect("a folder") {
            collect(&entry.expect("an entry").path(), seen);
        }
    } else if meta.is_symlink() {
        seen.insert(path.to_owned(), format!("link {:?}", fs::read_link(path).expect("a link")));
    } else {
        seen.insert(path.to_owned(), format!("{mode:o} {:?}", fs::read(path).expect("a file")));
    }
}

/// The same numbers every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % below
    }
}

/// What paths that mean harm are made of.
const PARTS: [&str; 48] = [
    "..",
    ".",
    "",
    "...",
    ". .",
    ".. ",
    " ..",
    "..\u{200b}",
    ".pilot",
    ".PILOT",
    ".pilot ",
    "out",
    "absolute",
    "secret",
    "real",
    "up",
    "hang",
    "git",
    "self",
    "proc",
    "outside",
    "deep",
    "x.md",
    "project",
    "src",
    "main.rs",
    ".git",
    ".GIT",
    ".git.",
    ".g\u{200c}it",
    "git~1",
    ".git::$INDEX_ALLOCATION",
    "hooks",
    "pre-commit",
    "config",
    "pipeline.yaml",
    "Pipeline.yaml",
    "config.yaml",
    "config.yaml.",
    "agents",
    "prompts",
    "reviewer.md",
    "~",
    "~root",
    "C:",
    "\\..\\..",
    "a\0b",
    "a\nb",
];

const BEGINS: [&str; 12] = [
    "",
    "/",
    "//",
    "./",
    "../",
    ".pilot/",
    ".pilot/../",
    ".pilot//",
    "\\",
    "file://",
    "/proc/self/cwd/",
    "/proc/self/fd/",
];

fn hostile(count: usize) -> Vec<String> {
    let mut numbers = Numbers(20_251_116);
    let mut paths = Vec::new();
    while paths.len() < count {
        let mut path = BEGINS[numbers.next(BEGINS.len())].to_owned();
        let parts = 1 + numbers.next(6);
        let parts: Vec<&str> = (0..parts).map(|_| PARTS[numbers.next(PARTS.len())]).collect();
        path.push_str(&parts.join("/"));
        if numbers.next(20) == 0 {
            path.push('/');
        }
        if numbers.next(40) == 0 {
            path = format!("{path}{}", "/a".repeat(300));
        }
        paths.push(path);
    }
    paths
}

fn write(project: &Confined, path: &str, number: usize) -> Result<usize, ConfinedError> {
    let staged = format!(".staged-{number}");
    project.check(path)?;
    project.stage(path, &staged, b"written by a mark\n")?;
    let placed = project.place(&[(path.to_owned(), staged.clone())]);
    if placed.is_err() {
        project.discard(path, &staged);
    }
    placed
}

#[test]
fn two_thousand_hostile_paths_change_nothing_outside() {
    for openat2 in [true, false] {
        let field = ConfinedProject::new();
        let before = field.decoy();
        let project = if openat2 { field.project() } else { field.project().without_openat2() };
        let mut written = 0;
        for (number, path) in hostile(2_000).iter().enumerate() {
            if let Ok(path) = update_path(path, &RULES) {
                written += usize::from(write(&project, &path, number).is_ok());
            }
        }
        assert_eq!(field.decoy(), before, "openat2: {openat2}");
        assert!(written > 5, "some of them are harmless after all: {written}");
        let harmless = update_path(".pilot/notes/a.md", &RULES).expect("harmless");
        assert_eq!(write(&project, &harmless, 9_999).expect("written"), 1);
        assert_eq!(
            fs::read_to_string(field.path("project/.pilot/notes/a.md")).expect("there"),
            "written by a mark\n"
        );
    }
}

/// The same without any rule about the text of a path: the files alone keep what is outside outside.
#[test]
fn nothing_leaves_the_project_even_without_the_rules() {
    for openat2 in [true, false] {
        let field = ConfinedProject::new();
        let mut before = BTreeMap::new();
        collect(&field.path("outside"), &mut before);
        let project = if openat2 { field.project() } else { field.project().without_openat2() };
        for (number, path) in hostile(2_000).iter().enumerate() {
            let _ = write(&project, path, number);
            let _ = project
                .read(path, 1_000)
                .map(|bytes| assert!(!bytes.starts_with(b"this is outside"), "{path}"));
            let _ = project
                .list(path)
                .map(|entries| assert!(entries.iter().all(|entry| entry.name != "only-outside"), "{path}"));
        }
        let mut after = BTreeMap::new();
        collect(&field.path("outside"), &mut after);
        assert_eq!(after, before, "openat2: {openat2}");
    }
}

#[test]
fn refusals_say_what_is_in_the_way() {
    let field = ConfinedProject::new();
    for openat2 in [true, false] {
        let project = if openat2 { field.project() } else { field.project().without_openat2() };
        for (path, words) in [
            (".pilot/out/x", "\"out\""),
            (".pilot/secret", "is a symbolic link"),
            (".pilot/agents", "is not a file"),
            ("src/main.rs/x", "\"main.rs\" is not a folder"),
            ("../x", "leads out of the project"),
            ("a//b", "leads out of the project"),
        ] {
            let error = project.check(path).expect_err(path).to_string();
            assert!(error.contains(words), "{path}: {error}");
        }
        assert!(matches!(project.read("src/none", 10), Err(ConfinedError::Missing { .. })));
        assert!(matches!(project.read("src/main.rs", 3), Err(ConfinedError::TooLarge { limit: 3, .. })));
        assert!(matches!(
            project.read(".pilot", 10),
            Err(ConfinedError::Kind { .. } | ConfinedError::System { .. })
        ));
        assert_eq!(project.read("src/main.rs", 100).expect("a file"), b"this is project/src/main.rs\n");
        let names: Vec<String> =
            project.list("src").expect("a folder").into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["main.rs"]);
    }
}

#[test]
fn what_is_staged_is_put_into_place_once_and_keeps_its_mode() {
    let field = ConfinedProject::new();
    let project = field.project();
    let target = field.path("project/.pilot/real/run.sh");
    fs::write(&target, "old").expect("a file");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).expect("a mode");
    let all = [
        (".pilot/real/run.sh".to_owned(), ".s-0".to_owned()),
        (".pilot/real/new/a".to_owned(), ".s-1".to_owned()),
    ];
    for (path, staged) in &all {
        project.stage(path, staged, b"new").expect("staged");
    }
    assert_eq!(fs::read_to_string(&target).expect("there"), "old", "nothing is written before its time");
    assert_eq!(project.place(&all).expect("placed"), 2);
    assert_eq!(fs::read_to_string(&target).expect("there"), "new");
    assert_eq!(target.metadata().expect("there").permissions().mode() & 0o777, 0o755);
    fs::write(&target, "a person's").expect("a file");
    assert_eq!(project.place(&all).expect("nothing to do"), 0);
    assert_eq!(fs::read_to_string(&target).expect("there"), "a person's", "never twice");
    // One whose way is barred keeps all of them where they are.
    project.stage(".pilot/real/run.sh", ".s-2", b"newer").expect("staged");
    project.stage(".pilot/real/new/a", ".s-3", b"newer").expect("staged");
    fs::rename(field.path("project/.pilot/real/new"), field.path("project/.pilot/real/moved"))
        .expect("moved");
    symlink("../../../outside", field.path("project/.pilot/real/new")).expect("a link");
    let all = [
        (".pilot/real/run.sh".to_owned(), ".s-2".to_owned()),
        (".pilot/real/new/a".to_owned(), ".s-3".to_owned()),
    ];
    assert!(project.place(&all).is_err());
    assert_eq!(fs::read_to_string(&target).expect("there"), "a person's");
    project.discard(".pilot/real/run.sh", ".s-2");
    assert!(!field.path("project/.pilot/real/.s-2").exists());
}
