//! An API server as far as it has pods: lists, and watches that tell what changes, until they break.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    net::SocketAddr,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// The server. It is gone, connections and all, when dropped.
pub(super) struct ApiServer {
    pub(super) addr: SocketAddr,
    world: watch::Sender<World>,
    _tasks: JoinSet<()>,
}

/// What it knows.
#[derive(Clone, Default)]
struct World {
    version: u64,
    pods: BTreeMap<String, Value>,
    changes: Vec<Change>,
    /// Watches cannot begin with older versions.
    oldest: u64,
    /// How often all watches were broken.
    breaks: u32,
    /// The path that was asked for last.
    path: String,
    /// What it answers all requests instead, as a status and its message.
    refusal: Option<(u16, &'static str)>,
}

#[derive(Clone)]
struct Change {
    version: u64,
    before: Option<Value>,
    after: Option<Value>,
}

/// A pod at work at an address, with labels.
pub(super) fn pod(ip: &str, labels: &[(&str, &str)]) -> Value {
    json!({
        "metadata": { "labels": labels.iter().copied().collect::<HashMap<_, _>>() },
        "status": {
            "phase": "Running",
            "podIP": ip,
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}

// === impl ApiServer ===

impl ApiServer {
    pub(super) async fn start() -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    pub(super) async fn start_at(addr: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let world = watch::Sender::new(World { version: 1, ..World::default() });
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, world.clone()));
        Self { addr, world, _tasks: tasks }
    }

    /// Makes a pod, or makes it what it is now.
    pub(super) fn put(&self, name: &str, pod: &Value) {
        self.change(name, Some(pod.clone()));
    }

    pub(super) fn delete(&self, name: &str) {
        self.change(name, None);
    }

    /// Breaks all watches, each in the middle of a line, and what `change` does is in none.
    pub(super) fn break_watches(&self, change: impl FnOnce(&Self)) {
        change(self);
        self.world.send_modify(|world| {
            world.breaks += 1;
            world.changes.clear();
        });
    }

    /// Forgets all that was: watches get a 410.
    pub(super) fn forget(&self, change: impl FnOnce(&Self)) {
        change(self);
        self.world.send_modify(|world| {
            world.version += 1;
            world.oldest = world.version;
            world.changes.clear();
        });
    }

    /// Answers every request by this status, and ends the watches.
    pub(super) fn refuse(&self, refusal: Option<(u16, &'static str)>) {
        self.world.send_modify(|world| {
            world.refusal = refusal;
            world.breaks += 1;
        });
    }

    /// The path that was asked for last.
    pub(super) fn path(&self) -> String {
        self.world.borrow().path.clone()
    }

    fn change(&self, name: &str, pod: Option<Value>) {
        self.world.send_modify(|world| {
            world.version += 1;
            let version = world.version;
            let after = pod.map(|mut pod| {
                pod["metadata"]["name"] = name.into();
                pod["metadata"]["resourceVersion"] = version.to_string().into();
                pod
            });
            let before = match &after {
                Some(pod) => world.pods.insert(name.to_owned(), pod.clone()),
                None => world.pods.remove(name),
            };
            world.changes.push(Change { version, before, after });
        });
    }
}

async fn serve(listener: TcpListener, world: watch::Sender<World>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let world = world.clone();
        connections.spawn(async move {
            // One that the client has closed.
            let _ = answer(stream, world).await;
        });
    }
}

/// Answers one request, and closes.
async fn answer(stream: TcpStream, world: watch::Sender<World>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let decoded = query.replace("%3D", "=").replace("%2C", ",").replace("%2F", "/");
    let parameters: HashMap<_, _> =
        decoded.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let selector = parameters.get("labelSelector").copied().unwrap_or_default();
    world.send_modify(|world| world.path = path.to_owned());
    let refusal = world.borrow().refusal;
    if let Some((code, message)) = refusal {
        let status = json!({
            "kind": "Status", "status": "Failure", "code": code, "message": message,
            "reason": "Forbidden",
        });
        return send(&mut stream, code, &status.to_string()).await;
    }
    if !parameters.contains_key("watch") {
        let list = list(&world, selector);
        return send(&mut stream, 200, &list).await;
    }
    let version = parameters.get("resourceVersion").and_then(|version| version.parse().ok());
    tell(&mut stream, world.subscribe(), selector, version.unwrap_or_default()).await
}

async fn send(stream: &mut BufReader<TcpStream>, status: u16, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}

fn list(world: &watch::Sender<World>, selector: &str) -> String {
    let world = world.borrow();
    let pods: Vec<_> = world.pods.values().filter(|pod| is_selected(pod, selector)).collect();
    let version = world.version.to_string();
    json!({
        "kind": "PodList", "apiVersion": "v1", "metadata": { "resourceVersion": version },
        "items": pods,
    })
    .to_string()
}

/// Tells what changes after a version.
async fn tell(
    stream: &mut BufReader<TcpStream>,
    mut world: watch::Receiver<World>,
    selector: &str,
    version: u64,
) -> io::Result<()> {
    let head =
        "HTTP/1.1 200 x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let (mut told, breaks) = (version, world.borrow().breaks);
    loop {
        let now = world.borrow_and_update().clone();
        if now.breaks > breaks {
            return chunk(stream, "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"met")
                .await;
        }
        if told < now.oldest {
            let object = json!({ "kind": "Status", "status": "Failure", "code": 410,
                "reason": "Expired", "message": "too old resource version" });
            let line = json!({ "type": "ERROR", "object": object });
            return chunk(stream, &format!("{line}\n")).await;
        }
        for change in now.changes.iter().filter(|change| change.version > told) {
            if let Some(line) = event(change, selector) {
                chunk(stream, &format!("{line}\n")).await?;
            }
        }
        told = now.version.max(told);
        if world.changed().await.is_err() {
            return Ok(());
        }
    }
}

async fn chunk(stream: &mut BufReader<TcpStream>, text: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await
}

/// A change as those see it who watch these labels.
fn event(change: &Change, selector: &str) -> Option<Value> {
    let seen = |pod: &Option<Value>| pod.clone().filter(|pod| is_selected(pod, selector));
    let (kind, mut pod) = match (seen(&change.before), seen(&change.after)) {
        (None, None) => return None,
        (None, Some(pod)) => ("ADDED", pod),
        (Some(_), Some(pod)) => ("MODIFIED", pod),
        (Some(pod), None) => ("DELETED", pod),
    };
    pod["metadata"]["resourceVersion"] = change.version.to_string().into();
    (pod["kind"], pod["apiVersion"]) = ("Pod".into(), "v1".into());
    Some(json!({ "type": kind, "object": pod }))
}

fn is_selected(pod: &Value, selector: &str) -> bool {
    let labels = &pod["metadata"]["labels"];
    let mut wanted = selector.split(',').filter_map(|label| label.split_once('='));
    wanted.all(|(key, value)| labels[key] == value)
}
