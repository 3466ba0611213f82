//! Outgoing HTTP to a real receiver: which addresses are dialed, how much is read, and how long it may take.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use tillgate_base::egress::{
    Answer, Client, Destinations, EgressError, Event, EventStream, Limits, Opened, StreamLimits,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::host::{Host, Program};
use crate::support::wait::output;

/// The behavior of a receiver after it has read the head of a request.
#[derive(Clone, Copy)]
enum Receiver {
    /// Sends this.
    Answers(&'static str),
    /// Sends this, and then nothing more.
    Pauses(&'static str),
    /// Sends this head, and then a body without end.
    Endless(&'static str),
    /// Sends a head without end.
    EndlessHead,
    Silent,
}

/// Serves one behavior on a free port of this machine.
async fn receiver(behaviour: Receiver) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(receive(connection, behaviour));
        }
    });
    address
}

async fn receive(mut connection: TcpStream, behaviour: Receiver) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await?);
    }
    match behaviour {
        Receiver::Answers(answer) => connection.write_all(answer.as_bytes()).await?,
        Receiver::Pauses(answer) => {
            connection.write_all(answer.as_bytes()).await?;
            std::future::pending().await
        }
        Receiver::Endless(head) => {
            connection.write_all(head.as_bytes()).await?;
            loop {
                connection.write_all(&[b'x'; 1024]).await?;
            }
        }
        Receiver::EndlessHead => {
            connection.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            loop {
                connection.write_all(b"x-more: and more\r\n").await?;
            }
        }
        Receiver::Silent => std::future::pending().await,
    }
    connection.shutdown().await
}

fn limits(destinations: Destinations) -> Limits {
    Limits {
        deadline: Duration::from_secs(20),
        max_answer: 1 << 20,
        destinations,
    }
}

async fn get(limits: Limits, url: &str) -> Result<Answer, EgressError> {
    let client = Client::new(limits).unwrap();
    let request = client.request(Method::GET, url.parse::<Url>().unwrap());
    client.send(request).await
}

const HELLO: Receiver =
    Receiver::Answers("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello");

#[tokio::test]
async fn an_answer_arrives_whole() {
    let address = receiver(HELLO).await;
    for destinations in [Destinations::Any, Destinations::Loopback] {
        for host in [address.to_string(), format!("localhost:{}", address.port())] {
            let answer = get(limits(destinations.clone()), &format!("http://{host}/")).await;
            let Answer { status, body, .. } = answer.unwrap();
            assert_eq!((status, &*body), (StatusCode::OK, b"hello".as_slice()));
        }
    }
}

#[tokio::test]
async fn an_address_that_may_not_be_dialled_is_refused_however_it_is_named() {
    let port = receiver(HELLO).await.port();
    let hosts = [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
        "[fd00::1]",
    ];
    for host in hosts {
        let public = Destinations::Public { besides: vec![] };
        let answer = get(limits(public), &format!("http://{host}:{port}/")).await;
        assert!(
            matches!(answer, Err(EgressError::Refused(_))),
            "{host}: {answer:?}"
        );
    }
    let opened = Destinations::Public {
        besides: vec!["127.0.0.0/8".parse().unwrap()],
    };
    let answer = get(limits(opened), &format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(answer.unwrap().status, 200);
    let elsewhere = get(limits(Destinations::Loopback), "http://10.0.0.1/").await;
    assert!(matches!(elsewhere, Err(EgressError::Refused(_))));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let address = receiver(Receiver::Answers(
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    ));
    let url = format!("http://{}/", address.await);
    let answer = get(limits(Destinations::Any), &url).await.unwrap();
    assert_eq!(answer.status, StatusCode::FOUND);
}

#[tokio::test]
async fn what_has_no_end_is_bounded() {
    let url = format!(
        "http://{}/",
        receiver(Receiver::Endless("HTTP/1.1 200 OK\r\n\r\n")).await
    );
    let answer = get(limits(Destinations::Any), &url).await;
    assert!(
        matches!(answer, Err(EgressError::TooLarge(1_048_576))),
        "{answer:?}"
    );
    let url = format!("http://{}/", receiver(Receiver::EndlessHead).await);
    let answer = get(limits(Destinations::Any), &url).await;
    assert!(matches!(answer, Err(EgressError::Broken(_))), "{answer:?}");
}

#[tokio::test]
async fn a_receiver_that_never_answers_meets_the_deadline() {
    let url = format!("http://{}/", receiver(Receiver::Silent).await);
    let limits = Limits {
        deadline: Duration::from_millis(50),
        ..limits(Destinations::Any)
    };
    let answer = get(limits, &url).await;
    let error = answer.unwrap_err();
    assert!(matches!(error, EgressError::Deadline(_)), "{error:?}");
    assert_eq!(error.to_string(), "no answer within 50ms");
}

const EVENTS: StreamLimits = StreamLimits {
    silence: Duration::from_secs(20),
    max_event: 1 << 20,
};

async fn open(behaviour: Receiver, stream: StreamLimits) -> Result<Opened, EgressError> {
    let client = Client::new(limits(Destinations::Any)).unwrap();
    let url = format!("http://{}/", receiver(behaviour).await);
    let request = client.request(Method::GET, url.parse::<Url>().unwrap());
    client.open(request, stream).await
}

async fn events(behaviour: Receiver, stream: StreamLimits) -> Box<EventStream> {
    match open(behaviour, stream).await {
        Ok(Opened::Events(events)) => events,
        other => panic!("{other:?}"),
    }
}

fn event(name: &str, data: &str) -> Event {
    let (name, data) = (name.to_owned(), data.to_owned());
    Event { name, data }
}

#[tokio::test]
async fn a_stream_is_read_event_by_event_to_its_end() {
    let stream = events(
        Receiver::Answers(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n\
             id: 1\r\ndata: one\r\n\r\n: heartbeat\n\nid: 2\n\nevent: reset\ndata: {}\n\ndata: cut off\n",
        ),
        EVENTS,
    );
    let mut stream = stream.await;
    assert_eq!((stream.last_id(), stream.has_received()), ("", false));
    assert_eq!(stream.next().await.unwrap(), Some(event("message", "one")));
    assert_eq!((stream.last_id(), stream.has_received()), ("1", true));
    assert_eq!(stream.next().await.unwrap(), Some(event("reset", "{}")));
    assert_eq!(stream.next().await.unwrap(), None);
    assert_eq!(stream.last_id(), "2");
}

#[tokio::test]
async fn what_is_no_stream_is_read_as_an_answer() {
    let answers = [
        (HELLO, 200, "hello"),
        (
            Receiver::Answers(
                "HTTP/1.1 403 Forbidden\r\ncontent-type: text/event-stream\r\ncontent-length: 2\r\n\r\nno",
            ),
            403,
            "no",
        ),
    ];
    for (behaviour, expected, text) in answers {
        let Ok(Opened::Answer(Answer { status, body, .. })) = open(behaviour, EVENTS).await else {
            panic!("an answer with {expected}");
        };
        assert_eq!((status.as_u16(), &*body), (expected, text.as_bytes()));
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

#[tokio::test]
async fn a_stream_is_bounded_by_silence_and_by_the_size_of_an_event() {
    let silence = Duration::from_millis(50);
    let stream = events(Receiver::Pauses(HEAD), StreamLimits { silence, ..EVENTS });
    let error = stream.await.next().await.unwrap_err();
    assert_eq!(error.to_string(), "nothing has arrived for 50ms");
    let error = events(Receiver::Endless(HEAD), EVENTS).await.next().await;
    assert!(
        matches!(error, Err(EgressError::EventTooLarge(1_048_576))),
        "{error:?}"
    );
    let error = open(Receiver::EndlessHead, EVENTS).await;
    assert!(matches!(error, Err(EgressError::Broken(_))), "{error:?}");
}

#[tokio::test]
async fn the_deadline_of_a_request_ends_no_stream_but_applies_until_it_begins() {
    let limits = Limits {
        deadline: Duration::from_millis(50),
        ..limits(Destinations::Any)
    };
    let client = Client::new(limits).unwrap();
    let url = |address: SocketAddr| format!("http://{address}/").parse::<Url>().unwrap();
    let request = client.request(Method::GET, url(receiver(Receiver::Silent).await));
    let error = client.open(request, EVENTS).await.unwrap_err();
    assert!(matches!(error, EgressError::Deadline(_)), "{error:?}");
    // Only the limit on silence ends this stream, and it is longer than the deadline.
    let silence = Duration::from_millis(100);
    let request = client.request(Method::GET, url(receiver(Receiver::Pauses(HEAD)).await));
    let opened = client
        .open(request, StreamLimits { silence, ..EVENTS })
        .await;
    let Ok(Opened::Events(mut stream)) = opened else {
        panic!("{opened:?}");
    };
    let error = stream.next().await.unwrap_err();
    assert!(matches!(error, EgressError::Silent(_)), "{error:?}");
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let answer = get(limits(Destinations::Any), &url).await;
    assert!(
        matches!(answer, Err(EgressError::Unreachable(_))),
        "{answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_proxy_of_the_environment_is_used() {
    let host = Host::start().await;
    let operator = host.client("platform", &["platform.operator"]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("operator.json");
    let credentials = serde_json::json!({
        "clientId": operator.client_id, "clientSecret": operator.client_secret,
        "tokenUrl": format!("{}/oauth2/token", host.url), "audience": host.app.config.audience,
    });
    std::fs::write(&file, credentials.to_string()).unwrap();
    let mut command = Program::command();
    command
        .args(["keys", "list", "--json", "--credentials"])
        .arg(&file);
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(variable, "http://127.0.0.1:1");
    }
    let listed = tokio::task::spawn_blocking(move || output(&mut command));
    let listed = listed.await.unwrap();
    let told = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success(), "{told}");
}
