"""A web server on this machine that breaks off at wish and remembers requests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """Content by path. ``cut``: bytes after which an answer breaks off, once; ``asked``: every GET."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, Mapping[str, str]] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)


@contextlib.contextmanager
def served() -> Iterator[Site]:
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    site.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def _answer(self, *, with_content: bool) -> None:
        path = self.path.split("?")[0].removeprefix("/")
        content = self.site.files.get(path)
        if content is None:
            return self.send_error(404)
        first = int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").split("-")[0])
        if with_content:
            self.site.asked.append((path, first))
        if first >= len(content) > 0:
            return self.send_error(416)
        rest = content[first:]
        self.send_response(206 if self.headers["Range"] else 200)
        if self.headers["Range"]:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        for name, value in {"Content-Length": str(len(rest)), **self.site.headers.get(path, {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_content:
            self.wfile.write(rest[: self.site.cut.pop(path, None)])

    def log_message(self, *_args: object) -> None:
        """Say nothing on standard error."""
