//! The images that a ticket's text shows: where they are and what is said of them. Nothing is fetched here.

use crate::markdown::{self, MarkdownLine};
use crate::prompt::BODY_LIMIT;
use crate::text::{strip_hidden, truncate};

/// The most images of one text, and the longest address of one.
const MOST: usize = 10;
const LONGEST: usize = 2048;

/// How far the end of an image, or of a span of code, is looked for; and how many beginnings of one a text may have.
const REACH: usize = 4096;
const TRIES: usize = 2_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub url: String,
    /// What stands for it where it is not seen; may be empty.
    pub alt: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    /// The first of them, each once.
    pub found: Vec<Picture>,
    pub more: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl PictureKind {
    /// What a file is by its first bytes, of which twelve are enough; none when it is no image.
    pub fn of(start: &[u8]) -> Option<PictureKind> {
        match start {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(PictureKind::Png),
            [0xff, 0xd8, 0xff, ..] => Some(PictureKind::Jpeg),
            [b'G', b'I', b'F', b'8', ..] => Some(PictureKind::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(PictureKind::Webp),
            _ => None,
        }
    }

    pub fn extension(self) -> &'static str {
        match self {
            PictureKind::Png => "png",
            PictureKind::Jpeg => "jpg",
            PictureKind::Gif => "gif",
            PictureKind::Webp => "webp",
        }
    }
}

/// Lists the images of a text, as `![alt](address)` or `<img src="address">`. What a reader of the page does not see counts
/// for nothing, nor does code.
pub fn pictures(text: &str) -> Pictures {
    let text = strip_hidden(truncate(text, BODY_LIMIT));
    let (mut pictures, mut tries) = (Pictures::default(), TRIES);
    for line in markdown::lines(&text) {
        let line = match line {
            MarkdownLine::Heading { text, .. }
            | MarkdownLine::Checkbox { text }
            | MarkdownLine::Item { text, .. }
            | MarkdownLine::Text(text) => text,
            MarkdownLine::Blank | MarkdownLine::Open { .. } | MarkdownLine::Code(_) | MarkdownLine::Close => {
                continue;
            }
        };
        for picture in of_line(line, &mut tries) {
            let known = pictures.found.iter().any(|known| known.url == picture.url);
            match (known, pictures.found.len() < MOST) {
                (true, _) => {}
                (false, true) => pictures.found.push(picture),
                (false, false) => pictures.more += 1,
            }
        }
    }
    pictures
}

fn of_line(line: &str, tries: &mut usize) -> Vec<Picture> {
    let (mut found, mut rest) = (Vec::new(), line);
    while let Some(at) = rest.find(['\\', '`', '!', '<']).filter(|_| *tries > 0) {
        *tries -= 1;
        rest = &rest[at..];
        let near = truncate(rest, REACH);
        let (picture, behind) = match rest.as_bytes() {
            [b'`', ..] => (None, behind_code(near)),
            [b'!', b'[', ..] => marked(near),
            [b'<', ..] => tagged(near),
            // What a backslash stands before is itself.
            [b'\\', ..] => (None, near.chars().nth(1).map_or("", |next| &near[1 + next.len_utf8()..])),
            _ => (None, &near[1..]),
        };
        found.extend(picture.filter(|picture| is_address(&picture.url)));
        rest = &rest[near.len() - behind.len()..];
    }
    found
}

fn is_address(url: &str) -> bool {
    let known = ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && url.len() > scheme.len()
    });
    known && url.len() <= LONGEST && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// The text behind a span of code; one that is never closed is none.
fn behind_code(text: &str) -> &str {
    let inside = text.trim_start_matches('`');
    let marks = text.len() - inside.len();
    let mut rest = inside;
    while let Some(at) = rest.find('`') {
        let behind = rest[at..].trim_start_matches('`');
        if rest.len() - at - behind.len() == marks {
            return behind;
        }
        rest = behind;
    }
    inside
}

fn marked(text: &str) -> (Option<Picture>, &str) {
    let behind = &text[2..];
    let Some((alt, rest)) = until_bracket(behind) else { return (None, behind) };
    let Some(rest) = rest.strip_prefix('(') else { return (None, behind) };
    let rest = rest.trim_start();
    let (url, rest) = match rest.strip_prefix('<') {
        Some(inside) => match inside.split_once('>') {
            Some(parts) => parts,
            None => return (None, behind),
        },
        None => {
            let end = destination(rest);
            (&rest[..end], &rest[end..])
        }
    };
    if !rest.contains(')') {
        return (None, behind);
    }
    (Some(Picture { url: url.to_owned(), alt: alt.trim().to_owned() }), rest)
}

/// What stands before the bracket that closes, and behind it.
fn until_bracket(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut escaped) = (0u32, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => depth += 1,
            ']' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where an address ends: at a space, or at the bracket that closes what is around it.
fn destination(text: &str) -> usize {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ if c.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

fn tagged(text: &str) -> (Option<Picture>, &str) {
    let is_one = text.get(1..4).is_some_and(|name| name.eq_ignore_ascii_case("img"));
    let behind = &text[1..];
    let Some(mut rest) = text.get(4..).filter(|rest| is_one && rest.starts_with([' ', '\t', '/'])) else {
        return (None, behind);
    };
    let (mut url, mut alt) = (None, String::new());
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if let Some(end) = rest.strip_prefix('>') {
            return (url.map(|url| Picture { url, alt }), end);
        }
        let Some((name, value, next)) = attribute(rest) else { return (None, behind) };
        match name.to_ascii_lowercase().as_str() {
            "src" if url.is_none() => url = Some(value.replace("&amp;", "&")),
            "alt" => alt = value.trim().to_owned(),
            _ => {}
        }
        rest = next;
    }
}

/// The next attribute of a tag: its name, its value, what is behind it; none when the tag is never closed.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.find(|c: char| c.is_whitespace() || "=>/".contains(c))?;
    let (name, rest) = text.split_at(end.max(text.chars().next()?.len_utf8().min(text.len())));
    let Some(value) = rest.trim_start().strip_prefix('=') else { return Some((name, "", rest)) };
    let value = value.trim_start();
    match value.chars().next()? {
        quote @ ('"' | '\'') => {
            let (value, rest) = value[1..].split_once(quote)?;
            Some((name, value, rest))
        }
        _ => {
            let end = value.find(|c: char| c.is_whitespace() || c == '>')?;
            Some((name, &value[..end], &value[end..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, MOST, PictureKind, pictures};

    fn urls(text: &str) -> Vec<String> {
        pictures(text).found.into_iter().map(|picture| picture.url).collect()
    }

    #[test]
    fn images_are_read_as_people_write_them() {
        for (text, url, alt) in [
            ("![a shot](https://h/a.png)", "https://h/a.png", "a shot"),
            ("- [ ] see ![](http://h/a) there", "http://h/a", ""),
            ("![a [b] c](https://h/a.png \"title\")", "https://h/a.png", "a [b] c"),
            ("![a](<https://h/a.png>)", "https://h/a.png", "a"),
            ("![a](https://h/a_(1).png)", "https://h/a_(1).png", "a"),
            ("[![a](https://h/a.png)](https://h/page)", "https://h/a.png", "a"),
            ("# T ![a](HTTPS://h/a.png)", "HTTPS://h/a.png", "a"),
            (
                "<img width=\"1024\" alt=\"Image\" src=\"https://h/a?x=1&amp;y=2\" />",
                "https://h/a?x=1&y=2",
                "Image",
            ),
            ("<p><IMG src='https://h/a.png'></p>", "https://h/a.png", ""),
            ("<img src=https://h/a.png alt=b>", "https://h/a.png", "b"),
            ("\\`![a](https://h/a.png)\\`", "https://h/a.png", "a"),
            ("`` ` `` ![a](https://h/a.png)", "https://h/a.png", "a"),
        ] {
            let read = pictures(text).found;
            let read: Vec<_> = read.iter().map(|found| (found.url.as_str(), found.alt.as_str())).collect();
            assert_eq!(read, [(url, alt)], "{text:?}");
        }
    }

    #[test]
    fn what_shows_no_image_is_none() {
        let long = format!("![a](https://{})", "h".repeat(LONGEST));
        for text in [
            "",
            "![a]",
            "![a](",
            "![a](https://h/a.png",
            "![a] (https://h/a.png)",
            "\\![a](https://h/a.png)",
            "[a](https://h/a.png)",
            "https://h/a.png",
            "![a](file:///etc/passwd)",
            "![a](/etc/passwd)",
            "![a](../a.png)",
            "![a](//h/a.png)",
            "![a](data:image/png;base64,AAAA)",
            "![a](javascript:x)",
            "![a](https://)",
            "<img>",
            "<img src>",
            "<img src=\"https://h/a.png\"",
            "<image src=\"https://h/a.png\">",
            "<imgx src=\"https://h/a.png\">",
            "<img src=\"https://h/a b.png\">",
            "<img = = =>",
            "<img é",
            "<é",
            "`![a](https://h/a.png)`",
            "`` ![a](https://h/a.png) ` ``",
            "```\n![a](https://h/a.png)\n```",
            "~~~\n<img src=\"https://h/a.png\">",
            "<!-- ![a](https://h/a.png) -->",
            &long,
        ] {
            assert_eq!(urls(text), Vec::<String>::new(), "{text:?}");
        }
    }

    #[test]
    fn each_is_listed_once_and_not_without_end() {
        assert_eq!(
            urls(&"![a](https://h/a.png) ![b](https://h/b.png)\n".repeat(9)),
            ["https://h/a.png", "https://h/b.png"]
        );
        let many: String = (0..100).map(|number| format!("![](https://h/{number})\n")).collect();
        let read = pictures(&many);
        assert_eq!((read.found.len(), read.more), (MOST, 90));
        for hostile in
            ["![".repeat(50_000), "<img ".repeat(20_000), "`".repeat(100_000), "![a](".repeat(20_000)]
        {
            assert!(urls(&hostile).is_empty());
        }
    }

    #[test]
    fn images_are_told_by_their_bytes() {
        for (bytes, ending) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], Some("png")),
            (b"\xff\xd8\xff\xe0", Some("jpg")),
            (b"GIF89a", Some("gif")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("webp")),
            (b"RIFF\x01\x02\x03\x04WAVE", None),
            (b"\x89PNG", None),
            (b"<svg xmlns", None),
            (b"<!doctype html>", None),
            (b"", None),
        ] {
            assert_eq!(PictureKind::of(bytes).map(PictureKind::extension), ending, "{bytes:?}");
        }
    }
}
