#!/usr/bin/env python3
"""A load generator for LLMs, aiperf, loads a router in front of a pair; then its own report and the
router's page must have the same requests and tokens, and nearly the same mean time to the first token.

usage: check_load.py PLIMSOLL AIPERF
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from stage import MODEL, Stage

PLIMSOLL, AIPERF = sys.argv[1:]

REQUESTS = 100
PATIENCE_SECONDS = 180
# By the client's clock its own work is in the time too: some milliseconds, more on a busy machine.
NEAR = 0.10
FIRST_TOKEN_MS = 200
# More than what is near, so that a time that is not the first token's is told from it.
TOKEN_MS = 40

# The choice fell on aiperf since it can report the tokens that the server's usage has, also those found in
# the cache, and needs nothing that would have to be downloaded from a hub of models.
LOAD = ["profile", "--model", MODEL, "--endpoint-type", "chat", "--streaming", "--use-server-token-count"]
LOAD += ["--custom-dataset-type", "single_turn", "--request-count", REQUESTS, "--concurrency", 4]
LOAD += ["--workers-max", 1, "--request-timeout-seconds", 20, "--ui", "none"]
LOAD += ["--no-gpu-telemetry", "--no-server-metrics"]

# It loads a tokenizer even so. To this one each word is the same token, and nothing is counted with it.
TOKENIZER = {
    "tokenizer.json": {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
    },
    "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
}


def prompts():
    """Of several lengths, most with a beginning that the prefix cache has."""
    for number in range(REQUESTS):
        yield {"text": "how full is it? " * (1 + number % 9) + str(number), "output_length": 4 + number % 13}


def report_of(api, directory):
    """What aiperf says of the load, by metric."""
    for name, content in TOKENIZER.items():
        (directory / name).write_text(json.dumps(content))
    asked = directory / "prompts.jsonl"
    asked.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts()))
    files = ["--input-file", asked, "--tokenizer", directory, "--artifact-dir", directory / "report"]
    command = [AIPERF, *LOAD, "--url", api, *files]
    with open(directory / "aiperf.log", "w+") as log:
        # What it starts ends with it, also when it is killed.
        options = {"stdout": log, "stderr": log, "env": {**os.environ, "TMPDIR": str(directory)}}
        try:
            subprocess.run([*map(str, command)], check=True, timeout=PATIENCE_SECONDS, **options)
        except subprocess.SubprocessError:
            log.seek(0)
            print(log.read(), file=sys.stderr)
            raise
    return json.loads((directory / "report/profile_export_aiperf.json").read_text())


def mean_ms(stage, name):
    total, count = (sum(stage.samples(f"plimsoll_{name}_seconds_{part}").values()) for part in ("sum", "count"))
    assert count == REQUESTS, f"{name}: {count:.0f} on the page of {REQUESTS} requests"
    return 1000 * total / count


def check_counts(stage, report):
    for metric, name in [
        ("request_count", "requests"),
        ("total_usage_prompt_tokens", "prompt_tokens"),
        ("total_usage_prompt_cache_read_tokens", "cached_prompt_tokens"),
        ("total_usage_completion_tokens", "completion_tokens"),
    ]:
        theirs, ours = report[metric]["avg"], sum(stage.samples(f"plimsoll_{name}_total").values())
        assert theirs == ours > 0, f"{name}: {theirs:.0f} by aiperf's {metric}, {ours:.0f} on the page"
        print(f"{name}: {ours:.0f}, as aiperf has it")


def check_times(stage, report):
    theirs, ours = report["time_to_first_token"]["avg"], mean_ms(stage, "time_to_first_token")
    said = f"mean time to the first token: {theirs:.1f} ms by aiperf, {ours:.1f} ms on the page"
    assert abs(theirs - ours) <= NEAR * theirs, f"{said}, more than {NEAR:.0%} apart"
    print(said)
    theirs, ours = report["inter_token_latency"]["avg"], mean_ms(stage, "time_per_output_token")
    print(f"mean time per further token: {theirs:.1f} ms by aiperf, {ours:.1f} ms on the page (not checked)")


def main():
    stage = Stage(PLIMSOLL)
    prefill = stage.engine("prefill", "--time-to-first-token-ms", FIRST_TOKEN_MS)
    decode = stage.engine("decode", "--token-interval-ms", TOKEN_MS)
    with tempfile.TemporaryDirectory() as directory, prefill, decode, stage.router():
        stage.ready()
        report = report_of(stage.api, Path(directory))
        check_counts(stage, report)
        check_times(stage, report)


main()
