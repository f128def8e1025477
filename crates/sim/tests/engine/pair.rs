use std::time::Duration;

use plimsoll_sim::{Role, SimEngine, replay::Capture};

use crate::client::{
    LIMIT, assert_like, chat, fixture, mask, post, read_until, send, start, text, tiny,
};

struct Pair {
    prefill: SimEngine,
    decode: SimEngine,
}

impl Pair {
    async fn start(limit: Duration) -> Self {
        let config = tiny().bootstrap_timeout(limit).cache_report(false);
        let prefill = start(config.clone().role(Role::Prefill)).await;
        let decode = start(config.role(Role::Decode)).await;
        Self { prefill, decode }
    }

    fn room(&self, room: &str) -> String {
        let port = self.prefill.bootstrap_port().expect("a bootstrap port");
        format!(
            ",\"bootstrap_host\":\"127.0.0.1\",\"bootstrap_port\":{port},\
             \"bootstrap_room\":{room}"
        )
    }

    async fn ask(&self, path: &str, body: &str) -> (Capture, Capture) {
        tokio::join!(post(self.prefill.addr(), path, body), post(self.decode.addr(), path, body))
    }
}

#[tokio::test]
async fn both_legs_answer_as_recorded() {
    let pair = Pair::start(LIMIT).await;
    let body = chat(&format!(",\"max_tokens\":6{}", pair.room("7123456789012345678")));
    let (prefill, decode) = pair.ask("/v1/chat/completions", &body).await;
    assert_like(&prefill, &fixture("chat.prefill"));
    assert_like(&decode, &fixture("chat.decode"));
    assert!(text(&prefill).contains("\"completion_tokens\":1,"));
    assert!(text(&decode).contains("\"completion_tokens\":6,"));
    let first = text(&prefill).split("\"content\":\"").nth(1).expect("a content")[..3].to_owned();
    assert!(text(&decode).contains(&format!("\"content\":\"{first}")));
    assert_eq!(pair.prefill.totals().generation_tokens, 1);
    assert_eq!(pair.decode.totals().generation_tokens, 6);
    assert_eq!((pair.prefill.used_tokens(), pair.decode.used_tokens()), (0, 0));
}

#[tokio::test]
async fn lists_of_prompts_take_a_list_of_rooms_or_count_up() {
    let pair = Pair::start(LIMIT).await;
    let port = pair.prefill.bootstrap_port().expect("a bootstrap port");
    let list = format!(
        ",\"bootstrap_host\":[\"127.0.0.1\",\"127.0.0.1\"],\"bootstrap_port\":[{port},{port}],\
         \"bootstrap_room\":[9,4]"
    );
    for rooms in [list, pair.room("20")] {
        let body = format!("{{\"prompt\":[\"The with\",\"Python is\"],\"max_tokens\":3{rooms}}}");
        let (prefill, decode) = pair.ask("/v1/completions", &body).await;
        assert_like(&prefill, &fixture("completions-batch-scalar.prefill"));
        assert_like(&decode, &fixture("completions-batch-scalar.decode"));
    }
}

#[tokio::test]
async fn log_probabilities_of_the_prompt_are_prefills() {
    let pair = Pair::start(LIMIT).await;
    let body = format!(
        "{{\"text\":\"wit sta x\",\"return_logprob\":true,\"logprob_start_len\":0,\
         \"sampling_params\":{{\"max_new_tokens\":3}}{}}}",
        pair.room("3")
    );
    let (prefill, decode) = pair.ask("/generate", &body).await;
    assert_like(&prefill, &fixture("generate-logprob.prefill"));
    let keys = mask(&text(&fixture("generate-logprob.decode")));
    assert!(keys.starts_with(mask(&text(&decode)).split(",\"decode_through").next().unwrap()));
}

#[tokio::test]
async fn cached_tokens_are_prefills() {
    let pair = Pair::start(LIMIT).await;
    for (room, cached) in [("1", "null"), ("2", "{\"device\":16,\"host\":0}")] {
        let words = "one two three four five six seven eight nine ten eleven twelve more words";
        let room = pair.room(room);
        let body =
            format!("{{\"text\":\"{words}\",\"sampling_params\":{{\"max_new_tokens\":2}}{room}}}");
        let (_, decode) = pair.ask("/generate", &body).await;
        assert!(text(&decode).contains(&format!("\"cached_tokens_details\":{cached}")));
    }
}

#[tokio::test]
async fn a_request_without_room_is_refused() {
    let pair = Pair::start(LIMIT).await;
    for engine in [&pair.prefill, &pair.decode] {
        let found = post(engine.addr(), "/v1/chat/completions", &chat("")).await;
        assert_like(&found, &fixture("noroom.decode"));
        assert!(text(&found).contains("received without bootstrap room id. req.rid='"));
        let stream = chat(",\"stream\":true");
        let found = post(engine.addr(), "/v1/chat/completions", &stream).await;
        assert_like(&found, &fixture("noroom-stream.decode"));
        assert_eq!(engine.totals().failed, 2);
    }
}

#[tokio::test]
async fn a_half_whose_other_half_stays_away_gives_up() {
    let pair = Pair::start(Duration::from_millis(50)).await;
    let body = chat(&pair.room("5"));
    let found = post(pair.decode.addr(), "/v1/chat/completions", &body).await;
    assert_like(&found, &fixture("timeout-decode-only"));
    let stream = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    let body = chat(&format!("{stream}{}", pair.room("6")));
    let found = post(pair.prefill.addr(), "/v1/chat/completions", &body).await;
    assert_like(&found, &fixture("timeout-prefill-only-stream"));
}

#[tokio::test]
async fn several_samples_in_one_room_never_get_done() {
    let pair = Pair::start(Duration::from_millis(50)).await;
    let body = chat(&format!(",\"n\":2,\"max_tokens\":3{}", pair.room("5")));
    let (prefill, decode) = pair.ask("/v1/chat/completions", &body).await;
    assert_eq!((prefill.status, decode.status), (200, 500));
}

#[tokio::test]
async fn a_waiting_decode_holds_kv_until_its_client_leaves() {
    let pair = Pair::start(LIMIT).await;
    let body = chat(&format!(",\"stream\":true{}", pair.room("5")));
    let mut stream = send(pair.decode.addr(), "POST", "/v1/chat/completions", &body).await;
    read_until(&mut stream, "\r\n\r\n").await;
    assert!(pair.decode.used_tokens() > 0);
    drop(stream);
    pair.decode.wait_for(|totals| totals.aborted == 1).await;
    assert_eq!(pair.decode.used_tokens(), 0);
}
