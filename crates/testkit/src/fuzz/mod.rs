//! What must hold for any bytes.
//!
//! Each target takes any bytes and panics when a law breaks. `cargo fuzz` (`fuzz/`) and the runner that needs no other
//! toolchain (`bin/fuzz`) call the same targets and start from the same kept inputs (`fuzz/corpus`). Must never know who calls:
//! no files, no randomness, no clock.

mod cuts;
mod json_mix;
mod mark_mix;
mod message;
mod signals;
mod streams;
mod strip;

pub use mark_mix::TOKENS as MARK_TOKENS;

/// What can be fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Signals,
    /// The text without its marks.
    Strip,
    /// The decoders of what agents print.
    Streams,
}

impl Target {
    pub const ALL: [Target; 3] = [Target::Signals, Target::Strip, Target::Streams];

    /// The name of the target and of its folder of kept inputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Target::Signals => "signals",
            Target::Strip => "strip",
            Target::Streams => "streams",
        }
    }

    /// The target of that name.
    pub fn parse(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.as_str() == name)
    }

    /// Judges one input. See [`Target::message`] for what an input is.
    ///
    /// # Panics
    ///
    /// When a law breaks.
    pub fn run(self, data: &[u8]) {
        let message = self.message(data);
        match self {
            Target::Signals => signals::check(&message),
            Target::Strip => strip::check(&message),
            Target::Streams => streams::check(&message),
        }
    }

    /// The bytes that are judged. An input's first byte picks how they are made of the rest: even (`r`), they are the rest as
    /// it is; odd (`s`), each byte of the rest picks a token, so that random bytes give telling messages.
    pub fn message(self, data: &[u8]) -> Vec<u8> {
        let Some((mode, rest)) = data.split_first() else { return Vec::new() };
        match (mode % 2, self) {
            (0, _) => rest.to_vec(),
            (_, Target::Signals | Target::Strip) => mark_mix::message(rest),
            (_, Target::Streams) => json_mix::lines(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn the_first_byte_picks_how_the_rest_is_read() {
        assert_eq!(Target::Signals.message(b""), b"");
        assert_eq!(Target::Signals.message(b"r<pilot:skip/>"), b"<pilot:skip/>");
        assert_eq!(Target::Signals.message(b"s\0\x01"), b"\n\r\n");
        assert_eq!(Target::Streams.message(b"r{}\n"), b"{}\n");
    }

    #[test]
    fn every_run_of_one_token_keeps_the_laws() {
        for target in Target::ALL {
            for byte in 0..=255 {
                target.run(&[b's', byte]);
                target.run(&[b's', byte, b'~']);
            }
        }
    }
}
