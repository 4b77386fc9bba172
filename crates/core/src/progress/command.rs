//! What a command line says about the work: does it look, install, change, test or commit?

use super::shell::{Simple, split};
use super::tool::Activity;

/// How much of a command line is read. Scripts may be long; what they do shows early.
const LONGEST: usize = 16 * 1024;

/// How many shells inside shells are looked into.
const DEEPEST: usize = 4;

/// What a command line does; of several things, the furthest in the work.
pub(super) fn activity(line: &str) -> Option<Activity> {
    of_line(line, DEEPEST)
}

fn of_line(line: &str, depth: usize) -> Option<Activity> {
    let line = &line[..line.floor_char_boundary(LONGEST)];
    split(line).iter().filter_map(|simple| of_simple(simple, depth)).max()
}

fn of_simple(simple: &Simple, depth: usize) -> Option<Activity> {
    let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
    let writes = simple.writes_file.then_some(Activity::Implementing).filter(|_| writes_text(&words));
    of_words(&words, depth).max(writes)
}

/// Programs whose redirected output is the agent's own text: `cat > file` is how shells edit.
fn writes_text(words: &[&str]) -> bool {
    words.first().is_some_and(|program| ["cat", "echo", "printf"].contains(program))
}

/// Programs that only start another one: their options with a value, and the words before the program.
const WRAPPERS: [(&str, &[&str], usize); 12] = [
    ("env", &["-u", "-C", "--unset", "--chdir"], 0),
    ("sudo", &["-u", "-g"], 0),
    ("time", &["-f", "-o"], 0),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("nice", &["-n"], 0),
    ("ionice", &["-c", "-n"], 0),
    ("nohup", &[], 0),
    ("command", &[], 0),
    ("exec", &[], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("setsid", &[], 0),
    ("xvfb-run", &["-n", "-s", "-e"], 0),
];

/// Words of the shell that stand before a command.
const KEYWORDS: [&str; 10] = ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "}"];

fn of_words(words: &[&str], depth: usize) -> Option<Activity> {
    if depth == 0 {
        return None;
    }
    let start = words.iter().position(|word| !KEYWORDS.contains(word) && !is_assignment(word))?;
    let (first, args) = words[start..].split_first()?;
    let program = base_name(first);
    if let Some((_, with_value, positional)) = WRAPPERS.iter().find(|(name, ..)| *name == program) {
        let rest = after_options(args, with_value);
        return of_words(rest.get(*positional..)?, depth - 1);
    }
    of_program(first, &program, args, depth - 1)
}

fn of_program(written: &str, program: &str, args: &[&str], depth: usize) -> Option<Activity> {
    match program {
        "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish" => of_shell(args, depth),
        "eval" => of_line(&args.join(" "), depth),
        "git" => of_git(args),
        "cargo" => of_cargo(args),
        "go" => of_subcommand(args, &["test", "build", "vet"], &["mod", "get", "install"]),
        "npm" | "pnpm" | "yarn" | "bun" => of_node_manager(program, args, depth),
        "npx" | "bunx" | "pnpx" => of_words(after_options(args, &["-p", "--package"]), depth),
        "uv" | "poetry" | "pipenv" | "bundle" | "pdm" | "rye" | "hatch" => of_project_manager(args, depth),
        "python" | "python3" | "node" | "ruby" | "php" => of_interpreter(args, depth),
        "make" | "gmake" | "just" | "rake" | "ninja" | "bazel" | "mage" => of_targets(args),
        "pip" | "pip3" | "gem" | "composer" | "apt" | "apt-get" | "apk" | "brew" | "rustup" | "dnf" => {
            of_subcommand(
                args,
                &[],
                &["install", "add", "require", "update", "upgrade", "target", "component"],
            )
        }
        "dotnet" | "swift" | "zig" | "deno" | "mix" | "flutter" | "dart" => of_subcommand(
            args,
            &["test", "build", "check", "lint", "compile", "analyze"],
            &["restore", "add"],
        ),
        "cmake" => args.contains(&"--build").then_some(Activity::Testing),
        "sed" => Some(if edits_in_place(args) { Activity::Implementing } else { Activity::Exploring }),
        "perl" => edits_in_place(args).then_some(Activity::Implementing),
        "apply_patch" | "applypatch" | "patch" | "tee" => Some(Activity::Implementing),
        _ if args.iter().any(|arg| matches!(*arg, "--version" | "--help")) => None,
        _ if is_one_of(program, CHECKERS) => Some(Activity::Testing),
        _ if is_one_of(program, LOOKERS) => Some(Activity::Exploring),
        _ if written.contains('/') && names_a_check(program) => Some(Activity::Testing),
        _ => None,
    }
}

/// Programs that test, build or check whatever their arguments are.
const CHECKERS: &str = "\
    pytest py.test unittest tox nox jest vitest mocha ava cypress playwright karma ctest rspec phpunit \
    pest bats gotestsum golangci-lint staticcheck eslint tsc mypy pyright ruff flake8 pylint shellcheck \
    rubocop mvn mvnw gradle gradlew sbt lein ant xcodebuild gcc g++ cc clang rustc javac cargo-nextest \
    nextest biome";

/// Programs that only look.
const LOOKERS: &str = "cat head tail less bat ls tree find fd grep rg ag wc awk jq nl stat file diff";

fn is_one_of(program: &str, list: &str) -> bool {
    list.split(' ').any(|name| name == program)
}

/// `bash -lc 'script'` runs the script; `bash run_tests.sh` runs a file.
fn of_shell(args: &[&str], depth: usize) -> Option<Activity> {
    let is_script = |arg: &&str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('c');
    match args.iter().position(is_script) {
        Some(option) => of_line(args.get(option + 1)?, depth),
        None => {
            after_options(args, &["-o"]).first().filter(|file| names_a_check(file)).map(|_| Activity::Testing)
        }
    }
}

fn of_git(args: &[&str]) -> Option<Activity> {
    let args = after_options(args, &["-C", "-c", "--git-dir", "--work-tree", "--namespace"]);
    match *args.first()? {
        "commit" | "push" => Some(Activity::Committing),
        "apply" | "am" | "mv" | "rm" | "revert" | "cherry-pick" => Some(Activity::Implementing),
        "status" | "log" | "diff" | "show" | "blame" | "grep" | "ls-files" | "shortlog" => {
            Some(Activity::Exploring)
        }
        _ => None,
    }
}

fn of_cargo(args: &[&str]) -> Option<Activity> {
    let args = match args.split_first() {
        Some((toolchain, rest)) if toolchain.starts_with('+') => rest,
        _ => args,
    };
    let checks = [
        "test",
        "t",
        "nextest",
        "build",
        "b",
        "check",
        "c",
        "clippy",
        "bench",
        "miri",
        "llvm-cov",
        "tarpaulin",
        "doc",
    ];
    of_subcommand(args, &checks, &["add", "install", "fetch", "update"])
}

/// `npm test`, `pnpm run build`, `yarn lint`, `npm exec jest`; `yarn` alone installs.
fn of_node_manager(program: &str, args: &[&str], depth: usize) -> Option<Activity> {
    let with_value = ["-w", "--workspace", "--prefix", "-C", "--dir", "--cwd", "--filter", "-F"];
    let args = after_options(args, &with_value);
    let Some((command, rest)) = args.split_first() else {
        return (program == "yarn").then_some(Activity::Installing);
    };
    match *command {
        "install" | "i" | "ci" | "add" | "update" | "up" => Some(Activity::Installing),
        "exec" | "dlx" | "x" => of_words(after_options(rest, &[]), depth),
        "t" => Some(Activity::Testing),
        "run" | "run-script" => after_options(rest, &with_value)
            .first()
            .filter(|script| names_a_check(script))
            .map(|_| Activity::Testing),
        script => names_a_check(script).then_some(Activity::Testing).or_else(|| of_words(args, depth)),
    }
}

/// `uv run pytest`, `bundle exec rspec`, `poetry install`.
fn of_project_manager(args: &[&str], depth: usize) -> Option<Activity> {
    let (command, rest) = after_options(args, &["--directory", "--project", "-C"]).split_first()?;
    match *command {
        "run" | "exec" => {
            of_words(after_options(rest, &["--with", "--extra", "--group", "-p", "--python"]), depth)
        }
        "install" | "add" | "sync" | "lock" | "pip" | "update" => Some(Activity::Installing),
        "test" => Some(Activity::Testing),
        _ => None,
    }
}

/// `python -m pytest`, `node --test`, `python manage.py test`, `python tests/run.py`.
fn of_interpreter(args: &[&str], depth: usize) -> Option<Activity> {
    if let Some(module) = args.iter().position(|arg| *arg == "-m") {
        return of_words(&args[module + 1..], depth);
    }
    if args.contains(&"--test") {
        return Some(Activity::Testing);
    }
    let (script, rest) = after_options(args, &["-W", "-X", "-r", "--require", "--import"]).split_first()?;
    let inline = args.iter().any(|arg| matches!(*arg, "-c" | "-e"));
    let checks = names_a_check(script) || rest.first().is_some_and(|word| names_a_check(word));
    (!inline && checks).then_some(Activity::Testing)
}

/// `make` alone builds; a named target counts when its name is that of a check.
fn of_targets(args: &[&str]) -> Option<Activity> {
    let args = after_options(args, &["-C", "-f", "-j", "-d", "--directory", "--file"]);
    let targets: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-') && !is_assignment(arg)).collect();
    (targets.is_empty() || targets.iter().any(|target| names_a_check(target))).then_some(Activity::Testing)
}

/// `sed -i` and `perl -pi` change files.
fn edits_in_place(args: &[&str]) -> bool {
    let short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('i');
    args.iter().any(|arg| short(arg) || arg.starts_with("--in-place"))
}

fn of_subcommand(args: &[&str], checks: &[&str], installs: &[&str]) -> Option<Activity> {
    let command = after_options(args, &["-C", "--manifest-path", "--config"]).first()?;
    if checks.contains(command) {
        Some(Activity::Testing)
    } else {
        installs.contains(command).then_some(Activity::Installing)
    }
}

/// What stands behind the leading options and assignments; `with_value` are the options that take the next
/// word.
fn after_options<'a, 'b>(args: &'a [&'b str], with_value: &[&str]) -> &'a [&'b str] {
    let mut index = 0;
    while let Some(arg) = args.get(index) {
        match *arg {
            "--" => return &args[index + 1..],
            arg if with_value.contains(&arg) => index += 2,
            arg if arg.starts_with('-') || is_assignment(arg) => index += 1,
            _ => break,
        }
    }
    args.get(index..).unwrap_or_default()
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The program without its directory; `./gradlew` is `gradlew`.
fn base_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.trim_end_matches(".exe").to_ascii_lowercase()
}

/// Whether a script or target is named after a check: `test:unit`, `run_tests.sh`, `type-check`, not
/// `latest`.
fn names_a_check(name: &str) -> bool {
    let starts = ["test", "check", "build", "lint", "typecheck", "verify", "coverage", "unittest", "clippy"];
    let lower = name.to_ascii_lowercase();
    lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        matches!(part, "ci" | "e2e" | "tsc" | "runtests")
            || starts.iter().any(|start| part.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Activity, activity};

    fn check(expected: Option<Activity>, lines: &[&str]) {
        for line in lines {
            assert_eq!(activity(line), expected, "{line:?}");
        }
    }

    #[test]
    fn tests_and_builds_are_testing() {
        check(
            Some(Activity::Testing),
            &[
                "cargo test",
                "cargo +nightly test -p x",
                "cargo nextest run",
                "cargo clippy --all-targets -- -D warnings",
                "go test ./...",
                "go vet",
                "npm test",
                "npm t",
                "npm run test:unit",
                "npm --prefix web run build",
                "pnpm -F app exec vitest run",
                "pnpm lint",
                "yarn jest",
                "yarn test",
                "bun test",
                "npx jest --ci",
                "npx --yes playwright test",
                "pytest -q",
                "python -m pytest",
                "python3 -W ignore -m unittest discover",
                "python manage.py test",
                "python tests/run.py",
                "node --test",
                "uv run pytest",
                "uv run --with x pytest",
                "poetry run python -m pytest",
                "bundle exec rspec",
                "make",
                "make test",
                "make -C sub -j 4 check",
                "make CC=gcc",
                "just lint",
                "mvn -q verify",
                "./mvnw install",
                "gradle build",
                "./gradlew test",
                "tox -e py312",
                "ctest --output-on-failure",
                "cmake --build build",
                "dotnet test",
                "swift build",
                "deno test -A",
                "mix test",
                "bazel test //...",
                "tsc --noEmit",
                "./run_tests.sh",
                "scripts/ci",
                "bash scripts/test.sh",
            ],
        );
    }

    #[test]
    fn wrappers_are_seen_through() {
        check(
            Some(Activity::Testing),
            &[
                "cd x && cargo test",
                "cd x; RUST_LOG=debug CI=1 cargo test 2>&1 | tail -5",
                "bash -lc 'cargo test'",
                "/bin/bash -lc \"cd a && npm test\"",
                "bash -c \"sh -c 'go test ./...'\"",
                "env -u X A=b cargo test",
                "env A=b cargo test",
                "sudo -u me make test",
                "timeout 60 cargo test",
                "timeout -s KILL --foreground 60s cargo test",
                "time nice -n 5 cargo test",
                "nohup cargo test &",
                "xvfb-run -a npm test",
                "if cargo test; then echo ok; fi",
                "while ! cargo test; do sleep 1; done",
                "( cd a && pytest )",
                "{ pytest; }",
                "out=$(cargo test)",
                "eval 'cargo test'",
                "cat log.txt | grep x && cargo test",
                "/usr/local/bin/pytest",
            ],
        );
    }

    #[test]
    fn the_furthest_step_counts() {
        check(
            Some(Activity::Committing),
            &[
                "git commit -m x",
                "git add -A && git commit -qm 'fix: add'",
                "cargo test && git -C sub -c user.name=x commit -m x",
                "git push origin HEAD",
                "git commit -m \"$(cat <<'EOF'\nfix: a\nEOF\n)\"",
            ],
        );
    }

    #[test]
    fn other_steps() {
        check(
            Some(Activity::Installing),
            &[
                "npm ci",
                "npm install x",
                "yarn",
                "pip install -r r.txt",
                "python -m pip install x",
                "uv sync",
                "go mod tidy",
                "cargo add serde",
                "apt-get install -y jq",
                "bundle install",
                "composer require x",
            ],
        );
        check(
            Some(Activity::Implementing),
            &[
                "sed -i 's/a/b/' x.rs",
                "cat > x.rs <<'EOF'\ncargo test\nEOF",
                "echo hi >> notes.md",
                "apply_patch <<'EOF'\n*** Begin Patch\nEOF",
                "git mv a b",
                "perl -pi -e 's/a/b/' x",
                "printf x | tee f.txt",
            ],
        );
        check(
            Some(Activity::Exploring),
            &[
                "cat src/main.rs",
                "rg cargo\\ test",
                "ls -la",
                "sed -n 1,20p x.rs",
                "git log --oneline | head -1",
                "grep -rn 'cargo test' .",
                "find . -name '*.rs'",
                "cat x > /dev/null",
            ],
        );
    }

    #[test]
    fn other_words_say_nothing() {
        check(
            None,
            &[
                "",
                "   ",
                "echo 'cargo test'",
                "echo cargo test",
                "test -f x",
                "[ -f x ]",
                "cd tests",
                "mkdir tests",
                "git checkout -b test",
                "git add tests",
                "npm run deploy-latest",
                "make install",
                "cargo run",
                "python -c 'import test'",
                "python app.py",
                "timeout",
                "env",
                "bash -c",
                "npm",
                "git",
                "sleep 5",
                "export A=test",
                "# cargo test",
                "kill %1",
                "tsc --version",
                "which pytest",
                "perl x.pl",
            ],
        );
    }

    #[test]
    fn nesting_and_length_are_bounded() {
        assert_eq!(activity(&"eval ".repeat(10_000)), None);
        assert_eq!(activity(&"( ".repeat(100_000)), None);
        assert_eq!(activity(&"é".repeat(100_000)), None);
        assert_eq!(activity(&"time ".repeat(100_000)), None);
        assert_eq!(activity(&"! ".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(line in "\\PC{0,60}") {
            let _ = activity(&line);
        }

        #[test]
        fn a_change_of_directory_hides_nothing(index in 0..4usize) {
            let line = ["cargo test", "git commit", "npm ci", "ls"][index];
            prop_assert_eq!(activity(line), activity(&format!("cd a/b && {line}")));
            prop_assert_eq!(activity(line), activity(&format!("bash -lc '{line}'")));
        }
    }
}
