//! What a loop goes over.

use pilot_core::pipeline::{Engine, ItemOrder, LoopItem, Over, glob_matches, glob_root, is_glob, relative};
use pilot_exec::confined::{Confined, ConfinedError};

use super::load::FOLDER;
use super::render::TemplateValues;

/// The most that a loop goes over, and the most files that are looked at for it.
const MOST: usize = 1_000;
const MOST_LOOKED_AT: usize = 50_000;

const DEEPEST: usize = 32;

pub(crate) fn list(
    over: &Over,
    order: ItemOrder,
    values: &TemplateValues<'_>,
    engine: &Engine<'_>,
) -> Result<Vec<LoopItem>, String> {
    let mut items = match over {
        Over::Items(texts) => {
            let texts: Result<Vec<String>, String> =
                texts.iter().map(|text| values.fill(text, engine)).collect();
            texts?.into_iter().enumerate().map(|(index, text)| item(index, text)).collect()
        }
        Over::Files(path) => files(values.files, &values.fill(path, engine)?)?,
    };
    if items.len() > MOST {
        return Err(format!("there are {} items, more than the {MOST} that a loop takes", items.len()));
    }
    if order == ItemOrder::Desc {
        items.reverse();
    }
    Ok(items)
}

fn item(index: usize, text: String) -> LoopItem {
    let words: String =
        text.chars().map(|c| if c.is_control() || "/[]#".contains(c) { ' ' } else { c }).take(40).collect();
    LoopItem { name: format!("{} {}", index + 1, words.trim()), file: None, text: Some(text) }
}

fn files(project: &Confined, text: &str) -> Result<Vec<LoopItem>, String> {
    let text = text.trim().trim_end_matches('/');
    let path = if text == "." {
        ".".to_owned()
    } else {
        relative(text).map_err(|fault| format!("{text:?}: {fault}"))?
    };
    let found = match is_glob(&path) {
        true => matching(project, &path)?,
        false => markdown(project, &path)?,
    };
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let whole = is_glob(&path);
    let item = |path: String| LoopItem {
        name: if whole { path.clone() } else { name(&path) },
        file: Some(path),
        text: None,
    };
    Ok(found.into_iter().map(item).collect())
}

/// The `*.md` files of a folder, by the bytes of their names.
fn markdown(project: &Confined, folder: &str) -> Result<Vec<String>, String> {
    let below = format!("{FOLDER}/{folder}");
    let (folder, entries) = match project.list(folder) {
        Err(ConfinedError::Missing { .. }) => (below.as_str(), project.list(&below)),
        entries => (folder, entries),
    };
    let entries = entries.map_err(|error| match error.is_missing() {
        true => format!("there is no folder {:?}", folder.trim_start_matches(".pilot/")),
        false => format!("cannot {error}"),
    })?;
    let is_text = |name: &str| name.len() > ".md".len() && name.ends_with(".md");
    let files = entries.into_iter().filter(|entry| !entry.is_folder && is_text(&entry.name));
    Ok(files.map(|entry| join(folder, &entry.name)).collect())
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The files that match a pattern, by the bytes of their paths.
fn matching(project: &Confined, pattern: &str) -> Result<Vec<String>, String> {
    let mut folders = vec![(glob_root(pattern), 0)];
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some((folder, depth)) = folders.pop() {
        let at = if folder.is_empty() { "." } else { &folder };
        let entries = match project.list(at) {
            Ok(entries) => entries,
            Err(ConfinedError::Missing { .. }) if depth > 0 => continue,
            Err(error) => return Err(format!("cannot {error}")),
        };
        looked_at += entries.len();
        if looked_at > MOST_LOOKED_AT {
            return Err(format!("{pattern:?} covers more than {MOST_LOOKED_AT} files; name a folder"));
        }
        for entry in entries {
            let path = join(&folder, &entry.name);
            if entry.is_folder && entry.name != ".git" && depth < DEEPEST {
                folders.push((path, depth + 1));
            } else if !entry.is_folder && glob_matches(pattern, &path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
