#!/usr/bin/env python3
"""Every metric that the rules, alerts, dashboards and documents name is on a running router's page.

usage: check_names.py METRICS_URL FILE…
"""

import re
import sys
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

URL, *FILES = sys.argv[1:]

# Series that a demo has no reason for: each stands beside its reason.
WITHOUT_REASON = {
    "plimsoll_tenant_tokens_total": "needs --tenant-header",
    "plimsoll_usage_log_dropped_total": "needs --usage-log",
}

page = urllib.request.urlopen(URL, timeout=10).read().decode()
families = list(text_string_to_metric_families(page))
known = {sample.name for family in families for sample in family.samples}
known |= {family.name for family in families} | set(WITHOUT_REASON)

checked = 0
for path in FILES:
    # plimsoll:… are recorded by rules.yml; promtool checks those.
    for name in sorted(set(re.findall(r"\bplimsoll_[a-z0-9_]+[a-z0-9]\b", Path(path).read_text()))):
        assert name in known, f"{path} names {name}, which is not on the page"
        checked += 1
assert checked, "no file names a metric"
print(f"names: {checked} in {len(FILES)} files are on the page")
