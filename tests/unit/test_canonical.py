"""Canonical JSON and the JSONB order (PROTOCOL §2, §4)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from pith_builder import canonical_bytes
from pith_builder.canonical import NotCanonical, digest, jsonb_order


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": [True, False, None]}, b'{"a":[true,false,null],"b":1}'),
        ({"a": {"d": 1, "c": 2}}, b'{"a":{"c":2,"d":1}}'),
        ((1, "x"), b'[1,"x"]'),
        ("é\u2028/\x7f", '"é\u2028/\x7f"'.encode()),
        ('"\\\b\f\n\r\t\x00\x1f', b'"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f"'),
        (2**53 - 1, b"9007199254740991"),
        (-(2**53) + 1, b"-9007199254740991"),
        ({}, b"{}"),
        (None, b"null"),
    ],
    ids=ascii,
)
def test_canonical_form_is_sorted_compact_and_unescaped(value: object, expected: bytes) -> None:
    assert canonical_bytes(value) == expected


def test_keys_are_sorted_by_utf16_code_units() -> None:
    assert canonical_bytes({"\uffee": 1, "\U0001d400": 2}) == '{"\U0001d400":2,"\uffee":1}'.encode()


@pytest.mark.parametrize(
    "value",
    [1.0, 0.5, float("nan"), 2**53, -(2**53), 10**30, b"x", {1}, {1: 2}, {None: 1}, "\ud800", {"\udc00": 1}, object()],
    ids=lambda value: ascii(value)[:20],
)
def test_a_value_without_canonical_form_is_refused(value: object) -> None:
    for place in (value, [value], {"a": {"b": value}}):
        with pytest.raises(NotCanonical):
            canonical_bytes(place)


def test_a_refused_value_says_where_it_stands() -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical_bytes({"a": [0, {"b": 1.5}]})
    assert caught.value.field == "a[1].b"


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        (2**53, "integer of 2^53 or more", "give it as a string"),
        ({1: 2}, "key 1 is not a string", ""),
        (0.5, "float has no canonical form", "give it as a string or an integer"),
        (b"x", "bytes has no canonical form", ""),
    ],
    ids=ascii,
)
def test_a_refused_value_says_where_it_stands_and_what_to_do(value: object, message: str, hint: str) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical_bytes({"a": [0, value]})
    assert (caught.value.message, caught.value.field, caught.value.hint) == (message, "a[1]", hint)


def test_a_lone_surrogate_is_shown() -> None:
    with pytest.raises(NotCanonical, match=r"lone surrogate .*d800"):
        canonical_bytes(["abc\ud800"])


def test_nesting_without_end_is_refused() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(NotCanonical, match="deep"):
        canonical_bytes(value)


def test_digest_is_the_raw_sha256_of_the_canonical_bytes() -> None:
    assert digest({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').digest()


def test_jsonb_order_is_by_length_in_bytes_then_by_bytes() -> None:
    value = {"bb": 1, "é": 2, "z": 3, "aa": 4, "a": 5, "": 6}
    assert list(jsonb_order(value)) == ["", "a", "z", "aa", "bb", "é"]


def test_jsonb_order_reaches_into_lists_and_objects() -> None:
    ordered = jsonb_order([{"long": {"bb": 1, "a": 2}, "k": [{"y": 1, "x": 2}]}])
    assert list(ordered[0]) == ["k", "long"]
    assert list(ordered[0]["long"]) == ["a", "bb"]
    assert list(ordered[0]["k"][0]) == ["x", "y"]
