//! Events, answers and requests in the form of SGLang 0.5.23; those of the Responses and the Messages
//! API in the form that OpenAI and Anthropic document.

use bytes::Bytes;

/// The first event of a chat stream: the role, no text.
pub const ROLE: &[u8] = b"data: {\"id\":\"960924a067384ad68ee4270e111c44b8\",\"object\":\"chat.completion.chunk\",\"created\":1795966294,\"model\":\"tiny-llama\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":null,\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null,\"matched_stop\":null}]}\n\n";

/// The last event with a choice.
pub const FINISH: &[u8] = b"data: {\"id\":\"960924a067384ad68ee4270e111c44b8\",\"object\":\"chat.completion.chunk\",\"created\":1795966294,\"model\":\"tiny-llama\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":null},\"logprobs\":null,\"finish_reason\":\"length\",\"matched_stop\":null}]}\n\n";

/// The event that `stream_options.include_usage` asks for.
pub const USAGE: &[u8] = b"data: {\"id\":\"960924a067384ad68ee4270e111c44b8\",\"object\":\"chat.completion.chunk\",\"created\":1795966294,\"model\":\"tiny-llama\",\"choices\":[],\"usage\":{\"prompt_tokens\":24,\"total_tokens\":280,\"completion_tokens\":256,\"prompt_tokens_details\":null,\"reasoning_tokens\":0,\"completion_tokens_details\":null}}\n\n";

/// The end of every stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// A JSON answer of `/v1/chat/completions`.
pub const ANSWER: &[u8] = br#"{"id":"c51f6d46e57449a285e575aae485da75","object":"chat.completion","created":1795966294,"model":"tiny-llama","choices":[{"index":0,"message":{"role":"assistant","content":"titemiledexception ta section~~~~ replaceould","reasoning_content":null},"logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":{"prompt_tokens":24,"total_tokens":32,"completion_tokens":8,"prompt_tokens_details":null,"reasoning_tokens":0,"completion_tokens_details":null},"metadata":{"weight_version":"default","weight_versions":[{"version":"default","start":0,"end":8}]}}"#;

/// Tokens of the lengths that engines send.
const TOKENS: [&str; 8] = [" the", "title", " a", ".", " except", "\\n\\n", " router", " é"];

/// Content events of a chat stream, one token each.
pub fn content_events(count: usize) -> Vec<Bytes> {
    events(count, |token| {
        format!(
            "data: {{\"id\":\"960924a067384ad68ee4270e111c44b8\",\"object\":\"chat.completion.chunk\",\"created\":1795966294,\"model\":\"tiny-llama\",\"choices\":[{{\"index\":0,\"delta\":{{\"reasoning_content\":null,\"content\":\"{token}\"}},\"logprobs\":null,\"finish_reason\":null,\"matched_stop\":null}}]}}\n\n"
        )
    })
}

/// Content events that each carry counts too, as `continuous_usage_stats` asks for them.
pub fn counted_content_events(count: usize) -> Vec<Bytes> {
    events(count, |token| {
        format!(
            "data: {{\"id\":\"960924a067384ad68ee4270e111c44b8\",\"object\":\"chat.completion.chunk\",\"created\":1795966294,\"model\":\"tiny-llama\",\"choices\":[{{\"index\":0,\"delta\":{{\"reasoning_content\":null,\"content\":\"{token}\"}},\"logprobs\":null,\"finish_reason\":null,\"matched_stop\":null}}],\"usage\":{{\"prompt_tokens\":24,\"total_tokens\":28,\"completion_tokens\":4,\"prompt_tokens_details\":null,\"reasoning_tokens\":0,\"completion_tokens_details\":null}}}}\n\n"
        )
    })
}

/// A whole chat stream, one event a piece, as uvicorn's chunks arrive.
pub fn chat_stream(content: usize) -> Vec<Bytes> {
    let mut stream = vec![shared(ROLE)];
    stream.extend(content_events(content));
    stream.extend([FINISH, USAGE, DONE].map(shared));
    stream
}

/// An event of SGLang's `/generate`, which repeats the text and the token numbers so far.
pub fn generate_event(tokens: usize) -> Bytes {
    let text: String = TOKENS.iter().copied().cycle().take(tokens).collect();
    let ids = vec!["1959"; tokens].join(",");
    format!(
        "data: {{\"text\":\"{text}\",\"output_ids\":[{ids}],\"meta_info\":{{\"id\":\"01f43a611f114cc2aa6a42f43eb01dc1\",\"finish_reason\":null,\"prompt_tokens\":3,\"weight_version\":\"default\",\"num_retractions\":0,\"storage_prefetch_wait\":0.0,\"storage_staging_wait\":0.0,\"forward_entry_time\":1795966342.610849,\"prefill_finished_time\":1795966342.6154268,\"queue_time\":0.0005108939999445283,\"reasoning_tokens\":0,\"completion_tokens\":{tokens},\"cached_tokens\":2,\"cached_tokens_details\":{{\"device\":2,\"host\":0}},\"dp_rank\":null}}}}\n\n"
    )
    .into()
}

/// The first event of a stream of the Responses API.
const CREATED: &[u8] = b"event: response.created\ndata: {\"response\":{\"id\":\"resp_960924a067384ad68ee4270e111c44b8\",\"created_at\":1795966294,\"model\":\"tiny-llama\",\"object\":\"response\",\"output\":[],\"status\":\"in_progress\",\"usage\":null},\"sequence_number\":0,\"type\":\"response.created\"}\n\n";

/// The last one.
const COMPLETED: &[u8] = b"event: response.completed\ndata: {\"response\":{\"id\":\"resp_960924a067384ad68ee4270e111c44b8\",\"created_at\":1795966294,\"model\":\"tiny-llama\",\"object\":\"response\",\"output\":[],\"status\":\"completed\",\"usage\":{\"input_tokens\":24,\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":256,\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":280}},\"sequence_number\":262,\"type\":\"response.completed\"}\n\n";

/// A whole stream of the Responses API, one event a piece.
pub fn responses_stream(content: usize) -> Vec<Bytes> {
    let mut stream = vec![shared(CREATED)];
    stream.extend(responses_events(content));
    stream.push(shared(COMPLETED));
    stream
}

/// Content events of the Responses API.
pub fn responses_events(count: usize) -> Vec<Bytes> {
    events(count, |token| {
        format!(
            "event: response.output_text.delta\ndata: {{\"content_index\":0,\"delta\":\"{token}\",\"item_id\":\"msg_960924a067384ad68ee4270e111c44b8\",\"logprobs\":[],\"output_index\":0,\"sequence_number\":128,\"type\":\"response.output_text.delta\"}}\n\n"
        )
    })
}

/// The first event of a stream of the Messages API.
const MESSAGE_START: &[u8] = b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_960924a067384ad68ee4270e111c44b8\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"tiny-llama\",\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":24,\"output_tokens\":0}}}\n\n";

/// The one that states what was written.
const MESSAGE_DELTA: &[u8] = b"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":256}}\n\n";

/// The last one.
const MESSAGE_STOP: &[u8] = b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// A whole stream of the Messages API, one event a piece.
pub fn messages_stream(content: usize) -> Vec<Bytes> {
    let mut stream = vec![shared(MESSAGE_START)];
    stream.extend(messages_events(content));
    stream.extend([MESSAGE_DELTA, MESSAGE_STOP].map(shared));
    stream
}

/// Content events of the Messages API.
pub fn messages_events(count: usize) -> Vec<Bytes> {
    events(count, |token| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{token}\"}}}}\n\n"
        )
    })
}

/// A streamed chat request whose body has about `size` bytes, nearly all of them prompt: lines of
/// prose. It does not ask for counts.
pub fn chat_request(size: usize) -> Bytes {
    chat_request_with(size, ",\"stream\":true")
}

/// The same, and it asks for counts.
pub fn chat_request_for_counts(size: usize) -> Bytes {
    chat_request_with(size, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}")
}

/// The same for an answer that is not streamed.
pub fn chat_request_for_an_answer(size: usize) -> Bytes {
    chat_request_with(size, "")
}

/// The same bytes, cut every `size` bytes.
pub fn cut(pieces: &[Bytes], size: usize) -> Vec<Bytes> {
    let whole = pieces.concat();
    whole.chunks(size).map(shared).collect()
}

fn chat_request_with(size: usize, members: &str) -> Bytes {
    const LINE: &str =
        "It was the best of times, it was the worst of times, it was the age of \\\"wisdom\\\".\\n";
    let prompt = LINE.repeat(size.div_ceil(LINE.len()));
    format!(
        "{{\"model\":\"tiny-llama\",\"messages\":[{{\"role\":\"system\",\"content\":\"You are helpful.\"}},{{\"role\":\"user\",\"content\":\"{prompt}\"}}],\"max_tokens\":256,\"temperature\":0.70{members}}}"
    )
    .into()
}

fn events(count: usize, event: impl Fn(&str) -> String) -> Vec<Bytes> {
    let tokens = TOKENS.iter().cycle().take(count);
    tokens.map(|token| shared(event(token).as_bytes())).collect()
}

/// Bytes that are counted as hyper's are: a clone takes an atomic step and no allocation.
fn shared(bytes: &[u8]) -> Bytes {
    Bytes::from_owner(bytes.to_vec())
}
