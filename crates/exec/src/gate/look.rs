//! The root of a project, as the core looks for gates in it.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use pilot_core::gate::{READ, Root};

/// A file with more bytes is not read, and a root with more files not listed any further.
const LARGEST: u64 = 1 << 20;
const MOST: usize = 10_000;

/// Lists the root of a worktree and reads the few files that tell what can be checked.
pub fn look(tree: &Path) -> Root {
    let entries = fs::read_dir(tree).into_iter().flatten().flatten().take(MOST);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    Root::new(names.filter_map(|name| {
        let text = if READ.contains(&name.as_str()) { text(&tree.join(&name))? } else { String::new() };
        Some((name, text))
    }))
}

/// The text of a file, if it is one: to open a pipe would be to wait for its writer.
fn text(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST)?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(meta.len()).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
