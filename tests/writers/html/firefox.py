"""A headless Firefox, spoken to in its Marionette protocol over a socket: needs no library."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

PATIENCE = 180  # seconds; a machine that is busy takes one to start the browser
NAMES = ("firefox-esr", "firefox")
KEYS = {  # of the WebDriver standard
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}


def found() -> str | None:
    """The browser of this machine, None without one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """One page of a browser; ``ask`` sees the document, not what the page's scripts have declared."""

    def __init__(self, profile: Path):
        (profile / "user.js").write_text('user_pref("marionette.port", 0);\n', encoding="utf-8")
        options = ["--headless", "--no-remote", "--marionette", "--profile", str(profile), "about:blank"]
        self._process = subprocess.Popen(
            [found(), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._socket, self._rest, self._number = _connected(profile / "MarionetteActivePort"), b"", 0
        self._next()
        self._call("WebDriver:NewSession")

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait()

    def show(self, address: str, *, width: int, height: int = 800) -> None:
        """Open a page in a window of this size, browser's own bars included, and wait until it is there."""
        self._call("WebDriver:SetWindowRect", width=width, height=height)
        for target in ("about:blank", address):
            self._call("WebDriver:Navigate", url=target)

    def ask(self, script: str):
        """The value of an expression in the page. Raises AssertionError where it throws."""
        return self._call("WebDriver:ExecuteScript", script=f"return {script}", args=[])["value"]

    def wait(self, condition: str) -> None:
        """Return once an expression of the page is true; what runs by a clock is waited for in this way."""
        end = time.monotonic() + PATIENCE
        while not self.ask(condition):
            assert time.monotonic() < end, f"not true within {PATIENCE} seconds: {condition}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """A key down and up, as a person presses it."""
        steps = [{"type": kind, "value": KEYS.get(key, key)} for kind in ("keyDown", "keyUp")]
        self._call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": steps}])

    def _call(self, method: str, **params):
        self._number += 1
        message = json.dumps([0, self._number, method, params]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self._next()
        assert number == self._number and error is None, (method, error)
        return result

    def _next(self):
        while b":" not in self._rest or len(self._rest) < sum(self._lengths()):
            more = self._socket.recv(1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        head, length = self._lengths()
        message, self._rest = self._rest[head : head + length], self._rest[head + length :]
        return json.loads(message)

    def _lengths(self) -> tuple[int, int]:
        """Of the message that comes next: bytes up to the colon, and after it."""
        length = self._rest.partition(b":")[0]
        return len(length) + 1, int(length)


def _connected(port: Path) -> socket.socket:
    """A connection to the port that the browser writes into this file."""
    end = time.monotonic() + PATIENCE
    while not (port.exists() and port.read_text(encoding="utf-8").strip()):
        assert time.monotonic() < end, f"the browser has opened no port within {PATIENCE} seconds"
        time.sleep(0.05)
    return socket.create_connection(("127.0.0.1", int(port.read_text(encoding="utf-8"))), timeout=PATIENCE)
