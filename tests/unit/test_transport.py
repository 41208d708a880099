"""Questions over HTTP: what is asked how often, what is waited for, and what counts as an answer."""

from __future__ import annotations

import gzip
import hashlib
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import stamina

import arxiv_server as play
from arxiv_server import ArxivServer
from pith_builder import __version__
from pith_builder.errors import SourceFailed, SourceMalformed, SourceRefused, SourceThrottled, SourceUnreachable
from pith_builder.sources import transport
from pith_builder.sources.transport import Bounds, Client
from pith_builder.testing import FrozenClock

BOUNDS = Bounds(attempts=3, answer=5, total=20, size=1_000_000)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ROOT = "{http://www.openarchives.org/OAI/2.0/}OAI-PMH"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ArxivServer]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ArxivServer() as server:
        yield server


@pytest.fixture
def client(server: ArxivServer) -> Iterator[Client]:
    client = Client(server.oai_url, contact="mailto:me@example.org", interval=0, clock=FrozenClock(NOW))
    yield client
    client.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, none of which took any time."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: made.append(seconds) if seconds else None)
    return made


def ask(client: Client, bounds: Bounds = BOUNDS) -> transport.Answer:
    return client.ask({"verb": "Identify"}, bounds)


def test_answer_is_the_body_as_it_came_with_its_hash_and_time(client: Client, server: ArxivServer) -> None:
    server.script.append(play.body(b"<a>\xc3\xa9</a>"))
    answer = ask(client)
    assert (answer.body, answer.root.text, answer.url) == (b"<a>\xc3\xa9</a>", "é", server.oai_url)
    assert answer.sha256 == hashlib.sha256(b"<a>\xc3\xa9</a>").hexdigest()
    assert answer.fetched_at == "2026-01-02T03:04:05Z"


def test_program_and_contact_are_told(client: Client, server: ArxivServer) -> None:
    ask(client)
    assert server.requests[0].headers["User-Agent"] == f"pith-build/{__version__} (mailto:me@example.org)"


def test_one_connection_serves_several_questions(client: Client, server: ArxivServer) -> None:
    for _ in range(3):
        ask(client)
    assert (len(server.requests), server.connections, server.max_at_once) == (3, 1, 1)


# --- what may pass ------------------------------------------------------------------------------------------------

PASSING = {
    "500": play.status(500),
    "502": play.status(502),
    "503": play.status(503),
    "504": play.status(504),
    "429": play.status(429),
    "408": play.status(408),
    "connection closed at once": play.refuse(),
    "reset at the head": play.reset_after(0),
    "reset in the body": play.reset_after(100),
    "cut below its length": play.truncated(100),
    "cut without a length": play.truncated(100, declared=False),
    "empty": play.body(b""),
    "damaged packing": play.status(200, {"Content-Encoding": "gzip"}, b"\x1f\x8b\x08rubbish", "text/xml"),
}


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING.keys())
def test_failure_that_may_pass_is_asked_again(
    client: Client, server: ArxivServer, pauses: list[float], answer: play.Answer
) -> None:
    server.script += [answer, answer]
    assert ask(client).root.tag == ROOT
    assert len(server.requests) == 3
    assert len(pauses) == 2


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING.keys())
def test_failure_that_stays_is_told_after_the_last_attempt(
    client: Client, server: ArxivServer, pauses: list[float], answer: play.Answer
) -> None:
    server.script_forever = answer
    with pytest.raises(SourceFailed) as caught:
        ask(client)
    assert server.oai_url in caught.value.message
    assert len(server.requests) == 3
    assert len(pauses) == 2


def test_pauses_grow(client: Client, server: ArxivServer, pauses: list[float]) -> None:
    server.script_forever = play.status(500)
    with pytest.raises(SourceUnreachable, match="status 500"):
        ask(client, BOUNDS._replace(attempts=5, answer=5, total=1000))
    assert all(low <= pause <= low + 1 for low, pause in zip((1, 2, 4, 8), pauses, strict=True))


def test_pauses_are_reported(client: Client, server: ArxivServer, pauses: list[float]) -> None:
    told: list[tuple[str, float]] = []
    before = stamina.instrumentation.get_on_retry_hooks()
    transport.report_retries(lambda reason, seconds: told.append((reason, seconds)))
    server.script.append(play.status(502))
    try:
        ask(client)
    finally:
        stamina.instrumentation.set_on_retry_hooks(before)
    [(reason, seconds)] = told
    assert "status 502" in reason
    assert seconds == pauses[0]


def test_server_that_is_not_there_is_unreachable(server: ArxivServer, pauses: list[float]) -> None:
    url = server.oai_url
    server.__exit__(None, None, None)
    client = Client(url, contact="c", interval=0, clock=FrozenClock(NOW))
    with pytest.raises(SourceUnreachable, match="can't be reached") as caught:
        ask(client)
    client.close()
    assert "--offline" in caught.value.hint
    assert len(pauses) == 2


def test_host_that_has_no_address_is_unreachable(tmp_path: Path, pauses: list[float]) -> None:
    client = Client("http://no-such-host.invalid/oai", contact="c", interval=0, clock=FrozenClock(NOW))
    with pytest.raises(SourceUnreachable, match=r"no-such-host\.invalid"):
        ask(client)
    client.close()


@pytest.mark.parametrize("answer", [play.silence(60), play.trickle(20)], ids=["silent", "slow"])
def test_answer_that_does_not_come_in_time_is_given_up(
    client: Client, server: ArxivServer, answer: play.Answer
) -> None:
    server.script_forever = answer
    begun = time.monotonic()
    with pytest.raises(SourceUnreachable, match="no whole answer came in"):
        ask(client, BOUNDS._replace(attempts=1, answer=0.3, total=5))
    assert time.monotonic() - begun < 4


def test_head_that_comes_slowly_is_given_up_too(client: Client, server: ArxivServer) -> None:
    def slow_head(exchange: play.Exchange) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
            exchange.write(bytes([byte]), last=False)
            exchange.wait(0.05)

    server.script_forever = slow_head
    with pytest.raises(SourceUnreachable, match="no whole answer came in"):
        ask(client, BOUNDS._replace(attempts=1, answer=0.3, total=5))


def test_after_an_answer_that_was_given_up_the_next_one_is_right(client: Client, server: ArxivServer) -> None:
    server.script.append(play.trickle(20))
    assert ask(client, BOUNDS._replace(attempts=2, answer=0.5, total=20)).root.tag == ROOT


# --- when the source asks to wait ---------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [503, 429])
@pytest.mark.parametrize(
    "answer",
    [lambda code: play.retry_later(7, code), lambda code: play.retry_later_at(NOW.replace(second=12), code)],
    ids=["seconds", "date"],
)
def test_time_that_the_source_names_is_waited(
    client: Client, server: ArxivServer, pauses: list[float], answer: Callable[[int], play.Answer], code: int
) -> None:
    server.script.append(answer(code))
    ask(client)
    assert pauses == [7.0]


def test_time_in_the_past_is_not_waited(client: Client, server: ArxivServer, pauses: list[float]) -> None:
    server.script.append(play.retry_later_at(NOW.replace(year=2020)))
    ask(client)
    assert pauses == []


@pytest.mark.parametrize("value", ["soon", "-5", "", "1e3", "²"])
def test_time_that_can_not_be_read_is_the_growing_one(
    client: Client, server: ArxivServer, pauses: list[float], value: str
) -> None:
    server.script.append(play.status(503, {"Retry-After": value.encode("latin-1").decode("latin-1")}))
    ask(client)
    assert len(pauses) == 1
    assert 1 <= pauses[0] <= 2


def test_time_beyond_all_patience_is_told_at_once(client: Client, server: ArxivServer, pauses: list[float]) -> None:
    server.script_forever = play.retry_later(3600)
    with pytest.raises(SourceThrottled, match="come back in 3600 s") as caught:
        ask(client)
    assert (len(server.requests), pauses) == (1, [])
    assert "try again later" in caught.value.hint


def test_throttled_to_the_end_says_so(client: Client, server: ArxivServer, pauses: list[float]) -> None:
    server.script_forever = play.retry_later(1)
    with pytest.raises(SourceThrottled, match="status 503"):
        ask(client)
    assert pauses == [1.0, 1.0]


# --- what is no answer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 451, 204, 206, 304, 501])
def test_status_that_will_not_change_is_told_at_once(
    client: Client, server: ArxivServer, pauses: list[float], code: int
) -> None:
    server.script_forever = play.status(code)
    with pytest.raises(SourceRefused, match=f"status {code}"):
        ask(client)
    assert (len(server.requests), pauses) == (1, [])


NO_XML = {
    "page": play.body(b"<html/>", "text/html"),
    "page in UTF-8": play.body(b"<html/>", "text/html; charset=utf-8"),
    "json": play.body(b"{}", "application/json"),
    "latin-1": play.body(b"<a/>", "text/xml; charset=ISO-8859-1"),
    "unknown packing": play.status(200, {"Content-Encoding": "br"}, b"<a/>", "text/xml"),
    "packed twice": play.status(200, {"Content-Encoding": "gzip, gzip"}, b"<a/>", "text/xml"),
}


@pytest.mark.parametrize("answer", NO_XML.values(), ids=NO_XML.keys())
def test_answer_that_is_no_xml_is_refused_at_once(
    client: Client, server: ArxivServer, pauses: list[float], answer: play.Answer
) -> None:
    server.script_forever = answer
    with pytest.raises(SourceMalformed, match="answered"):
        ask(client)
    assert (len(server.requests), pauses) == (1, [])


@pytest.mark.parametrize(
    "content_type",
    ["text/xml", "application/xml", "application/atom+xml", 'TEXT/XML; charset="UTF-8"', "text/xml;charset=us-ascii"],
)
def test_types_of_xml_are_taken_and_none_at_all(client: Client, server: ArxivServer, content_type: str) -> None:
    server.script.append(play.body(b"<a/>", content_type))
    assert ask(client).root.tag == "a"


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
def test_packed_answer_is_unpacked(client: Client, server: ArxivServer, packing: str) -> None:
    pack = gzip.compress if packing == "gzip" else zlib.compress
    server.script.append(play.status(200, {"Content-Encoding": packing}, pack(b"<a/>"), "text/xml"))
    assert ask(client).body == b"<a/>"


def test_answer_that_unpacks_without_end_is_refused(client: Client, server: ArxivServer) -> None:
    server.script_forever = play.gzip_bomb(50_000_000)
    with pytest.raises(SourceMalformed, match="longer than 1000000 bytes"):
        ask(client)
    assert len(server.requests) == 1


# --- redirects ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirect_is_followed(client: Client, server: ArxivServer, code: int) -> None:
    server.script.append(play.redirect(f"{server.oai_url}?verb=Identify", code))
    assert ask(client).root.tag == ROOT
    assert [request.path for request in server.requests] == ["/oai", "/oai"]


def test_source_that_moved_for_good_is_asked_at_its_new_place_at_once(client: Client, server: ArxivServer) -> None:
    moved = server.oai_url.replace("/oai", "/old")
    old = Client(moved, contact="c", interval=0, clock=FrozenClock(NOW))
    server.script.append(play.redirect(f"{server.oai_url}?verb=Identify", 301))
    assert [ask(old).root.tag, ask(old).root.tag] == [ROOT, ROOT]
    old.close()
    assert [request.path for request in server.requests] == ["/old", "/oai", "/oai"]


def test_redirects_without_end_are_given_up(client: Client, server: ArxivServer) -> None:
    server.script_forever = play.redirect(f"{server.oai_url}?verb=Identify&again=1")
    with pytest.raises(SourceRefused, match="redirects"):
        ask(client)
    assert len(server.requests) <= 4


@pytest.mark.parametrize("location", ["", "file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "//["])
def test_redirect_to_what_is_no_source_is_not_followed(client: Client, server: ArxivServer, location: str) -> None:
    server.script_forever = play.redirect(location)
    with pytest.raises(SourceRefused, match="redirects"):
        ask(client)
    assert len(server.requests) == 1


def test_redirect_from_https_to_http_is_not_followed(server: ArxivServer) -> None:
    client = Client("https://example.org/oai", contact="c", interval=0, clock=FrozenClock(NOW))
    import httpx2

    response = httpx2.Response(301, headers={"location": server.oai_url}, request=httpx2.Request("GET", client.url))
    with pytest.raises(SourceRefused, match="isn't followed"):
        client._redirected(response)
    client.close()


# --- pace ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://oaipmh.arxiv.org/oai", "arxiv.org"),
        ("https://export.arxiv.org/api/query", "arxiv.org"),
        ("https://arxiv.org/oai", "arxiv.org"),
        ("https://notarxiv.org/oai", "notarxiv.org"),
        ("http://127.0.0.1:8080/oai", "127.0.0.1_8080"),
        ("http://[::1]:8080/oai", "___1__8080"),
    ],
)
def test_hosts_of_arxiv_share_one_pace(url: str, name: str) -> None:
    assert transport._pace_name(url) == name


def test_every_request_waits_its_turn_redirects_and_repeated_ones_too(server: ArxivServer, pauses: list[float]) -> None:
    client = Client(server.oai_url, contact="c", interval=3, clock=FrozenClock(NOW))
    server.script += [play.redirect(f"{server.oai_url}?verb=Identify"), play.retry_later(0)]
    ask(client)
    client.close()
    assert len(server.requests) == 3
    assert len([pause for pause in pauses if 2 < pause <= 3]) == 2
