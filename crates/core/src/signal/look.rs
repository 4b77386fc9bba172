//! Looking through bytes. In tests every byte looked at is counted, so that "linear" is a number and not a stopwatch.

pub(super) fn memchr(needle: u8, text: &[u8]) -> Option<usize> {
    let found = memchr::memchr(needle, text);
    looked(found.map_or(text.len(), |at| at + 1));
    found
}

pub(super) fn memchr2(one: u8, other: u8, text: &[u8]) -> Option<usize> {
    let found = memchr::memchr2(one, other, text);
    looked(found.map_or(text.len(), |at| at + 1));
    found
}

pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let found = memchr::memmem::find(text, needle);
    looked(found.map_or(text.len(), |at| at + needle.len()));
    found
}

#[cfg(not(test))]
#[inline]
pub(super) fn looked(_bytes: usize) {}

/// So many bytes were looked at.
#[cfg(test)]
pub(super) fn looked(bytes: usize) {
    tests::LOOKED.with(|looked| looked.set(looked.get() + bytes as u64));
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::scanner::Scanner;
    use super::super::strip::Stripper;

    thread_local! {
        pub(super) static LOOKED: Cell<u64> = const { Cell::new(0) };
    }

    /// Pieces of text that, repeated, would make a scanner look again and again.
    const HOSTILE: &[&str] = &[
        "x",
        "\n",
        "`",
        "``a`",
        "`<pilot:skip/>`",
        "<",
        "<pilot:",
        "<pilot:foo>",
        "<pilot:reject>",
        "<pilot:reject>\n",
        "<pilot:reject><![CDATA[",
        "<pilot:skip/>",
        "<pilot:approve/>",
        "<pilot:skip>x</pilot:skip>",
        "<pilot:skip>x</pilot:skip ",
        "</pilot:skip",
        "<pilot:emit a=\"",
        "<pilot:emit a='<pilot:emit b=\" ",
        "<pilot:emit a=\"\n",
        "<pilot:skip \n",
        "<pilot:emit key=\"a\">b\n",
        "<pilot:update path=\"a\"><pilot:emit key=\"b\"><pilot:skip><pilot:reject><pilot:blocked>",
        "<!--",
        "<!-- a -->",
        "<!--\n<pilot:skip>\n",
        "<!-- nav-signal:v3:{",
        "nav-signal:v3:{\"a\":",
        "nav-signal:v3:{}\n",
        "```\n",
        "````pilot-signal\n",
        "```pilot-signal {} ```",
        "```pilot-signal\n{}\n```\n",
        "~~~\n<pilot:skip>\n",
        "> <pilot:skip>\n",
        "> ",
        "- ",
        "- a\n  ",
        "* * *\n",
        "NAVIGATOR_STATUS\n",
        "NAVIGATOR_STATUS\nPhase: A\n",
        "NAVIGATOR_STATUS\nx: y\n\n",
        "==========\n",
        "==========\nNAVIGATOR_STATUS\n",
        "EXIT_SIGNAL: true\n",
        "\x1b[",
        "\x1b[0m",
        "\x1b]0;",
        "]]>",
        "\0",
        "\r",
        "\t",
    ];

    fn looked_at(scan: impl FnOnce()) -> u64 {
        LOOKED.with(|looked| looked.set(0));
        scan();
        LOOKED.with(Cell::get)
    }

    fn scanned(message: &[u8], chunk: usize) -> u64 {
        looked_at(|| {
            let mut scanner = Scanner::new();
            message.chunks(chunk).for_each(|part| scanner.push(part));
            scanner.finish();
        })
    }

    #[test]
    fn twice_the_message_is_twice_the_work() {
        // Half of it is more than a segment of a line already, so that its border is crossed both times.
        const BYTES: usize = 700_000;
        for piece in HOSTILE {
            let message = piece.repeat(BYTES / piece.len() + 1).into_bytes();
            for chunk in [509, usize::MAX] {
                let half = scanned(&message[..message.len() / 2], chunk);
                let whole = scanned(&message, chunk);
                let per_byte = whole / message.len() as u64;
                assert!(per_byte <= 100, "{piece:?}: {per_byte} looks a byte in chunks of {chunk}");
                let limit = 2 * half + half / 2 + 100_000;
                assert!(
                    whole <= limit,
                    "{piece:?}: {whole} looks, {half} for half of it, in chunks of {chunk}"
                );
            }
        }
    }

    #[test]
    fn no_place_makes_it_slow() {
        let places = ["```\n", "```pilot-signal\n", "<!--\n", "<pilot:update path=\"a\">\n", "> ", "- a\n  "];
        for place in places.into_iter().chain(["NAVIGATOR_STATUS\nPhase: A\n", "`"]) {
            for piece in HOSTILE {
                let message = format!("{place}{}", piece.repeat(30_000 / piece.len() + 1)).into_bytes();
                let per_byte = scanned(&message, 509) / message.len() as u64;
                assert!(per_byte <= 100, "{piece:?} in {place:?}: {per_byte} looks a byte");
            }
        }
    }

    #[test]
    fn stripping_is_linear_too() {
        for piece in HOSTILE {
            let message = piece.repeat(100_000 / piece.len() + 1).into_bytes();
            let looked = looked_at(|| {
                let (mut stripper, mut out) = (Stripper::default(), Vec::new());
                message.chunks(4096).for_each(|part| stripper.push(part, &mut out));
                stripper.finish(&mut out);
            });
            assert!(looked / message.len() as u64 <= 100, "{piece:?}: {looked} looks");
        }
    }
}
