//! A socket on which answers take turns: after a while of writing, the connections that wait for the thread come first.
//!
//! The system takes hundreds of kilobytes of an answer at once, which is nearly a tenth of a millisecond for each of
//! perhaps thousands of connections, and requests may come hundreds at a time. A small answer would wait for all of them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::bulk::Bulk;

/// How many bytes a connection writes before others have their turn.
const TURN: usize = 32 << 10;

/// What a write takes of a turn at least: an answer has cost more than its bytes.
const LEAST: usize = TURN / 2;

/// See the module's documentation.
#[derive(Debug)]
pub(in crate::http) struct Fair<S> {
    socket: S,
    /// What of its turn is left.
    left: usize,
    /// How many bytes were written since there was something to read: as many as a turn has are bulk.
    unasked: usize,
    bulk: Bulk,
}

impl<S> Fair<S> {
    /// It says whether the connection is sent bulk.
    pub(in crate::http) const fn new(socket: S, bulk: Bulk) -> Self {
        Self {
            socket,
            left: TURN,
            unasked: 0,
            bulk,
        }
    }

    /// While a connection waits, others have their turn anyway.
    fn renewed_by_waiting<T>(&mut self, done: Poll<T>) -> Poll<T> {
        if done.is_pending() {
            self.left = TURN;
        }
        done
    }

    /// Writes at most as much as is left of a turn, when there is any left.
    fn write(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(&mut S, &mut Context<'_>, usize) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let left = self.left;
        if left == 0 {
            self.left = TURN;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let written = write(&mut self.socket, context, left);
        let written = ready!(self.renewed_by_waiting(written))?;
        self.left = self.left.saturating_sub(written.max(LEAST));
        self.unasked = self.unasked.saturating_add(written);
        if self.unasked >= TURN {
            self.bulk.set(true);
        }
        Poll::Ready(Ok(written))
    }
}

/// The beginning of a text, of at most so many bytes.
fn within(text: &[u8], most: usize) -> &[u8] {
    text.get(..most).unwrap_or(text)
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Fair<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        text: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, |socket, context, most| {
            Pin::new(socket).poll_write(context, within(text, most))
        })
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        texts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, |socket, context, most| {
            let mut sum = 0_usize;
            let fit = texts.iter().take_while(|text| {
                sum = sum.saturating_add(text.len());
                sum <= most
            });
            let fit = texts.get(..fit.count()).unwrap_or_default();
            if fit.iter().any(|text| !text.is_empty()) {
                return Pin::new(socket).poll_write_vectored(context, fit);
            }
            let first = texts.iter().find(|text| !text.is_empty());
            let first = first.map_or(&[][..], |first| within(first, most));
            Pin::new(socket).poll_write(context, first)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Fair<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let fair = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut fair.socket).poll_read(context, buffer);
        if buffer.filled().len() > before {
            if fair.unasked >= TURN {
                fair.bulk.set(false);
            }
            fair.unasked = 0;
        }
        fair.renewed_by_waiting(read)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// Takes everything, and remembers how much at once. What it has to read is read at once.
    #[derive(Default)]
    struct Greedy(Vec<usize>, &'static [u8]);

    impl AsyncWrite for Greedy {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            text: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.0.push(text.len());
            Poll::Ready(Ok(text.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncRead for Greedy {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let text = std::mem::take(&mut self.1);
            if text.is_empty() {
                return Poll::Pending;
            }
            buffer.put_slice(text);
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn others_have_their_turn_after_each_part_of_a_large_answer() {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut fair = Fair::new(Greedy::default(), Bulk::default());
        let (head, body) = ([1; 100], vec![2; 3 * TURN]);
        let (mut at, mut turns) = (0, 0);
        let all = [&head[..], &body].concat();
        while at < all.len() {
            let (first, second) = all.split_at(head.len().max(at));
            let first = first.get(at..).unwrap_or_default();
            let texts = [IoSlice::new(first), IoSlice::new(second)];
            let texts = if first.is_empty() {
                &texts[1..]
            } else {
                &texts
            };
            match Pin::new(&mut fair).poll_write_vectored(&mut context, texts) {
                Poll::Ready(written) => at += written.unwrap_or_default(),
                Poll::Pending => turns += 1,
            }
        }
        assert_eq!(fair.socket.0, [100, TURN - LEAST, TURN, TURN, LEAST]);
        assert_eq!(turns, 3);
        assert_eq!(
            woken.0.load(Ordering::Relaxed),
            turns,
            "it goes on by itself"
        );
    }

    #[test]
    fn others_have_their_turn_after_some_answers_in_a_row_and_not_between_requests() {
        let mut context = Context::from_waker(Waker::noop());
        let mut answers = |waits: bool| {
            let mut fair = Fair::new(Greedy::default(), Bulk::default());
            let mut buffer = ReadBuf::new(&mut []);
            let all = (0..100).filter(|_| {
                if waits {
                    let _ = Pin::new(&mut fair).poll_read(&mut context, &mut buffer);
                }
                let written = Pin::new(&mut fair).poll_write(&mut context, b"answer");
                written.is_ready()
            });
            all.count()
        };
        assert_eq!(answers(false), 67);
        assert_eq!(answers(true), 100);
    }

    #[test]
    fn as_much_as_a_turn_has_is_bulk_until_there_is_something_to_read() {
        let mut context = Context::from_waker(Waker::noop());
        let bulk = Bulk::default();
        let mut fair = Fair::new(Greedy::default(), bulk.clone());
        let mut write = |fair: &mut Fair<Greedy>, text: &[u8]| {
            let _ = Pin::new(fair).poll_write(&mut context, text);
            bulk.get()
        };
        assert!(!write(&mut fair, &[1; TURN - 1]));
        assert!(write(&mut fair, &[1; 1]));
        fair.socket.1 = b"GET / HTTP/1.1";
        let mut space = [0; 100];
        let mut buffer = ReadBuf::new(&mut space);
        let mut context = Context::from_waker(Waker::noop());
        let _ = Pin::new(&mut fair).poll_read(&mut context, &mut buffer);
        assert!(!bulk.get());
    }
}
