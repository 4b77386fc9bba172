//! FNV-1a, 64 bits: the same digest in every run and on every machine. Not a cryptographic digest.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Fnv {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// A number, or its absence, which is another thing than zero.
    pub(crate) fn number(self, number: Option<u64>) -> Fnv {
        match number {
            Some(number) => self.bytes(&[1]).bytes(&number.to_le_bytes()),
            None => self.bytes(&[0]),
        }
    }

    /// A text with its length, so that two texts cannot run into one another.
    pub(crate) fn text(self, text: &str) -> Fnv {
        self.number(u64::try_from(text.len()).ok()).bytes(text.as_bytes())
    }

    pub(crate) fn digest(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Fnv;

    #[test]
    fn the_published_vectors_hold() {
        for (text, digest) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8_u64)]
        {
            assert_eq!(Fnv::new().bytes(text.as_bytes()).digest(), digest, "{text:?}");
        }
    }

    #[test]
    fn absent_is_not_zero_and_texts_do_not_run_together() {
        let digest = |first: &str, second: &str| Fnv::new().text(first).text(second).digest();
        assert_ne!(digest("ab", "c"), digest("a", "bc"));
        assert_ne!(Fnv::new().number(None).digest(), Fnv::new().number(Some(0)).digest());
    }
}
