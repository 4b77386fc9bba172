//! Replies that can be requested again by their ETag: an unchanged one costs a 304 and none of the rate limit.

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::Method;

/// What a cached reply belongs to. Two GraphQL reads differ in their body alone, two users in their identity alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) body: [u8; 32],
    pub(super) identity: [u8; 32],
}

/// A reply whose body was parsed.
#[derive(Clone, Debug)]
pub(super) struct CachedReply {
    pub(super) etag: String,
    pub(super) body: Arc<[u8]>,
    /// The `Link` header; a 304 does not always repeat it.
    pub(super) link: Option<String>,
    /// The header with the token of the next page, likewise.
    pub(super) page_token: Option<String>,
}

/// The last replies; the least recently used one is evicted first.
#[derive(Debug)]
pub(super) struct EtagCache {
    entries: HashMap<CacheKey, (CachedReply, u64)>,
    capacity: usize,
    used: usize,
    clock: u64,
}

impl EtagCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: HashMap::new(), capacity, used: 0, clock: 0 }
    }

    pub(super) fn get(&mut self, key: &CacheKey) -> Option<CachedReply> {
        self.clock += 1;
        let (reply, used_at) = self.entries.get_mut(key)?;
        *used_at = self.clock;
        Some(reply.clone())
    }

    /// Stores a reply, unless it takes more than a quarter of the capacity: it would evict most of the others.
    pub(super) fn put(&mut self, key: CacheKey, reply: CachedReply) {
        self.remove(&key);
        let size = size(&key, &reply);
        if size > self.capacity / 4 {
            return;
        }
        while self.used + size > self.capacity {
            let Some((oldest, _)) = self.entries.iter().min_by_key(|(_, (_, used_at))| *used_at) else {
                break;
            };
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
        self.clock += 1;
        self.used += size;
        self.entries.insert(key, (reply, self.clock));
    }

    pub(super) fn remove(&mut self, key: &CacheKey) {
        if let Some((reply, _)) = self.entries.remove(key) {
            self.used -= size(key, &reply);
        }
    }
}

/// An entry's share of the capacity, with an estimate of the map's own overhead and the two digests.
fn size(key: &CacheKey, reply: &CachedReply) -> usize {
    let headers = [&reply.link, &reply.page_token].into_iter().flatten().map(String::len).sum::<usize>();
    128 + key.url.len() + reply.etag.len() + reply.body.len() + headers
}

#[cfg(test)]
mod tests {
    use reqwest::Method;

    use super::{CacheKey, CachedReply, EtagCache};

    fn reply(length: usize) -> CachedReply {
        CachedReply { etag: "\"1\"".to_owned(), body: vec![0; length].into(), link: None, page_token: None }
    }

    fn key(url: &str) -> CacheKey {
        CacheKey { method: Method::GET, url: url.to_owned(), body: [0; 32], identity: [0; 32] }
    }

    #[test]
    fn the_least_recently_used_reply_is_evicted() {
        let mut cache = EtagCache::new(1000);
        for name in ["a", "b", "c", "d"] {
            cache.put(key(name), reply(100));
        }
        assert!(cache.get(&key("a")).is_some());
        cache.put(key("e"), reply(100));
        let left: Vec<&str> =
            ["a", "b", "c", "d", "e"].into_iter().filter(|name| cache.get(&key(name)).is_some()).collect();
        assert_eq!(left, ["a", "c", "d", "e"]);
        cache.put(key("large"), reply(300));
        assert!(
            cache.get(&key("large")).is_none() && cache.get(&key("a")).is_some(),
            "too large, and nothing was evicted"
        );
    }

    #[test]
    fn the_capacity_is_never_exceeded() {
        let mut cache = EtagCache::new(10_000);
        for number in 0..5000_usize {
            cache.put(key(&format!("/{}", number % 700)), reply(number % 2600));
            assert!(cache.used <= 10_000);
        }
        let used: usize = cache.entries.iter().map(|(key, (reply, _))| super::size(key, reply)).sum();
        assert_eq!(used, cache.used);
        cache.put(key("/1"), reply(9999));
        assert!(cache.get(&key("/1")).is_none(), "an old reply does not outlive a new one that is too large");
    }

    #[test]
    fn method_address_body_and_identity_are_all_part_of_the_key() {
        let mut cache = EtagCache::new(10_000);
        cache.put(key("/graphql"), reply(1));
        for other in [
            CacheKey { method: Method::POST, ..key("/graphql") },
            CacheKey { body: [1; 32], ..key("/graphql") },
            CacheKey { identity: [1; 32], ..key("/graphql") },
            key("/graphql?x"),
        ] {
            assert!(cache.get(&other).is_none(), "{other:?}");
        }
        assert!(cache.get(&key("/graphql")).is_some());
    }
}
