//! A proxy between a command and its host: it loses answers, or holds a request while something else happens.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::support::wait::DEADLINE;

/// Passes requests on to a host. `sees` gets each request, may mark its connection, and returns whether to pass it on.
/// `answers` gets the mark before anything is answered, and returns whether to pass the answer on.
fn proxy(
    host: &str,
    sees: impl Fn(&[u8], &AtomicBool) -> bool + Clone + Send + 'static,
    answers: impl Fn(&AtomicBool) -> bool + Clone + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let host = host.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let host = TcpStream::connect(&host).unwrap();
            let (to_host, to_client) = (host.try_clone().unwrap(), client.try_clone().unwrap());
            let (sees, answers) = (sees.clone(), answers.clone());
            let mark = Arc::new(AtomicBool::new(false));
            let marks = mark.clone();
            std::thread::spawn(move || pass(client, to_host, |request| sees(request, &marks)));
            std::thread::spawn(move || pass(host, to_client, |_| answers(&mark)));
        }
    });
    url
}

/// A proxy that loses the answers to the first `losses` requests that begin with a text.
pub fn lossy(host: &str, begin: &'static str, losses: usize) -> String {
    let left = Arc::new(AtomicUsize::new(losses));
    let sees = move |request: &[u8], is_lost: &AtomicBool| {
        let less = |left: usize| left.checked_sub(1);
        if request.starts_with(begin.as_bytes())
            && left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                .is_ok()
        {
            is_lost.store(true, Ordering::SeqCst);
        }
        true
    };
    proxy(host, sees, |is_lost| !is_lost.load(Ordering::SeqCst))
}

/// A point where something is held: it reports that it is there, and waits until it may continue.
#[derive(Clone)]
struct Gate {
    held: Sender<()>,
    may_go: Arc<Mutex<Receiver<()>>>,
}

impl Gate {
    fn new() -> (Self, Receiver<()>, Sender<()>) {
        let ((held, is_held), (let_go, may_go)) = (channel(), channel());
        let may_go = Arc::new(Mutex::new(may_go));
        (Self { held, may_go }, is_held, let_go)
    }

    fn hold(&self) {
        self.held.send(()).unwrap();
        let may_go = self.may_go.lock().unwrap();
        may_go.recv_timeout(DEADLINE).unwrap();
    }
}

/// A proxy that holds one of the requests that begin with a text, after `others` others: it reports that it has the
/// request, and waits until it may pass it on.
pub fn holding(
    host: &str,
    begin: &'static str,
    others: usize,
) -> (String, Receiver<()>, Sender<()>) {
    let (gate, is_held, let_go) = Gate::new();
    let count = Arc::new(AtomicUsize::new(0));
    let sees = move |request: &[u8], _: &AtomicBool| {
        let is_it =
            request.starts_with(begin.as_bytes()) && count.fetch_add(1, Ordering::SeqCst) == others;
        if is_it {
            gate.hold();
        }
        true
    };
    (proxy(host, sees, |_| true), is_held, let_go)
}

/// Like [`holding`], but holds the answer to the first of the requests that begin with a text; the host has already
/// done its work.
pub fn holding_answer(host: &str, begin: &'static str) -> (String, Receiver<()>, Sender<()>) {
    let (gate, is_held, let_go) = Gate::new();
    let is_first = Arc::new(AtomicBool::new(true));
    let sees = move |request: &[u8], is_it: &AtomicBool| {
        if request.starts_with(begin.as_bytes()) && is_first.swap(false, Ordering::SeqCst) {
            is_it.store(true, Ordering::SeqCst);
        }
        true
    };
    let answers = move |is_it: &AtomicBool| {
        if is_it.swap(false, Ordering::SeqCst) {
            gate.hold();
        }
        true
    };
    (proxy(host, sees, answers), is_held, let_go)
}

/// Copies bytes as long as `lets` allows it.
fn pass(mut from: TcpStream, mut to: TcpStream, lets: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if !lets(&bytes[..read]) || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
