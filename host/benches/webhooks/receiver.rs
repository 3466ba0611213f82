//! The receiver of all webhooks of the bench; it measures how long each event took to arrive.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A receiver that counts what it gets.
pub struct Receiver {
    pub address: std::net::SocketAddr,
    latencies: Arc<Mutex<Vec<Duration>>>,
    silent: Arc<AtomicUsize>,
}

impl Receiver {
    /// Starts the receiver on a separate thread.
    pub fn start() -> Self {
        let latencies = Arc::new(Mutex::new(Vec::new()));
        let (ready, address) = std::sync::mpsc::channel();
        let silent = Arc::new(AtomicUsize::new(0));
        let (shared, silenced) = (Arc::clone(&latencies), Arc::clone(&silent));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    let (shared, silenced) = (Arc::clone(&shared), Arc::clone(&silenced));
                    tokio::spawn(async move {
                        let _ = talk(stream, &shared, &silenced).await;
                    });
                }
            });
        });
        Self {
            address: address.recv().unwrap(),
            latencies,
            silent,
        }
    }

    /// From now on, the first `count` webhooks get no answer.
    pub fn silence(&self, count: usize) {
        self.silent.store(count, Ordering::Relaxed);
    }

    pub fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.latencies.lock().unwrap())
    }

    pub fn count(&self) -> usize {
        self.latencies.lock().unwrap().len()
    }
}

async fn talk(
    stream: TcpStream,
    latencies: &Mutex<Vec<Duration>>,
    silent: &AtomicUsize,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut body) = (String::new(), Vec::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let is_endless = line.contains("/endless");
        let number = line.split_once("/hook/").map(|(_, rest)| rest.split(' '));
        let number = number.and_then(|mut rest| rest.next()?.parse::<usize>().ok());
        let mut length = 0;
        loop {
            line.clear();
            stream.read_line(&mut line).await?;
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        body.resize(length, 0);
        stream.read_exact(&mut body).await?;
        if is_endless {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
                .await?;
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                stream.write_all(b"x").await?;
            }
        }
        if number.is_some_and(|number| number < silent.load(Ordering::Relaxed)) {
            tokio::time::sleep(Duration::from_secs(30)).await;
            return Ok(());
        }
        // The id of an event starts with the time when it was published.
        let id = std::str::from_utf8(&body[7..]).unwrap();
        let sent: u64 = id.split('-').next().unwrap().parse().unwrap();
        latencies
            .lock()
            .unwrap()
            .push(Duration::from_micros(micros().saturating_sub(sent)));
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    }
}

/// Returns the time in microseconds since the epoch.
pub fn micros() -> u64 {
    u64::try_from(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_micros(),
    )
    .unwrap()
}
