"""Every single-field change of a published record is noticed, except where docs/protocol.md says why not."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing, PaperMetadata, PithRecord, verify
from pith_builder.errors import InvalidInput

#: Objects whose keys are data, not fields.
MAPS = (
    ("graph_snapshot", "verdict", "model_set"),
    ("graph_snapshot", "integrity", "summary", "by_detector"),
    ("event_summary",),
)

Path_ = tuple[str | int, ...]

CLOSED = (("canonical_record",), ("canonical_record", "metadata"), ("canonical_record", "source"), ("receipt",))


def leaves(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not children:
        yield path, value
    for key, child in children:
        yield from leaves(child, (*path, key))


def objects(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        yield path
    for key, child in children:
        yield from objects(child, (*path, key))


def altered(value: Any) -> list[Any]:
    """Other values of the same type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, -1]
    if isinstance(value, str):
        flipped = value[:-1] + ("b" if value[-1:] == "a" else "a")
        digits = [(i, int(c)) for i, c in enumerate(value) if c in "0123456789"]
        other_digits = [f"{value[:i]}{(d + step) % 10}{value[i + 1 :]}" for i, d in digits for step in (1, 9)]
        return [flipped, value + "x", "", value.swapcase(), f" {value}", *other_digits]
    if value is None:
        return []
    return [[{"added": True}]] if isinstance(value, list) else [{"added": 1}]


def of_other_types(value: Any) -> list[Any]:
    return [other for other in ("text", 7, True, None, [], {}, 1.5) if type(other) is not type(value)]


def changed(record: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    out = copy.deepcopy(record)
    target: Any = out
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return out


def removed(record: dict[str, Any], path: Path_) -> dict[str, Any]:
    out = copy.deepcopy(record)
    target: Any = out
    for key in path[:-1]:
        target = target[key]
    del target[path[-1]]
    return out


def dotted(path: Path_) -> str:
    """`aliases[].alias_kind`: the field, whichever row it is in."""
    return re.sub(r"\.?\[\d+\]", "[]", ".".join(f"[{key}]" if isinstance(key, int) else key for key in path))


def is_noticed(record: dict[str, Any], ring: KeyRing, metadata: PaperMetadata | None = None) -> bool:
    try:
        return not verify(json.dumps(record, ensure_ascii=False).encode(), ring, metadata).ok
    except InvalidInput:
        return True


def documented(root: Path) -> dict[str, set[str]]:
    """The table of docs/protocol.md: what is not noticed (altered, removed, type) -> fields."""
    section = (root / "docs" / "protocol.md").read_text().partition("<!-- not bound: begin -->")[2]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]*) \|", section.partition("<!-- not bound: end -->")[0], re.MULTILINE)
    table: dict[str, set[str]] = {"altered": set(), "removed": set(), "type": set()}
    for field, changes in rows:
        for change in changes.split(","):
            table[change.strip()].add(field)
    return table


@pytest.fixture
def record(seed: tuple[PaperMetadata, bytes]) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(seed[1])
    return whole


Changes = Callable[[dict[str, Any]], Iterator[tuple[Path_, dict[str, Any]]]]


def with_altered_leaves(record: dict[str, Any]) -> Iterator[tuple[Path_, dict[str, Any]]]:
    for path, value in leaves(record):
        yield from ((path, changed(record, path, other)) for other in altered(value) if other != value)


def without_leaves(record: dict[str, Any]) -> Iterator[tuple[Path_, dict[str, Any]]]:
    yield from ((path, removed(record, path)) for path, _ in leaves(record))


def with_leaves_of_other_types(record: dict[str, Any]) -> Iterator[tuple[Path_, dict[str, Any]]]:
    for path, value in leaves(record):
        yield from ((path, changed(record, path, other)) for other in of_other_types(value))


@pytest.mark.parametrize(
    ("changes", "column"),
    [(with_altered_leaves, "altered"), (without_leaves, "removed"), (with_leaves_of_other_types, "type")],
    ids=["altered", "removed", "of another type"],
)
def test_a_changed_leaf_is_noticed_unless_nothing_binds_it(
    changes: Changes, column: str, registry: Path, registry_ring: KeyRing, root: Path
) -> None:
    records = [json.loads(path.read_bytes()) for path in sorted((registry / "seeds").glob("*.record.json"))]
    unnoticed = {
        dotted(path) for record in records for path, other in changes(record) if not is_noticed(other, registry_ring)
    }
    assert unnoticed == documented(root)[column]


@pytest.mark.parametrize("path", CLOSED, ids=dotted)
def test_an_extra_field_in_a_closed_object_is_noticed(
    record: dict[str, Any], registry_ring: KeyRing, path: Path_
) -> None:
    assert is_noticed(changed(record, (*path, "note"), "x"), registry_ring)


def test_an_extra_field_in_an_open_object_is_kept_and_reported(record: dict[str, Any], registry_ring: KeyRing) -> None:
    for path in objects(record):
        if path in CLOSED or path in MAPS or path[:2] == ("inbound_citations", "sample"):
            continue
        with_note = json.dumps(changed(record, (*path, "note"), "x")).encode()
        assert verify(with_note, registry_ring).unknown_fields == [dotted_exactly((*path, "note"))]
        assert json.loads(PithRecord.from_json(with_note).to_json()) == json.loads(with_note)


def dotted_exactly(path: Path_) -> str:
    return re.sub(r"\.(\[)", r"\1", ".".join(f"[{key}]" if isinstance(key, int) else key for key in path))
