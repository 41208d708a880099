"""Questions to a source over HTTP: paced, patient within bounds, and strict about what counts as an answer."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import hashlib
import time
from collections.abc import Mapping
from datetime import UTC
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import httpx2
import stamina
from lxml import etree

from pith_builder import __version__, times
from pith_builder.errors import (
    SourceFailed,
    SourceMalformed,
    SourceRefused,
    SourceThrottled,
    SourceUnreachable,
    cut,
    shown,
)
from pith_builder.sources import xml
from pith_builder.sources.pacing import Pace
from pith_builder.times import Clock

MAX_REDIRECTS = 3

_XML_TYPES = ("text/xml", "application/xml", "application/atom+xml")
_UNTOLD = ""
_ENCODINGS = ("", "identity", "gzip", "deflate")
_REDIRECTS = (301, 302, 303, 307, 308)
_MOVED_FOR_GOOD = (301, 308)
_THROTTLED = (429, 503)
_PASSING = (408, 425, 500, 502, 504)
_SILENCE_SECONDS = 30.0


class Bounds(NamedTuple):
    """What one question may cost: attempts, seconds for one answer and for all of it with its pauses, and the size of
    an answer in bytes after decompression.
    """

    attempts: int
    answer: float
    total: float
    size: int


#: For a question that a person waits for, and for a page of a harvest.
ONE_PAPER = Bounds(attempts=4, answer=60, total=120, size=32 * 2**20)
ONE_PAGE = Bounds(attempts=8, answer=300, total=900, size=64 * 2**20)


class Answer(NamedTuple):
    """What a source answered: the URL asked, the body and its SHA-256 (hex), its root, and when (UTC seconds)."""

    url: str
    body: bytes
    sha256: str
    root: etree._Element
    fetched_at: str


class _TryAgain(Exception):
    """A failure that may pass; `after` is how many seconds the source asks to wait."""

    def __init__(self, error: SourceFailed, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


class Client:
    """Asks one URL, over one connection at a time."""

    def __init__(self, url: str, *, contact: str, interval: float, clock: Clock) -> None:
        """`contact` is whom the source's people may write to; `interval` seconds lie between any two requests."""
        self.url = url
        self._current = url
        self._clock = clock
        self._pace = Pace(_pace_name(url), interval)
        self._headers = {
            "User-Agent": f"pith-build/{__version__} ({contact})",
            "Accept": ", ".join(_XML_TYPES),
            "Accept-Encoding": "gzip, deflate",
        }
        self._runner = asyncio.Runner()
        self._http: httpx2.AsyncClient | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._http is not None:
            self._runner.run(self._http.aclose())
            self._http = None
        self._runner.close()

    def ask(self, params: Mapping[str, str], bounds: Bounds) -> Answer:
        """The answer to a GET with these parameters.

        What may pass (no connection, a reset, a cut or damaged answer, 5xx, 429) is tried again, after the time that
        the source names or a growing one. Raises SourceUnreachable, SourceThrottled, SourceRefused, SourceMalformed.
        """
        deadline = time.monotonic() + bounds.total
        try:
            for attempt in stamina.retry_context(
                on=_pause,
                attempts=bounds.attempts,
                timeout=bounds.total,
                wait_initial=1,
                wait_max=60,
                wait_jitter=1,
            ):
                with attempt:
                    return self._try(params, bounds, deadline)
        except _TryAgain as failure:
            raise failure.error from None
        raise AssertionError("stamina ends with an answer or an exception")

    def _try(self, params: Mapping[str, str], bounds: Bounds, deadline: float) -> Answer:
        url, query = self._current, dict(params)
        for _ in range(MAX_REDIRECTS + 1):
            remaining = deadline - time.monotonic()
            with self._pace.turn(deadline):
                response, body = self._runner.run(
                    self._send(url, query, min(bounds.answer, max(remaining, 1)), bounds.size)
                )
            if response.status_code not in _REDIRECTS:
                return self._answer(response, body, deadline)
            url, query = self._redirected(response), {}
        raise SourceRefused(f"{self.url} redirects without end", hint="look at the URL of the source")

    async def _send(self, url: str, query: dict[str, str], seconds: float, size: int) -> tuple[httpx2.Response, bytes]:
        """The response, and its body if it is one to read, in all within `seconds`."""
        if self._http is None:
            self._http = httpx2.AsyncClient(
                headers=self._headers,
                timeout=_SILENCE_SECONDS,
                limits=httpx2.Limits(max_connections=1),
            )
        try:
            async with asyncio.timeout(seconds):
                async with self._http.stream("GET", url, params=query or None) as response:
                    body = await _read(response, size) if response.status_code == 200 else b""
                return response, body
        except TimeoutError:
            raise _TryAgain(self._unreachable(f"no whole answer came in {seconds:.0f} s")) from None
        except httpx2.DecodingError as error:
            raise _TryAgain(SourceMalformed(f"the answer of {self.url} can't be unpacked: {error}")) from None
        except httpx2.TransportError as error:
            raise _TryAgain(self._unreachable(cut(str(error)) or type(error).__name__)) from None
        except (httpx2.InvalidURL, ValueError) as error:  # a host that can't be written as one, among others
            raise SourceRefused(f"{shown(url)} is no URL to ask: {cut(str(error))}") from None

    def _answer(self, response: httpx2.Response, body: bytes, deadline: float) -> Answer:
        if (status := response.status_code) in _THROTTLED:
            raise self._throttled(response, deadline)
        if status in _PASSING:
            raise _TryAgain(self._unreachable(f"it answered with status {status}"))
        if status != 200:
            raise SourceRefused(
                f"{self.url} answered with status {status}",
                hint="look at the URL of the source, --oai-url or --atom-url",
            )
        try:
            root = xml.parse(body)
        except SourceMalformed as error:  # most often an answer that was cut on its way
            error.message = f"the answer of {self.url} is damaged: {error.message}"
            raise _TryAgain(error) from None
        return Answer(self.url, body, hashlib.sha256(body).hexdigest(), root, times.seconds(self._clock()))

    def _throttled(self, response: httpx2.Response, deadline: float) -> _TryAgain | SourceThrottled:
        after = _retry_after(response.headers.get("retry-after"), self._clock)
        told = "" if after is None else f", and asks to come back in {after:.0f} s"
        error = SourceThrottled(
            f"{self.url} answered with status {response.status_code}{told}",
            hint="try again later; what was fetched before is kept",
        )
        if after is not None and time.monotonic() + after > deadline:
            return error
        return _TryAgain(error, after)

    def _redirected(self, response: httpx2.Response) -> str:
        here, location = str(response.url), response.headers.get("location", "")
        try:
            url = urljoin(here, location)
            to, of = urlsplit(url), urlsplit(here)
        except ValueError:
            location = ""
        if not location or to.scheme not in ("http", "https") or (of.scheme, to.scheme) == ("https", "http"):
            raise SourceRefused(f"{self.url} redirects to {shown(location)}, which isn't followed")
        if response.status_code in _MOVED_FOR_GOOD:
            self._current = to._replace(query="").geturl()
        return url

    def _unreachable(self, why: str) -> SourceUnreachable:
        return SourceUnreachable(
            f"{self.url} can't be reached: {why}",
            hint="try again later, or give the metadata with --metadata FILE; --offline uses what was fetched before",
        )


async def _read(response: httpx2.Response, size: int) -> bytes:
    """The body. Raises SourceMalformed before reading what is no XML, and as soon as it is too long."""
    media_type, _, parameters = response.headers.get("content-type", "").partition(";")
    if media_type.strip().lower() not in (*_XML_TYPES, _UNTOLD):
        raise SourceMalformed(
            f"{response.url} answered with {shown(media_type)}, not XML",
            hint="it may be a page about maintenance, or of a network that wants a login; look at it in a browser",
        )
    charset = parameters.lower().partition("charset=")[2].strip(" \"'")
    if charset not in ("", "utf-8", "us-ascii"):
        raise SourceMalformed(f"{response.url} answered in {shown(charset)}, not UTF-8")
    if response.headers.get("content-encoding", "").strip().lower() not in _ENCODINGS:
        raise SourceMalformed(f"{response.url} answered packed as {shown(response.headers['content-encoding'])}")
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > size:
            raise SourceMalformed(f"the answer of {response.url} is longer than {size} bytes")
    return bytes(body)


def _pause(error: Exception) -> bool | float:
    """How long to wait before the next attempt: what the source named, True for a growing time, False for none."""
    if not isinstance(error, _TryAgain):
        return False
    return True if error.after is None else error.after


def _retry_after(value: str | None, clock: Clock) -> float | None:
    """Seconds to wait, of a Retry-After header in either form; None where it says nothing that can be read."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value[:9])
    with contextlib.suppress(ValueError, OverflowError, TypeError):
        then = email.utils.parsedate_to_datetime(value)
        return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - clock()).total_seconds())
    return None


def _pace_name(url: str) -> str:
    """All of arXiv's hosts share one pace."""
    host = urlsplit(url).netloc.rpartition("@")[2].lower()
    name = "arxiv.org" if host == "arxiv.org" or host.endswith(".arxiv.org") else host
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in name)


def report_retries(report: Any) -> None:
    """Have `report(reason, seconds)` told of every pause before another attempt, in place of stamina's own logging."""

    def hook(details: stamina.instrumentation.RetryDetails) -> None:
        report(str(details.caused_by), details.wait_for)

    stamina.instrumentation.set_on_retry_hooks([hook])
