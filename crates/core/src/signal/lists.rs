//! The open list items around a line: they decide how far in a fence may stand.

use super::line::{self, Indent};

/// Deeper lists are not told apart.
const DEPTH: usize = 64;
/// Fences and list marks may stand this far in.
const INDENT_LIMIT: usize = 3;

/// The columns at which the content of the open list items starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists(Vec<usize>);

/// Where the content of a line starts behind its list marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    pub(super) indent: Indent,
    /// Whether list marks stand before it.
    pub(super) marked: bool,
}

impl Lists {
    /// Takes a line that is not blank: items it does not belong to end, and its list marks begin new ones.
    pub(super) fn enter(&mut self, text: &[u8], indent: Indent) -> Content {
        while self.0.last().is_some_and(|column| *column > indent.columns) {
            self.0.pop();
        }
        let mut content = Content { indent, marked: false };
        while self.is_near(content.indent)
            && self.0.len() < DEPTH
            && let Some(item) = line::list_item(text, content.indent)
        {
            self.0.push(item.column);
            content = Content { indent: item.content, marked: true };
        }
        content
    }

    /// Text at the first column ends all items.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The column at which the innermost content starts.
    pub(super) fn base(&self) -> usize {
        self.0.last().copied().unwrap_or(0)
    }

    /// Whether something this far in is not indented code.
    pub(super) fn is_near(&self, indent: Indent) -> bool {
        indent.columns <= self.base() + INDENT_LIMIT
    }
}
