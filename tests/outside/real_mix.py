#!/usr/bin/env python3
"""Sends every kind of request through a fresh plimsoll to real engines, clients that leave among them, and
compares, request by request and in sum: the replies, plimsoll's usage log, its page, and the engines'.

usage: real_mix.py [--drain] ROUTER_URL METRICS_URL USAGE_LOG ENGINE_URL [PREFILL_URL]
The router: just started, with --usage-log USAGE_LOG (a new file) --tenant-header x-tenant --genai-metrics.
The engines: model tiny-llama, 512 tokens of context, metrics and cache report on, used by nothing else.
ENGINE_URL is the plain worker, or decode with PREFILL_URL for a pair; two URLs mean SGLang's pair.
--drain: the router runs with --on-disconnect drain, so of those that left, too, all is exact.
Exit 0 only if all agree; what does not is printed with the bytes of its request and reply.
"""

import collections
import concurrent.futures
import http.client
import itertools
import json
import re
import sys
import time
import urllib.parse
import urllib.request

TEXT = "The with statement is used to wrap the execution of a block with methods. "
COMMON = {"model": "tiny-llama", "temperature": 0, "ignore_eos": True}
CHAT = {**COMMON, "messages": [{"role": "user", "content": TEXT}]}
PROMPT = {**COMMON, "prompt": TEXT}
LISTS = {**COMMON, "prompt": [TEXT, "Python is"]}
STREAM = {"stream": True}
ASKED = {"stream": True, "stream_options": {"include_usage": True}}
CONTINUOUS = {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
SAMPLING = {"temperature": 0, "ignore_eos": True}
ROUTES = {
    "chat": "/v1/chat/completions", "completions": "/v1/completions", "generate": "/generate",
    "responses": "/v1/responses", "messages": "/v1/messages", "embeddings": "/v1/embeddings",
}


def generate(tokens, **members):
    return {"sampling_params": {**SAMPLING, "max_new_tokens": tokens}, **members}


def both_engines():
    """(endpoint, body, completion tokens or None for what is refused)"""
    yield from (("chat", {**CHAT, "max_tokens": 6, **how}, 6) for how in ({}, STREAM, ASKED, CONTINUOUS))
    yield from (("chat", {**CHAT, "max_tokens": 1, **how}, 1) for how in ({}, STREAM, ASKED))
    lists = {"logprobs": True, "top_logprobs": 2, "max_tokens": 5}
    yield from (("chat", {**CHAT, **lists, **how}, 5) for how in ({}, STREAM, ASKED))
    yield from (("completions", {**PROMPT, "max_tokens": 7, **how}, 7) for how in ({}, STREAM, ASKED, CONTINUOUS))
    yield from (("completions", {**PROMPT, "max_tokens": 1, **how}, 1) for how in ({}, STREAM))
    yield from (("completions", {**LISTS, "max_tokens": 3, **how}, 6) for how in ({}, STREAM, ASKED))
    yield from (("completions", {**PROMPT, "logprobs": 2, "max_tokens": 4, **how}, 4) for how in ({}, STREAM))
    yield "completions", {**PROMPT, "prompt": [5, 6, 7, 8, 9], "echo": True, "max_tokens": 3, **ASKED}, 3
    yield "completions", {**PROMPT, "prompt": [[5, 6, 7], [8, 9]], "max_tokens": 2}, 4
    yield "chat", {**CHAT, "model": "nobody", "max_tokens": 2}, None  # SGLang answers for any name
    yield "chat", {**CHAT, "messages": [{"role": "user", "content": TEXT * 60}]}, None
    yield "completions", {**PROMPT, "prompt": TEXT * 60, **STREAM}, None
    yield "chat", b'{"model":"tiny-llama","messages":[', None
    yield "chat", {"model": "tiny-llama"}, None
    yield "embeddings", {"model": "tiny-llama", "input": TEXT}, None


def of_sglang():
    for members in ({}, STREAM, {"return_logprob": True}, {"return_logprob": True, **STREAM}):
        yield "generate", generate(5, text=TEXT, **members), 5
        yield "generate", generate(3, text=[TEXT, "Python is"], **members), 6
    yield "generate", generate(1, input_ids=[5, 6, 7, 8]), 1
    yield "generate", generate(2, input_ids=[[5, 6, 7], [8, 9]], **STREAM), 4
    yield "generate", generate(2, text=TEXT * 60), None
    yield "chat", {**CHAT, "n": 2, "max_tokens": 2}, None  # by the router: it would hang decode
    yield "generate", {"text": TEXT, "sampling_params": {"n": 2}}, None


def of_vllm():
    for how in ({}, STREAM, ASKED, CONTINUOUS):
        yield "chat", {**CHAT, "n": 2, "max_tokens": 4, **how}, 8
        yield "completions", {**LISTS, "n": 2, "max_tokens": 3, **how}, 12
        yield "completions", {**PROMPT, "best_of": 2, "max_tokens": 3, **how}, 3
    say = {"model": "tiny-llama", "temperature": 0}
    for how in ({}, STREAM):
        yield "responses", {**say, "input": TEXT, "max_output_tokens": 5, **how}, 5
        yield "messages", {**say, "messages": CHAT["messages"], "max_tokens": 5, **how}, 5
    yield "generate", generate(5, text=TEXT), None


def leavers():
    """(endpoint, body, bytes to read before it leaves or None for no head, seconds to wait)"""
    yield "chat", {**CHAT, "max_tokens": 300, **STREAM}, 400, 0
    yield "chat", {**CHAT, "max_tokens": 300, "n": 1, **CONTINUOUS}, 1500, 0
    yield "completions", {**PROMPT, "max_tokens": 300, **STREAM}, 400, 0
    yield "completions", {**LISTS, "max_tokens": 300, **ASKED}, 900, 0
    yield "completions", {**PROMPT, "max_tokens": 300, "logprobs": 1, **STREAM}, 900, 0
    yield "completions", {**PROMPT, "max_tokens": 300}, None, 0.3
    yield "chat", {**CHAT, "max_tokens": 300, **STREAM}, None, 0


class Sent:
    """A request, its reply, and what its client can know."""

    ids = itertools.count(1)

    def __init__(self, router, endpoint, body, tokens=None):
        self.endpoint, self.tokens = endpoint, tokens
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.stream = b'"stream": true' in self.body
        number = next(self.ids)
        self.id, self.tenant = f"mix-{number}", ("team-a", "team-b", None)[number % 3]
        self.router, self.status, self.reply = router, 0, b""

    def open(self):
        headers = {"content-type": "application/json", "x-request-id": self.id}
        if self.tenant:
            headers["x-tenant"] = self.tenant
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.router).netloc, timeout=120)
        self.connection.request("POST", ROUTES[self.endpoint], self.body, headers)

    def finish(self):
        self.open()
        response = self.connection.getresponse()
        self.status, self.reply = response.status, response.read()
        self.connection.close()
        return self

    def leave(self, after, wait):
        self.open()
        time.sleep(wait)
        if after is not None:
            response = self.connection.getresponse()
            self.status = response.status
            while len(self.reply) < after:
                self.reply += response.read1(after - len(self.reply))
            response.close()
        self.connection.close()
        return self

    def events(self):
        """The JSON documents of the reply; the last line of a broken stream is none."""
        if not self.stream or not self.reply.startswith((b"data:", b"event:")):
            return [json.loads(self.reply)]
        whole = self.reply.split(b"\n")[:-1]
        return [json.loads(line[6:]) for line in whole if line.startswith(b"data: {")]

    def usage(self):
        """What the reply states: prompt, completion, cached."""
        if self.endpoint == "generate":
            last = {}
            for event in self.events():
                for one in event if isinstance(event, list) else [event]:
                    last[one.get("index", one["meta_info"]["id"])] = one["meta_info"]
            names = ("prompt_tokens", "completion_tokens", "cached_tokens")
            return tuple(sum(info[name] for info in last.values()) for name in names)
        found = None, None, None
        for event in self.events():
            usage = event.get("usage") or event.get("response", {}).get("usage")
            if usage and self.endpoint == "messages":
                cached = usage.get("cache_read_input_tokens")
                prompt = usage["input_tokens"] + (cached or 0) + (usage.get("cache_creation_input_tokens") or 0)
                found = prompt, usage["output_tokens"], cached
            elif usage:
                names = ("input", "output") if self.endpoint == "responses" else ("prompt", "completion")
                details = usage.get(names[0] + "_tokens_details") or {}
                found = *(usage[name + "_tokens"] for name in names), details.get("cached_tokens")
        return found

    def has_text(self):
        def text(event):
            yield event.get("text")
            yield event["delta"] if isinstance(event.get("delta"), str) else event.get("delta", {}).get("text")
            for choice in event.get("choices") or []:
                yield choice.get("text")
                yield from (value for key, value in (choice.get("delta") or {}).items() if key != "role")
        return any(isinstance(value, str) and value for event in self.events() for value in text(event))

    def show(self, why, line):
        print(f"MISMATCH {self.id}: {why}\n  POST {ROUTES[self.endpoint]}\n  {self.body!r}\n"
              f"  {self.status} {self.reply!r}\n  log {line}")


class Page(dict):
    """A metrics page: {(name, its sorted labels): value}."""

    def __init__(self, url):
        for line in urllib.request.urlopen(url + "/metrics", timeout=10).read().decode().splitlines():
            match = re.fullmatch(r"([a-zA-Z0-9_:]+)(?:\{(.*)\})? (\S+)", line)
            if match:
                labels = tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or "")))
                self[match[1], labels] = float(match[3])

    def by(self, name, *labels):
        """The sums that are not 0, by the values of these labels."""
        sums = collections.Counter()
        for (found, having), value in self.items():
            if found == name and value:
                sums[tuple(dict(having).get(label) for label in labels)] += value
        return dict(sums)

    def sum(self, *names):
        return int(sum(sum(self.by(name).values()) for name in names))


def engine(page):
    kinds = ("prompt_tokens_total", "generation_tokens_total", "cached_tokens_total")
    found = [page.sum("sglang:" + kind, "vllm:" + kind) for kind in kinds]
    found[2] += page.sum("vllm:prefix_cache_hits_total")
    return found


def settled(page_url, engine_urls, log, count):
    """The log, the page and the engines once all requests are counted and the engines are idle."""
    before, end = None, time.monotonic() + 120
    while time.monotonic() < end:
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        page, engines = Page(page_url), [engine(Page(url)) for url in engine_urls]
        idle = len(lines) >= count and not page.sum("plimsoll_requests_in_flight") and engines == before
        if idle:
            break
        before = engines
        time.sleep(2)
    return lines, page, engines


def page_agrees(page, lines, sent):
    """Each counter by its labels against the sums over the log's lines."""
    def of(kind, *labels, exact=True):
        sums = collections.Counter()
        for line in lines:
            if not exact or line["completeness"] == "exact":
                sums[tuple(label(line) for label in labels)] += kind(line) or 0
        return {key: value for key, value in sums.items() if value}

    def member(name):
        return lambda line: {True: "true", False: "false", None: "unknown"}.get(line[name], str(line[name]))

    def operation(line):
        return {"completions": "text_completion", "chat": "chat"}.get(line["endpoint"])

    where = [member(name) for name in ("endpoint", "model", "stream")]
    usage = {kind: lambda line, kind=kind: line["usage"][kind] for kind in ("prompt", "completion", "cached", "reasoning")}
    checks = [
        (name, page.by("plimsoll_" + name, "endpoint", "model", "stream"), of(usage[kind], *where))
        for name, kind in (("prompt_tokens_total", "prompt"), ("completion_tokens_total", "completion"),
                           ("cached_prompt_tokens_total", "cached"), ("reasoning_tokens_total", "reasoning"))
    ]
    reported = of(lambda line: line["usage"]["cached"] is not None and line["usage"]["prompt"], *where)
    text = sum(one.stream and one.status == 200 and one.has_text() for one in sent)
    checks += [
        ("requests_total", page.by("plimsoll_requests_total", "endpoint", "model", "stream", "outcome", "code"),
         of(lambda _: 1, *where, member("outcome"), member("status"), exact=False)),
        ("usage_total", page.by("plimsoll_usage_total", "endpoint", "model", "stream", "completeness"),
         of(lambda _: 1, *where, member("completeness"), exact=False)),
        ("cache_reported_prompt_tokens_total",
         page.by("plimsoll_cache_reported_prompt_tokens_total", "endpoint", "model", "stream"), reported),
        ("partial_completion_tokens_total", page.by("plimsoll_partial_completion_tokens_total", "endpoint", "model"),
         of(lambda line: line["lower_bound"]["completion"], *where[:2], exact=False)),
        ("usage_anomalies_total", page.sum("plimsoll_usage_anomalies_total"), 0),
        ("usage_log_dropped_total", page.sum("plimsoll_usage_log_dropped_total"), 0),
        ("requests_in_flight", page.sum("plimsoll_requests_in_flight"), 0),
        ("worker_in_flight", page.sum("plimsoll_worker_in_flight"), 0),
        ("first tokens", page.sum("plimsoll_time_to_first_token_seconds_count"), text),
    ]
    for kind, token_type in (("prompt", "input"), ("completion", "output")):
        tenants = {key[:1]: value for key, value in page.by("plimsoll_tenant_tokens_total", "tenant", "kind").items()
                   if key[1] == kind}
        checks.append((f"tenants' {kind}", tenants, of(usage[kind], member("tenant"))))
        checks.append((f"request_{kind}_tokens", page.by(f"plimsoll_request_{kind}_tokens_sum", "endpoint"),
                       of(usage[kind], where[0])))
        spoken = page.by("gen_ai_client_token_usage_sum", "gen_ai_token_type", "gen_ai_operation_name")
        checks.append((f"gen_ai {token_type}", sum(value for key, value in spoken.items() if key[0] == token_type),
                       sum(of(usage[kind]).values())))
    for name, seen, said in checks:
        total = [sum(value.values()) if isinstance(value, dict) else value for value in (seen, said)]
        print(f"  {name:36} page {total[0]:>7g}  log or replies {total[1]:>7g}  {'' if seen == said else 'NOT EQUAL'}")
        if seen != said:
            print(f"    page {seen}\n    log  {said}")
    return all(seen == said for _, seen, said in checks)


def lines_agree(sent, lines, left, drain, pair):
    """One line a request, and in it what the reply says."""
    good = True
    by_id = collections.defaultdict(list)
    for line in lines:
        by_id[line["id"]].append(line)
    for one in sent:
        found = by_id.pop(one.id, [])
        why = [] if len(found) == 1 else [f"{len(found)} lines"]
        for line in found[:1]:
            usage = tuple(line["usage"][kind] for kind in ("prompt", "completion", "cached"))
            expected = {"status": one.status, "tenant": one.tenant, "endpoint": one.endpoint}
            if one in left:
                expected["outcome"] = "client_disconnect"
                if drain:
                    expected["completeness"] = "exact"
            elif one.status == 200:
                expected |= {"outcome": "complete", "completeness": "exact"}
                said = one.usage()
                # A pair's cached tokens are prefill's, which the client does not see.
                why += [f"says {said}" for said, known in zip(said[: 2 if pair else 3], usage)
                        if said is not None and said != known]
                if one.tokens not in (None, usage[1]):
                    why.append(f"{one.tokens} tokens were to come")
            else:
                expected["outcome"] = "client_error"
            why += [f"{name} {line[name]!r}, not {value!r}" for name, value in expected.items() if line[name] != value]
            if one.stream and one.status == 200 and one.has_text() != (line["timing"]["first_token_ms"] is not None):
                why.append("first token")
        if why:
            good = False
            one.show("; ".join(map(str, why)), found)
    if by_id:
        print("MISMATCH lines of nobody:", dict(by_id))
    return good and not by_id


def main(router, page_url, log, *engines, drain=False):
    pair = len(engines) == 2
    start = settled(page_url, engines, log, 0)[2]
    kind = of_sglang() if any(key[0].startswith("sglang:") for key in Page(engines[0])) else of_vllm()
    sent = [Sent(router, *each) for each in itertools.chain(both_engines(), kind)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(Sent.finish, sent))
    lines, _, whole = settled(page_url, engines, log, len(sent))
    exact = [line["usage"] for line in lines if line["completeness"] == "exact"]
    sums = [sum(usage[name] or 0 for usage in exact) for name in ("prompt", "completion", "cached")]
    deltas = [[after - before for after, before in zip(*both)] for both in zip(whole, start)]
    print(f"{len(sent)} requests, status {dict(collections.Counter(one.status for one in sent))}")
    print(f"  prompt, completion, cached: log {sums}; engine {deltas[0]}" + (f"; prefill {deltas[1]}" if pair else ""))
    good = deltas[0][:2] == sums[:2] and deltas[-1][2] == sums[2]
    left = []
    for endpoint, body, after, wait in leavers():
        left.append(Sent(router, endpoint, body).leave(after, wait))
    sent += left
    lines, page, end = settled(page_url, engines, log, len(sent))
    own = [line for line in lines if line["id"] in {one.id for one in left}]
    cost = [[after - before for after, before in zip(*both)] for both in zip(end, whole)]
    known = [sum(line["usage"][name] or 0 for line in own) for name in ("prompt", "completion", "cached")]
    bound = sum(line["lower_bound"]["completion"] or 0 for line in own)
    print(f"{len(left)} leavers\n  prompt, completion, cached: log {known}, at least {bound}; engine {cost[0]}"
          + (f"; prefill {cost[1]}" if pair else ""))
    for one, line in zip(left, sorted(own, key=lambda line: int(line["id"][4:]))):
        print(f"  {line['id']} {line['endpoint']} status {line['status']} {line['outcome']} {line['completeness']} "
              f"{line['usage']} at least {line['lower_bound']['completion']}, {len(one.reply)} bytes read")
    good &= cost[0][:2] == known[:2] if drain else known[1] + bound <= cost[0][1]
    good &= lines_agree(sent, lines, left, drain, pair)
    good &= page_agrees(page, lines, sent)
    print("equal" if good else "NOT EQUAL")
    return 0 if good else 1


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--drain"]
    if len(arguments) not in (4, 5):
        sys.exit(__doc__)
    sys.exit(main(*arguments, drain="--drain" in sys.argv))
