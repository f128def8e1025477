#!/usr/bin/env python3
"""Looks at the dashboard in a real browser: a router, two simulated engines, a small load; an engine
that ends; the router gone and back.

usage: check_dashboard.py PLIMSOLL CHROMIUM SCREENSHOTS   (paths; the last is a directory)
"""

import json
import re
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from stage import MODEL, Stage, wait_for

PLIMSOLL, CHROMIUM, SCREENSHOTS = sys.argv[1:]

# One that would look for updates and the like has requests of its own.
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

# Four answers at a time fill two thirds of it.
SMALL = ["--capacity-tokens", 6000]

# What the page has to show is there within some looks of two seconds each.
PATIENCE_MS = 20_000


def keep_asking(url, is_over):
    """Streams answers until it is over, whatever becomes of each."""
    body = {"model": MODEL, "stream": True, "max_tokens": 60}
    body["messages"] = [{"role": "user", "content": "how full is it? " * 60}]
    ask = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    while not is_over.is_set():
        try:
            urllib.request.urlopen(ask, timeout=10).read()
        except OSError:
            is_over.wait(0.2)


@contextmanager
def load(stage):
    is_over = threading.Event()
    url = stage.api + "/v1/chat/completions"
    threads = [threading.Thread(target=keep_asking, args=(url, is_over)) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


class Looks:
    """What the page asked for and complained of."""

    def __init__(self, page, base):
        self.base, self.outside, self.complaints, self.is_gone = base, [], [], False
        page.on("request", self.note_request)
        page.on("console", self.note_console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def note_request(self, request):
        if not request.url.startswith((self.base, "data:")):
            self.outside.append(request.url)

    def note_console(self, message):
        # A browser says by itself that a router that was ended is not there.
        if message.type in ("error", "warning") and not (self.is_gone and "ERR_" in message.text):
            self.complaints.append(message.text)

    def check(self):
        assert not self.outside, f"asked elsewhere: {self.outside}"
        assert not self.complaints, f"complaints: {self.complaints}"


def changes(page, locator):
    """Waits until a text of the page is another."""
    before = locator.inner_text()
    end = time.monotonic() + PATIENCE_MS / 1000
    while locator.inner_text() == before:
        assert time.monotonic() < end, f"still {before!r}"
        page.wait_for_timeout(200)


def check_elements(page, decode):
    expect(page.locator("#status")).to_have_text("2 workers, all read")
    expect(page.locator("#fullness .role")).to_have_count(2)
    expect(page.locator("[data-role=decode] .figure")).to_contain_text("%")
    expect(page.locator("[data-role=decode] .worker")).to_have_count(1)
    expect(page.locator(".fullest")).to_have_count(1)
    expect(page.locator("#charts canvas")).to_have_count(6)
    row = page.locator(f"tr[data-worker='http://127.0.0.1:{decode}']")
    expect(row.locator("[data-column=State]")).to_have_text("ok")
    expect(row.locator("[data-column=Router]")).to_have_text("eligible")
    changes(page, row.locator("[data-column='Used / capacity']"))
    # Beneath a chart stand the newest values while the cursor is elsewhere.
    for chart, line in (("full", "decode"), ("tokens", "prompt"), ("firstToken", "p50"), ("perToken", "p95")):
        series = page.locator(f"#{chart} .u-series").filter(has_text=line)
        expect(series.locator(".u-value")).to_have_text(re.compile("[1-9]"))
    return row


def shoot(page, name):
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(300)
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}-{scheme}.png", full_page=True)


def check_phone(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(500)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, f"{width} pixels wide on a phone of 390"
    shoot(page, "phone")
    page.set_viewport_size({"width": 1280, "height": 900})


def main():
    stage = Stage(PLIMSOLL)
    with stage.engine("prefill", *SMALL), load(stage), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        looks = Looks(page, stage.page)
        with stage.engine("decode", *SMALL), stage.router():
            wait_for(stage.page + "healthz")
            page.goto(stage.page)
            row = check_elements(page, stage.decode)
            page.wait_for_timeout(12_000)
            shoot(page, "dashboard")
            check_phone(page)
            looks.check()
        looks.is_gone = True
        expect(page.locator("body")).to_have_attribute("data-state", "gone")
        expect(page.locator("#status")).to_contain_text("does not answer")
        with stage.router():
            expect(page.locator("body")).to_have_attribute("data-state", "troubled")
            expect(row.locator("[data-column=State]")).to_contain_text("unreachable")
            expect(row.locator("[data-column=State] small")).not_to_be_empty()
            expect(page.locator("#status")).to_contain_text("1 without a full reading")
            shoot(page, "unreachable")
        looks.check()
        browser.close()
    print("dashboard: elements, live numbers, a worker gone, the router gone and back, phone width")


main()
