//! SVG icons in the color of the text.

use super::html::Html;

/// The logo: an anvil.
pub(super) fn logo(html: &mut Html) {
    html.put("<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M2 6h6v5C5 11 2 9 2 6zm7 0h13c0 3-3 4-6 4v3c0 1 1 2 3 2v3H8v-3c2 0 3-1 3-2V6z\"/></svg>", &[]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Icon {
    Open,
    Done,
    Pull,
    Draft,
    Merged,
    Dropped,
    Good,
    Bad,
    Waiting,
    Neutral,
}

impl Icon {
    pub(super) fn of_check(status: &str, conclusion: &str) -> Icon {
        match (status, conclusion) {
            ("completed", "success") => Icon::Good,
            ("completed", "neutral" | "skipped" | "cancelled" | "stale") => Icon::Neutral,
            ("completed", _) => Icon::Bad,
            _ => Icon::Waiting,
        }
    }

    pub(super) fn of_state(pull: bool, open: bool, merged: bool, draft: bool) -> Icon {
        match (pull, open, merged, draft) {
            (false, true, _, _) => Icon::Open,
            (false, false, _, _) => Icon::Done,
            (true, _, true, _) => Icon::Merged,
            (true, false, false, _) => Icon::Dropped,
            (true, true, false, true) => Icon::Draft,
            (true, true, false, false) => Icon::Pull,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Icon::Open | Icon::Pull => "Open",
            Icon::Done | Icon::Dropped => "Closed",
            Icon::Draft => "Draft",
            Icon::Merged => "Merged",
            Icon::Good => "Passed",
            Icon::Bad => "Failed",
            Icon::Waiting => "Running",
            Icon::Neutral => "Skipped",
        }
    }

    /// The CSS class of the color.
    pub(super) fn class(self) -> &'static str {
        match self {
            Icon::Open | Icon::Pull | Icon::Good => "good",
            Icon::Done | Icon::Merged => "done",
            Icon::Dropped | Icon::Bad => "bad",
            Icon::Waiting => "wait",
            Icon::Draft | Icon::Neutral => "dim",
        }
    }

    pub(super) fn draw(self, html: &mut Html) {
        html.put(
            "<svg class=\"sign {}\" viewBox=\"0 0 16 16\" role=\"img\" aria-label=\"{}\">",
            &[&self.class(), &self.word()],
        );
        html.put(
            match self {
                Icon::Open => "<circle cx=\"8\" cy=\"8\" r=\"6\"/><circle cx=\"8\" cy=\"8\" r=\"1\"/>",
                Icon::Done => "<circle cx=\"8\" cy=\"8\" r=\"6\"/><path d=\"M5.5 8l2 2 3.5-3.5\"/>",
                Icon::Pull | Icon::Draft | Icon::Dropped => {
                    "<circle cx=\"4\" cy=\"3.5\" r=\"1.7\"/><circle cx=\"4\" cy=\"12.5\" r=\"1.7\"/><circle cx=\"12\" cy=\"12.5\" r=\"1.7\"/><path d=\"M4 5.2v5.6M12 10.8V6.5a3 3 0 0 0-3-3H8\"/>"
                }
                Icon::Merged => {
                    "<circle cx=\"4\" cy=\"3.5\" r=\"1.7\"/><circle cx=\"4\" cy=\"12.5\" r=\"1.7\"/><circle cx=\"12\" cy=\"8\" r=\"1.7\"/><path d=\"M4 5.2v5.6M4 5.5c0 2 2.500 2.500 6.300 2.500\"/>"
                }
                Icon::Good => "<path d=\"M3 8.500l3.500 3.500L13 4.500\"/>",
                Icon::Bad => "<path d=\"M4 4l8 8M12 4l-8 8\"/>",
                Icon::Waiting => "<circle cx=\"8\" cy=\"8\" r=\"3\" class=\"full\"/>",
                Icon::Neutral => "<circle cx=\"8\" cy=\"8\" r=\"6\"/><path d=\"M5 8h6\"/>",
            },
            &[],
        );
        html.put("</svg>", &[]);
    }
}
