//! Ways to cut a message into chunks, all of them made from the message itself.

/// Up to here a message is cut at every single place.
const EVERY_PLACE: usize = 40;
/// Up to here a message is also given byte by byte.
const EVERY_BYTE: usize = 1 << 14;
/// How often a longer message is cut in two.
const PLACES: usize = 4;

/// Every way in which the message is to be cut; none changes what it says.
pub(super) fn ways(message: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut dice = Dice::of(message);
    let mut ways: Vec<Vec<&[u8]>> =
        places(message, &mut dice).into_iter().map(|at| vec![&message[..at], &message[at..]]).collect();
    if message.len() <= EVERY_BYTE {
        ways.push(message.chunks(1).collect());
    }
    ways.push(pieces(message, 7, &mut dice));
    ways.push(pieces(message, 2 + message.len() / 3, &mut dice));
    ways
}

fn places(message: &[u8], dice: &mut Dice) -> Vec<usize> {
    if message.len() <= EVERY_PLACE {
        return (1..message.len()).collect();
    }
    (0..PLACES).map(|_| dice.below(message.len())).collect()
}

/// Pieces of up to `longest` bytes, empty ones too. A large message is not cut into more than some thousands.
fn pieces<'m>(mut message: &'m [u8], longest: usize, dice: &mut Dice) -> Vec<&'m [u8]> {
    let longest = longest.max(message.len() / 4096);
    let mut pieces = Vec::new();
    while !message.is_empty() {
        let (piece, rest) = message.split_at(dice.below(longest + 1).min(message.len()));
        pieces.push(piece);
        message = rest;
    }
    pieces
}

/// Numbers that follow from the message: FNV-1a for the start, then a linear congruence.
struct Dice(u64);

impl Dice {
    fn of(message: &[u8]) -> Dice {
        let hash = message.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Dice(hash)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::ways;

    #[test]
    fn every_way_gives_the_whole_message() {
        for length in [0, 1, 2, 39, 40, 41, 1000, 1 << 15] {
            let message: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            for way in ways(&message) {
                assert_eq!(way.concat(), message);
            }
        }
    }
}
