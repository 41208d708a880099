"""Why two numbers differ: their canonical records, field by field (PROTOCOL §2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from pith_builder.published import PithRecord
from pith_builder.record import CanonicalRecord

#: Field that is a hash -> the field of the paper block that shows the text behind it, as far as one does.
_TEXTS = {"title_canon_sha256": "title", "abstract_canon_sha256": "abstract_excerpt"}

_WINDOW = 120
_BEFORE = 30


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field in which two canonical records differ, and its value in each.

    Of a hash, `a_text` and `b_text` are what the two records show of the text behind it: the title, or the excerpt of
    the abstract.
    """

    field: str
    a: Any
    b: Any
    a_text: str | None = None
    b_text: str | None = None

    def lines(self) -> Iterator[str]:
        """`field: old -> new`, and under it the text behind a hash, long ones from shortly before they part."""
        yield f"{self.field}: {_plain(self.a)} -> {_plain(self.b)}"
        if self.a_text is None or self.b_text is None:
            return
        name = _TEXTS[self.field]
        if self.a_text == self.b_text:
            yield f"  {name}: the same as far as it is shown"
        else:
            old, new = _parting(self.a_text, self.b_text)
            yield f"  {name}: {_plain(old)} -> {_plain(new)}"


def canonical_differences(a: CanonicalRecord, b: CanonicalRecord) -> list[Difference]:
    """The fields in which two canonical records differ, in the order of the record; none if they are the same."""
    return [
        Difference(name, getattr(of_a, name), getattr(of_b, name))
        for of_a, of_b in ((a.source, b.source), (a.metadata, b.metadata))
        for name in of_a.__struct_fields__
        if getattr(of_a, name) != getattr(of_b, name)
    ]


def differing_fields(a: CanonicalRecord, b: CanonicalRecord) -> tuple[str, ...]:
    """The names of the fields in which two canonical records differ."""
    return tuple(difference.field for difference in canonical_differences(a, b))


def differences(a: PithRecord, b: PithRecord) -> list[Difference]:
    """The same of two records, with the texts that they show. What no number covers is not compared."""
    return [
        msgspec.structs.replace(
            difference,
            a_text=getattr(a.paper, _TEXTS[difference.field]),
            b_text=getattr(b.paper, _TEXTS[difference.field]),
        )
        if difference.field in _TEXTS
        else difference
        for difference in canonical_differences(a.canonical_record, b.canonical_record)
    ]


def _plain(value: Any) -> str:
    """A string as it is, unless nothing would be seen of it; anything else as JSON."""
    return value if isinstance(value, str) and value.strip() else msgspec.json.encode(value).decode()


def _parting(a: str, b: str) -> tuple[str, str]:
    if max(len(a), len(b)) <= _WINDOW:
        return a, b
    part = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, part - _BEFORE)
    return _cut(a, start), _cut(b, start)


def _cut(text: str, start: int) -> str:
    end = start + _WINDOW
    return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")
