//! Connections: limited in number, with timeouts, closed when the forge stops.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use super::handle::handle;
use super::reply::{Body, CutOff};
use crate::context::Context;

/// Connections at once; further ones wait.
const MOST: usize = 512;

/// Timeout for the request headers.
const HEADERS: Duration = Duration::from_secs(30);

/// Limits for the size and number of headers.
const HEADER_BYTES: usize = 64 * 1024;
const HEADER_COUNT: usize = 100;

/// How long requests in progress may take when the forge stops.
const GRACE: Duration = Duration::from_secs(5);

/// Serves until `stop` is set, then finishes the requests in progress.
pub(crate) async fn serve(listener: TcpListener, ctx: Arc<Context>, mut stop: watch::Receiver<bool>) {
    let permits = Arc::new(Semaphore::new(MOST));
    let mut connections = JoinSet::new();
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&permits).acquire_owned() => permit,
            _ = stop.wait_for(|stopped| *stopped) => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stopped| *stopped) => break,
        };
        while connections.try_join_next().is_some() {}
        // Either this connection failed, or file descriptors ran out until other connections end.
        if let (Ok((stream, _)), Ok(permit)) = (accepted, permit) {
            connections.spawn(serve_connection(stream, Arc::clone(&ctx), stop.clone(), Arc::new(permit)));
        } else {
            tokio::task::yield_now().await;
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, all).await.is_err() {
        connections.shutdown().await;
    }
}

async fn serve_connection(
    stream: TcpStream,
    ctx: Arc<Context>,
    mut stop: watch::Receiver<bool>,
    permit: Arc<OwnedSemaphorePermit>,
) {
    // Without this, small replies wait for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        run_to_completion(Arc::clone(&ctx), request, Arc::clone(&permit))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_headers(HEADER_COUNT)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // An error means that the client disconnected or sent invalid HTTP.
        _ = poll_fn(|context| std::pin::Pin::new(&mut connection).poll(context)) => return,
        _ = stop.wait_for(|stopped| *stopped) => std::pin::Pin::new(&mut connection).graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Handles a request in a task of its own, which holds a connection permit until it is done: a client that disconnects must
/// not kill a git process that holds a lock.
async fn run_to_completion(
    ctx: Arc<Context>,
    request: Request<Incoming>,
    permit: Arc<OwnedSemaphorePermit>,
) -> Result<Response<Body>, CutOff> {
    let (tell, told) = oneshot::channel();
    let handled = handle(Arc::clone(&ctx), request);
    ctx.tasks.spawn(async move {
        // The client may have disconnected.
        let _ = tell.send(handled.await);
        drop(permit);
    });
    told.await.unwrap_or(Err(CutOff))
}
