//! Where to look.

use std::env;

use super::{
    ask::MODEL,
    stage::{Addresses, Engines},
};

/// What the demo says of itself once it runs.
pub(super) fn text(addresses: Addresses, engines: &Engines) -> String {
    let Addresses { clients, metrics } = addresses;
    let Engines { prefill, decode } = engines;
    // As it was called: it need not be where programs are looked for.
    let program = env::args().next().unwrap_or_else(|| "plimsoll".to_owned());
    let bootstrap = prefill.bootstrap_port().unwrap_or_default();
    format!(
        r#"A router, two simulated engines and a load of three requests a second are running.

Chat      http://{clients}/v1/chat/completions

  curl -N http://{clients}/v1/chat/completions -H 'content-type: application/json' -d '{{"model":"{MODEL}","stream":true,"max_tokens":80,"messages":[{{"role":"user","content":"What is a Plimsoll line?"}}]}}'

Metrics   http://{metrics}/metrics

  curl -s http://{metrics}/metrics | grep -E '^plimsoll_(requests|(prompt|cached_prompt|completion)_tokens)_total'

Dashboard http://{metrics}/

KV cache  {program} kv http://{metrics}

Engines   prefill {} (bootstrap port {bootstrap}), decode {}

Ctrl-C ends it."#,
        prefill.url(),
        decode.url(),
    )
}
