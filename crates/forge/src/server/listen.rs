//! Connections: accepted up to a number, read with a deadline, ended with the forge.

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
use crate::site::Site;

/// Connections at once; the next one waits.
const MOST: usize = 512;

/// A client that takes longer to say what it wants is not served.
const HEADERS: Duration = Duration::from_secs(30);

/// Bytes of headers, and how many there may be.
const HEADER_BYTES: usize = 64 * 1024;
const HEADER_COUNT: usize = 100;

/// How long requests under way may take when the forge stops.
const GRACE: Duration = Duration::from_secs(5);

/// Serves until `stop` says so, and then until the requests under way are answered.
pub(crate) async fn serve(listener: TcpListener, site: Arc<Site>, mut stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(MOST));
    let mut connections = JoinSet::new();
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            _ = stop.wait_for(|stopped| *stopped) => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stopped| *stopped) => break,
        };
        while connections.try_join_next().is_some() {}
        // What fails here is one connection, or a lack of descriptors that ends when others do.
        if let (Ok((stream, _)), Ok(place)) = (accepted, place) {
            connections.spawn(converse(stream, Arc::clone(&site), stop.clone(), Arc::new(place)));
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

async fn converse(
    stream: TcpStream,
    site: Arc<Site>,
    mut stop: watch::Receiver<bool>,
    place: Arc<OwnedSemaphorePermit>,
) {
    // Small answers must not wait for the acknowledgement of the last one.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        see_through(Arc::clone(&site), request, Arc::clone(&place))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_headers(HEADER_COUNT)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // A client that leaves or sends no HTTP has nobody to tell.
        _ = poll_fn(|context| std::pin::Pin::new(&mut connection).poll(context)) => return,
        _ = stop.wait_for(|stopped| *stopped) => std::pin::Pin::new(&mut connection).graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Answers a request by a task of its own, which takes its place until it is done: a client that leaves in the middle of
/// it ends no git that holds a lock.
async fn see_through(
    site: Arc<Site>,
    request: Request<Incoming>,
    place: Arc<OwnedSemaphorePermit>,
) -> Result<Response<Body>, CutOff> {
    let (tell, told) = oneshot::channel();
    let handled = handle(Arc::clone(&site), request);
    site.tasks.spawn(async move {
        // Nobody may be there to be told.
        let _ = tell.send(handled.await);
        drop(place);
    });
    told.await.unwrap_or(Err(CutOff))
}
