"""A server on this machine that plays arXiv: OAI-PMH at `/oai`, the Atom API at `/api/query`, and all their moods.

with ArxivServer() as server:
    server.add(ServedPaper.of(make_metadata()))
    server.script = [retry_later(1), truncated(300)]  # the first two requests; after them all is well
"""

from __future__ import annotations

import contextlib
import gzip
import socket
import socketserver
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import Message
from email.utils import format_datetime
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from arxiv_wire import Archive, ServedPaper

__all__ = [
    "Answer",
    "ArxivServer",
    "Exchange",
    "Request",
    "ServedPaper",
    "body",
    "changed",
    "gzip_bomb",
    "gzipped",
    "normal",
    "redirect",
    "refuse",
    "reset_after",
    "retry_later",
    "retry_later_at",
    "silence",
    "status",
    "trickle",
    "truncated",
]

XML = "text/xml; charset=utf-8"
ATOM = "application/atom+xml; charset=utf-8"
HTML = "text/html"


@dataclass(frozen=True)
class Request:
    """One request as it came in: `at` is a reading of `time.monotonic()`; `headers` know their names in any case."""

    at: float
    path: str
    params: dict[str, str]
    headers: Message

    @property
    def key(self) -> str:
        """The parameters in order, such as `identifier=oai:arXiv.org:2403.07648&verb=GetRecord`."""
        return "&".join(f"{name}={value}" for name, value in sorted(self.params.items()))


# --- answers ----------------------------------------------------------------------------------------------------


class Exchange:
    """A request that is being answered, and the means to answer it."""

    def __init__(
        self, handler: BaseHTTPRequestHandler, made: Callable[[], tuple[int, str, bytes]], done: Callable[[], None]
    ) -> None:
        self._handler, self._made, self._done = handler, made, done

    def normal(self) -> tuple[int, str, bytes]:
        """What arXiv would answer: status, content type and body."""
        return self._made()

    def send(self, code: int, content: bytes, headers: Mapping[str, str]) -> None:
        """A whole answer."""
        self.start(code, len(content), headers)
        self.write(content, last=True)

    def start(self, code: int, length: int | None, headers: Mapping[str, str]) -> None:
        """The head of an answer; without a length, the end of the connection will be the end of the body."""
        self._handler.send_response(code)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        if length is None:
            self._handler.send_header("Connection", "close")
        else:
            self._handler.send_header("Content-Length", str(length))
        self._handler.end_headers()

    def write(self, content: bytes, *, last: bool) -> None:
        """A part of the body. Before the last one the request counts as served: the client may go on at once."""
        if last:
            self._done()
        self._handler.wfile.write(content)

    def wait(self, seconds: float) -> None:
        """Let time pass. Raises ConnectionAbortedError as soon as the client is gone or the server stops."""
        connection = self._handler.connection
        connection.settimeout(max(seconds, 0.001))
        try:
            if not connection.recv(1, socket.MSG_PEEK):
                raise ConnectionAbortedError
        except TimeoutError:
            pass
        finally:
            connection.settimeout(None)

    def hang_up(self, *, reset: bool = False) -> None:
        """Close the connection after this answer; with `reset`, by a TCP reset."""
        self._handler.close_connection = True
        if reset:
            self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Answer = Callable[[Exchange], None]


def normal() -> Answer:
    """What arXiv answers on a good day."""
    return changed(lambda content: content)


def changed(change: Callable[[bytes], bytes]) -> Answer:
    """The normal answer with its body changed."""

    def answer(exchange: Exchange) -> None:
        code, kind, content = exchange.normal()
        exchange.send(code, change(content), {"Content-Type": kind})

    return answer


def status(code: int, headers: Mapping[str, str] | None = None, body: bytes = b"", content_type: str = HTML) -> Answer:
    """This status, with these headers and this body."""
    return lambda exchange: exchange.send(code, body, {"Content-Type": content_type, **(headers or {})})


def retry_later(seconds: int | str, code: int = 503) -> Answer:
    """Not now: `Retry-After` in seconds."""
    return status(code, {"Retry-After": str(seconds)}, b"<html><body>Retry after a while</body></html>")


def retry_later_at(time: datetime, code: int = 503) -> Answer:
    """Not before a time, in UTC: `Retry-After` as an HTTP date."""
    return retry_later(format_datetime(time, usegmt=True), code)


def body(content: bytes, content_type: str = XML) -> Answer:
    """Status 200 and this body."""
    return status(200, None, content, content_type)


def redirect(location: str, code: int = 302) -> Answer:
    """Go elsewhere."""
    return status(code, {"Location": location})


def truncated(n: int, declared: bool = True) -> Answer:
    """The normal body, ended after `n` bytes; `declared` is whether a Content-Length says that there is more."""

    def answer(exchange: Exchange) -> None:
        code, kind, content = exchange.normal()
        exchange.start(code, len(content) if declared else None, {"Content-Type": kind})
        exchange.write(content[:n], last=True)
        exchange.hang_up()

    return answer


def reset_after(n: int) -> Answer:
    """The head and `n` bytes of the normal body, and then a TCP reset."""

    def answer(exchange: Exchange) -> None:
        code, kind, content = exchange.normal()
        exchange.start(code, len(content), {"Content-Type": kind})
        exchange.write(content[:n], last=True)
        exchange.hang_up(reset=True)

    return answer


def trickle(bytes_per_second: float) -> Answer:
    """The normal body, slowly."""

    def answer(exchange: Exchange) -> None:
        code, kind, content = exchange.normal()
        step = max(1, int(bytes_per_second / 20))
        exchange.start(code, len(content), {"Content-Type": kind})
        for start in range(0, len(content), step):
            exchange.wait(step / bytes_per_second)
            exchange.write(content[start : start + step], last=start + step >= len(content))

    return answer


def silence(seconds: float) -> Answer:
    """Nothing at all for some time, and then the end of the connection."""

    def answer(exchange: Exchange) -> None:
        exchange.hang_up()
        exchange.wait(seconds)

    return answer


def refuse() -> Answer:
    """The end of the connection at once, without a word."""
    return lambda exchange: exchange.hang_up()


def gzipped() -> Answer:
    """The normal body, compressed."""

    def answer(exchange: Exchange) -> None:
        code, kind, content = exchange.normal()
        exchange.send(code, gzip.compress(content), {"Content-Type": kind, "Content-Encoding": "gzip"})

    return answer


def gzip_bomb(size_after: int) -> Answer:
    """A small body that is `size_after` bytes of white space once it is decompressed."""
    return status(200, {"Content-Encoding": "gzip"}, _spaces(size_after), XML)


@lru_cache
def _spaces(size: int) -> bytes:
    compressor, chunk = zlib.compressobj(9, wbits=31), b" " * 2**20
    parts = [compressor.compress(chunk[: size - start]) for start in range(0, size, len(chunk))]
    return b"".join([*parts, compressor.flush()])


# --- the server -------------------------------------------------------------------------------------------------


class ArxivServer(Archive):
    """arXiv on a free port of this machine, as long as the context lasts.

    Each request takes its answer from `script` while there is one, then `script_forever`, or else the normal one.
    `max_at_once` is the highest number of requests that were served at the same moment, and `connections` how many
    were opened.
    """

    def __init__(self) -> None:
        super().__init__()
        self.script: list[Answer] = []
        self.script_forever: Answer | None = None
        self.requests: list[Request] = []
        self.max_at_once = 0
        self.connections = 0
        self.oai_url = self.atom_url = ""
        self._at_once = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = _Listener(self)
        address = f"http://127.0.0.1:{self._listener.server_address[1]}"
        self.oai_url, self.atom_url = f"{address}/oai", f"{address}/api/query"
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.stop()
        self._thread.join()
        if error is None and self._listener.failures:
            raise self._listener.failures[0]  # a mistake in a test's own answer

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        at, parts = time.monotonic(), urlsplit(handler.path)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        with self._lock:
            self.requests.append(Request(at, parts.path, dict(pairs), handler.headers))
            answer = self.script.pop(0) if self.script else self.script_forever or normal()
            self._at_once += 1
            self.max_at_once = max(self.max_at_once, self._at_once)
        served = False

        def done() -> None:
            nonlocal served
            with self._lock:
                if not served:
                    self._at_once -= 1
                served = True

        def made() -> tuple[int, str, bytes]:
            match parts.path:
                case "/oai":
                    return 200, XML, self.oai(self.oai_url, pairs)
                case "/api/query":
                    return 200, ATOM, self.atom(dict(pairs))
                case _:
                    return 404, HTML, b"<html><body>Not Found</body></html>"

        try:
            answer(Exchange(handler, made, done))
        finally:
            done()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:
        self.server.arxiv._answer(self)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


class _Listener(ThreadingHTTPServer):
    """Keeps count of its connections, so that none outlives it."""

    request_queue_size = 64

    def __init__(self, arxiv: ArxivServer) -> None:
        self.arxiv = arxiv
        self.failures: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._workers: list[threading.Thread] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer would look up the name of this machine

    def process_request(self, request: Any, client_address: Any) -> None:
        self.arxiv.connections += 1
        self._open.add(request)
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self._workers.append(thread)
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        request.close()  # without shutdown() before it, which would turn a reset into an orderly end

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):  # clients may go away, and so may we
            self.failures.append(error)

    def stop(self) -> None:
        """Take no more connections, end all that are open, and wait for those who served them."""
        self.shutdown()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        for thread in self._workers:
            thread.join(5)
