//! Amounts of bytes as people write them: `512MiB`, `4GiB`.

/// The units, largest first. `MB` is read as `MiB`: in a limit the difference does not matter.
const UNITS: [(&str, &str, u64); 4] =
    [("TiB", "TB", 1 << 40), ("GiB", "GB", 1 << 30), ("MiB", "MB", 1 << 20), ("KiB", "KB", 1 << 10)];

pub(super) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let count: u64 = number.parse().map_err(|_| wanted(text))?;
    if unit.is_empty() {
        return if count == 0 {
            Ok(0)
        } else {
            Err(format!("{count} has no unit; write for example {count}MiB"))
        };
    }
    let (_, _, bytes) = UNITS
        .iter()
        .find(|(name, short, _)| [*name, *short].iter().any(|known| known.eq_ignore_ascii_case(unit)))
        .ok_or_else(|| wanted(text))?;
    count.checked_mul(*bytes).ok_or_else(|| format!("{text:?} is more than can be counted"))
}

fn wanted(text: &str) -> String {
    format!("{text:?} is no amount of bytes; write a whole number and KiB, MiB, GiB or TiB, for example 4GiB")
}

/// Writes an amount so that [`parse`] reads it back.
pub(super) fn text(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, _, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match unit {
        Some((name, _, unit)) => format!("{}{name}", bytes / unit),
        None => format!("{bytes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, text};

    #[test]
    fn amounts_are_read_and_written() {
        for (written, bytes, again) in [
            ("0", 0, "0"),
            ("1KiB", 1 << 10, "1KiB"),
            ("64MB", 64 << 20, "64MiB"),
            (" 4 gib ", 4 << 30, "4GiB"),
            ("2048MiB", 2 << 30, "2GiB"),
        ] {
            assert_eq!(parse(written), Ok(bytes), "{written:?}");
            assert_eq!(text(bytes), again);
        }
    }

    #[test]
    fn mistakes_say_what_to_write_instead() {
        for (written, words) in [
            ("", "is no amount of bytes"),
            ("much", "is no amount of bytes"),
            ("-1GiB", "is no amount of bytes"),
            ("1.5GiB", "is no amount of bytes"),
            ("100", "100 has no unit; write for example 100MiB"),
            ("99999999999TiB", "is more than can be counted"),
            ("99999999999999999999999GiB", "is no amount of bytes"),
        ] {
            let error = parse(written).expect_err(written);
            assert!(error.contains(words), "{written:?}: {error}");
        }
    }
}
