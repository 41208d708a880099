"""arXiv's OAI-PMH interface: what of a record becomes metadata, and what is refused."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import arxiv_server as play
from arxiv_server import ArxivServer, ServedPaper
from pith_builder import ArxivId, PaperMetadata, canonical_record
from pith_builder.errors import NotFound, SourceFailed, SourceMalformed, VersionMismatch
from pith_builder.record import Paper
from pith_builder.sources.oai import Oai, Page, TokenExpired
from pith_builder.sources.papers import FoundPaper
from pith_builder.sources.transport import Client
from pith_builder.testing import FrozenClock, make_metadata

ID = ArxivId("2601.00001")


@pytest.fixture
def oai(server: ArxivServer) -> Iterator[Oai]:
    client = Client(server.oai_url, contact="c", interval=0, clock=FrozenClock(), own=Path(tempfile.gettempdir()))
    yield Oai(client)
    client.close()


@pytest.fixture
def find(oai: Oai, server: ArxivServer) -> Callable[..., FoundPaper]:
    """What is found of a paper that the server has in this state: `find(license=None)`."""

    def call(metadata: PaperMetadata | None = None, /, **changes: Any) -> FoundPaper:
        paper = ServedPaper.of(metadata or make_metadata(), **changes)
        server.add(paper)
        return oai.find(ArxivId(paper.id))[0]

    return call


@pytest.fixture
def altered(oai: Oai, server: ArxivServer) -> Callable[[str, str], FoundPaper]:
    """What is found where the wire has `new` in the place of `old`."""

    def call(old: str, new: str) -> FoundPaper:
        server.add(ServedPaper.of(make_metadata()))

        def change(body: bytes) -> bytes:
            assert old.encode() in body
            return body.replace(old.encode(), new.encode())

        server.script_forever = play.changed(change)
        return oai.find(ID)[0]

    return call


# --- one paper ----------------------------------------------------------------------------------------------------


def test_real_papers_over_the_wire_give_their_published_numbers(
    find: Callable[..., FoundPaper], seed: tuple[PaperMetadata, bytes]
) -> None:
    metadata, record = seed
    found = find(metadata)
    published = json.loads(record)
    canonical = canonical_record(found.metadata)
    assert str(canonical.number()) == published["pith_number"]
    assert (
        Paper.of(found.metadata, canonical, published["paper"]["headline"]).abstract_excerpt
        == (published["paper"]["abstract_excerpt"])
    )


def test_hand_written_answer_gives_the_published_number(oai: Oai, server: ArxivServer, root: Path) -> None:
    server.script.append(play.body((root / "tests" / "wire" / "oai_2403.07648.xml").read_bytes()))
    found, answer = oai.find(ArxivId("2403.07648"))
    assert str(canonical_record(found.metadata).number()) == "pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE"
    assert found.provenance.raw_sha256 == answer.sha256


def test_paper_without_licence_of_the_old_form(oai: Oai, server: ArxivServer, root: Path) -> None:
    server.script.append(play.body((root / "tests" / "wire" / "oai_hep-th_9901001.xml").read_bytes()))
    found, _ = oai.find(ArxivId("hep-th/9901001"))
    assert (found.metadata.license, found.metadata.arxiv_id) == ("", "hep-th/9901001")


def test_question_is_of_the_wire_form(oai: Oai, server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(arxiv_id="math/0309136", submitted_at="2003-09-08T10:00:00Z")))
    oai.find(ArxivId.parse("math.GT/0309136"))
    assert server.requests[0].params == {
        "verb": "GetRecord",
        "identifier": "oai:arXiv.org:math/0309136",
        "metadataPrefix": "arXivRaw",
    }


def test_provenance_says_where_when_and_of_which_bytes(oai: Oai, server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(), datestamp="2026-03-04"))
    found, answer = oai.find(ID)
    provenance = found.provenance
    assert provenance.source == f"oai:{server.oai_url}"
    assert provenance.source_time == "2026-03-04T00:00:00Z"  # when it last changed
    assert provenance.said_at == "2026-01-02T03:04:05Z"  # it still holds
    assert provenance.fetched_at == "2026-01-02T03:04:05Z"
    assert provenance.raw_sha256 == answer.sha256
    assert not provenance.withdrawn


def test_highest_version_as_a_number_and_the_time_of_v1_by_its_name(find: Callable[..., FoundPaper]) -> None:
    versions = [(10, "Tue, 10 Feb 2026 00:00:00 GMT"), (9, "Mon, 09 Feb 2026 00:00:00 GMT")]
    versions += [(1, "Fri, 02 Jan 2026 03:04:05 GMT")]
    found = find(versions=versions).metadata
    assert (found.version, found.submitted_at) == (10, "2026-01-02T03:04:05Z")


def test_texts_keep_wraps_tex_and_escaped_characters(find: Callable[..., FoundPaper]) -> None:
    changes = {
        "title": "A $x < y$ Title & \\`a la\n  Stojni\\'c",
        "abstract": '  We show.\n  Then more.\n\n  And "all" <of> it.\n',
        "authors": "M. Stojni\\'c, A & B\n  and C",
    }
    found = find(**changes).metadata
    assert {name: getattr(found, name) for name in changes} == changes


def test_no_licence_is_none_and_never_unknown(find: Callable[..., FoundPaper]) -> None:
    assert find(license=None).metadata.license == ""


@pytest.mark.parametrize(
    ("source_type", "withdrawn"), [("I", True), ("DI", True), ("D", False), ("", False), (None, False)]
)
def test_withdrawn_is_what_the_newest_version_says(
    find: Callable[..., FoundPaper], source_type: str | None, withdrawn: bool
) -> None:
    assert find(make_metadata(version=2), source_type=source_type).provenance.withdrawn is withdrawn


def test_earlier_version_that_was_withdrawn_does_not_count(oai: Oai, server: ArxivServer, root: Path) -> None:
    body = (root / "tests" / "wire" / "oai_2601.00002_withdrawn.xml").read_bytes()
    assert body.index(b"<source_type>D<") < body.index(b"<source_type>I<")
    swapped = body.replace(b">D<", b">?<").replace(b">I<", b">D<").replace(b">?<", b">I<")
    server.script += [play.body(body), play.body(swapped)]
    assert [oai.find(ArxivId("2601.00002"))[0].provenance.withdrawn for _ in range(2)] == [True, False]


def test_abstract_of_ten_megabytes_is_read_whole(find: Callable[..., FoundPaper]) -> None:
    assert len(find(abstract="x" * 10_500_000).metadata.abstract) == 10_500_000


# --- what is not there ----------------------------------------------------------------------------------------------


def test_paper_that_arxiv_does_not_have(oai: Oai) -> None:
    with pytest.raises(NotFound, match=r"has no paper 2601\.00001: idDoesNotExist"):
        oai.find(ID)


def test_paper_that_arxiv_deleted(find: Callable[..., FoundPaper]) -> None:
    with pytest.raises(NotFound, match=r"has deleted 2601\.00001, on 2026-01-02"):
        find(deleted=True)


@pytest.mark.parametrize("version", [1, 3])
def test_other_versions_than_the_newest_are_refused(oai: Oai, server: ArxivServer, version: int) -> None:
    server.add(ServedPaper.of(make_metadata(version=2)))
    with pytest.raises(VersionMismatch, match=f"only the newest version of 2601.00001, v2, not v{version}") as caught:
        oai.find(ArxivId("2601.00001", version))
    assert caught.value.newest == 2


def test_newest_version_may_be_asked_for(oai: Oai, server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(version=2)))
    assert oai.find(ArxivId("2601.00001", 2))[0].metadata.version == 2


@pytest.mark.parametrize("code", ["cannotDisseminateFormat", "badArgument", "badVerb", "somethingNew", ""])
def test_other_errors_are_the_sources_failure(oai: Oai, server: ArxivServer, root: Path, code: str) -> None:
    body = (root / "tests" / "wire" / "oai_error.xml").read_bytes()
    server.script.append(play.body(body.replace(b"idDoesNotExist", code.encode())))
    with pytest.raises(SourceFailed, match="answered with the error"):
        oai.find(ID)


# --- what is malformed --------------------------------------------------------------------------------------------

WRAPPED = "<rights><license>http://creativecommons.org/licenses/by/4.0/</license></rights>"
MALFORMED = {
    "another root": ("OAI-PMH", "OAI"),
    "another namespace of the envelope": ("http://www.openarchives.org/OAI/2.0/", "http://example.org/"),
    "another namespace of the paper": ("http://arxiv.org/OAI/arXivRaw/", "http://arxiv.org/OAI/arXiv/"),
    "no answer to the question": ("GetRecord>", "GetMore>"),
    "no record": ("<record>", "<record/><other>"),
    "no header": ("header>", "head>"),
    "no identifier": ("identifier>", "name>"),
    "no paper": ("arXivRaw", "arXiv"),
    "no title": ("title>", "name>"),
    "no abstract": ("abstract>", "text>"),
    "no authors": ("authors>", "people>"),
    "no categories": ("categories>", "areas>"),
    "no id": ("<id>2601.00001</id>", ""),
    "two titles": ("<title>", "<title>Another</title><title>"),
    "two licences": ("<license>", "<license>http://example.org/</license><license>"),
    "empty licence": (">http://creativecommons.org/licenses/by/4.0/<", "> <"),
    "licence that is no URI": ("http://creativecommons.org/licenses/by/4.0/", "CC BY"),
    "comment in the title": ("A Made-Up", "A <!-- c -->Made-Up"),
    "element in the abstract": ("Nothing is", "Nothing <b/>is"),
    "instruction in the authors": ("Ada ", "Ada <?p i?>"),
    "no v1": ('version="v1"', 'version="v2"'),
    "version without a name": (' version="v1"', ""),
    "version of another form": ('version="v1"', 'version="1"'),
    "version with a zero": ('version="v1"', 'version="v01"'),
    "no date": ("date>Thu", "day>Thu"),
    "date without zone": (" GMT", ""),
    "date of another zone": (" GMT", " EST"),
    "wrong weekday": ("Thu, ", "Fri, "),
    "day that there isn't": ("01 Jan 2026", "31 Feb 2026"),
    "datestamp that is no day": ("<datestamp>2026-01-02", "<datestamp>2026-13-02"),
    "datestamp of another form": ("<datestamp>2026-01-02", "<datestamp>yesterday"),
    "category that is none": (">cs.DL cs.CR<", ">cs.DL; cs.CR<"),
    "no category": (">cs.DL cs.CR<", "> <"),
    "record about another paper": ("<id>2601.00001<", "<id>2601.00003<"),
    "header about another paper": ("oai:arXiv.org:2601.00001</identifier>", "oai:arXiv.org:2601.00003</identifier>"),
    "identifier that is no id": ("oai:arXiv.org:2601.00001</identifier>", "oai:arXiv.org:x</identifier>"),
    "licence in another namespace": ("<license>", '<license xmlns="urn:x">'),
    "licence in capitals": ("license>", "License>"),
    "licence in a wrapper": ("<license>http://creativecommons.org/licenses/by/4.0/</license>", WRAPPED),
    "licence beside the paper": ("</arXivRaw>", "</arXivRaw><license>http://example.org/</license>"),
    "version in another namespace": ("<title>", '<version xmlns="urn:x" version="v2"/><title>'),
    "version in a wrapper": ("<title>", '<versions><version version="v2"/></versions><title>'),
    "text behind a title": ("</title>", "</title> and the rest of it"),
    "text behind an abstract": ("</abstract>", "</abstract> and the rest of it"),
    "error of another namespace": ("</OAI-PMH>", '<error xmlns="">temporary</error></OAI-PMH>'),
    "error beside the record": ("</OAI-PMH>", '<error code="idDoesNotExist"/></OAI-PMH>'),
    "title that is blank": (">A Made-Up Paper<", "> \n <"),
}


@pytest.mark.parametrize(("old", "new"), MALFORMED.values(), ids=MALFORMED.keys())
def test_record_that_is_not_clearly_a_papers_is_refused(
    altered: Callable[[str, str], FoundPaper], old: str, new: str
) -> None:
    with pytest.raises(SourceMalformed):
        altered(old, new)


@pytest.mark.parametrize(
    "old", ["<datestamp>2026-01-02</datestamp>", "<identifier>oai:arXiv.org:2601.00002</identifier>"]
)
def test_header_that_lacks_something_spoils_no_other_record(
    server: ArxivServer, pages: Callable[..., list[Page]], old: str
) -> None:
    server.add(*several(3))

    def change(body: bytes) -> bytes:
        second = body.index(b"<record>", body.index(b"<record>") + 1)
        return body[:second] + body[second:].replace(old.encode(), b"", 1)

    server.script_forever = play.changed(change)
    [page] = pages()
    assert [isinstance(record.found, FoundPaper) for record in page.records] == [True, False, True]


def test_two_versions_of_one_name_are_refused(find: Callable[..., FoundPaper]) -> None:
    date = "Fri, 02 Jan 2026 03:04:05 GMT"
    with pytest.raises(SourceMalformed, match="v1 stands twice"):
        find(versions=[(1, date), (1, date)])


def test_malformed_record_names_its_field_and_paper(altered: Callable[[str, str], FoundPaper]) -> None:
    with pytest.raises(SourceMalformed, match=r"2601\.00001.*versions.*that day was a Thu"):
        altered("Thu, ", "Fri, ")


def test_answer_about_another_paper_is_refused(oai: Oai, server: ArxivServer, root: Path) -> None:
    server.script.append(play.body((root / "tests" / "wire" / "oai_2403.07648.xml").read_bytes()))
    with pytest.raises(SourceMalformed, match=r"asked for 2601\.00001 and answered with 2403\.07648"):
        oai.find(ID)


def test_what_arxiv_may_add_is_passed_over(altered: Callable[[str, str], FoundPaper]) -> None:
    assert altered("<title>", "<novelty>high</novelty><title>").metadata == altered("<title>", "<title>").metadata


# --- lists --------------------------------------------------------------------------------------------------------


@pytest.fixture
def pages(oai: Oai) -> Callable[..., list[Page]]:
    def call(token: str | None = None, **question: str) -> list[Page]:
        return list(oai.pages({"from": "2026-01-01", **question}, token))

    return call


def several(n: int, **changes: Any) -> list[ServedPaper]:
    return [ServedPaper.of(make_metadata(arxiv_id=f"2601.{k:05}"), **changes) for k in range(1, n + 1)]


def test_pages_follow_the_tokens_to_the_last(server: ArxivServer, pages: Callable[..., list[Page]]) -> None:
    server.page_size = 2
    server.add(*several(5))
    found = pages()
    assert [len(page.records) for page in found] == [2, 2, 1]
    assert [record.name for page in found for record in page.records] == [f"2601.{n:05}" for n in range(1, 6)]
    assert [page.token is None for page in found] == [False, False, True]
    assert {page.size for page in found} == {5}
    assert {page.day for page in found} == {"2026-11-30"}


def test_list_is_asked_for_once_with_its_days_and_then_by_token_alone(
    server: ArxivServer, pages: Callable[..., list[Page]]
) -> None:
    server.page_size = 1
    server.add(*several(2))
    token = pages(until="2026-12-31", set="cs")[0].token
    assert [request.params for request in server.requests] == [
        {"verb": "ListRecords", "metadataPrefix": "arXivRaw", "from": "2026-01-01", "until": "2026-12-31", "set": "cs"},
        {"verb": "ListRecords", "resumptionToken": token},
    ]


def test_list_goes_on_behind_a_token(server: ArxivServer, pages: Callable[..., list[Page]]) -> None:
    server.page_size = 2
    server.add(*several(5))
    first = pages()[0]
    assert [record.name for page in pages(first.token) for record in page.records] == [
        "2601.00003",
        "2601.00004",
        "2601.00005",
    ]


def test_nothing_changed_is_one_empty_page(pages: Callable[..., list[Page]]) -> None:
    [page] = pages()
    assert (page.records, page.token, page.day) == ([], None, "2026-11-30")


def test_damaged_and_deleted_records_stand_beside_the_others(
    server: ArxivServer, pages: Callable[..., list[Page]]
) -> None:
    good, damaged, deleted = several(3)
    damaged.categories = "nothing; of the kind"
    deleted.deleted = True
    server.add(good, damaged, deleted)
    [page] = pages()
    assert [type(record.found) for record in page.records] == [FoundPaper, SourceMalformed, type(None)]
    assert [record.name for record in page.records] == ["2601.00001", "2601.00002", "2601.00003"]


def test_token_that_expired_is_told_apart(server: ArxivServer, oai: Oai) -> None:
    server.page_size = 1
    server.add(*several(2))
    pages = oai.pages({"from": "2026-01-01"})
    next(pages)
    server.expire_tokens()
    with pytest.raises(TokenExpired):
        next(pages)


UNCLEAR = {
    "nothing": "",
    "text": "Internal error",
    "another element": "<record/><html/>",
    "records of another namespace": '<record xmlns="http://example.org/"/>',
    "no end behind a token": "<record/>",
}


@pytest.mark.parametrize("content", UNCLEAR.values(), ids=UNCLEAR.keys())
def test_list_whose_end_is_not_clear_is_not_taken_for_complete(server: ArxivServer, oai: Oai, content: str) -> None:
    server.page_size = 1
    server.add(*several(2))
    token = next(oai.pages({"from": "2026-01-01"})).token

    def emptied(body: bytes) -> bytes:
        start, end = body.index(b"<ListRecords>") + len(b"<ListRecords>"), body.index(b"</ListRecords>")
        return body[:start] + content.encode() + body[end:]

    server.script_forever = play.changed(emptied)
    with pytest.raises(SourceMalformed):
        list(oai.pages({}, token))


def test_nothing_changed_behind_a_token_is_no_end(server: ArxivServer, oai: Oai, root: Path) -> None:
    server.page_size = 1
    server.add(*several(2))
    pages = oai.pages({"from": "2026-01-01"})
    next(pages)
    error = (root / "tests" / "wire" / "oai_error.xml").read_bytes()
    server.script_forever = play.body(error.replace(b"idDoesNotExist", b"noRecordsMatch"))
    with pytest.raises(SourceFailed, match="noRecordsMatch"):
        next(pages)


def test_error_beside_records_is_not_passed_over(server: ArxivServer, oai: Oai) -> None:
    server.add(*several(1))
    error = b'<error code="noRecordsMatch">no</error><ListRecords>'
    server.script_forever = play.changed(lambda body: body.replace(b"<ListRecords>", error))
    with pytest.raises(SourceMalformed, match="an error and with more"):
        list(oai.pages({"from": "2026-01-01"}))


def test_tokens_in_a_circle_are_given_up(server: ArxivServer, oai: Oai) -> None:
    server.page_size = 1
    server.add(*several(3))
    first, second, _ = oai.pages({"from": "2026-01-01"})
    server.script += [play.body(page.answer.body) for page in (first, second, first)]
    with pytest.raises(SourceMalformed, match="same resumption token"):
        list(oai.pages({"from": "2026-01-01"}))


def test_list_that_would_never_end_is_given_up(server: ArxivServer, oai: Oai) -> None:
    server.page_size = 1
    server.add(*several(3))
    first = next(oai.pages({"from": "2026-01-01"}))
    server.script_forever = play.body(first.answer.body)
    with pytest.raises(SourceMalformed, match="same resumption token"):
        list(oai.pages({"from": "2026-01-01"}))


@pytest.mark.parametrize("size", ["", "-1", "many", "9" * 5000, "1.5"])
def test_size_that_can_not_be_read_is_unknown(server: ArxivServer, pages: Callable[..., list[Page]], size: str) -> None:
    server.page_size = 1
    server.add(*several(2))
    server.script_forever = play.changed(
        lambda body: body.replace(b'completeListSize="2"', f'completeListSize="{size}"'.encode())
    )
    assert {page.size for page in pages()} == {None}


@pytest.mark.parametrize("date", ["", "2026", "2026-02-30T00:00:00Z", "30.11.2026"])
def test_page_without_a_date_is_refused(server: ArxivServer, pages: Callable[..., list[Page]], date: str) -> None:
    server.add(*several(1))
    server.script_forever = play.changed(
        lambda body: body.replace(
            body[body.index(b"<responseDate>") : body.index(b"</responseDate>")], b"<responseDate>" + date.encode()
        )
    )
    with pytest.raises(SourceMalformed, match="no day"):
        pages()
