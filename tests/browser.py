"""Chromium without a window, told what to do over a pipe: what a page does and shows.

The DevTools protocol with `--remote-debugging-pipe`: JSON messages that end in a zero
byte, so that no package is needed.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
NEEDS_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAM is None, reason="no chromium: the page was not looked at by a browser"
    ),
]
_SECONDS = 60
Message = dict[str, Any]


class Browser:
    """One tab. `seen` keeps what it reported: requests, messages of the console."""

    def __init__(self, program: str, profile: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        words = [
            *(program, "--headless=new", "--no-sandbox", "--disable-gpu"),
            *("--disable-dev-shm-usage", "--no-first-run", "--disable-extensions"),
            *("--disable-background-networking", "--disable-component-update"),
            *("--hide-scrollbars", "--remote-debugging-pipe"),
            *(f"--user-data-dir={profile}", "about:blank"),
        ]
        # The program reads from 3 and writes to 4.
        redirect = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", redirect, "browser", *words],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        self._session = ""
        self.seen: list[Message] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(item["targetId"] for item in targets if item["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> Message:
        """Return the result of one command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, (method, found["error"])
                result: Message = found["result"]
                return result
            self.seen.append(found)

    def _next(self) -> Message:
        end = time.monotonic() + _SECONDS
        while b"\0" not in self._rest:
            left = end - time.monotonic()
            assert left > 0, "the browser does not answer"
            ready, _, _ = select.select([self._read], [], [], left)
            if ready:
                piece = os.read(self._read, 1 << 20)
                assert piece, "the browser ended"
                self._rest += piece
        text, self._rest = self._rest.split(b"\0", 1)
        found: Message = json.loads(text)
        return found

    def wait_for(self, method: str) -> None:
        """Read what the browser reports until that event."""
        if any(item.get("method") == method for item in self.seen):
            return
        while True:
            found = self._next()
            self.seen.append(found)
            if found.get("method") == method:
                return

    def show(
        self, page: Path, *, width: int = 1280, height: int = 900, scheme: str = "light"
    ) -> None:
        """Load a page; what it does from then on is in `seen`."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.seen.clear()
        self.call("Page.navigate", url=page.as_uri())
        self.wait_for("Page.loadEventFired")

    def value(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page holds
        """Return what an expression comes to in the page, now or when it settles."""
        found = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, *, whole: bool = True) -> bytes:
        """Return the page as PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(found["data"])

    def printed(self) -> bytes:
        """Return the page as it is printed, as PDF."""
        found = self.call("Page.printToPDF", printBackground=False)
        return base64.b64decode(found["data"])

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for, but the page and data in the page."""
        asked = (
            item["params"]["request"]["url"]
            for item in self.seen
            if item.get("method") == "Network.requestWillBeSent"
        )
        return [item for item in asked if not item.startswith(("file:", "data:"))]

    @property
    def complaints(self) -> list[str]:
        """What the console shows: errors, warnings, refusals by the policy."""
        return [
            json.dumps(item["params"])
            for item in self.seen
            if item.get("method")
            in {
                "Log.entryAdded",
                "Runtime.exceptionThrown",
                "Runtime.consoleAPICalled",
            }
        ]

    def end(self) -> None:
        """Close the browser."""
        os.close(self._write)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)


@contextmanager
def browser(profile: Path) -> Generator[Browser, None, None]:
    """Yield a browser for a while."""
    assert PROGRAM is not None
    found = Browser(PROGRAM, profile)
    try:
        yield found
    finally:
        found.end()
