"""All single-field changes of a record, and whether verification notices each (docs/protocol.md has the table)."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from pith_builder.errors import InvalidInput
from pith_builder.keyring import KeyRing
from pith_builder.metadata import PaperMetadata
from pith_builder.verify import verify

#: Where something stands in a document: the keys and indices that lead to it.
Path = tuple[str | int, ...]

#: What happens to one place: another value of its type, no value, a value of another type, a field that isn't known.
How = Literal["altered", "removed", "type", "added"]

#: Objects that take no further field.
CLOSED: tuple[Path, ...] = (
    ("canonical_record",),
    ("canonical_record", "metadata"),
    ("canonical_record", "source"),
    ("receipt",),
)

#: The field that is added, and its value.
ADDED = "TEST_note"


class Change(NamedTuple):
    """One change of a record: what was done where, and the record after it."""

    path: Path
    how: How
    document: dict[str, Any]


class Outcome(NamedTuple):
    """What verification made of a changed record: whether it noticed, and which fields it reports as unknown."""

    noticed: bool
    unknown_fields: list[str]


def changes(record: dict[str, Any]) -> Iterator[Change]:
    """Every leaf altered, removed and of another type, and one more field in every object."""
    for path, value in leaves(record):
        for other in altered(value):
            if other != value:
                yield Change(path, "altered", changed(record, path, other))
        yield Change(path, "removed", removed(record, path))
        for other in of_other_types(value):
            yield Change(path, "type", changed(record, path, other))
    for path in objects(record):
        yield Change((*path, ADDED), "added", changed(record, (*path, ADDED), "x"))


def outcome(document: dict[str, Any], ring: KeyRing, metadata: PaperMetadata | None = None) -> Outcome:
    """What verification makes of a record; one that can't be read is noticed."""
    try:
        report = verify(msgspec.json.encode(document), ring, metadata)
    except InvalidInput:
        return Outcome(noticed=True, unknown_fields=[])
    return Outcome(not report.ok, report.unknown_fields)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in a document that holds nothing further: values, and empty objects and lists."""
    children = _children(value)
    if not children:
        yield path, value
    for key, child in children:
        yield from leaves(child, (*path, key))


def objects(value: Any, path: Path = ()) -> Iterator[Path]:
    """All objects of a document, itself first."""
    if isinstance(value, dict):
        yield path
    for key, child in _children(value):
        yield from objects(child, (*path, key))


def _children(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


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
    others: list[Any] = ["text", 7, True, None, [], {}, 1.5]
    return [other for other in others if type(other) is not type(value)]


def changed(record: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy of a document with another value at a place."""
    out = copy.deepcopy(record)
    _parent(out, path)[path[-1]] = value
    return out


def removed(record: dict[str, Any], path: Path) -> dict[str, Any]:
    """A copy of a document without what stands at a place."""
    out = copy.deepcopy(record)
    del _parent(out, path)[path[-1]]
    return out


def _parent(document: Any, path: Path) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


def exactly(path: Path) -> str:
    """`aliases[0].alias_kind`: one place."""
    return re.sub(r"\.(\[)", r"\1", ".".join(f"[{key}]" if isinstance(key, int) else key for key in path))


def field(path: Path) -> str:
    """`aliases[].alias_kind`: the field, whichever row it is in."""
    return re.sub(r"\[\d+\]", "[]", exactly(path))
