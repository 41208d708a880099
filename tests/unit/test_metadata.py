"""The one input model and what it refuses (PROTOCOL §2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pith_builder import ArxivId, PaperMetadata, Provenance
from pith_builder.errors import InvalidMetadata
from pith_builder.metadata import FIELDS
from pith_builder.testing import make_metadata


@pytest.mark.parametrize("name", ["2403.07648v2", "2407.14645v1"])
def test_a_metadata_file_is_read_as_it_is(root: Path, name: str) -> None:
    values = json.loads((root / "fixtures" / "metadata" / f"{name}.json").read_bytes())
    metadata = PaperMetadata.from_mapping(values)
    assert {field: getattr(metadata, field) for field in FIELDS} == values
    assert metadata == PaperMetadata(**values)
    assert str(metadata.id) == name


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("math.GT/0309136", "math/0309136"),
        ("2601.00001v1", "2601.00001"),
        ("arXiv:2601.00001", "2601.00001"),
        ("https://arxiv.org/abs/2601.00001v1", "2601.00001"),
    ],
)
def test_an_id_is_kept_in_its_canonical_form(given: str, kept: str) -> None:
    metadata = make_metadata(arxiv_id=given)
    assert metadata.arxiv_id == kept
    assert metadata.id == ArxivId(kept, 1)


@pytest.mark.parametrize(
    "license_", [None, "", "http://arxiv.org/licenses/nonexclusive-distrib/1.0/", "https://example.org/l"]
)
def test_a_licence_is_unknown_none_or_a_uri_as_given(license_: str | None) -> None:
    assert make_metadata(license=license_).license == license_


def test_an_absent_licence_is_unknown() -> None:
    values = {name: getattr(make_metadata(), name) for name in FIELDS if name != "license"}
    assert PaperMetadata.from_mapping(values).license is None


def test_further_fields_are_ignored() -> None:
    values = {name: getattr(make_metadata(), name) for name in FIELDS}
    assert PaperMetadata.from_mapping({**values, "doi": "10.1/x"}) == make_metadata()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arxiv_id", "2613.00001"),
        ("arxiv_id", ""),
        ("arxiv_id", 2601.00001),
        ("arxiv_id", None),
        ("arxiv_id", "2601.00001v2"),
        ("version", 0),
        ("version", -1),
        ("version", 10_000),
        ("version", True),
        ("version", "1"),
        ("version", 1.0),
        ("version", None),
        ("title", ""),
        ("title", " \n"),
        ("title", "a\0"),
        ("title", "\ud800"),
        ("title", None),
        ("title", ["a"]),
        ("abstract", ""),
        ("abstract", "\u2003"),
        ("abstract", "a\0"),
        ("abstract", 1),
        ("authors", None),
        ("authors", "\udfff"),
        ("categories", ""),
        ("categories", " "),
        ("categories", "cs.DL cs.DL"),
        ("categories", "cs.DL, cs.CR"),
        ("categories", "cs.\u0421R"),
        ("categories", ["cs.DL"]),
        ("license", "CC-BY"),
        ("license", " "),
        ("license", "http://"),
        ("license", "http://example.org/a b"),
        ("license", "http://example.org/\n"),
        ("license", "http://example.org/é"),
        ("license", 1),
        ("license", False),
        ("submitted_at", ""),
        ("submitted_at", None),
        ("submitted_at", "2026-01-01"),
        ("submitted_at", "2026-01-01T12:00:00+00:00"),
        ("submitted_at", "2026-02-29T12:00:00Z"),
        ("submitted_at", 1767268800),
    ],
    ids=ascii,
)
def test_a_wrong_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(InvalidMetadata) as caught:
        make_metadata(**{field: value})
    assert [name for name, _ in caught.value.problems] == [field]
    assert caught.value.field == field


def test_all_problems_are_reported_at_once() -> None:
    wrong = dict.fromkeys(FIELDS, "x") | {"version": 0, "title": "", "abstract": None, "authors": 1, "categories": ""}
    with pytest.raises(InvalidMetadata) as caught:
        make_metadata(**wrong)
    assert {name for name, _ in caught.value.problems} == set(FIELDS)
    assert all(name in caught.value.message for name in FIELDS)


def test_all_missing_fields_are_reported_at_once() -> None:
    with pytest.raises(InvalidMetadata) as caught:
        PaperMetadata.from_mapping({})
    assert [name for name, _ in caught.value.problems] == [name for name in FIELDS if name != "license"]


@pytest.mark.parametrize("arxiv_id", ["2601.00001v2", "https://arxiv.org/abs/2601.00001v2"])
def test_a_version_in_the_id_that_contradicts_is_refused(arxiv_id: str) -> None:
    with pytest.raises(InvalidMetadata, match="another version than 1"):
        make_metadata(arxiv_id=arxiv_id)


@pytest.mark.parametrize(
    ("source_time", "fetched_at", "said_at"),
    [
        ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        (None, "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        (None, None, None),
    ],
)
def test_a_source_without_a_time_of_its_own_said_so_when_it_was_read(
    source_time: str | None, fetched_at: str | None, said_at: str | None
) -> None:
    assert Provenance("test", source_time, fetched_at).said_at == said_at


def test_raw_strings_stay_raw() -> None:
    metadata = make_metadata(title="A\n  Title ", abstract="  One\ntwo.\n", authors="B, \n  A")
    assert (metadata.title, metadata.abstract, metadata.authors) == ("A\n  Title ", "  One\ntwo.\n", "B, \n  A")
