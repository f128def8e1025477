#!/usr/bin/env python3
"""Sends a mix of requests through plimsoll to a real SGLang prefill/decode pair and compares three
counts of the same tokens: what the replies say, plimsoll's page, and the decode engine's own counters.

usage: real_pair.py ROUTER_URL METRICS_URL DECODE_URL [ROUNDS]      (engines started with --enable-metrics)
Exit 0 only if all three agree.
"""

import json
import re
import sys
import time
import urllib.request

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


def requests(router):
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
    yield openai_usage(
        json.load(post(completions, {**common, "prompt": [TEXT, "Python is"], "max_tokens": 3}))
    )
    yield openai_usage(
        events(post(completions, {**common, "prompt": TEXT, "max_tokens": 1, **asked}))[-1]
    )
    yield native_usage([json.load(post(generate, {"text": TEXT, "sampling_params": sampling}))])
    batch = {"text": [TEXT, "Python is"], "sampling_params": sampling}
    yield native_usage(json.load(post(generate, batch)))
    stream = {"text": TEXT, "stream": True, "sampling_params": sampling}
    yield native_usage(events(post(generate, stream))[-1:])


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
            "engine prompt": sums(self.decode, "sglang:prompt_tokens_total"),
            "engine completion": sums(self.decode, "sglang:generation_tokens_total"),
        }

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


def main(router, page, decode, rounds):
    counts = Counts(page, decode)
    replies = [usage for _ in range(rounds) for usage in requests(router)]
    unasked = sum(unasked_stream(router) for _ in range(rounds))
    finished = len(replies) + rounds
    counts.wait("complete", finished)
    seen = counts.since()
    said = [sum(usage[index] for usage in replies) for index in (0, 1)]
    silent = seen["prompt"] - said[0]
    print(f"complete    {finished} sent; page {seen['complete']}")
    print(f"prompt      replies {said[0]} + silent {silent}; page {seen['prompt']}; "
          f"decode engine {seen['engine prompt']}")
    print(f"completion  replies {said[1]} + silent {unasked}; page {seen['completion']}; "
          f"decode engine {seen['engine completion']}")
    print(f"cached      page {seen['cached']}, as prefill says")
    for _ in range(rounds):
        leave(router)
    counts.wait("left", rounds)
    after = counts.since()
    wrote = after["engine completion"] - seen["engine completion"]
    print(f"left        {rounds} clients; page {after['left']}, at least {after['at least']} tokens; "
          f"decode engine wrote {wrote} for them")
    same = (
        (seen["complete"], after["left"]) == (finished, rounds)
        and seen["completion"] == said[1] + unasked == seen["engine completion"]
        and seen["prompt"] == seen["engine prompt"]
        and all(after[name] == seen[name] for name in ("prompt", "completion", "cached"))
        and 0 < after["at least"] <= wrote
    )
    print("equal" if same else "NOT EQUAL")
    return 0 if same else 1


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:4], int(sys.argv[4]) if len(sys.argv) == 5 else 2))
