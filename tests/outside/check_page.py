#!/usr/bin/env python3
"""Reads a running router's page with the Python client's parser, and holds it against our own rules.

usage: check_page.py PAGE_URL COPY       (waits until the page has token counts; COPY gets its bytes)
"""

import math
import sys
import time
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

# What must be there once the demo has answered: the meter's counts and the engines' KV caches.
AWAITED = ["plimsoll_completion_tokens_total{", "plimsoll_kv_usage_ratio{"]

SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


def settled(url):
    """The page, once it has all that is awaited."""
    end = time.monotonic() + 30
    while True:
        text = urllib.request.urlopen(url, timeout=10).read().decode()
        missing = [name for name in AWAITED if "\n" + name not in text]
        if not missing:
            return text
        if time.monotonic() > end:
            sys.exit(f"still not on the page: {missing}")
        time.sleep(0.3)


def faults(text):
    """Everything that is wrong with a page."""
    families = list(text_string_to_metric_families(text))
    seen = set()
    for family in families:
        # The parser takes the end off a counter's name.
        name = family.name + ("_total" if family.type == "counter" else "")
        for kind in ("HELP", "TYPE"):
            if text.count(f"# {kind} {name} ") != 1:
                yield f"{name}: not one {kind} line"
        if family.type in ("unknown", "untyped") or not family.documentation:
            yield f"{name}: type {family.type}, help {family.documentation!r}"
        if not family.samples:
            yield f"{name}: no samples"
        for sample in family.samples:
            key = (sample.name, *sorted(sample.labels.items()))
            if key in seen:
                yield f"twice: {key}"
            seen.add(key)
            if sample.name.startswith(("vllm:", "sglang:")):
                yield f"an engine's own name: {sample.name}"
            if math.isnan(sample.value) or sample.value < 0:
                yield f"{key}: {sample.value}"
            if family.type == "counter" and not sample.name.endswith("_total"):
                yield f"a counter without _total: {sample.name}"
            ends = SUFFIXES.get(family.type, ("_total",) if family.type == "counter" else ("",))
            if sample.name not in [family.name + end for end in ends]:
                yield f"{sample.name} does not belong to {name}"
    lines = sum(1 for line in text.splitlines() if line and not line.startswith("#"))
    if lines != sum(len(family.samples) for family in families):
        yield f"{lines} lines, but not as many samples"
    print(f"prometheus_client: {len(families)} families, {len(seen)} series")


def main(url, copy):
    text = settled(url)
    with open(copy, "w", newline="") as file:
        file.write(text)
    found = list(faults(text))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
