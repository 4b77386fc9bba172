//! Pages of lists, with GitHub's `Link` header.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::call::Call;
use super::reply::Reply;

const DEFAULT: i64 = 30;
const MOST: i64 = 100;

/// Which part of a list is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    number: i64,
    size: i64,
    drift: i64,
}

impl Page {
    /// From `page` and `per_page`, with GitHub's bounds; nonsense is the default.
    pub(crate) fn of(call: &Call) -> Page {
        let number = |name| call.query.get(name).and_then(|text| text.parse::<i64>().ok());
        Page {
            number: number("page").unwrap_or(1).clamp(1, i64::from(i32::MAX)),
            size: number("per_page").filter(|size| *size > 0).unwrap_or(DEFAULT).min(MOST),
            drift: call.drift,
        }
    }

    /// How many rows to ask for: one more than shown tells whether there is a next page.
    pub(crate) fn limit(self) -> i64 {
        self.size + 1
    }

    /// How many rows come before.
    pub(crate) fn offset(self) -> i64 {
        let drift = if self.number > 1 { self.drift } else { 0 };
        (self.number - 1).saturating_mul(self.size).saturating_add(drift)
    }

    /// How many are shown.
    pub(crate) fn size(self) -> usize {
        usize::try_from(self.size).unwrap_or(0)
    }

    /// The part of a list that is in memory.
    pub(crate) fn cut<T>(self, items: Vec<T>) -> Vec<T> {
        let offset = usize::try_from(self.offset()).unwrap_or(usize::MAX);
        let limit = usize::try_from(self.limit()).unwrap_or(0);
        items.into_iter().skip(offset).take(limit).collect()
    }

    /// 200 with a list of which [`Page::limit`] rows at most were read. The number of all rows gives the last page; where
    /// nobody knows it there is no link to it, as with GitHub.
    pub(crate) fn reply(self, call: &Call, mut items: Vec<Value>, total: Option<i64>) -> Reply {
        let more = items.len() > self.size();
        items.truncate(self.size());
        let mut reply = Reply::json(StatusCode::OK, &items);
        self.link(call, &mut reply, more, total);
        reply
    }

    /// 200 with an object that holds one page of a list, under a name, beside the number of all rows.
    pub(crate) fn reply_within(self, call: &Call, name: &str, mut items: Vec<Value>, total: usize) -> Reply {
        let more = items.len() > self.size();
        items.truncate(self.size());
        let mut reply = Reply::ok(&json!({"total_count": total, name: items}));
        self.link(call, &mut reply, more, i64::try_from(total).ok());
        reply
    }

    /// An answer with links to the pages beside this one.
    pub(crate) fn linked(self, call: &Call, mut reply: Reply, more: bool, total: i64) -> Reply {
        self.link(call, &mut reply, more, Some(total));
        reply
    }

    fn link(self, call: &Call, reply: &mut Reply, more: bool, total: Option<i64>) {
        let last = total.map(|total| (total.max(1) + self.size - 1) / self.size);
        let mut links = Vec::new();
        let mut link = |relation: &str, number: i64| {
            let mut query = call.query.without(&["page"]);
            if !query.is_empty() {
                query.push('&');
            }
            let url = format!("{}{}?{query}page={number}", call.site.url, call.path);
            links.push(format!("<{url}>; rel=\"{relation}\""));
        };
        if self.number > 1 {
            link("prev", self.number - 1);
        }
        if more {
            link("next", self.number + 1);
            if let Some(last) = last.filter(|last| *last > self.number) {
                link("last", last);
            }
        }
        if self.number > 1 {
            link("first", 1);
        }
        if !links.is_empty() {
            reply.set("link", &links.join(", "));
        }
    }
}
