"""Lower-casing by Unicode 14.0, whatever the interpreter ships (PROTOCOL §1)."""

from __future__ import annotations

import hashlib

import pytest

from pith_builder.unicode14 import letters_and_digits, lower

CHECK_VALUE = "8270384eaea446b5487c41e868ff769c6c79e17a1d2141562b9958efca9d4bf5"
ALPHA, SIGMA = "\u0391", "\u03a3"


def test_lower_has_the_check_value_of_the_protocol_over_all_code_points() -> None:
    digest = hashlib.sha256()
    for code_point in range(0x110000):
        if not 0xD800 <= code_point < 0xE000:
            c = chr(code_point)
            for text in (c, ALPHA + SIGMA + c, ALPHA + SIGMA + c + ALPHA, c + SIGMA):
                digest.update(lower(text).encode() + b"\n")
    assert digest.hexdigest() == CHECK_VALUE


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("\u0130", "i\u0307"),
        ("\u1e9e", "\u00df"),
        ("\u00df", "\u00df"),
        ("\u2126", "\u03c9"),
        ("\U00010400", "\U00010428"),
    ],
    ids=ascii,
)
def test_lower_is_full_lower_casing_without_folding(text: str, lowered: str) -> None:
    assert lower(text) == lowered


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("\u03a3", "\u03c3"),
        ("\u0391\u03a3", "\u03b1\u03c2"),
        ("\u0391\u03a3\u0391", "\u03b1\u03c3\u03b1"),
        ("\u0391\u03a3 \u0391", "\u03b1\u03c2 \u03b1"),
        ("\u0391\u03a3\u03a3", "\u03b1\u03c3\u03c2"),
        ("\u03a3\u03a3", "\u03c3\u03c2"),
        ("\u0391.\u03a3", "\u03b1.\u03c2"),
        ("\u0391\u03a3.\u0391", "\u03b1\u03c3.\u03b1"),
        ("\u0391\u03a3\u0301", "\u03b1\u03c2\u0301"),
        ("1\u03a3", "1\u03c3"),
        ("A\u03a3", "a\u03c2"),
    ],
    ids=ascii,
)
def test_a_capital_sigma_is_final_by_its_neighbours(text: str, lowered: str) -> None:
    assert lower(text) == lowered


@pytest.mark.parametrize("code_point", [0x0378, 0x1C89, 0xA7CB, 0xA7DA, 0x10D50, 0x16EA0, 0x10FFFF], ids=hex)
def test_a_code_point_unknown_to_unicode_14_stays(code_point: int) -> None:
    assert lower(f"A{chr(code_point)}B") == f"a{chr(code_point)}b"


def test_a_code_point_unknown_to_unicode_14_ends_a_word_for_the_sigma() -> None:
    assert lower("\u0391\u03a3\u1c89\u0391") == "\u03b1\u03c2\u1c89\u03b1"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Erd\u0151s, P.", "erdosp"),
        ("\ufb01nn 2", "finn2"),
        ("A\u0378B", "ab"),
        ("\u00d8rsted", "\u00f8rsted"),
        ("-- .", ""),
    ],
    ids=ascii,
)
def test_letters_and_digits_drop_marks_blanks_and_punctuation(name: str, key: str) -> None:
    assert letters_and_digits(name) == key
