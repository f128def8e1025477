#!/usr/bin/env python3
"""A real Prometheus reads a running router, by the configuration that the examples have: its recording
rules have the page's own numbers, no alert fires that should not, and each panel of the Grafana board
has something to show.

usage: check_prometheus.py PROMETHEUS EXAMPLES BOARD METRICS_ADDRESS DIRECTORY
"""

import json
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from stage import free_port, until, wait_for

PROMETHEUS, EXAMPLES, BOARD, METRICS, DIRECTORY = sys.argv[1:]

# Rules whose value is a sample of the page.
SAME = ["kv_capacity_tokens", "kv_used_tokens", "kv_usage_ratio", "kv_usage_ratio_max"]
# Rules over time: there, and above 0 while the demo has traffic.
ALIVE = [
    "plimsoll:prompt_tokens:rate5m",
    "plimsoll:completion_tokens:rate5m",
    'plimsoll:requests:rate5m{outcome="complete"}',
    "plimsoll:time_to_first_token_seconds:p95_5m",
    "plimsoll:time_per_output_token_seconds:p95_5m",
]


def configuration():
    """That of the examples, for this router, and with less patience."""
    text = (Path(EXAMPLES) / "prometheus.yml").read_text()
    assert "127.0.0.1:29001" in text
    text = text.replace("127.0.0.1:29001", METRICS).replace("interval: 5s", "interval: 1s")
    text = text.replace("evaluation_interval: 15s", "evaluation_interval: 1s")
    for name in ("rules.yml", "alerts.yml"):
        text = text.replace(f"- {name}", f"- {Path(EXAMPLES).resolve() / name}")
    path = Path(DIRECTORY) / "prometheus.yml"
    path.write_text(text)
    return path


def asked(base, path, **query):
    url = f"{base}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    return json.load(urllib.request.urlopen(url, timeout=10))["data"]


def by_role(samples):
    return {(labels["role"], labels["model"]): float(value) for labels, value in samples}


def recorded(base, rule):
    result = asked(base, "query", query=f"plimsoll:{rule}")["result"]
    return by_role((sample["metric"], sample["value"][1]) for sample in result)


def on_page(name):
    text = urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=10).read().decode()
    families = text_string_to_metric_families(text)
    samples = [sample for family in families if family.name == f"plimsoll_{name}" for sample in family.samples]
    return by_role((sample.labels, sample.value) for sample in samples)


def alive(base, rule):
    result = asked(base, "query", query=rule)["result"]
    return bool(result) and all(float(sample["value"][1]) > 0 for sample in result)


def check_same(base, rule):
    """What is recorded is what the page has said. The page changes once a second and is looked at more
    often, so that nothing it says is missed."""
    said = set()

    def is_same():
        said.update(on_page(rule).items())
        now = recorded(base, rule)
        return now and now.items() <= said and any(value > 0 for value in now.values())

    until(lambda: f"{rule}: {recorded(base, rule)} of {said}", is_same, 60)


def main():
    address = f"127.0.0.1:{free_port()}"
    base = f"http://{address}"
    storage = Path(DIRECTORY) / f"prometheus-{time.time_ns()}"
    arguments = [f"--config.file={configuration()}", f"--web.listen-address={address}", f"--storage.tsdb.path={storage}"]
    with open(Path(DIRECTORY) / "prometheus.log", "w") as log:
        process = subprocess.Popen([PROMETHEUS, *arguments], stderr=log)
    try:
        wait_for(f"{base}/-/ready")
        for rule in SAME:
            check_same(base, rule)
        for rule in ALIVE:
            until(lambda: rule, lambda: alive(base, rule), 60)
        panels = check_board(base)
        firing = [alert["labels"] for alert in asked(base, "alerts")["alerts"] if alert["state"] == "firing"]
        assert not firing, f"alerts of a healthy demo: {firing}"
        rules = [rule for group in asked(base, "rules")["groups"] for rule in group["rules"]]
        broken = [rule["name"] for rule in rules if rule["health"] != "ok"]
        assert len(rules) == 25 and not broken, f"{len(rules)} rules, broken: {broken}"
    finally:
        process.terminate()
        process.wait(timeout=20)
    print(f"prometheus: {len(rules)} rules evaluated, the page's own numbers, no alert, {panels} panels of the board")


def check_board(base):
    """Each query of the board is one, and has an answer where all is well; a panel of what goes wrong
    has none then."""
    panels = [panel for panel in json.loads(Path(BOARD).read_text())["panels"] if "targets" in panel]
    empty = []
    for panel in panels:
        for target in panel["targets"]:
            query = re.sub(r"\$(role|model|worker)\b", ".*", target["expr"]).replace("$__rate_interval", "1m")
            if not asked(base, "query", query=query)["result"]:
                empty.append((panel["title"], target["expr"]))
    expected = {"Workers without a full reading", "Legs that failed, and retries, a second"}
    surprising = [(title, expr) for title, expr in empty if title not in expected]
    assert not surprising, f"nothing to show: {surprising}"
    return len(panels)


main()
