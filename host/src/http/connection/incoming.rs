//! What a connection receives: hyper reads it, and a request that waits for long looks whether the other end has closed
//! its side. hyper itself does not look while a request is handled, since a client may close its side once it has sent its
//! request.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(in crate::http) struct Incoming(Arc<Mutex<OwnedReadHalf>>);

impl From<OwnedReadHalf> for Incoming {
    fn from(half: OwnedReadHalf) -> Self {
        Self(Arc::new(Mutex::new(half)))
    }
}

impl Incoming {
    /// Waits until the other end has closed its side. Never ready when it has sent more, such as its next request.
    pub(in crate::http) async fn closed(self) {
        poll_fn(|context| {
            let mut byte = [0];
            let mut next = ReadBuf::new(&mut byte);
            match self.0.lock().poll_peek(context, &mut next) {
                Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(()),
                Poll::Ready(Ok(_)) | Poll::Pending => Poll::Pending,
            }
        })
        .await;
    }
}

impl AsyncRead for Incoming {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_read(context, buffer)
    }
}
