//! What is between a command and its host: it loses answers, or holds a request while something else happens.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::support::wait::DEADLINE;

/// Passes requests on to a host. `sees` is shown each, may lose the answers on its connection, and says whether it is passed on.
fn proxy(host: &str, sees: impl Fn(&[u8], &AtomicBool) -> bool + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let host = host.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let host = TcpStream::connect(&host).unwrap();
            let (to_host, to_client) = (host.try_clone().unwrap(), client.try_clone().unwrap());
            let (sees, is_lost) = (sees.clone(), Arc::new(AtomicBool::new(false)));
            let loses = is_lost.clone();
            std::thread::spawn(move || pass(client, to_host, |request| sees(request, &loses)));
            std::thread::spawn(move || pass(host, to_client, |_| !is_lost.load(Ordering::SeqCst)));
        }
    });
    url
}

/// A proxy that loses the answers to so many of the requests that begin with a text.
pub fn lossy(host: &str, begin: &'static str, losses: usize) -> String {
    let left = Arc::new(AtomicUsize::new(losses));
    proxy(host, move |request, is_lost| {
        let less = |left: usize| left.checked_sub(1);
        if request.starts_with(begin.as_bytes())
            && left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                .is_ok()
        {
            is_lost.store(true, Ordering::SeqCst);
        }
        true
    })
}

/// A proxy that holds one of the requests that begin with a text, after so many others: it says that it has it, and waits until
/// it may go on.
pub fn holding(
    host: &str,
    begin: &'static str,
    others: usize,
) -> (String, Receiver<()>, Sender<()>) {
    let (held, is_held) = channel();
    let (let_go, may_go) = channel();
    let (count, may_go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(may_go)));
    let url = proxy(host, move |request, _| {
        let is_it =
            request.starts_with(begin.as_bytes()) && count.fetch_add(1, Ordering::SeqCst) == others;
        if is_it {
            held.send(()).unwrap();
            may_go.lock().unwrap().recv_timeout(DEADLINE).unwrap();
        }
        true
    });
    (url, is_held, let_go)
}

/// Passes on what comes for as long as it is let through.
fn pass(mut from: TcpStream, mut to: TcpStream, lets: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if !lets(&bytes[..read]) || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
