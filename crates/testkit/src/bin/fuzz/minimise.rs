//! Makes an input that breaks a law small.

/// Tries at most, so that a slow law does not block the report.
const TRIES: usize = 20_000;

/// Takes out ever smaller parts as long as the input still breaks the law.
pub(crate) fn smallest(input: &[u8], breaks: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut input = input.to_vec();
    if !breaks(&input) {
        return input;
    }
    let (mut part, mut tries) = (input.len() / 2, 0);
    while part > 0 && tries < TRIES {
        let before = input.len();
        let mut at = 0;
        while at < input.len() && tries < TRIES {
            let mut shorter = input.clone();
            shorter.drain(at..(at + part).min(input.len()));
            tries += 1;
            if breaks(&shorter) {
                input = shorter;
            } else {
                at += part;
            }
        }
        if part > 1 || input.len() == before {
            part /= 2;
        }
    }
    input
}

#[cfg(test)]
mod tests {
    use super::smallest;

    #[test]
    fn only_what_breaks_the_law_is_left() {
        let breaks = |input: &[u8]| input.contains(&b'x') && input.ends_with(b"yz");
        assert_eq!(smallest(b"aaaaxaaaaaaxbbbbbbyz", breaks), b"xyz");
        assert_eq!(smallest(b"fine", breaks), b"fine");
    }
}
