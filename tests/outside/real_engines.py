#!/usr/bin/env python3
"""Sends a mix of requests through plimsoll to real engines and compares what was counted of the same
tokens: by the replies, plimsoll's page, its usage log, and the engine that wrote them.

usage: real_engines.py ROUTER_URL METRICS_URL ENGINE_URL [ROUNDS [USAGE_LOG]]
ENGINE_URL is the decode engine of a pair, or the one plain worker (SGLang or vLLM), its metrics on.
Nothing else may use them meanwhile, and the usage log must be new. Before the mix a pair is sent what
would harm it (n: 2 four times at once, every field that steers), all of which must be refused.
Exit 0 only if all agree.
"""

import json
import re
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

MODEL = "tiny-llama"
TEXT = "The with statement is used to wrap the execution of a block with methods. "


def post(url, body):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    return urllib.request.urlopen(request, timeout=60)


def sums(page_url, name, **labels):
    """The sum of a counter's samples that carry these labels."""
    total = 0.0
    for line in urllib.request.urlopen(page_url, timeout=10).read().decode().splitlines():
        match = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
        if match and all(f'{key}="{value}"' in (match[1] or "") for key, value in labels.items()):
            total += float(match[2])
    return total


def events(response):
    data = [line[6:] for line in response.read().decode().splitlines() if line.startswith("data: ")]
    assert data[-1] == "[DONE]", data[-1]
    return [json.loads(event) for event in data[:-1]]


def openai_usage(reply):
    usage = reply["usage"]
    details = usage.get("prompt_tokens_details") or {}
    return usage["prompt_tokens"], usage["completion_tokens"], details.get("cached_tokens")


def native_usage(replies):
    infos = [reply["meta_info"] for reply in replies]
    return tuple(
        sum(info[name] for info in infos)
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
    )


def responses_usage(reply):
    usage = reply["usage"]
    details = usage.get("input_tokens_details") or {}
    return usage["input_tokens"], usage["output_tokens"], details.get("cached_tokens")


def refusal(url, body, headers=()):
    """The status and the message of an answer that is an error of the router's."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json", **dict(headers)}
    )
    try:
        return urllib.request.urlopen(request, timeout=60).status, ""
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["error"]["message"]


def harmful(router, is_vllm):
    """What would reach into a pair, or hang it; how many requests that is."""
    chat, completions = router + "/v1/chat/completions", router + "/v1/completions"
    body = {"model": MODEL, "messages": [{"role": "user", "content": TEXT}], "max_tokens": 4}
    two = {**body, "n": 2, "temperature": 1}
    with ThreadPoolExecutor(4) as pool:
        refused = list(pool.map(lambda stream: refusal(chat, {**two, "stream": stream}), [0, 1, 0, 1]))
    assert all(status == 400 and "2 choices" in message for status, message in refused), refused
    fields = ("bootstrap_host", "bootstrap_port", "bootstrap_room", "bootstrap_pair_key",
              "routed_dp_rank", "disagg_prefill_dp_rank", "data_parallel_rank")
    steering = [({field: 1}, (), field) for field in fields]
    steering.append(({"kv_transfer_params": {"do_remote_prefill": True}}, (), "kv_transfer_params"))
    for header in ("x-override-bootstrap-host", "x-data-parallel-rank"):
        steering.append(({}, [(header, "1")], header))
    for more, headers, name in steering:
        status, message = refusal(chat, {**body, **more}, headers)
        assert status == 400 and name in message, (name, status, message)
    lists = [["a", "b"], [[1], [2]]] if is_vllm else []
    for prompts in lists:
        status, message = refusal(completions, {"model": MODEL, "prompt": prompts})
        assert status == 400 and "2 prompts" in message, (prompts, status, message)
    count = len(refused) + len(steering) + len(lists)
    print(f"refused     {count} requests that would harm a pair")
    return count


def requests(router, is_vllm, is_pair):
    """Each yields the usage that its reply states."""
    chat, completions, generate = (
        router + path for path in ("/v1/chat/completions", "/v1/completions", "/generate")
    )
    common = {"model": MODEL, "temperature": 0, "ignore_eos": True}
    messages = [{"role": "user", "content": TEXT}]
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    sampling = {"max_new_tokens": 5, "temperature": 0, "ignore_eos": True}
    yield openai_usage(json.load(post(chat, {**common, "messages": messages, "max_tokens": 6})))
    yield openai_usage(
        events(post(chat, {**common, "messages": messages, "max_tokens": 9, **asked}))[-1]
    )
    yield openai_usage(json.load(post(completions, {**common, "prompt": TEXT, "max_tokens": 7})))
    if not (is_vllm and is_pair):
        batch = {**common, "prompt": [TEXT, "Python is"], "max_tokens": 3}
        yield openai_usage(json.load(post(completions, batch)))
    yield openai_usage(
        events(post(completions, {**common, "prompt": TEXT, "max_tokens": 1, **asked}))[-1]
    )
    if is_vllm and is_pair:
        yield from vllm_pair_requests(completions, {**common, "prompt": TEXT, "max_tokens": 4})
        return
    if is_vllm:
        yield from vllm_requests(router, {**common, "messages": messages}, asked)
        return
    yield native_usage([json.load(post(generate, {"text": TEXT, "sampling_params": sampling}))])
    batch = {"text": [TEXT, "Python is"], "sampling_params": sampling}
    yield native_usage(json.load(post(generate, batch)))
    stream = {"text": TEXT, "stream": True, "sampling_params": sampling}
    yield native_usage(events(post(generate, stream))[-1:])


def of_two(usage):
    """vLLM's own counter has the prompt of each sample, its usage that of the request."""
    return (*usage, usage[0])


def vllm_requests(router, chat_body, asked):
    """What a SGLang pair does not serve."""
    chat, responses = router + "/v1/chat/completions", router + "/v1/responses"
    two = {**chat_body, "temperature": 1, "n": 2, "max_tokens": 4}
    yield of_two(openai_usage(json.load(post(chat, two))))
    continuous = {"include_usage": True, "continuous_usage_stats": True}
    continuous = {"stream": True, "stream_options": continuous}
    yield of_two(openai_usage(events(post(chat, {**two, **continuous}))[-1]))
    body = {"model": MODEL, "input": TEXT, "max_output_tokens": 5, "temperature": 0}
    yield responses_usage(json.load(post(responses, body)))
    stream = post(responses, {**body, "stream": True}).read().decode().splitlines()
    last = [json.loads(line[6:]) for line in stream if line.startswith("data: {")][-1]
    yield responses_usage(last["response"])


def vllm_pair_requests(completions, body):
    """What only the first leg must not see."""
    for more in ({"min_tokens": 3}, {"prompt": [TEXT]}, {"prompt": [5, 6, 7, 8]}):
        yield openai_usage(json.load(post(completions, {**body, **more})))


def unasked_stream(router):
    """A stream whose client does not ask for usage, and must not get it."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": TEXT}], "stream": True}
    body |= {"max_tokens": 11, "temperature": 0, "ignore_eos": True}
    got = events(post(router + "/v1/chat/completions", body))
    assert all(event["choices"] and not event.get("usage") for event in got), got
    return 11


def leave(router):
    """A client that leaves after some bytes of a long stream."""
    body = {"model": MODEL, "prompt": TEXT, "max_tokens": 400, "stream": True, "ignore_eos": True}
    response = post(router + "/v1/completions", body)
    response.read(400)
    response.close()


class Counts:
    """What the page and the decode engine have counted since this was made."""

    def __init__(self, page, decode):
        self.page, self.decode = page + "/metrics", decode + "/metrics"
        self.start = self.read()

    def read(self):
        requests = "plimsoll_requests_total"
        return {
            "complete": sums(self.page, requests, outcome="complete"),
            "left": sums(self.page, requests, outcome="client_disconnect"),
            "prompt": sums(self.page, "plimsoll_prompt_tokens_total"),
            "completion": sums(self.page, "plimsoll_completion_tokens_total"),
            "cached": sums(self.page, "plimsoll_cached_prompt_tokens_total"),
            "at least": sums(self.page, "plimsoll_partial_completion_tokens_total"),
            "engine prompt": self.engine("prompt_tokens_total"),
            "engine completion": self.engine("generation_tokens_total"),
        }

    def engine(self, name):
        return sum(sums(self.decode, prefix + name) for prefix in ("sglang:", "vllm:"))

    def is_vllm(self):
        return "vllm:" in urllib.request.urlopen(self.decode, timeout=10).read().decode()

    def since(self):
        return {name: int(value - self.start[name]) for name, value in self.read().items()}

    def wait(self, name, count):
        """Until so many are finished and none is in flight."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            busy = sums(self.page, "plimsoll_requests_in_flight")
            if self.since()[name] == count and not busy:
                return
            time.sleep(0.2)


def log_agrees(path, seen, requests):
    """One line a request, and the sums of the page."""
    with open(path) as log:
        lines = [json.loads(line) for line in log]
    exact = [line["usage"] for line in lines if line["completeness"] == "exact"]
    said = {name: sum(usage[name] or 0 for usage in exact) for name in ("prompt", "completion", "cached")}
    bound = sum(line["lower_bound"]["completion"] or 0 for line in lines)
    print(f"usage log   {len(lines)} lines for {requests}; {said}, at least {bound}")
    return (
        len({line["id"] for line in lines}) == len(lines) == requests
        and all(said[name] == seen[name] for name in said)
        and bound == seen["at least"]
    )


def main(router, page, decode, rounds, log=None):
    is_vllm = Counts(page, decode).is_vllm()
    workers = json.load(urllib.request.urlopen(router + "/workers", timeout=10))["workers"]
    is_pair = any(worker["role"] == "decode" for worker in workers)
    refused = harmful(router, is_vllm) if is_pair else 0
    counts = Counts(page, decode)
    replies = [usage for _ in range(rounds) for usage in requests(router, is_vllm, is_pair)]
    unasked = sum(unasked_stream(router) for _ in range(rounds))
    finished = len(replies) + rounds
    counts.wait("complete", finished)
    seen = counts.since()
    said = [sum(usage[index] for usage in replies) for index in (0, 1)]
    repeated = sum(usage[3] for usage in replies if len(usage) > 3)
    silent = seen["prompt"] - said[0]
    print(f"complete    {finished} sent; page {seen['complete']}")
    print(f"prompt      replies {said[0]} + silent {silent}; page {seen['prompt']}; "
          f"engine {seen['engine prompt'] - repeated} (and {repeated} of second samples)")
    print(f"completion  replies {said[1]} + silent {unasked}; page {seen['completion']}; "
          f"engine {seen['engine completion']}")
    print(f"cached      page {seen['cached']}, as the engines say")
    for _ in range(rounds):
        leave(router)
    counts.wait("left", rounds)
    after = counts.since()
    wrote = after["engine completion"] - seen["engine completion"]
    print(f"left        {rounds} clients; page {after['left']}, at least {after['at least']} tokens; "
          f"engine wrote {wrote} for them")
    same = (
        (seen["complete"], after["left"]) == (finished, rounds)
        and seen["completion"] == said[1] + unasked == seen["engine completion"]
        and seen["prompt"] == seen["engine prompt"] - repeated
        and all(after[name] == seen[name] for name in ("prompt", "completion", "cached"))
        and 0 < after["at least"] <= wrote
    )
    same = same and (log is None or log_agrees(log, after, finished + rounds + refused))
    print("equal" if same else "NOT EQUAL")
    return 0 if same else 1


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 6:
        sys.exit(__doc__)
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    sys.exit(main(*sys.argv[1:4], rounds, *sys.argv[5:]))
