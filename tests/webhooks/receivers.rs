//! Receivers as they occur in practice: those that speak HTTP/2, close idle connections, are on this machine, or send
//! invalid HTTP that other clients accept.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Certificate, Method, Url, Version};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tillgate_base::egress::{Client, Destinations, EgressError, Head, Limits, Trust};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::shop::{Shop, WEBHOOKS, settings};
use super::ssrf;
use crate::support::authority::Authority;
use crate::support::receiver::{Answer, Receiver};
use crate::support::wait::within;

/// Starts a receiver behind TLS that speaks one protocol; returns a client that trusts it, and its URL.
async fn secured<S>(
    protocol: &str,
    serve: impl Fn(TlsStream<TcpStream>) -> S + Send + 'static,
) -> (Client, Url)
where
    S: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::new();
    let issued = authority.issue();
    let chain = CertificateDer::pem_slice_iter(issued.chain.as_bytes());
    let chain = chain.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    let mut config = config.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(serve(stream));
            }
        }
    });
    let limits = Limits {
        deadline: Duration::from_secs(30),
        max_answer: 64 << 10,
        destinations: Destinations::Any,
    };
    let trusted = Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = Client::trusting(limits, Trust::Only(vec![trusted]));
    (client.unwrap(), url.parse().unwrap())
}

async fn post(client: &Client, url: &Url, body: &'static str) -> Result<Head, EgressError> {
    let mut headers = HeaderMap::new();
    headers.insert("X-Service-Signature", HeaderValue::from_static("HS256=00"));
    let body = Bytes::from_static(body.as_bytes());
    client.post_for_head(url, &headers, body, 1_024).await
}

#[tokio::test]
async fn a_receiver_that_speaks_http_2_only_gets_its_deliveries() {
    let (told, mut received) = mpsc::unbounded_channel();
    let serve = move |stream: TlsStream<TcpStream>| {
        let told = told.clone();
        let answer = move |request: http::Request<Incoming>| {
            let told = told.clone();
            async move {
                let signed = request.headers()["x-service-signature"].clone();
                let version = request.version();
                let body = request.into_body().collect().await.unwrap().to_bytes();
                told.send((version, signed, body)).unwrap();
                Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from_static(b"ok"))))
            }
        };
        async move {
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let service = hyper::service::service_fn(answer);
            let _ = builder
                .serve_connection(TokioIo::new(stream), service)
                .await;
        }
    };
    let (client, url) = secured("h2", serve).await;
    for body in ["one", "two"] {
        let head = post(&client, &url, body).await.unwrap();
        assert_eq!((head.status.as_u16(), &*head.beginning), (200, &b"ok"[..]));
        let (version, signed, sent) = within("a request", received.recv()).await.unwrap();
        assert_eq!((version, &*sent), (Version::HTTP_2, body.as_bytes()));
        assert_eq!(signed, "HS256=00");
    }
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_needs_no_end_of_tls() {
    let serve = |stream: TlsStream<TcpStream>| async move {
        let mut stream = BufReader::new(stream);
        read_request(&mut stream).await;
        let answer = b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nthanks";
        stream.write_all(answer).await.unwrap();
        stream.flush().await.unwrap();
    };
    let (client, url) = secured("http/1.1", serve).await;
    let head = post(&client, &url, "{}").await.unwrap();
    assert_eq!(
        (head.status.as_u16(), &*head.beginning),
        (200, &b"thanks"[..])
    );
}

async fn read_request(stream: &mut BufReader<impl AsyncReadExt + Unpin>) {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
    }
    stream.read_exact(&mut vec![0; length]).await.unwrap();
}

#[tokio::test]
async fn a_request_on_a_closed_idle_connection_is_resent_without_counting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                read_request(&mut stream).await;
                let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                stream.write_all(answer).await.unwrap();
                // The next request finds the connection closed.
                let _ = stream.read_u8().await;
            });
        }
    });
    let shop = Shop::open().await;
    shop.webhook(&url, json!({})).await;
    for number in 0..3 {
        shop.publish(json!(number)).await;
        shop.run().await;
    }
    let deliveries = shop.deliveries("").await;
    assert_eq!(deliveries.len(), 3);
    for delivery in deliveries {
        assert_eq!(delivery["status"], "DELIVERED", "{delivery:#}");
        assert_eq!(delivery["attemptCount"], 1, "{delivery:#}");
    }
}

#[tokio::test]
async fn a_connection_that_is_closed_in_place_of_its_first_answer_is_an_attempt() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Close);
    shop.publish(json!(1)).await;
    shop.run().await;
    let delivery = shop.delivery().await;
    assert_eq!(delivery["status"], "RETRYING", "{delivery:#}");
    assert_eq!(delivery["lastError"]["kind"], "BROKEN", "{delivery:#}");
    assert_eq!(receiver.received().len(), 1);
}

/// Tries out a webhook; returns the result.
async fn tried(shop: &Shop, url: &str) -> Value {
    let trial = settings(url, json!({}));
    let path = format!("{WEBHOOKS}/ping");
    let (status, tried) = shop.send(Method::POST, &path, &trial).await;
    assert_eq!(status, 200, "{tried}");
    tried
}

#[tokio::test]
async fn a_receiver_on_this_machine_is_dialled_by_the_family_that_is_allowed() {
    let (names, receiver) = (ssrf::Answers::default(), Receiver::start().await);
    let port = receiver.url.split([':', '/']).nth(4).unwrap();
    let url = format!("http://localhost:{port}/hook");
    names.set("localhost", &[&["::1", "127.0.0.1"]]);
    let shop = ssrf::shop(&names, &["127.0.0.0/8"]).await;
    let delivered = tried(&shop, &url).await;
    assert_eq!(delivered["delivered"], true, "{delivered}");

    let shop = ssrf::shop(&names, &["10.0.0.0/8"]).await;
    let refused = tried(&shop, &url).await;
    assert_eq!(refused["error"]["kind"], "REFUSED_ADDRESS");
    assert_eq!(
        refused["error"]["message"],
        "localhost must not be dialed from here: its IPv6 address is not allowed"
    );
}

#[tokio::test]
async fn an_answer_that_other_clients_read_is_an_answer() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-A: b\r\n".repeat(500));
    let answers = [
        "HTTP/1.1 200 OK\r\nX-A : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX A(): b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-A: b\u{1}c\r\n\r\n",
        "HTTP/1.1 200 OK\nX-A: b\n\n",
        "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nthanks",
        "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        &many,
    ];
    let shop = Shop::open().await;
    for answer in answers {
        let receiver = Receiver::start().await;
        receiver.answer(Answer::Raw(answer.as_bytes().to_vec()));
        let result = tried(&shop, &receiver.url).await;
        assert_eq!(result["delivered"], true, "{answer:.80?}: {result}");
    }
}
