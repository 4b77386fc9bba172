//! A change, cut to the room there is: every file gets its share, what was made by machines comes last, and what was cut is
//! named.

use crate::text::truncate;

#[derive(Clone, Copy, Debug)]
pub struct FileDiff<'d> {
    pub path: &'d str,
    pub diff: &'d str,
}

/// How much room there is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffBudget {
    pub total: usize,
    pub per_file: usize,
}

impl Default for DiffBudget {
    fn default() -> DiffBudget {
        // About forty thousand tokens, of which one file may have a quarter.
        DiffBudget { total: 128 * 1024, per_file: 32 * 1024 }
    }
}

/// No file is shown in less room than this: a few lines say nothing.
const LEAST: usize = 400;

/// How many files are shown at most.
const MOST_FILES: usize = 300;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BudgetedDiff<'d> {
    /// The files that are shown, in their order, those made by machines last.
    pub(super) shown: Vec<ShownDiff<'d>>,
    pub(super) left_out: Vec<LeftOut<'d>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownDiff<'d> {
    pub(super) path: &'d str,
    /// As much of its change as there is room for.
    pub(super) text: &'d str,
    pub(super) cut: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut<'d> {
    pub(super) path: &'d str,
    pub(super) bytes: usize,
}

pub(super) fn budgeted<'d>(files: &[FileDiff<'d>], budget: DiffBudget) -> BudgetedDiff<'d> {
    let (made, written): (Vec<&FileDiff<'d>>, Vec<&FileDiff<'d>>) =
        files.iter().partition(|file| is_made(file.path));
    let mut result = BudgetedDiff::default();
    let mut room = budget.total;
    for files in [written, made] {
        let shares = shares(&files, room, budget.per_file);
        for (file, share) in files.into_iter().zip(shares) {
            let text = whole_lines(file.diff, share);
            if (text.is_empty() && !file.diff.is_empty()) || result.shown.len() == MOST_FILES {
                result.left_out.push(LeftOut { path: file.path, bytes: file.diff.len() });
                continue;
            }
            room -= text.len();
            result.shown.push(ShownDiff { path: file.path, text, cut: file.diff.len() - text.len() });
        }
    }
    result
}

/// How much room each file gets: small ones what they need, large ones what is left, in equal parts.
fn shares(files: &[&FileDiff<'_>], room: usize, per_file: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..files.len()).collect();
    by_size.sort_by_key(|index| files[*index].diff.len());
    let mut shares = vec![0; files.len()];
    let mut room = room;
    let mut waiting = files.len();
    for index in by_size {
        let wanted = files[index].diff.len().min(per_file);
        // Rather a few files that can be read than a line of each.
        let share = wanted.min((room / waiting).max(LEAST).min(room));
        shares[index] = if share < wanted.min(LEAST) { 0 } else { share };
        room -= shares[index];
        waiting -= 1;
    }
    shares
}

fn whole_lines(diff: &str, limit: usize) -> &str {
    let kept = truncate(diff, limit);
    if kept.len() == diff.len() {
        return diff;
    }
    match kept.rfind('\n') {
        Some(end) => &kept[..=end],
        // One line longer than all the room there is.
        None if kept.len() >= LEAST => kept,
        None => "",
    }
}

const MADE: &[&str] = &[
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "composer.lock",
    "flake.lock",
    "gemfile.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "podfile.lock",
    "poetry.lock",
    "pubspec.lock",
    "uv.lock",
    "yarn.lock",
];

const MADE_ENDINGS: &[&str] = &[
    ".min.js",
    ".min.css",
    ".map",
    ".pb.go",
    "_pb2.py",
    "_pb2_grpc.py",
    ".pb.cc",
    ".pb.h",
    ".g.dart",
    ".freezed.dart",
    ".snap",
    ".svg",
    ".lock",
];

const MADE_DIRECTORIES: &[&str] =
    &["node_modules", "vendor", "third_party", "dist", "generated", "__generated__", "__snapshots__"];

/// Whether a machine wrote the file, as far as its name tells.
fn is_made(path: &str) -> bool {
    let path = path.to_lowercase();
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
    MADE.contains(&name)
        || MADE_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.contains(".generated.")
        || directories.split('/').any(|directory| MADE_DIRECTORIES.contains(&directory))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DiffBudget, FileDiff, LeftOut, budgeted, is_made};

    #[test]
    fn machines_come_last() {
        for path in [
            "Cargo.lock",
            "web/package-lock.json",
            "a/vendor/x.go",
            "x.min.js",
            "api.pb.go",
            "src/a.generated.ts",
        ] {
            assert!(is_made(path), "{path}");
        }
        for path in ["src/lock.rs", "vendor.rs", "docs/distance.md", "a.json", "src/generated_by.rs"] {
            assert!(!is_made(path), "{path}");
        }
        let files =
            ["Cargo.lock", "src/a.rs", "dist/x.js", "b.md"].map(|path| FileDiff { path, diff: "+x\n" });
        let paths: Vec<&str> =
            budgeted(&files, DiffBudget::default()).shown.iter().map(|file| file.path).collect();
        assert_eq!(paths, ["src/a.rs", "b.md", "Cargo.lock", "dist/x.js"]);
    }

    #[test]
    fn everybody_gets_a_share_and_what_is_cut_is_named() {
        let large = "+a line of twenty by\n".repeat(1000);
        let files = [
            FileDiff { path: "large.rs", diff: &large },
            FileDiff { path: "small.rs", diff: "+x\n" },
            FileDiff { path: "other.rs", diff: &large },
            FileDiff { path: "Cargo.lock", diff: &large },
        ];
        let shown = budgeted(&files, DiffBudget { total: 10_000, per_file: 8_000 });
        let sizes: Vec<(&str, usize, usize)> =
            shown.shown.iter().map(|file| (file.path, file.text.len(), file.cut)).collect();
        assert_eq!(sizes, [("large.rs", 4998, 16002), ("small.rs", 3, 0), ("other.rs", 4998, 16002)]);
        assert_eq!(shown.left_out, [LeftOut { path: "Cargo.lock", bytes: 21_000 }]);
        assert!(shown.shown.iter().all(|file| file.text.ends_with('\n')));
    }

    #[test]
    fn no_room_is_no_panic() {
        let files = [FileDiff { path: "a", diff: "+x\n" }, FileDiff { path: "b", diff: "" }];
        let shown = budgeted(&files, DiffBudget { total: 0, per_file: 0 });
        assert_eq!((shown.shown.len(), shown.left_out.len()), (1, 1));
        assert!(budgeted(&[], DiffBudget::default()).shown.is_empty());
        let many: Vec<FileDiff<'_>> = (0..1000).map(|_| FileDiff { path: "a", diff: "+x\n" }).collect();
        let shown = budgeted(&many, DiffBudget::default());
        assert_eq!((shown.shown.len(), shown.left_out.len()), (300, 700));
    }

    #[test]
    fn a_few_bytes_of_a_file_say_nothing() {
        let long = "+x\n".repeat(1000);
        let files = [FileDiff { path: "a", diff: "+x\n" }, FileDiff { path: "b", diff: &long }];
        let shown = budgeted(&files, DiffBudget { total: 300, per_file: 300 });
        assert_eq!((shown.shown.len(), shown.left_out.len()), (1, 1));
    }

    proptest! {
        #[test]
        fn the_budget_holds_and_no_file_is_lost(
            files in prop::collection::vec(("[a-z]{1,5}(\\.lock)?", 0usize..100, 0usize..60), 0..20),
            total in 0usize..5000,
            per_file in 0usize..2000,
        ) {
            let files: Vec<(String, String)> = files
                .into_iter()
                .map(|(path, lines, width)| (path, format!("+{}\n", "é".repeat(width)).repeat(lines)))
                .collect();
            let files: Vec<FileDiff<'_>> = files.iter().map(|(path, diff)| FileDiff { path, diff }).collect();
            let shown = budgeted(&files, DiffBudget { total, per_file });
            prop_assert_eq!(shown.shown.len() + shown.left_out.len(), files.len());
            prop_assert!(shown.shown.iter().map(|file| file.text.len()).sum::<usize>() <= total);
            prop_assert!(shown.shown.iter().all(|file| file.text.len() <= per_file));
        }
    }
}
