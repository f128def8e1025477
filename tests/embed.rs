//! The layer in a service that knows nothing of routing: the example, from outside.

use std::{net::SocketAddr, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use crate::support::{Call, Page, bounded, chat, eventually, example};

/// The address in a URL, and its path.
fn parts(url: &str) -> (SocketAddr, String) {
    let rest = url.strip_prefix("http://").expect("a URL");
    let slash = rest.find('/').expect("a path");
    (rest[..slash].parse().expect("an address"), rest[slash..].to_owned())
}

#[tokio::test]
async fn the_axum_example_counts() {
    let program = example("embed_axum");
    bounded(async {
        let mut child = Command::new(program)
            .arg("0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut line = async || lines.next_line().await.expect("its output").expect("a line");
        let (chat_url, page_url) = (line().await, line().await);
        let ((addr, path), (page_addr, page_path)) = (parts(&chat_url), parts(&page_url));
        for more in ["", ",\"stream\":true"] {
            let call = Call::new(addr, "POST", &path).header("content-type", "application/json");
            let answer = call.body(chat(more)).send().await;
            assert_eq!(answer.status, 200);
            assert!(answer.text().contains("Hello"), "{}", answer.text());
        }
        let page = eventually(async || {
            let page = Page::parse(&Call::new(page_addr, "GET", &page_path).send().await.text());
            if page.outcomes("complete") == 2 { Ok(page) } else { Err(page.to_string()) }
        })
        .await;
        for stream in ["true", "false"] {
            let labels = [("endpoint", "chat"), ("stream", stream), ("model", "parrot")];
            assert_eq!(page.count("plimsoll_requests_total", &labels), 1, "{page}");
            assert_eq!(page.count("plimsoll_prompt_tokens_total", &labels), 7);
            assert_eq!(page.count("plimsoll_completion_tokens_total", &labels), 2);
        }
        assert_eq!(page.count("plimsoll_time_to_first_token_seconds_count", &[]), 1);
        assert_eq!(page.count("plimsoll_requests_in_flight", &[]), 0);
    })
    .await;
}
