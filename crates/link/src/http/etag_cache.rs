//! Answers that may be asked for again by their ETag: an unchanged one costs a 304 and no budget.

use std::collections::HashMap;
use std::sync::Arc;

/// An answer that was understood.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) etag: String,
    pub(super) body: Arc<[u8]>,
    /// The `Link` header; a 304 does not always repeat it.
    pub(super) link: Option<String>,
}

/// The last answers, by address; the one unused for longest goes first when there is no room.
#[derive(Debug)]
pub(super) struct EtagCache {
    kept: HashMap<String, (Kept, u64)>,
    room: usize,
    used: usize,
    clock: u64,
}

impl EtagCache {
    /// Keeps up to so many bytes.
    pub(super) fn new(room: usize) -> Self {
        Self { kept: HashMap::new(), room, used: 0, clock: 0 }
    }

    pub(super) fn get(&mut self, address: &str) -> Option<Kept> {
        self.clock += 1;
        let (kept, used) = self.kept.get_mut(address)?;
        *used = self.clock;
        Some(kept.clone())
    }

    /// Keeps an answer; one that takes more than a quarter of the room would push out all the others, so it is not kept.
    pub(super) fn put(&mut self, address: &str, kept: Kept) {
        self.forget(address);
        let size = size(address, &kept);
        if size > self.room / 4 {
            return;
        }
        while self.used + size > self.room {
            let Some(oldest) = self.kept.iter().min_by_key(|(_, (_, used))| *used) else { break };
            let oldest = oldest.0.clone();
            self.forget(&oldest);
        }
        self.clock += 1;
        self.used += size;
        self.kept.insert(address.to_owned(), (kept, self.clock));
    }

    pub(super) fn forget(&mut self, address: &str) {
        if let Some((kept, _)) = self.kept.remove(address) {
            self.used -= size(address, &kept);
        }
    }
}

/// An entry's share of the room, with a guess at what the map itself takes.
fn size(address: &str, kept: &Kept) -> usize {
    128 + address.len() + kept.etag.len() + kept.body.len() + kept.link.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::{EtagCache, Kept};

    fn answer(length: usize) -> Kept {
        Kept { etag: "\"1\"".to_owned(), body: vec![0; length].into(), link: None }
    }

    #[test]
    fn the_one_unused_for_longest_goes_first() {
        let mut cache = EtagCache::new(1000);
        for name in ["a", "b", "c", "d"] {
            cache.put(name, answer(100));
        }
        assert!(cache.get("a").is_some());
        cache.put("e", answer(100));
        let left: Vec<&str> =
            ["a", "b", "c", "d", "e"].into_iter().filter(|name| cache.get(name).is_some()).collect();
        assert_eq!(left, ["a", "c", "d", "e"]);
        cache.put("large", answer(300));
        assert!(
            cache.get("large").is_none() && cache.get("a").is_some(),
            "too large, and nobody was pushed out"
        );
    }

    #[test]
    fn the_room_is_kept_whatever_comes() {
        let mut cache = EtagCache::new(10_000);
        for number in 0..5000_usize {
            cache.put(&format!("/{}", number % 700), answer(number % 2600));
            assert!(cache.used <= 10_000);
        }
        let used: usize = cache.kept.iter().map(|(address, (kept, _))| super::size(address, kept)).sum();
        assert_eq!(used, cache.used);
        cache.put("/1", answer(9999));
        assert!(cache.get("/1").is_none(), "an old answer does not outlive a new one that is too large");
    }
}
