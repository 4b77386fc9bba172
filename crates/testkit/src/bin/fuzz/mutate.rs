//! New inputs: random token mixes, and kept inputs with a few things changed.

use pilot_testkit::fuzz::MARK_TOKENS;

use pilot_testkit::random::Random;

/// The longest input made from nothing: so many tokens, or bytes.
const LONGEST: usize = 60;

pub(crate) fn input(kept: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if kept.is_empty() || random.below(2) == 0 {
        return token_mix(random);
    }
    let mut input = kept[random.below(kept.len())].clone();
    for _ in 0..=random.below(4) {
        mutate(&mut input, kept, random);
    }
    input
}

/// Mostly short: few tokens that meet say more about a law than many.
fn token_mix(random: &mut Random) -> Vec<u8> {
    let most = 1 + random.below(LONGEST);
    let count = random.below(most);
    let mut input = vec![if random.below(16) == 0 { b'r' } else { b's' }];
    input.extend(random.bytes(count));
    input
}

/// Changes one thing behind the first byte, which says how to read the rest.
fn mutate(input: &mut Vec<u8>, kept: &[Vec<u8>], random: &mut Random) {
    if input.is_empty() {
        input.push(b'r');
    }
    let at = 1 + random.below(input.len());
    let at = at.min(input.len());
    let end = at + random.below(input.len() - at + 1).min(20);
    match random.below(7) {
        0 => flip(input, at, random),
        1 => insert(input, at, MARK_TOKENS[random.below(MARK_TOKENS.len())]),
        2 => drop(input.drain(at..end)),
        3 => {
            let part = input[at..end].to_vec();
            let to = 1 + random.below(input.len());
            insert(input, to.min(input.len()), &part);
        }
        4 => {
            let other = &kept[random.below(kept.len())];
            let from = random.below(other.len());
            insert(input, at, &other[from.max(1).min(other.len())..]);
        }
        5 => input.truncate(at),
        _ => {
            let byte = [random.byte()];
            insert(input, at, &byte);
        }
    }
}

fn flip(input: &mut [u8], at: usize, random: &mut Random) {
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    input.splice(at..at, part.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::{Random, input};

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let kept = [b"r<pilot:skip/>".to_vec(), b"s\x01\x02".to_vec(), Vec::new(), b"r".to_vec()];
        let inputs = |seed| {
            let mut random = Random::new(seed);
            (0..2000).map(|_| input(&kept, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }
}
