#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""browser.py BROWSER PAGE... [--faulty PAGE...] -- opens pages in a headless Chromium.

Each page in a window of 360 and of 1280 pixels, light and dark: nothing is written to the
console, the document is not wider than the window, no request leaves the file, and letters stand
out from what is behind them.  A faulty page is there to show that this is noticed.  With
$NOPAL_SCREENSHOTS a picture of each goes to that folder.
Exit: 0 good, 1 a page is not, 77 the browser does not run here.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WIDTHS = (360, 1280)
SCHEMES = ("light", "dark")
HEIGHT = 800
CONTRAST = 4.5  # of text, by WCAG 2.2, 1.4.3
COMPLAINTS = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")

# The width of the document, and texts whose contrast is too small: of the colour of the letters to
# that of the nearest element behind them that has one.
LOOK = """(() => {
	const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
	const colour = text => (text.match(/[0-9.]+/g) || [0, 0, 0, 0]).map(Number);
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = colour(getComputedStyle(e).backgroundColor);
			if (c.length < 4 || c[3] > 0) return c;
		}
		return [255, 255, 255];
	};
	const pale = [];
	for (const e of document.querySelectorAll("body *")) {
		const own = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
		const style = getComputedStyle(e);
		if (!own || !e.getClientRects().length || e.tagName == "title") continue;
		const text = colour(e instanceof SVGElement ? style.fill : style.color);
		const [a, b] = [light(text), light(behind(e))].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < %s) pale.push(e.textContent.trim().slice(0, 40));
	}
	return {width: document.documentElement.scrollWidth, pale,
		height: document.documentElement.scrollHeight};
})()""" % CONTRAST


class Browser:
    """A browser that is spoken to through its descriptors 3 and 4, a message ending with 0."""

    def __init__(self, program, folder):
        own_in, its_out = os.pipe()
        its_in, own_out = os.pipe()

        def place():
            os.dup2(its_in, 100)
            os.dup2(its_out, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)
            for fd in (100, 101):
                os.close(fd)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-background-networking", "--no-first-run", "--user-data-dir=" + folder,
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(3, 4, its_in, its_out), preexec_fn=place, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its_in)
        os.close(its_out)
        self.input, self.output = os.fdopen(own_in, "rb"), os.fdopen(own_out, "wb")
        self.unread, self.number, self.events, self.session = b"", 0, [], None
        target = self.ask("Target.getTargets")["targetInfos"][0]["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def read(self):
        while b"\0" not in self.unread:
            more = os.read(self.input.fileno(), 1 << 16)
            if not more:
                raise EOFError("the browser has gone")
            self.unread += more
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        question = {"id": self.number, "method": method, "params": params}
        if self.session:
            question["sessionId"] = self.session
        self.output.write(json.dumps(question).encode() + b"\0")
        self.output.flush()
        while True:
            answer = self.read()
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(method + ": " + answer["error"]["message"])
            else:
                return answer["result"]

    def wait(self, method):
        while not any(event["method"] == method for event in self.events):
            self.events.append(self.read())

    def end(self):
        self.process.kill()
        self.process.wait()


def look(browser, page, width, scheme):
    """What is wrong with the page in such a window."""
    address, wrong = page.resolve().as_uri(), []
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT,
                deviceScaleFactor=1, mobile=width < 600)
    browser.ask("Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.ask("Page.navigate", url=address)
    browser.wait("Page.loadEventFired")
    seen = browser.ask("Runtime.evaluate", expression=LOOK, returnByValue=True)["result"]["value"]
    if seen["width"] > width:
        wrong.append("the document is %d pixels wide" % seen["width"])
    wrong += ["pale letters: " + text for text in seen["pale"]]
    for event in browser.events:
        if event["method"] in COMPLAINTS:
            wrong.append("console: " + json.dumps(event["params"]))
        elif event["method"] == "Network.requestWillBeSent":
            url = event["params"]["request"]["url"]
            if url != address:
                wrong.append("it asks for " + url)
    folder = os.environ.get("NOPAL_SCREENSHOTS")
    if folder:
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=seen["height"],
                    deviceScaleFactor=1, mobile=width < 600)
        shot = browser.ask("Page.captureScreenshot")["data"]
        name = "%s-%d-%s.png" % (page.stem, width, scheme)
        pathlib.Path(folder, name).write_bytes(base64.b64decode(shot))
    return wrong


def main():
    pages, faulty = sys.argv[2:], []
    if "--faulty" in pages:
        faulty = pages[pages.index("--faulty") + 1:]
        pages = pages[:pages.index("--faulty")] + faulty
    failed = False
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            browser = Browser(sys.argv[1], folder)
        except (OSError, EOFError, RuntimeError) as why:
            print("%s does not run here: %s" % (sys.argv[1], why))
            return 77
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.ask(domain + ".enable")
            for page in pages:
                faults = 0
                for width in WIDTHS:
                    for scheme in SCHEMES:
                        for fault in look(browser, pathlib.Path(page), width, scheme):
                            print("%s, %d pixels, %s: %s" % (page, width, scheme, fault))
                            faults += 1
                failed |= (faults > 0) != (page in faulty)
        finally:
            browser.end()
    print("%d pages" % len(pages))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
