//! Answers on their way out.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc;

/// What ends a connection in the middle of an answer.
#[derive(Debug, thiserror::Error)]
#[error("the answer was cut off")]
pub(crate) struct CutOff;

/// Chunks that are made while they are sent. A sender that goes away without [`Chunk::End`] cuts the answer off.
pub(crate) type Stream = mpsc::Receiver<Chunk>;

/// A piece of a streamed answer.
#[derive(Debug)]
pub(crate) enum Chunk {
    /// Some bytes.
    Bytes(Bytes),
    /// The answer is whole.
    End,
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Body {
    /// All of it.
    Whole(Bytes),
    /// What comes.
    Stream(Stream),
    /// So much of it, then the connection breaks.
    Cut(Bytes),
    /// All that is to be said has been handed over.
    Broken,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Reply {
    /// A status without a body.
    pub(crate) fn empty(status: StatusCode) -> Reply {
        Reply { status, headers: HeaderMap::new(), body: Body::Whole(Bytes::new()) }
    }

    /// 204.
    pub(crate) fn no_content() -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }

    /// A status with JSON.
    pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Reply {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Reply::text(status, "application/json; charset=utf-8", bytes)
    }

    /// 200 with JSON.
    pub(crate) fn ok(value: &impl Serialize) -> Reply {
        Reply::json(StatusCode::OK, value)
    }

    /// 201 with JSON that has a `url`, which is also where the new thing is.
    pub(crate) fn created(value: &serde_json::Value) -> Reply {
        let mut reply = Reply::json(StatusCode::CREATED, value);
        if let Some(url) = value["url"].as_str() {
            reply.set("location", url);
        }
        reply
    }

    /// A status with text of some type.
    pub(crate) fn text(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Reply {
        let mut reply = Reply { body: Body::Whole(bytes.into()), ..Reply::empty(status) };
        reply.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        reply
    }

    /// Sets a header; a value that no header can hold is left out.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            self.headers.insert(name, value);
        }
    }

    /// As the connection takes it.
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
            // Once more, so that what was handed over leaves before the connection breaks.
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
