"""The canonical record and the paper block (PROTOCOL §2, §4)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from pith_builder import CanonicalRecord, Paper, canonical_bytes, canonical_record, text_sha256
from pith_builder.errors import InvalidInput, InvalidJson, InvalidRecord, LicenseUnknown
from pith_builder.testing import make_metadata


@pytest.fixture
def value() -> dict[str, Any]:
    """A canonical record as a JSON value, to be changed."""
    found: dict[str, Any] = json.loads(canonical_record(make_metadata()).to_bytes())
    return found


def test_the_canonical_record_holds_what_the_protocol_names() -> None:
    metadata = make_metadata(categories="math.CO math-ph cs.CG", version=3)
    assert json.loads(canonical_record(metadata).to_bytes()) == {
        "metadata": {
            "abstract_canon_sha256": text_sha256(metadata.abstract),
            "cross_cats_sorted": ["cs.CG", "math-ph"],
            "license": metadata.license,
            "primary_cat": "math.CO",
            "submitted_at": metadata.submitted_at,
            "title_canon_sha256": text_sha256(metadata.title),
        },
        "schema_version": "1.0",
        "source": {"id": metadata.arxiv_id, "kind": "arxiv", "version": 3},
    }


def test_cross_categories_are_sorted_by_code_point() -> None:
    record = canonical_record(make_metadata(categories="z b.C B.c a-b a.b a"))
    assert record.metadata.cross_cats_sorted == ["B.c", "a", "a-b", "a.b", "b.C"]


def test_the_canonical_bytes_are_canonical(value: dict[str, Any]) -> None:
    assert canonical_record(make_metadata()).to_bytes() == canonical_bytes(value)


def test_the_digest_is_the_sha256_of_the_canonical_bytes() -> None:
    record = canonical_record(make_metadata())
    assert record.digest() == hashlib.sha256(record.to_bytes()).digest()


def test_no_licence_is_the_empty_string() -> None:
    assert canonical_record(make_metadata(license="")).metadata.license == ""


def test_nothing_is_built_from_an_unknown_licence() -> None:
    with pytest.raises(LicenseUnknown) as caught:
        canonical_record(make_metadata(license=None))
    assert caught.value.field == "license"


def test_the_year_of_a_number_is_that_of_the_submission_not_of_the_id() -> None:
    record = canonical_record(make_metadata(arxiv_id="1801.00004", submitted_at="2017-12-29T20:00:03Z"))
    assert record.number().year == 2017


@pytest.mark.parametrize(
    "change",
    [
        {"title": "another"},
        {"abstract": "another"},
        {"categories": "cs.CR cs.DL"},
        {"license": ""},
        {"submitted_at": "2026-01-01T12:00:01Z"},
        {"version": 2},
        {"arxiv_id": "2601.00002"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_everything_that_is_hashed_changes_the_number(change: dict[str, Any]) -> None:
    assert canonical_record(make_metadata(**change)).number() != canonical_record(make_metadata()).number()


@pytest.mark.parametrize(
    "change",
    [
        {"authors": "Nobody"},
        {"title": " A  made-up\n  PAPER\n"},
        {"arxiv_id": "arXiv:2601.00001v1"},
        {"abstract": "  Nothing is shown here,\nand nothing else follows.\n"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_not_hashed_leaves_the_number(change: dict[str, Any]) -> None:
    assert canonical_record(make_metadata(**change)).number() == canonical_record(make_metadata()).number()


def test_the_order_of_cross_categories_leaves_the_number() -> None:
    one, other = make_metadata(categories="cs.DL a b c"), make_metadata(categories="cs.DL c a b")
    assert canonical_record(one) == canonical_record(other)


# --- read from JSON ---------------------------------------------------------------------------------------------


def test_a_canonical_record_is_read_in_any_order_of_keys(value: dict[str, Any]) -> None:
    shuffled = {key: dict(reversed(part.items())) if isinstance(part, dict) else part for key, part in value.items()}
    assert CanonicalRecord.from_json(json.dumps(shuffled, indent=1)) == canonical_record(make_metadata())


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("metadata.title_canon_sha256", "0" * 63),
        ("metadata.title_canon_sha256", "A" * 64),
        ("metadata.abstract_canon_sha256", ""),
        ("metadata.abstract_canon_sha256", "0" * 64 + "\n"),
        ("metadata.submitted_at", "2026-01-01"),
        ("metadata.submitted_at", "2026-02-30T00:00:00Z"),
        ("metadata.primary_cat", ""),
        ("metadata.cross_cats_sorted", ["b", "a"]),
        ("metadata.cross_cats_sorted", [1]),
        ("metadata.license", None),
        ("source.id", "math.GT/0309136"),
        ("source.id", "2601.00001v1"),
        ("source.id", "nothing"),
        ("source.version", 0),
        ("source.version", "1"),
        ("source.version", 1.0),
        ("source.version", 1.5),
        ("source.version", True),
        ("source.kind", "doi"),
        ("schema_version", "1.1"),
    ],
    ids=ascii,
)
def test_a_canonical_record_that_no_builder_writes_is_refused(value: dict[str, Any], path: str, wrong: Any) -> None:
    *inside, last = path.split(".")
    target = value
    for name in inside:
        target = target[name]
    target[last] = wrong
    with pytest.raises(InvalidRecord) as caught:
        CanonicalRecord.from_json(json.dumps(value))
    assert caught.value.field.startswith(path)


@pytest.mark.parametrize("version", [2**53, 2**64, 10**30])
def test_an_integer_of_2_to_the_53_or_more_is_not_hashed(value: dict[str, Any], version: int) -> None:
    value["source"]["version"] = version
    with pytest.raises(InvalidInput):
        CanonicalRecord.from_json(json.dumps(value)).to_bytes()


@pytest.mark.parametrize("path", ["", "metadata", "source"])
def test_a_canonical_record_is_closed(value: dict[str, Any], path: str) -> None:
    (value[path] if path else value)["x_note"] = 1
    with pytest.raises(InvalidRecord, match="x_note"):
        CanonicalRecord.from_json(json.dumps(value))


@pytest.mark.parametrize("text", ["", "{", '{"source":{},"source":{}}'])
def test_a_canonical_record_is_read_strictly(text: str) -> None:
    with pytest.raises(InvalidJson):
        CanonicalRecord.from_json(text)


# --- the paper block --------------------------------------------------------------------------------------------


def test_the_paper_block_shows_the_paper_as_people_read_it() -> None:
    metadata = make_metadata(
        title="A Made-Up\n  Paper ", abstract="  One\ntwo.\n", authors="B and A", categories="cs.DL b a"
    )
    paper = Paper.of(metadata, canonical_record(metadata), "A headline")
    assert paper == Paper(
        title="A Made-Up Paper",
        license=metadata.license or "",
        headline="A headline",
        cross_cats=["a", "b"],
        primary_cat="cs.DL",
        authors_text="A, B",
        submitted_at=metadata.submitted_at,
        abstract_excerpt="One two.",
    )


def test_the_paper_block_has_no_headline_without_a_review() -> None:
    metadata = make_metadata()
    assert Paper.of(metadata, canonical_record(metadata)).headline == ""


def test_the_paper_block_of_a_paper_without_authors_names_none() -> None:
    metadata = make_metadata(authors="")
    assert Paper.of(metadata, canonical_record(metadata)).authors_text == ""
