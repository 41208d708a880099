"""Every single-field change of a published record is noticed, except where docs/protocol.md says why not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing, PaperMetadata, PithRecord, verify
from pith_builder.testing.chain import make_chain
from pith_builder.testing.changes import CLOSED, changed, changes, exactly, field, objects, outcome
from pith_builder.testing.kinds import make

#: Objects whose keys are data, not fields.
MAPS = (
    ("graph_snapshot", "verdict", "model_set"),
    ("graph_snapshot", "integrity", "summary", "by_detector"),
    ("event_summary",),
)


def documented(root: Path) -> dict[str, set[str]]:
    """The table of docs/protocol.md: what is not noticed (altered, removed, type) -> fields."""
    section = (root / "docs" / "protocol.md").read_text().partition("<!-- not bound: begin -->")[2]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]*) \|", section.partition("<!-- not bound: end -->")[0], re.MULTILINE)
    table: dict[str, set[str]] = {"altered": set(), "removed": set(), "type": set()}
    for name, ways in rows:
        for how in ways.split(","):
            table[how.strip()].add(name)
    return table


@pytest.fixture
def record(seed: tuple[PaperMetadata, bytes]) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(seed[1])
    return whole


def unnoticed(ring: KeyRing, *records: bytes) -> dict[str, set[str]]:
    """What is not noticed of records (altered, removed, type) -> fields."""
    found: dict[str, set[str]] = {"altered": set(), "removed": set(), "type": set()}
    for record in records:
        for change in changes(json.loads(record)):
            if change.how != "added" and not outcome(change.document, ring).noticed:
                found[change.how].add(field(change.path))
    return found


def test_a_changed_leaf_is_noticed_unless_nothing_binds_it(registry: Path, registry_ring: KeyRing, root: Path) -> None:
    records = [path.read_bytes() for path in sorted((registry / "seeds").glob("*.record.json"))]
    assert unnoticed(registry_ring, *records) == documented(root)


def test_made_up_records_are_bound_as_the_published_ones_are(root: Path) -> None:
    assert unnoticed(make_chain(0).ring, make("cited").record.to_json()) == documented(root)


@pytest.mark.parametrize("path", CLOSED, ids=field)
def test_an_extra_field_in_a_closed_object_is_noticed(
    record: dict[str, Any], registry_ring: KeyRing, path: tuple[str | int, ...]
) -> None:
    assert outcome(changed(record, (*path, "note"), "x"), registry_ring).noticed


def test_an_extra_field_in_an_open_object_is_kept_and_reported(record: dict[str, Any], registry_ring: KeyRing) -> None:
    for path in objects(record):
        if path in CLOSED or path in MAPS or path[:2] == ("inbound_citations", "sample"):
            continue
        with_note = json.dumps(changed(record, (*path, "note"), "x")).encode()
        assert verify(with_note, registry_ring).unknown_fields == [exactly((*path, "note"))]
        assert json.loads(PithRecord.from_json(with_note).to_json()) == json.loads(with_note)
