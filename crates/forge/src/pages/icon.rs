//! Small pictures, drawn with lines of the colour of their text.

use super::html::Html;

/// The sign of the forge: an anvil.
pub(super) fn forge(html: &mut Html) {
    html.put("<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M2 6h6v5C5 11 2 9 2 6zm7 0h13c0 3-3 4-6 4v3c0 1 1 2 3 2v3H8v-3c2 0 3-1 3-2V6z\"/></svg>", &[]);
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
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

impl Sign {
    /// How a check stands, by its status and conclusion.
    pub(super) fn of_check(status: &str, conclusion: &str) -> Sign {
        match (status, conclusion) {
            ("completed", "success") => Sign::Good,
            ("completed", "neutral" | "skipped" | "cancelled" | "stale") => Sign::Neutral,
            ("completed", _) => Sign::Bad,
            _ => Sign::Waiting,
        }
    }

    /// How an issue or a pull request stands, by its state.
    pub(super) fn of_state(pull: bool, open: bool, merged: bool, draft: bool) -> Sign {
        match (pull, open, merged, draft) {
            (false, true, _, _) => Sign::Open,
            (false, false, _, _) => Sign::Done,
            (true, _, true, _) => Sign::Merged,
            (true, false, false, _) => Sign::Dropped,
            (true, true, false, true) => Sign::Draft,
            (true, true, false, false) => Sign::Pull,
        }
    }

    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Sign::Open | Sign::Pull => "Open",
            Sign::Done | Sign::Dropped => "Closed",
            Sign::Draft => "Draft",
            Sign::Merged => "Merged",
            Sign::Good => "Passed",
            Sign::Bad => "Failed",
            Sign::Waiting => "Running",
            Sign::Neutral => "Skipped",
        }
    }

    /// The class of its colour.
    pub(super) fn class(self) -> &'static str {
        match self {
            Sign::Open | Sign::Pull | Sign::Good => "good",
            Sign::Done | Sign::Merged => "done",
            Sign::Dropped | Sign::Bad => "bad",
            Sign::Waiting => "wait",
            Sign::Draft | Sign::Neutral => "dim",
        }
    }

    /// The picture.
    pub(super) fn draw(self, html: &mut Html) {
        html.put(
            "<svg class=\"sign {}\" viewBox=\"0 0 16 16\" role=\"img\" aria-label=\"{}\">",
            &[&self.class(), &self.word()],
        );
        html.put(
            match self {
                Sign::Open => "<circle cx=\"8\" cy=\"8\" r=\"6\"/><circle cx=\"8\" cy=\"8\" r=\"1\"/>",
                Sign::Done => "<circle cx=\"8\" cy=\"8\" r=\"6\"/><path d=\"M5.5 8l2 2 3.5-3.5\"/>",
                Sign::Pull | Sign::Draft | Sign::Dropped => {
                    "<circle cx=\"4\" cy=\"3.5\" r=\"1.7\"/><circle cx=\"4\" cy=\"12.5\" r=\"1.7\"/><circle cx=\"12\" cy=\"12.5\" r=\"1.7\"/><path d=\"M4 5.2v5.6M12 10.8V6.5a3 3 0 0 0-3-3H8\"/>"
                }
                Sign::Merged => {
                    "<circle cx=\"4\" cy=\"3.5\" r=\"1.7\"/><circle cx=\"4\" cy=\"12.5\" r=\"1.7\"/><circle cx=\"12\" cy=\"8\" r=\"1.7\"/><path d=\"M4 5.2v5.6M4 5.5c0 2 2.500 2.500 6.300 2.500\"/>"
                }
                Sign::Good => "<path d=\"M3 8.500l3.500 3.500L13 4.500\"/>",
                Sign::Bad => "<path d=\"M4 4l8 8M12 4l-8 8\"/>",
                Sign::Waiting => "<circle cx=\"8\" cy=\"8\" r=\"3\" class=\"full\"/>",
                Sign::Neutral => "<circle cx=\"8\" cy=\"8\" r=\"6\"/><path d=\"M5 8h6\"/>",
            },
            &[],
        );
        html.put("</svg>", &[]);
    }
}
