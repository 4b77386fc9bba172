//! Numbers that look random and are the same for the same seed.

/// SplitMix64: one state, no dependency, good enough to pick inputs.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    #[expect(clippy::should_implement_trait, reason = "there is no end to it")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.saturating_sub(low) + 1)
    }

    /// Whether something of this chance, in percent, happens.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }

    /// Whether something of this chance, in a thousand, happens.
    pub fn permille(&mut self, chance: u64) -> bool {
        self.next() % 1000 < chance
    }

    pub fn pick<'s, T>(&mut self, several: &'s [T]) -> Option<&'s T> {
        several.get(self.below(several.len()))
    }
}
