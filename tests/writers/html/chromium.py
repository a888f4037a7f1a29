"""A headless Chromium in its DevTools protocol through two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

PATIENCE = 180  # seconds; a machine that is busy takes one to start the browser
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36}
KEYS |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
NAMES = ("chromium", "chromium-browser", "google-chrome")


def found() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class LeftPage(AssertionError):
    """The page was left for another one while the browser was asked about it."""


class Chromium:
    """One page of a browser; what its console says is kept in ``said``."""

    def __init__(self, profile: Path):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # the browser reads commands from descriptor 3 and answers on 4
        script = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", script, found(), *options],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest, self._number, self._session, self.said = b"", 0, None, []
        page = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def close(self) -> None:
        os.close(self._write)
        os.close(self._read)
        self._process.kill()
        self._process.wait()

    def show(
        self, address: str, *, width: int, height: int = 800, dark: bool = False, media: str = ""
    ) -> None:
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", media=media, features=theme)
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)
        here = json.dumps(address.partition("#")[0])
        self.wait(f"document.readyState === 'complete' && location.href.split('#')[0] === {here}")
        # two frames later the page stands where its address says
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def ask(self, script: str):
        """The value of an expression in the page. Raises AssertionError where it throws."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def _holds(self, condition: str) -> bool:
        """Return whether an expression is true; of a page that is left meanwhile nothing is."""
        try:
            return bool(self.ask(condition))
        except LeftPage:
            return False

    def wait(self, condition: str) -> None:
        """Return once an expression of the page is true; what runs by a clock is waited for in this way."""
        end = time.monotonic() + PATIENCE
        while not self._holds(condition):
            assert time.monotonic() < end, f"not true within {PATIENCE} seconds: {condition}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key)
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            code = {"code": key, "windowsVirtualKeyCode": KEYS[key]}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, **code, **more)

    def move(self, x: float, y: float) -> None:
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def _call(self, method: str, **params) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    left = "navigated" in answer["error"].get("message", "")
                    raise (LeftPage if left else AssertionError)(method, answer["error"])
                return answer["result"]
            self._keep(answer)

    def _keep(self, event: dict) -> None:
        if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.said.append(json.dumps(event["params"]))
        if event.get("method") == "Network.requestWillBeSent":
            address = event["params"]["request"]["url"]
            if not address.startswith(("file:", "data:", "about:")):
                self.said.append(f"asked for {address}")

    def _next(self) -> dict:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, f"the browser has said nothing for {PATIENCE} seconds"
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)
