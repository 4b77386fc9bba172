//! The laws of the text for people.

use pilot_core::signal::{Stripper, scan, strip};

use super::cuts;
use super::message::{cut, shown};

/// Panics when stripping this message breaks a law.
pub(super) fn check(message: &[u8]) {
    let whole = strip(message);
    let expected = without_marks(message);
    assert!(
        whole == expected,
        "stripped to {}\nexpected {}\n{}",
        shown(&whole),
        shown(&expected),
        shown(message)
    );
    let mut stripper = Stripper::default();
    for way in cuts::ways(message) {
        let mut out = Vec::new();
        way.iter().for_each(|chunk| stripper.push(chunk, &mut out));
        stripper.finish(&mut out);
        if out != whole {
            let sizes: Vec<usize> = way.iter().map(|chunk| chunk.len()).take(40).collect();
            panic!(
                "chunks of {sizes:?} bytes are stripped to {}\nwhole {}\n{}",
                shown(&out),
                shown(&whole),
                shown(message)
            );
        }
    }
}

/// The message without the marks that count. A line that held nothing else but blanks goes with its line ending; lines that
/// a mark joins are one line.
fn without_marks(message: &[u8]) -> Vec<u8> {
    let mut is_cut = vec![false; message.len()];
    for span in scan(message).iter().filter_map(cut) {
        is_cut[span.start as usize..span.end as usize].fill(true);
    }
    let bytes: Vec<(u8, bool)> = message.iter().copied().zip(is_cut).collect();
    let lines = bytes.split_inclusive(|(byte, is_cut)| *byte == b'\n' && !is_cut);
    lines
        .filter(|line| !held_only_marks(line))
        .flatten()
        .filter(|(_, is_cut)| !is_cut)
        .map(|(b, _)| *b)
        .collect()
}

fn held_only_marks(line: &[(u8, bool)]) -> bool {
    let rest: Vec<u8> = line.iter().filter(|(_, is_cut)| !is_cut).map(|(byte, _)| *byte).collect();
    rest.len() < line.len() && is_invisible(&rest)
}

/// Nothing but blanks and whole colour escapes.
fn is_invisible(mut rest: &[u8]) -> bool {
    while let Some((first, behind)) = rest.split_first() {
        rest = match (first, behind) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => behind,
            (0x1b, [b'[', parameters @ ..]) => {
                let length = parameters.iter().take_while(|byte| matches!(byte, b' '..=b'?')).count();
                match parameters.get(length) {
                    Some(b'@'..=b'~') => &parameters[length + 1..],
                    Some(_) | None => return false,
                }
            }
            (_, _) => return false,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::without_marks;

    #[test]
    fn a_line_of_marks_goes_and_its_neighbours_stay() {
        for (message, rest) in [
            ("a\n\n  <pilot:skip/> \r\n\nb", "a\n\n\nb"),
            ("a <pilot:skip/>\nb", "a \nb"),
            ("<pilot:skip>\n</pilot:skip>\n", ""),
            ("<pilot:skip>\n</pilot:skip> b\n", " b\n"),
            ("```\n<pilot:skip/>\n```\nb", "b"),
            ("> <pilot:skip/>\n", "> <pilot:skip/>\n"),
        ] {
            assert_eq!(without_marks(message.as_bytes()), rest.as_bytes(), "{message:?}");
        }
    }
}
