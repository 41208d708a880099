"""What is too deep, too long or too old for a record is refused when it comes in, not when the record is read again."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pith_builder import Enrichment, KeyRing, PithRecord, verify
from pith_builder.documents import MAX_DEPTH, MAX_DOCUMENT, loads
from pith_builder.errors import InvalidInput, InvalidJson, InvalidKeyRing, InvalidMetadata
from pith_builder.metadata import MAX_TEXT
from pith_builder.testing import make_keyring, make_metadata, make_record


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("spacing", [(",", ":"), (", ", ": "), (" ,", " :")], ids=["compact", "spaced", "odd"])
@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH])
def test_depth_is_bounded_in_every_spelling(spacing: tuple[str, str], depth: int) -> None:
    text = json.dumps({"a": nested(depth)}, separators=spacing).encode()
    if depth < MAX_DEPTH:
        assert loads(text) == {"a": nested(depth)}
    else:
        with pytest.raises(InvalidJson, match="nested deeper"):
            loads(text)


@pytest.mark.parametrize("spacing", [(",", ":"), (" ,", " :")], ids=["compact", "odd"])
def test_the_deepest_enrichment_gives_a_record_that_can_be_read(spacing: tuple[str, str]) -> None:
    accepted = []
    for depth in range(MAX_DEPTH - 16, MAX_DEPTH + 2):
        text = json.dumps({"claims": [{"a": nested(depth)}]}, separators=spacing)
        try:
            enrichment = Enrichment.from_json(text)
        except InvalidInput:
            break
        accepted.append(depth)
        record = make_record(enrichment=enrichment)
        assert PithRecord.from_json(record.to_json()).to_json() == record.to_json()
        assert verify(record.to_json(), make_keyring()).ok
    assert accepted
    assert len(accepted) < 16


@pytest.mark.parametrize("field", ["title", "authors", "categories"])
def test_what_is_published_whole_is_bounded(field: str) -> None:
    with pytest.raises(InvalidMetadata, match="longer than"):
        make_metadata(**{field: "x" * (MAX_TEXT + 1)})


def test_the_longest_paper_gives_a_record_that_can_be_read() -> None:
    longest = make_metadata(title="é" * (MAX_TEXT // 4), authors="a" * (MAX_TEXT // 2), abstract="b" * 2**21)
    record = make_record(longest).to_json()
    assert len(record) < MAX_DOCUMENT
    assert verify(record, make_keyring(), longest).ok


@pytest.mark.parametrize("year", ["0001", "0999", "1899", "2100", "9999"])
def test_a_year_that_no_number_carries_is_refused(year: str) -> None:
    with pytest.raises(InvalidMetadata, match="1900 to 2099"):
        make_metadata(submitted_at=f"{year}-01-01T00:00:00Z")


def test_a_public_key_of_low_order_is_refused() -> None:
    from pith_builder.keyring import RingKey

    for raw in (bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"):
        with pytest.raises(InvalidKeyRing, match="main subgroup"):
            KeyRing("1.0", [RingKey.of("k", raw, "active", "receipts")], [])


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        verify(make_record(), make_keyring(), at=datetime(2030, 1, 1))  # noqa: DTZ001  # the point of it


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("license", "all rights reserved"),
        ("license", "\x00"),
        ("primary_cat", "evil cat\n"),
        ("cross_cats_sorted", ["cs.DL"]),
        ("cross_cats_sorted", ["cs.CR", "cs.CR"]),
        ("cross_cats_sorted", ["", "x y\n"]),
    ],
)
def test_a_canonical_record_that_no_builder_would_write_fails(path: str, value: Any) -> None:
    whole = json.loads(make_record().to_json())
    whole["canonical_record"]["metadata"][path] = value
    report = verify(json.dumps(whole).encode(), make_keyring())
    assert next(check.status for check in report.checks if check.name == "canonical_bytes") == "failed"


def test_nothing_of_the_registrys_records_is_beyond_the_limits(registry: Path) -> None:
    from pith_builder import CanonicalRecord

    for entry in json.loads((registry / "canonical_records.json").read_bytes()):
        assert CanonicalRecord.from_json(json.dumps(entry["canonical_record"])).problem() is None
