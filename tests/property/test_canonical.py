"""Canonical JSON against an independent implementation of RFC 8785 (PROTOCOL §2)."""

from __future__ import annotations

import json
from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pith_builder import canonical_bytes
from pith_builder.canonical import jsonb_order
from pith_builder.documents import loads
from pith_builder.testing.strategies import json_values

texts = st.text(st.characters(exclude_categories=["Cs"]))
astral_and_high = st.text(st.characters(min_codepoint=0xD000, exclude_categories=["Cs"]), max_size=2)
values = json_values()


@given(values)
def test_canonical_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@given(st.dictionaries(astral_and_high, st.integers(0, 9), min_size=2))
def test_keys_beyond_the_basic_plane_are_sorted_as_rfc_8785_sorts_them(value: dict[str, int]) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@given(values)
def test_reading_canonical_bytes_gives_the_value_again(value: Any) -> None:
    assert loads(canonical_bytes(value)) == value


@given(st.dictionaries(texts, values))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    assert canonical_bytes(dict(reversed(value.items()))) == canonical_bytes(value)


@given(values)
def test_jsonb_order_changes_nothing_but_the_order(value: Any) -> None:
    ordered = jsonb_order(value)
    assert ordered == value
    assert json.dumps(jsonb_order(ordered)) == json.dumps(ordered)
