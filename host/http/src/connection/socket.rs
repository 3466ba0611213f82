//! The socket of a connection, with or without TLS. hyper reads and writes it, and a request that waits for long checks
//! whether the other end has closed its side. hyper itself does not check while a request is handled, since a client
//! may close its side once it has sent its request.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream of bytes in both directions.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Duplex for T {}

/// hyper's handle to a socket.
pub(super) struct Socket(Arc<Mutex<Shared>>);

/// A request's handle to the socket that it came by, for as long as that is open.
#[derive(Clone)]
pub(crate) struct Incoming(Weak<Mutex<Shared>>);

struct Shared {
    io: Box<dyn Duplex>,
    /// A byte that was read to check for the end, and that hyper has not read yet.
    early: Option<u8>,
}

impl Socket {
    pub(super) fn new(io: impl Duplex) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            io: Box::new(io),
            early: None,
        })))
    }

    pub(super) fn incoming(&self) -> Incoming {
        Incoming(Arc::downgrade(&self.0))
    }

    /// Calls a function with the inner socket.
    fn with<T>(&self, act: impl FnOnce(Pin<&mut dyn Duplex>) -> T) -> T {
        act(Pin::new(self.0.lock().io.as_mut()))
    }
}

impl Incoming {
    /// Waits until the other end has closed its side. Never completes if it has sent more, such as its next request.
    pub(crate) async fn closed(self) {
        poll_fn(|context| match self.0.upgrade() {
            Some(shared) => shared.lock().poll_closed(context),
            None => Poll::Ready(()),
        })
        .await;
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

impl Shared {
    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.early.is_some() {
            return Poll::Pending;
        }
        let mut byte = [0];
        let mut next = ReadBuf::new(&mut byte);
        let read = Pin::new(self.io.as_mut()).poll_read(context, &mut next);
        if read.is_pending() {
            return Poll::Pending;
        }
        // At the end, or on a broken connection, nothing is read.
        self.early = next.filled().first().copied();
        match self.early {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let shared = &mut *self.0.lock();
        if buffer.remaining() > 0
            && let Some(byte) = shared.early.take()
        {
            buffer.put_slice(&[byte]);
            return Poll::Ready(Ok(()));
        }
        Pin::new(shared.io.as_mut()).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|io| io.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.with(|io| io.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.with(|io| io.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|io| io.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|io| io.poll_shutdown(context))
    }
}
