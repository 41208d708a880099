"""The server that plays arXiv speaks as arXiv does, and is as unpleasant as it is told to be."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPResponse, IncompleteRead, RemoteDisconnected
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from lxml import etree

from arxiv_server import (
    ArxivServer,
    Exchange,
    ServedPaper,
    body,
    changed,
    gzip_bomb,
    gzipped,
    normal,
    redirect,
    refuse,
    reset_after,
    retry_later,
    retry_later_at,
    silence,
    status,
    trickle,
    truncated,
)
from arxiv_wire import author_names
from pith_builder import PaperMetadata
from pith_builder.sources.rows import from_snapshot_row
from pith_builder.testing import make_metadata
from pith_builder.text import canonical_text

NS = {
    "o": "http://www.openarchives.org/OAI/2.0/",
    "r": "http://arxiv.org/OAI/arXivRaw/",
    "a": "http://www.w3.org/2005/Atom",
    "s": "http://a9.com/-/spec/opensearch/1.1/",
    "x": "http://arxiv.org/schemas/atom",
}


@pytest.fixture
def server() -> Iterator[ArxivServer]:
    with ArxivServer() as server:
        yield server


def fetch(url: str, **params: object) -> tuple[HTTPResponse, bytes]:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=30)) as connection:
        connection.request("GET", f"{parts.path}?{urlencode(params)}")
        with connection.getresponse() as response:
            return response, response.read()


def oai(server: ArxivServer, **params: str) -> etree._Element:
    params = {name.rstrip("_"): value for name, value in params.items()}
    if "resumptionToken" not in params:
        params = {"metadataPrefix": "arXivRaw"} | params
    response, content = fetch(server.oai_url, **params)
    assert response.status == 200
    return etree.fromstring(content)


def get_record(server: ArxivServer, arxiv_id: str) -> etree._Element:
    return oai(server, verb="GetRecord", identifier=f"oai:arXiv.org:{arxiv_id}")


def atom(server: ArxivServer, id_list: str, **params: object) -> etree._Element:
    response, content = fetch(server.atom_url, id_list=id_list, **params)
    assert response.status == 200
    return etree.fromstring(content)


def texts(element: etree._Element, path: str) -> list[str]:
    return element.xpath(f"{path}/text()", namespaces=NS)


def code(element: etree._Element) -> list[str]:
    return element.xpath("/o:OAI-PMH/o:error/@code", namespaces=NS)


def listed(element: etree._Element) -> list[str]:
    return [name.removeprefix("oai:arXiv.org:") for name in texts(element, "//o:header/o:identifier")]


def numbered(*datestamps: str, **changes: object) -> list[ServedPaper]:
    return [
        ServedPaper.of(make_metadata(arxiv_id=f"2601.{n:05}"), datestamp, **changes)
        for n, datestamp in enumerate(datestamps, 1)
    ]


# --- OAI-PMH ----------------------------------------------------------------------------------------------------


def test_record_is_enveloped_as_oai_says(server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(arxiv_id="2601.00001", categories="cs.DL hep-th math.GT"), "2026-03-04"))
    root = get_record(server, "2601.00001")
    assert [etree.QName(child).localname for child in root] == ["responseDate", "request", "GetRecord"]
    assert root[0].text == "2026-11-30T04:05:06Z"
    assert dict(root[1].attrib) == {
        "verb": "GetRecord",
        "identifier": "oai:arXiv.org:2601.00001",
        "metadataPrefix": "arXivRaw",
    }
    assert root[1].text == server.oai_url
    assert texts(root, "o:GetRecord/o:record/o:header/o:datestamp") == ["2026-03-04"]
    assert texts(root, "o:GetRecord/o:record/o:header/o:setSpec") == ["cs:cs:DL", "physics:hep-th", "math:math:GT"]


def test_raw_elements_stand_in_arxivs_order(server: ArxivServer) -> None:
    more = {
        "doi": "10.5555/x",
        "proxy": "ccsd",
        "report-no": "R-1",
        "msc-class": "11N05",
        "acm-class": "H.3",
        "journal-ref": "J",
    }
    server.add(ServedPaper.of(make_metadata(version=2), comments="12 pages", source_type="D", more=more))
    [raw] = get_record(server, "2601.00001").xpath("//o:metadata/r:arXivRaw", namespaces=NS)
    assert {etree.QName(child).namespace for child in raw} == {NS["r"]}
    assert [etree.QName(child).localname for child in raw] == [
        *("id", "submitter", "version", "version", "title", "authors", "categories", "comments", "proxy", "report-no"),
        *("acm-class", "msc-class", "journal-ref", "doi", "license", "abstract"),
    ]
    assert raw.xpath("r:version/@version", namespaces=NS) == ["v1", "v2"]
    assert texts(raw, "r:version/r:date") == ["Thu, 01 Jan 2026 12:00:00 GMT", "Thu, 08 Jan 2026 12:00:00 GMT"]
    assert [etree.QName(child).localname for child in raw[3]] == ["date", "size", "source_type"]


@pytest.mark.parametrize("license_", ["", None])
def test_no_licence_is_no_element(server: ArxivServer, license_: str | None) -> None:
    server.add(ServedPaper.of(make_metadata(license=license_)))
    assert get_record(server, "2601.00001").xpath("count(//r:license)", namespaces=NS) == 0


def test_texts_are_wrapped_as_arxiv_wraps_them(server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(title="A word & " * 20, abstract="word < word " * 20)))
    root = get_record(server, "2601.00001")
    [title], [abstract] = texts(root, "//r:title"), texts(root, "//r:abstract")
    assert all(line.startswith("  ") for line in title.split("\n")[1:])
    assert [abstract[:6], abstract[-1]] == ["  word", "\n"]
    assert "\n " not in abstract
    assert max(map(len, title.split("\n") + abstract.split("\n"))) <= 80
    assert title.count("\n") + abstract.count("\n") > 3


def test_served_texts_are_those_of_the_metadata(server: ArxivServer, registry: Path) -> None:
    for line in (registry / "snapshot_rows.jsonl").read_text().splitlines():
        metadata = from_snapshot_row(json.loads(line))
        server.add(ServedPaper.of(metadata))
        root = get_record(server, metadata.arxiv_id)
        assert texts(root, "//r:title") == [metadata.title]
        assert texts(root, "//r:abstract") == [metadata.abstract]
        unwrapped = make_metadata(title=" ".join(metadata.title.split()), abstract=" ".join(metadata.abstract.split()))
        served = ServedPaper.of(unwrapped)
        assert canonical_text(served.title) == canonical_text(metadata.title)
        assert canonical_text(served.abstract) == canonical_text(metadata.abstract)


def test_deleted_record_is_a_header_alone(server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(), deleted=True))
    root = get_record(server, "2601.00001")
    assert root.xpath("//o:header/@status", namespaces=NS) == ["deleted"]
    assert root.xpath("count(//o:metadata)", namespaces=NS) == 0


def test_unknown_id_is_an_error_element(server: ArxivServer) -> None:
    assert code(get_record(server, "2601.00001")) == ["idDoesNotExist"]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"verb": "ListRecords", "metadataPrefix": "oai_dc"}, "cannotDisseminateFormat"),
        ({"verb": "ListRecords", "from_": "2026-1-02"}, "badArgument"),
        ({"verb": "ListRecords", "from_": "2026-02-30"}, "badArgument"),
        ({"verb": "ListRecords", "from_": "2026-02-02", "until": "2026-02-01"}, "badArgument"),
        ({"verb": "ListRecords", "identifier": "oai:arXiv.org:2601.00001"}, "badArgument"),
        ({"verb": "ListRecords", "resumptionToken": "1|2"}, "badResumptionToken"),
        ({"verb": "ListRecords", "resumptionToken": "1|2", "set": "cs"}, "badArgument"),
        ({"verb": "ListRecords", "from_": "2030-01-01"}, "noRecordsMatch"),
        ({"verb": "GetRecord"}, "badArgument"),
        ({"verb": "Sing"}, "badVerb"),
    ],
)
def test_what_oai_forbids_is_an_error_element(server: ArxivServer, params: dict[str, str], expected: str) -> None:
    server.add(ServedPaper.of(make_metadata()))
    root = oai(server, **params)
    assert code(root) == [expected]
    assert bool(root[1].attrib) == (expected not in ("badArgument", "badVerb"))


def test_list_goes_from_page_to_page(server: ArxivServer) -> None:
    server.add(*numbered("2026-01-03", "2026-01-01", "2026-01-02", "2026-01-01", "2026-01-05"))
    server.page_size = 2
    root, pages, tokens = oai(server, verb="ListRecords"), [], []
    while True:
        pages.append(listed(root))
        [token] = root.xpath("//o:resumptionToken", namespaces=NS)
        tokens.append(dict(token.attrib))
        if not token.text:
            break
        root = oai(server, verb="ListRecords", resumptionToken=token.text)
    assert pages == [["2601.00002", "2601.00004"], ["2601.00003", "2601.00001"], ["2601.00005"]]
    assert tokens == [
        {"expirationDate": "2026-12-01T00:00:00Z", "completeListSize": "5", "cursor": cursor} for cursor in "024"
    ]


def test_list_in_one_page_has_no_token(server: ArxivServer) -> None:
    server.add(*numbered("2026-01-03", "2026-01-01"))
    server.sort_by_datestamp = False
    root = oai(server, verb="ListRecords")
    assert listed(root) == ["2601.00001", "2601.00002"]
    assert root.xpath("count(//o:resumptionToken)", namespaces=NS) == 0


def test_expired_token_is_refused(server: ArxivServer) -> None:
    server.add(*numbered("2026-01-01", "2026-01-02"))
    server.page_size = 1
    [token] = texts(oai(server, verb="ListRecords"), "//o:resumptionToken")
    assert listed(oai(server, verb="ListRecords", resumptionToken=token)) == ["2601.00002"]
    server.expire_tokens()
    assert code(oai(server, verb="ListRecords", resumptionToken=token)) == ["badResumptionToken"]


def test_days_are_inclusive_and_sets_hold_their_subsets(server: ArxivServer) -> None:
    server.add(*numbered("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"))
    server.papers["2601.00003"].sets = ["physics:hep-th"]
    days = {"from_": "2026-01-02", "until": "2026-01-03"}
    assert listed(oai(server, verb="ListRecords", **days)) == ["2601.00002", "2601.00003"]
    for name, found in (("cs", ["2601.00002"]), ("cs:cs:DL", ["2601.00002"]), ("physics", ["2601.00003"]), ("c", [])):
        assert listed(oai(server, verb="ListRecords", set=name, **days)) == found


def test_identify_tells_of_days_and_deleted_records(server: ArxivServer) -> None:
    _, content = fetch(server.oai_url, verb="Identify")
    root = etree.fromstring(content)
    assert texts(root, "o:Identify/o:granularity") == ["YYYY-MM-DD"]
    assert texts(root, "o:Identify/o:deletedRecord") == ["persistent"]


# --- Atom -------------------------------------------------------------------------------------------------------


def test_entry_is_of_the_newest_version(server: ArxivServer) -> None:
    more = {"msc-class": "11N05 (Primary)", "acm-class": "H.3"}
    authors = "C. Bal\\'azs (Argonne, (IL)), E. N{\\\"o}ther and \\v{S}. \\O rsted"
    server.add(ServedPaper.of(make_metadata(version=3, authors=authors), comments="12 pages", more=more))
    root = atom(server, "2601.00001")
    assert texts(root, "s:totalResults") == ["1"]
    [entry] = root.xpath("a:entry", namespaces=NS)
    assert [etree.QName(child).localname for child in entry] == [
        *("id", "updated", "published", "title", "summary", "author", "author", "author", "comment", "link", "link"),
        *("primary_category", "category", "category", "category", "category"),
    ]
    assert texts(entry, "a:id") == ["http://arxiv.org/abs/2601.00001v3"]
    assert texts(entry, "a:updated") + texts(entry, "a:published") == ["2026-01-15T12:00:00Z", "2026-01-01T12:00:00Z"]
    assert texts(entry, "a:author/a:name") == ["C. Balázs", "E. Nöther", "Š. Ørsted"]
    assert texts(entry, "x:comment") == ["12 pages"]
    assert entry.xpath("x:primary_category/@term", namespaces=NS) == ["cs.DL"]
    assert entry.xpath("a:category/@term", namespaces=NS) == ["cs.DL", "cs.CR", "11N05 (Primary)", "H.3"]
    assert set(entry.xpath("*/@scheme")) == {NS["x"]}


def test_versioned_ids_give_their_versions_and_unknown_ones_nothing(server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(version=2)), ServedPaper.of(make_metadata(arxiv_id="math/0309136")))
    root = atom(server, "2601.00001v1,math.GT/0309136,2601.00009,2601.00001v7")
    assert texts(root, "a:entry/a:id") == ["http://arxiv.org/abs/2601.00001v1", "http://arxiv.org/abs/math/0309136v1"]
    assert texts(root, "a:entry/a:updated")[0] == "2026-01-01T12:00:00Z"


def test_malformed_id_is_an_entry_called_error(server: ArxivServer) -> None:
    root = atom(server, "banana")
    assert texts(root, "a:entry/a:id") == ["http://arxiv.org/api/errors#incorrect_id_format_for_banana"]
    assert texts(root, "a:entry/a:title") == ["Error"]


def test_ten_entries_come_unless_more_are_asked_for(server: ArxivServer) -> None:
    papers = numbered(*["2026-01-01"] * 12)
    server.add(*papers)
    ids = ",".join(paper.id for paper in papers)
    assert len(texts(atom(server, ids), "a:entry/a:id")) == 10
    assert len(texts(atom(server, ids, start=1, max_results=50), "a:entry/a:id")) == 11


def test_authors_are_split_as_in_feeds() -> None:
    assert author_names("A. One, B. Two, and C. Three\n  (CERN, Geneva)") == ["A. One", "B. Two", "C. Three"]


# --- moods ------------------------------------------------------------------------------------------------------


def plain(server: ArxivServer) -> tuple[HTTPResponse, bytes]:
    return fetch(server.oai_url, verb="Identify")


def test_script_is_played_once_and_then_forever(server: ArxivServer) -> None:
    server.script = [status(500), normal(), retry_later(7)]
    assert [plain(server)[0].status for _ in range(4)] == [500, 200, 503, 200]
    server.script_forever = status(429, {"Retry-After": "1"}, b"no", "text/plain")
    response, content = plain(server)
    assert (response.status, response.headers["Retry-After"], content) == (429, "1", b"no")
    assert response.headers["Content-Type"] == "text/plain"


def test_retry_after_comes_in_seconds_or_as_a_date(server: ArxivServer) -> None:
    server.script = [retry_later(7), retry_later_at(datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC), 429)]
    assert plain(server)[0].headers["Retry-After"] == "7"
    response, _ = plain(server)
    assert (response.status, response.headers["Retry-After"]) == (429, "Mon, 30 Nov 2026 01:02:03 GMT")


def test_bodies_are_replaced_and_changed(server: ArxivServer) -> None:
    server.script = [body(b"<a/>"), changed(lambda content: content.replace(b"arXiv", b"other")), redirect("/oai", 308)]
    response, content = plain(server)
    assert (response.headers["Content-Type"], content) == ("text/xml; charset=utf-8", b"<a/>")
    assert b"<repositoryName>other<" in plain(server)[1]
    response, _ = plain(server)
    assert (response.status, response.headers["Location"]) == (308, "/oai")


def test_truncated_body_shows_only_where_its_length_is_declared(server: ArxivServer) -> None:
    _, whole = plain(server)
    server.script = [truncated(50, declared=False), truncated(50)]
    assert plain(server)[1] == whole[:50]
    with pytest.raises(IncompleteRead):
        plain(server)


def test_connection_is_reset_closed_or_silent(server: ArxivServer) -> None:
    server.script = [reset_after(10), refuse(), silence(0.01)]
    with pytest.raises(ConnectionResetError):
        plain(server)
    for _ in range(2):
        with pytest.raises(RemoteDisconnected):
            plain(server)
    assert plain(server)[0].status == 200


def test_compressed_bodies_say_so(server: ArxivServer) -> None:
    _, whole = plain(server)
    server.script = [gzipped(), gzip_bomb(3_000_000)]
    response, content = plain(server)
    assert (response.headers["Content-Encoding"], gzip.decompress(content)) == ("gzip", whole)
    _, content = plain(server)
    assert len(content) < 10_000
    assert len(zlib.decompress(content, wbits=31)) == 3_000_000


def test_trickled_body_arrives_whole(server: ArxivServer) -> None:
    _, whole = plain(server)
    server.script = [trickle(100_000)]
    assert plain(server)[1] == whole


@pytest.mark.parametrize("answer", [silence(3600), trickle(1)], ids=["silence", "trickle"])
def test_server_stops_in_the_middle_of_an_answer(answer: object, capfd: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    with ArxivServer() as server:
        server.script_forever = answer  # type: ignore[assignment]  # parametrize knows no types
        parts = urlsplit(server.oai_url)
        client = socket.create_connection((parts.hostname, parts.port))
        client.sendall(b"GET /oai?verb=Identify HTTP/1.1\r\nHost: arxiv\r\n\r\n")
        while not server.requests:
            time.sleep(0.001)
    assert threading.active_count() == before
    client.close()
    assert capfd.readouterr() == ("", "")


def test_server_stops_while_a_client_keeps_its_connection() -> None:
    with ArxivServer() as server:
        connection = HTTPConnection(urlsplit(server.oai_url).netloc)
        for _ in range(2):
            connection.request("GET", "/nowhere")
            response = connection.getresponse()
            assert (response.status, response.read()) == (404, b"<html><body>Not Found</body></html>")
        assert server.connections == 1
    connection.close()


def test_client_that_goes_away_is_no_failure(capfd: pytest.CaptureFixture[str]) -> None:
    with ArxivServer() as server:
        server.script_forever = trickle(10)
        parts = urlsplit(server.oai_url)
        with socket.create_connection((parts.hostname, parts.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"GET /oai?verb=Identify HTTP/1.1\r\nHost: arxiv\r\n\r\n")
            client.recv(1)
    assert capfd.readouterr() == ("", "")


def test_mistake_in_an_answer_is_raised_at_the_end() -> None:
    def mistaken(exchange: Exchange) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), ArxivServer() as server:  # noqa: PT012  # the end of the context raises
        server.script = [mistaken]
        with pytest.raises(RemoteDisconnected):
            plain(server)


def test_requests_are_remembered(server: ArxivServer) -> None:
    get_record(server, "2601.00001")
    fetch(server.atom_url, id_list="a,b")
    first, second = server.requests
    assert first.at < second.at
    assert first.key == "identifier=oai:arXiv.org:2601.00001&metadataPrefix=arXivRaw&verb=GetRecord"
    assert (second.path, second.params) == ("/api/query", {"id_list": "a,b"})
    assert first.headers["accept-encoding"] == first.headers["Accept-Encoding"] == "identity"


def test_requests_at_once_are_counted(server: ArxivServer) -> None:
    both = threading.Barrier(2)

    def together(exchange: Exchange) -> None:
        both.wait(30)
        normal()(exchange)

    for _ in range(5):
        plain(server)
    assert server.max_at_once == 1
    server.script = [together, together]
    threads = [threading.Thread(target=plain, args=(server,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.max_at_once == 2


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "title_path", "abstract_path"),
    [("oai_2403.07648.xml", "//r:title", "//r:abstract"), ("atom_2403.07648.xml", "//a:entry/a:title", "//a:summary")],
)
def test_wire_files_tell_what_the_fixture_tells(root: Path, name: str, title_path: str, abstract_path: str) -> None:
    metadata = PaperMetadata.from_mapping(json.loads((root / "fixtures/metadata/2403.07648v2.json").read_bytes()))
    answer = etree.fromstring((root / "tests" / "wire" / name).read_bytes())
    [title], [abstract] = texts(answer, title_path), texts(answer, abstract_path)
    assert canonical_text(title) == canonical_text(metadata.title)
    assert canonical_text(abstract) == canonical_text(metadata.abstract)


def test_wire_files_are_of_the_servers_form(root: Path, server: ArxivServer) -> None:
    served = get_record(server, "0000.00000")
    for path in sorted((root / "tests" / "wire").glob("oai_*.xml")):
        answer = etree.fromstring(path.read_bytes())
        assert (answer.tag, dict(answer.attrib)) == (served.tag, dict(served.attrib))
        assert [child.tag for child in answer][:2] == [child.tag for child in served][:2]
