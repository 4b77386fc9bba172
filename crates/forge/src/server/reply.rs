//! Replies.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc;

/// Closes the connection in the middle of a reply.
#[derive(Debug, thiserror::Error)]
#[error("the answer was cut off")]
pub(crate) struct CutOff;

/// Chunks of a streamed reply. If the sender is dropped without [`Chunk::End`], the reply is cut off.
pub(crate) type Stream = mpsc::Receiver<Chunk>;

#[derive(Debug)]
pub(crate) enum Chunk {
    Bytes(Bytes),
    /// The reply is complete.
    End,
}

#[derive(Debug)]
pub(crate) enum Body {
    Whole(Bytes),
    Stream(Stream),
    /// Sends these bytes, then closes the connection.
    Cut(Bytes),
    /// The bytes of `Cut` were handed over.
    Broken,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Reply {
    pub(crate) fn empty(status: StatusCode) -> Reply {
        Reply { status, headers: HeaderMap::new(), body: Body::Whole(Bytes::new()) }
    }

    pub(crate) fn no_content() -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }

    pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Reply {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Reply::text(status, "application/json; charset=utf-8", bytes)
    }

    pub(crate) fn ok(value: &impl Serialize) -> Reply {
        Reply::json(StatusCode::OK, value)
    }

    /// 201 with JSON; its `url` becomes the `Location` header.
    pub(crate) fn created(value: &serde_json::Value) -> Reply {
        let mut reply = Reply::json(StatusCode::CREATED, value);
        if let Some(url) = value["url"].as_str() {
            reply.set("location", url);
        }
        reply
    }

    pub(crate) fn text(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Reply {
        let mut reply = Reply { body: Body::Whole(bytes.into()), ..Reply::empty(status) };
        reply.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        reply
    }

    /// Sets a header; an invalid value is ignored.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            self.headers.insert(name, value);
        }
    }

    pub(crate) fn into_http(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        match &mut *self {
            Body::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Body::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            // Polls once more, so that the bytes are sent before the connection closes.
            Body::Cut(bytes) if bytes.is_empty() => {
                *self = Body::Broken;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Body::Broken => Poll::Ready(Some(Err(CutOff))),
            Body::Cut(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Body::Stream(chunks) => match chunks.poll_recv(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Some(Chunk::Bytes(bytes))) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Poll::Ready(Some(Chunk::End)) => Poll::Ready(None),
                Poll::Ready(None) => Poll::Ready(Some(Err(CutOff))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(bytes) => bytes.is_empty(),
            Body::Cut(_) | Body::Broken | Body::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Body::Cut(_) | Body::Broken | Body::Stream(_) => SizeHint::default(),
        }
    }
}
