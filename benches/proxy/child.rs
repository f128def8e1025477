//! Proxies that are programs of their own.

use std::{
    env, fs, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    time::Duration,
};

use crate::{BoxError, cpu, engine::Engines, proxies::Running, router::BOOTSTRAP_PORT};

/// A program that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    address: SocketAddr,
    /// Where its files are, removed with it.
    directory: Option<PathBuf>,
}

const NGINX: &str = "/usr/sbin/nginx";

/// The variable that says where the `plimsoll` program is.
const PLIMSOLL: &str = "PLIMSOLL_BIN";

// === impl Program ===

impl Program {
    /// Starts nginx, which passes requests on to one engine.
    pub(crate) fn nginx(engines: &Engines) -> Result<Self, BoxError> {
        let address = free_address()?;
        let name = format!("plimsoll-bench-{}-{}", process::id(), address.port());
        let directory = env::temp_dir().join(name);
        let config = directory.join("nginx.conf");
        fs::create_dir(&directory)?;
        let child = fs::write(&config, nginx_config(address, engines.plain(1)[0])).and_then(|()| {
            let mut nginx = Command::new(NGINX);
            nginx.arg("-p").arg(&directory).arg("-c").arg(&config).args(["-e", "stderr"]);
            nginx.stdin(Stdio::null()).spawn()
        });
        let child = child.inspect_err(|_| _ = fs::remove_dir_all(&directory))?;
        Ok(Self { child, address, directory: Some(directory) })
    }

    /// Starts the `plimsoll` program over plain workers.
    pub(crate) fn of_plain(engines: &Engines, workers: usize) -> Result<Self, BoxError> {
        let mut args = vec!["--worker-urls".to_owned()];
        args.extend(engines.plain(workers).iter().map(url));
        Self::plimsoll(args)
    }

    /// Starts the `plimsoll` program over prefill and decode workers.
    pub(crate) fn of_pairs(engines: &Engines, workers: usize) -> Result<Self, BoxError> {
        let (prefill, decode) = engines.pairs(workers);
        let mut args = vec!["--pd-disaggregation".to_owned()];
        for engine in prefill {
            args.extend(["--prefill".to_owned(), url(engine), BOOTSTRAP_PORT.to_string()]);
        }
        for engine in decode {
            args.extend(["--decode".to_owned(), url(engine)]);
        }
        Self::plimsoll(args)
    }

    fn plimsoll(workers: Vec<String>) -> Result<Self, BoxError> {
        let program = env::var_os(PLIMSOLL).ok_or("there is no plimsoll")?;
        let (address, metrics) = (free_address()?, free_address()?);
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &address.port().to_string()])
            .args(["--prometheus-host", "127.0.0.1"])
            .args(["--prometheus-port", &metrics.port().to_string()])
            .args(["--log-level", "error"])
            .args(workers)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self { child, address, directory: None })
    }
}

impl Running for Program {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn cpu_time(&self) -> io::Result<Duration> {
        cpu::of_threads(Some(self.child.id()), "")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(directory) = &self.directory {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// Why nginx cannot be measured, if so.
pub(crate) fn nginx_missing() -> Option<String> {
    (!Path::new(NGINX).is_file()).then(|| format!("there is no {NGINX}"))
}

/// Why the `plimsoll` program cannot be measured, if so.
pub(crate) fn plimsoll_missing() -> Option<String> {
    env::var_os(PLIMSOLL).is_none().then(|| format!("{PLIMSOLL} does not say where it is"))
}

/// An address of the loopback that was free a moment ago.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn url(address: &SocketAddr) -> String {
    format!("http://{address}")
}

/// As one would set it up for streams; its paths are within the directory that it is given. It is one
/// process: a worker of its own would outlive a master that is killed.
fn nginx_config(address: SocketAddr, engine: SocketAddr) -> String {
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    keepalive_requests 10000000;
    upstream engine {{
        server {engine};
        keepalive 256;
        keepalive_requests 10000000;
    }}
    server {{
        listen {address};
        client_max_body_size 0;
        client_body_buffer_size 32m;
        location / {{
            proxy_pass http://engine;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_buffering off;
        }}
    }}
}}
"
    )
}
