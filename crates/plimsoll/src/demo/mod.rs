//! `plimsoll demo`: a router, a prefill and a decode engine and their clients in one process.
//!
//! The engines are simulated; whatever is between them and the clients is the product itself, and
//! reached as anybody would: over HTTP. With `--requests` the token counts that the replies state
//! are added up and held against the metrics page.

mod account;
mod ask;
mod client;
mod error;
mod guide;
mod load;
mod page;
mod reply;
mod stage;

use std::process::ExitCode;

use plimsoll_scrape::Report;

use self::{
    account::Account,
    client::Client,
    error::{RunError, StartError},
    stage::{Pace, Stage},
};
use crate::{
    flags::{Demo, LogLevel},
    logs, output,
    serve::{self, Signals},
};

/// Runs the demo. It fails where it cannot begin; what goes wrong later is said on standard error
/// and makes the exit code 1.
pub(crate) fn run(flags: &Demo) -> Result<ExitCode, StartError> {
    let _guard = logs::start(LogLevel::Warn, None)?;
    let outcome = serve::block_on(async {
        let stage = Stage::start(flags.port, flags.prometheus_port, Pace::HUMAN).await?;
        Ok::<_, StartError>(match flags.requests {
            Some(requests) => print_account(stage, requests).await,
            None => show(stage).await,
        })
    })??;
    Ok(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("plimsoll: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Says where to look, and keeps up a small load until a signal comes.
async fn show(stage: Stage) -> Result<(), RunError> {
    let Stage { engines, server, addresses } = stage;
    let mut stopped = signals()?;
    let serving = server.serve(signals()?);
    let clients = async {
        let client = Client::new(addresses);
        client.wait_until_ready().await?;
        let guide = guide::text(addresses, &engines);
        output::print(&format!("{guide}\n")).map_err(RunError::Print)?;
        tokio::select! {
            () = load::keep_up(&client) => {}
            () = stopped.next() => {}
        }
        Ok(())
    };
    // The same signal ends the load and the server, which so has few requests to wait for.
    let serving = async { Ok(serving.await?) };
    tokio::try_join!(serving, clients).map(drop)
}

/// Sends so many requests and prints what the replies and the metrics page say of them, and how full
/// the KV caches are then.
async fn print_account(stage: Stage, requests: u64) -> Result<(), RunError> {
    let (account, kv) = account(stage, requests).await?;
    output::print(&format!("{account}\n{}\n", kv.table())).map_err(RunError::Print)?;
    account.verdict()
}

/// Sends so many requests and reads the pages once they have them all.
async fn account(stage: Stage, requests: u64) -> Result<(Account, Report), RunError> {
    let Stage { engines: _engines, server, addresses } = stage;
    let mut stopped = signals()?;
    let clients = async {
        let client = Client::new(addresses);
        client.wait_until_ready().await?;
        let replies = load::send(&client, requests).await?;
        let account = Account::settle(replies, &client).await?;
        Ok((account, client.kv().await.map_err(RunError::Page)?))
    };
    tokio::select! {
        () = stopped.next() => Err(RunError::Stopped),
        served = server.serve(signals()?) => Err(served.map_or_else(RunError::from, |()| RunError::Stopped)),
        outcome = clients => outcome,
    }
}

fn signals() -> Result<Signals, RunError> {
    Signals::new().map_err(RunError::Signals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn replies_and_page_agree() {
        let stage = Stage::start(0, 0, Pace::FAST).await.unwrap();
        let (account, kv) = account(stage, 12).await.unwrap();
        assert_eq!(kv.workers.len(), 2);
        assert!(account.verdict().is_ok(), "{account}");
        let text = account.to_string();
        assert!(text.contains("12 of 12"), "{text}");
    }

    #[tokio::test]
    async fn a_taken_port_is_named_with_its_flag() {
        let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = taken.local_addr().unwrap().port();
        for (ports, flag) in [((port, 0), "--port"), ((0, port), "--prometheus-port")] {
            let error = Stage::start(ports.0, ports.1, Pace::FAST).await.unwrap_err().to_string();
            let wanted = format!("cannot listen on 127.0.0.1:{port}: ");
            assert!(error.starts_with(&wanted) && error.contains(flag), "{error}");
        }
    }
}
