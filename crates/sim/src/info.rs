//! What an engine tells about itself. Keys nobody needs are left out of the two big documents.

use plimsoll_wire::{Engine as Kind, Role};
use serde_json::{Value, json};

use crate::{clock, config::disaggregation_mode, rank::RankView, state::Engine};

/// `/v1/models`
pub(crate) fn models(engine: &Engine) -> Vec<u8> {
    let config = &engine.config;
    let model = Value::from(config.model.as_str());
    let (created, length, owner) = (engine.created, config.context_len, config.engine);
    let permission = match owner {
        Kind::Sglang => String::new(),
        Kind::Vllm => permission(engine),
    };
    format!(
        "{{\"object\":\"list\",\"data\":[{{\"id\":{model},\"object\":\"model\",\
         \"created\":{created},\"owned_by\":\"{owner}\",\"root\":{model},\"parent\":null,\
         \"max_model_len\":{length}{permission}}}]}}"
    )
    .into_bytes()
}

/// What vLLM says may be done with a model.
fn permission(engine: &Engine) -> String {
    let (id, created) = (&engine.kept.engine_id[..8], engine.created);
    format!(
        ",\"permission\":[{{\"id\":\"modelperm-{id}\",\"object\":\"model_permission\",\
         \"created\":{created},\"allow_create_engine\":false,\"allow_sampling\":true,\
         \"allow_logprobs\":true,\"allow_search_indices\":false,\"allow_view\":true,\
         \"allow_fine_tuning\":false,\"organization\":\"*\",\"group\":null,\
         \"is_blocking\":false}}]"
    )
}

/// vLLM's `/version`
pub(crate) fn version(engine: &Engine) -> Vec<u8> {
    let version = Value::from(engine.config.told_version());
    format!("{{\"version\":{version}}}").into_bytes()
}

/// `/server_info` and its older name. Keys are in alphabetical order, the engine's are not.
pub(crate) fn server(engine: &Engine) -> Vec<u8> {
    let config = &engine.config;
    let states = engine.ranks.iter().map(|rank| {
        json!({
            "effective_max_running_requests_per_dp": config.max_running_requests,
            "last_gen_throughput": rank.view().activity.throughput(),
            "memory_usage": {"token_capacity": config.capacity_tokens, "token_capacity_swa": null},
        })
    });
    let info = json!({
        "context_length": config.context_len,
        "disaggregation_bootstrap_port": engine.bootstrap_port(),
        "disaggregation_mode": disaggregation_mode(config.role),
        "disaggregation_transfer_backend": "mooncake",
        "dp_size": config.dp,
        "enable_cache_report": config.cache_report,
        "enable_metrics": config.metrics,
        "enable_metrics_for_all_schedulers": config.metrics_all_ranks,
        "frontend": "python",
        "host": config.addr.ip().to_string(),
        "internal_states": states.collect::<Vec<_>>(),
        "load_balance_method": "round_robin",
        "max_running_requests": config.max_running_requests,
        "max_total_num_tokens": config.capacity_tokens,
        "model_path": config.model,
        "page_size": 1,
        "pp_size": 1,
        "served_model_name": config.model,
        "status": "ready",
        "tokenizer_path": config.model,
        "tp_size": config.tp,
        "version": config.told_version(),
        "weight_version": "default",
    });
    info.to_string().into_bytes()
}

/// `/model_info` and its older name.
pub(crate) fn model(engine: &Engine) -> Vec<u8> {
    let model = Value::from(engine.config.model.as_str());
    let mode = disaggregation_mode(engine.config.role);
    format!(
        "{{\"model_path\":{model},\"served_model_name\":{model},\"tokenizer_path\":{model},\
         \"is_generation\":true,\"preferred_sampling_params\":null,\
         \"weight_version\":\"default\",\"load_format\":\"auto\",\"reasoning_parser\":null,\
         \"tool_call_parser\":null,\"disaggregation_mode\":\"{mode}\",\
         \"has_image_understanding\":false,\"has_audio_understanding\":false,\
         \"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"]}}"
    )
    .into_bytes()
}

/// `/v1/loads`
pub(crate) fn loads(engine: &Engine) -> Vec<u8> {
    let ranks = engine.ranks.iter().enumerate();
    let loads: Vec<_> = ranks.map(|(at, rank)| load(engine, at, &rank.view())).collect();
    let (now, version) = (clock::iso(clock::unix()), engine.config.told_version());
    let loads = loads.join(",");
    format!(
        "{{\"timestamp\":\"{now}\",\"version\":\"{version}\",\"accelerator\":null,\
         \"num_accelerators\":{},\"loads\":[{loads}]}}",
        engine.config.tp
    )
    .into_bytes()
}

/// One rank's entry. Waiting requests include those in the queues of a pair; the token ratio has
/// four decimals.
fn load(engine: &Engine, dp_rank: usize, view: &RankView) -> String {
    let config = &engine.config;
    let (used, capacity) = (view.used, config.capacity_tokens);
    let pair_queues = view.bootstrap + view.inflight + view.prealloc + view.transfer;
    let prefill = config.role == Role::Prefill;
    let utilization = if prefill { -1.0 } else { 0.0 };
    let active = if view.running > 0 { used } else { 0 };
    let four = |ratio: f64| (ratio * 1e4).round() / 1e4;
    format!(
        "{{\"timestamp\":{:?},\"dp_rank\":{dp_rank},\"num_running_reqs\":{},\
         \"num_waiting_reqs\":{},\"num_waiting_uncached_tokens\":0,\"num_used_tokens\":{used},\
         \"num_total_tokens\":{used},\"num_active_tokens\":{active},\
         \"num_prealloc_ready_tokens\":0,\"max_total_num_tokens\":{capacity},\
         \"max_running_requests\":{},\"token_usage\":{:?},\"gen_throughput\":{:?},\
         \"cache_hit_rate\":{:?},\"utilization\":{utilization:?},\
         \"total_prefill_uncached_tokens\":{},\"total_prefill_busy_us\":0,\
         \"decode_moments\":null,\"memory\":{{\"weight_gb\":0.004,\"kv_cache_gb\":0.004,\
         \"graph_gb\":0.0,\"token_capacity\":{capacity}}},\"disaggregation\":{{\"mode\":\"{}\",\
         \"prefill_bootstrap_queue_reqs\":{},\"prefill_inflight_queue_reqs\":{},\
         \"decode_prealloc_queue_reqs\":{},\"decode_transfer_queue_reqs\":{},\
         \"decode_retracted_queue_reqs\":0,\"kv_transfer_speed_gb_s\":0.0,\
         \"kv_transfer_latency_ms\":0.0}},\"queues\":{{\"waiting\":{},\"grammar\":0,\
         \"paused\":0,\"retracted\":0,\"prealloc_ready\":0}}}}",
        clock::unix(),
        view.running,
        view.waiting + pair_queues,
        config.max_running_requests,
        four(used as f64 / capacity as f64),
        (view.activity.throughput() * 100.0).round() / 100.0,
        four(view.activity.hit_rate),
        view.activity.computed,
        disaggregation_mode(config.role),
        view.bootstrap,
        view.inflight,
        view.prealloc,
        view.transfer,
        view.waiting,
    )
}
