//! Paging with GitHub's `Link` header.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::call::Call;
use super::reply::Reply;

const DEFAULT: i64 = 30;
const MOST: i64 = 100;

/// The requested page of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    number: i64,
    size: i64,
    drift: i64,
}

impl Page {
    /// Reads `page` and `per_page` with GitHub's bounds; invalid values mean the default.
    pub(crate) fn of(call: &Call) -> Page {
        let number = |name| call.query.get(name).and_then(|text| text.parse::<i64>().ok());
        Page {
            number: number("page").unwrap_or(1).clamp(1, i64::from(i32::MAX)),
            size: number("per_page").filter(|size| *size > 0).unwrap_or(DEFAULT).min(MOST),
            drift: call.drift,
        }
    }

    /// Rows to read: one more than the page size shows whether there is a next page.
    pub(crate) fn limit(self) -> i64 {
        self.size + 1
    }

    pub(crate) fn offset(self) -> i64 {
        let drift = if self.number > 1 { self.drift } else { 0 };
        (self.number - 1).saturating_mul(self.size).saturating_add(drift)
    }

    pub(crate) fn size(self) -> usize {
        usize::try_from(self.size).unwrap_or(0)
    }

    /// The page of a list in memory, with the extra item of [`Page::limit`].
    pub(crate) fn cut<T>(self, items: Vec<T>) -> Vec<T> {
        let offset = usize::try_from(self.offset()).unwrap_or(usize::MAX);
        let limit = usize::try_from(self.limit()).unwrap_or(0);
        items.into_iter().skip(offset).take(limit).collect()
    }

    /// Replies with rows read up to [`Page::limit`]. Without the total number of rows there is no link to the last page, as with
    /// GitHub.
    pub(crate) fn reply(self, call: &Call, mut items: Vec<Value>, total: Option<i64>) -> Reply {
        let more = items.len() > self.size();
        items.truncate(self.size());
        let mut reply = Reply::json(StatusCode::OK, &items);
        self.link(call, &mut reply, more, total);
        reply
    }

    /// Replies with the page of a complete list.
    pub(crate) fn reply_all<T>(self, call: &Call, rows: Vec<T>, shown: impl FnMut(T) -> Value) -> Reply {
        let total = i64::try_from(rows.len()).ok();
        self.reply(call, self.cut(rows).into_iter().map(shown).collect(), total)
    }

    /// Replies with an object of a page and `total_count`.
    pub(crate) fn reply_within(self, call: &Call, name: &str, mut items: Vec<Value>, total: usize) -> Reply {
        let more = items.len() > self.size();
        items.truncate(self.size());
        let mut reply = Reply::ok(&json!({"total_count": total, name: items}));
        self.link(call, &mut reply, more, i64::try_from(total).ok());
        reply
    }

    /// Adds the links to a reply.
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
            let url = format!("{}{}?{query}page={number}", call.ctx.url, call.path);
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
