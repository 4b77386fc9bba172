//! Markers in Markdown: an HTML comment, which GitHub's pages do not show.

use pilot_core::port::Marker;

pub(super) fn write_marked(text: &str, marker: Option<&Marker>) -> String {
    match marker {
        Some(marker) => format!("{}\n\n<!-- {marker} -->\n", text.trim_end()),
        None => text.to_owned(),
    }
}

pub(super) fn read_marker(text: &str) -> Option<Marker> {
    text.split("<!--").skip(1).find_map(|rest| Marker::parse(rest.split_once("-->")?.0))
}

#[cfg(test)]
mod tests {
    use pilot_core::id::TaskKey;
    use pilot_core::port::Marker;

    use super::{read_marker, write_marked};

    #[test]
    fn a_marker_is_hidden_and_found_again() {
        let marker = Marker::Status(TaskKey::numbered("GH", 12));
        let text = write_marked("Working on it.\n", Some(&marker));
        assert_eq!(text, "Working on it.\n\n<!-- pilot-status GH-12 -->\n");
        assert_eq!(read_marker(&text), Some(marker.clone()));
        assert_eq!(read_marker(&format!("<!-- hello --> {text}")), Some(marker));
        assert_eq!(write_marked("plain", None), "plain");
        for text in ["", "plain", "<!-- pilot-status GH-12", "<!-- pilot-status twelve -->"] {
            assert_eq!(read_marker(text), None, "{text:?}");
        }
    }
}
