"""Metrics pages as plimsoll reads them, held against the reader of Prometheus's own Python client.

check_exposition.py SAMPLES PAGE...: SAMPLES is the example of that name, of the package
`fuzz-checks`. A page that the client refuses has nothing to be held against, and is named.
"""

import json
import math
import pathlib
import subprocess
import sys
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families


def plain(name):
    """The client puts `_total` behind what a page calls a counter."""
    return name.removesuffix("_total")


def value(number):
    return "NaN" if math.isnan(number) else float(number)


def read_by_client(text):
    families = text_string_to_metric_families(text)
    samples = (sample for family in families for sample in family.samples)
    return Counter(
        (plain(sample.name), tuple(sorted(sample.labels.items())), value(sample.value))
        for sample in samples
    )


def read_by_plimsoll(program, pages):
    output = subprocess.run(
        [program, *pages], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    read = {page: Counter() for page in pages}
    for line in output.splitlines():
        page, name, labels, number = json.loads(line)
        read[page][plain(name), tuple(sorted(labels.items())), value(float(number))] += 1
    return read


def main(program, *pages):
    compared = samples = 0
    read = read_by_plimsoll(program, pages)
    for page in pages:
        try:
            wanted = read_by_client(pathlib.Path(page).read_text())
        except ValueError as error:
            print(f"{page}: the client refuses it: {error}")
            continue
        missing, more = wanted - read[page], read[page] - wanted
        assert not missing and not more, f"{page}: not read {missing}, read beyond {more}"
        compared += 1
        samples += wanted.total()
    assert compared > 0 and samples > 0, "no page to compare"
    print(f"{samples} samples of {compared} pages, as the Python client reads them")


main(*sys.argv[1:])
