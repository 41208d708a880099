"""arXiv's Atom interface: any version, never a licence."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import arxiv_server as play
from arxiv_server import ArxivServer, ServedPaper
from pith_builder import ArxivId, PaperMetadata, canonical_record
from pith_builder.errors import LicenseUnknown, NotFound, SourceMalformed, VersionMismatch
from pith_builder.record import canonical_record as record_of
from pith_builder.sources.atom import Atom
from pith_builder.sources.papers import FoundPaper
from pith_builder.sources.transport import Client
from pith_builder.testing import FrozenClock, make_metadata

ID = ArxivId("2601.00001")


@pytest.fixture
def atom(server: ArxivServer) -> Iterator[Atom]:
    client = Client(server.atom_url, contact="c", interval=0, clock=FrozenClock(), own=Path(tempfile.gettempdir()))
    yield Atom(client)
    client.close()


@pytest.fixture
def find(atom: Atom, server: ArxivServer) -> Callable[..., FoundPaper]:
    def call(metadata: PaperMetadata | None = None, /, **changes: Any) -> FoundPaper:
        paper = ServedPaper.of(metadata or make_metadata(), **changes)
        server.add(paper)
        return atom.find(ArxivId(paper.id))[0]

    return call


def test_hand_written_feed_gives_the_published_number_with_the_licence(
    atom: Atom, server: ArxivServer, root: Path
) -> None:
    server.script.append(play.body((root / "tests" / "wire" / "atom_2403.07648.xml").read_bytes()))
    found = atom.find(ArxivId("2403.07648"))[0].metadata
    licence = "http://arxiv.org/licenses/nonexclusive-distrib/1.0/"
    known = PaperMetadata(**{name: getattr(found, name) for name in found.__struct_fields__} | {"license": licence})
    assert str(canonical_record(known).number()) == "pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE"


def test_licence_is_unknown_so_that_no_record_is_built(find: Callable[..., FoundPaper]) -> None:
    with pytest.raises(LicenseUnknown):
        record_of(find().metadata)


def test_metadata_are_those_of_the_other_sources_but_for_the_licence(find: Callable[..., FoundPaper]) -> None:
    metadata = make_metadata(version=3)
    found = find(metadata).metadata
    same = ("arxiv_id", "version", "categories", "submitted_at")
    assert [getattr(found, name) for name in same] == [getattr(metadata, name) for name in same]
    assert " ".join(found.title.split()) == metadata.title
    assert " ".join(found.abstract.split()) == metadata.abstract
    assert found.authors == "Ada Lovelace, Charles Babbage, Emmy Noether"


def test_older_versions_can_be_had(atom: Atom, server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(version=3)))
    assert atom.find(ArxivId("2601.00001", 2))[0].metadata.version == 2
    assert server.requests[0].params == {"id_list": "2601.00001v2"}


def test_old_ids_and_primary_category_first(find: Callable[..., FoundPaper]) -> None:
    metadata = make_metadata(
        arxiv_id="hep-th/9901001", categories="hep-th gr-qc math-ph", submitted_at="1999-01-01T00:00:00Z"
    )
    found = find(metadata).metadata
    assert (found.arxiv_id, found.categories) == ("hep-th/9901001", "hep-th gr-qc math-ph")


@pytest.mark.parametrize("name", ["msc-class", "acm-class"])
@pytest.mark.parametrize("value", ["11N05", "11N05 (Primary) 05A17", "I.2.6", "H.3; F.2.2", "K.m", "I2.7", "h.5", "G3"])
def test_classes_of_other_schemes_are_no_categories(find: Callable[..., FoundPaper], name: str, value: str) -> None:
    assert find(more={name: value}).metadata.categories == "cs.DL cs.CR"


def test_withdrawn_is_what_the_comment_says(find: Callable[..., FoundPaper]) -> None:
    assert find(comments="This paper has been withdrawn by the author").provenance.withdrawn
    assert not find(comments="12 pages").provenance.withdrawn


def test_provenance_is_as_old_as_the_version_so_that_it_goes_behind_what_oai_says(
    atom: Atom, server: ArxivServer
) -> None:
    server.add(ServedPaper.of(make_metadata()))
    found, answer = atom.find(ID)
    provenance = found.provenance
    assert (provenance.source, provenance.raw_sha256) == (f"atom:{server.atom_url}", answer.sha256)
    assert provenance.source_time == provenance.said_at == "2026-01-01T12:00:00Z"
    assert provenance.fetched_at == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize("asked", [ID, ArxivId("2601.00001", 7)])
def test_paper_or_version_that_is_not_there(atom: Atom, server: ArxivServer, asked: ArxivId) -> None:
    if asked.version:
        server.add(ServedPaper.of(make_metadata()))
    with pytest.raises(NotFound, match="has no paper 2601"):
        atom.find(asked)


def test_error_that_comes_as_an_entry_is_an_error(atom: Atom, server: ArxivServer) -> None:
    server.script.append(play.body(server.atom({"id_list": "nonsense"}), "application/atom+xml"))
    with pytest.raises(NotFound, match="incorrect id format"):
        atom.find(ID)


MALFORMED = {
    "another root": ("feed", "food"),
    "two entries": ("</entry>", "</entry><entry/>"),
    "no id": ("<id>http://arxiv.org/abs/2601.00001v1</id>", ""),
    "id without version": ("/abs/2601.00001v1</id>", "/abs/2601.00001</id>"),
    "id that is none": ("/abs/2601.00001v1</id>", "/abs/x</id>"),
    "another paper": ("/abs/2601.00001v1</id>", "/abs/2601.00003v1</id>"),
    "no title": ("<title>A Made-Up Paper</title>", ""),
    "no summary": ("summary>", "text>"),
    "no published": ("published>", "printed>"),
    "updated of another form": ("<updated>2026-01-01T12:00:00Z", "<updated>2026-01-01"),
    "published of another form": ("<published>2026-01-01T12:00:00Z", "<published>2026-01-01"),
    "no primary category": ("primary_category", "first_category"),
    "category that is none": ('term="cs.CR"', 'term="cs CR"'),
    "category of no archive": ('term="cs.CR"', 'term="Primary"'),
    "category in capitals": ('term="cs.CR"', 'term="CS.CR"'),
    "title in HTML": ("<title>A Made-Up", '<title type="html">A Made-Up'),
    "summary in HTML": ("<summary>", '<summary type="xhtml">'),
}


@pytest.mark.parametrize(("old", "new"), MALFORMED.values(), ids=MALFORMED.keys())
def test_entry_that_is_not_clearly_a_papers_is_refused(atom: Atom, server: ArxivServer, old: str, new: str) -> None:
    server.add(ServedPaper.of(make_metadata()))

    def change(body: bytes) -> bytes:
        assert old.encode() in body
        return body.replace(old.encode(), new.encode())

    server.script_forever = play.changed(change)
    with pytest.raises(SourceMalformed):
        atom.find(ID)


def test_answer_with_another_version_is_refused(atom: Atom, server: ArxivServer) -> None:
    server.add(ServedPaper.of(make_metadata(version=2)))
    server.script.append(play.body(server.atom({"id_list": "2601.00001v2"}), "application/atom+xml"))
    with pytest.raises(VersionMismatch, match=r"answered with v2"):
        atom.find(ArxivId("2601.00001", 1))
