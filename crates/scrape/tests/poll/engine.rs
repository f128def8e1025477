//! An engine that answers what a test says, on a socket of its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What one path answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A status line's end, more head lines, and a body.
    Full(&'static str, String, Vec<u8>),
    /// Nothing, ever.
    Hang,
    /// A body for those who send the key, and 401 for others.
    Keyed(&'static str, Vec<u8>),
}

#[derive(Clone, Debug, Default)]
struct Script {
    answers: HashMap<String, Answer>,
    asked: Vec<String>,
}

/// It ends with the runtime of its test.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) url: Arc<str>,
    script: Arc<Mutex<Script>>,
}

impl Engine {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address")).into();
        let engine = Self { url, script: Arc::default() };
        let script = Arc::clone(&engine.script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script)));
            }
        });
        engine
    }

    /// Answers a path from now on; all others are a 404.
    pub(crate) fn answer(&self, path: &str, answer: Answer) {
        self.script.lock().expect("no panic").answers.insert(path.to_owned(), answer);
    }

    pub(crate) fn page(&self, path: &str, body: impl AsRef<[u8]>) {
        self.answer(path, Answer::Full("200 OK", String::new(), body.as_ref().to_vec()));
    }

    /// How often a path was asked.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.script.lock().expect("no panic").asked.iter().filter(|asked| *asked == path).count()
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).expect("a head");
    let path = head.split([' ', '?']).nth(1).expect("a path").to_owned();
    let answer = {
        let mut script = script.lock().expect("no panic");
        script.asked.push(path.clone());
        script.answers.get(&path).cloned()
    };
    let (status, more, body) = match answer {
        Some(Answer::Full(status, more, body)) => (status, more, body),
        Some(Answer::Keyed(key, body)) if head.contains(key) => ("200 OK", String::new(), body),
        Some(Answer::Keyed(..)) => ("401 Unauthorized", String::new(), Vec::new()),
        Some(Answer::Hang) => return std::future::pending().await,
        None => ("404 Not Found", String::new(), b"{\"detail\":\"Not Found\"}".to_vec()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n");
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
}
