//! Reads the root of a project, from which the core derives its gates.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use pilot_core::gate::{READ, Root};

/// A file with more bytes is not read, and a root with more files not listed any further.
const LARGEST: u64 = 1 << 20;
const MOST: usize = 10_000;

pub fn read_root(tree: &Path) -> Root {
    let entries = fs::read_dir(tree).into_iter().flatten().flatten().take(MOST);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    Root::new(names.filter_map(|name| {
        let text = if READ.contains(&name.as_str()) { read_text(&tree.join(&name))? } else { String::new() };
        Some((name, text))
    }))
}

/// The text of a regular file; opening a pipe would block until a writer opens it.
fn read_text(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST)?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(meta.len()).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
