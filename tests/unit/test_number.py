"""Pith numbers, their short forms and their transcription form (PROTOCOL §3)."""

from __future__ import annotations

import pytest

from pith_builder import PithNumber
from pith_builder.errors import InvalidNumber, shown

SUFFIX = "BMWHAH2DRYP4HKSVZEJ4AAHEZE"
DIGEST = bytes.fromhex("0b2c701f438e1fc3aa55c913c000e4c92e23fc581826ba745dc5aabde2323b41")
TRANSCRIPTION = "1CP-707-T3H-RFW-7AJ-NS4-9W0-074-S4N"


def test_the_number_of_a_digest_is_its_first_130_bits() -> None:
    assert str(PithNumber.from_digest(DIGEST, 2024)) == f"pith:2024:{SUFFIX}"


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_digest_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(InvalidNumber, match="32 bytes"):
        PithNumber.from_digest(bytes(length), 2024)


@pytest.mark.parametrize(
    ("text", "suffix", "year"),
    [
        (f"pith:2024:{SUFFIX}", SUFFIX, 2024),
        (f"PITH:2024:{SUFFIX.lower()}", SUFFIX, 2024),
        (f"  pith:2024:{SUFFIX}\n", SUFFIX, 2024),
        (f"pith:{SUFFIX}", SUFFIX, None),
        (SUFFIX, SUFFIX, None),
        (SUFFIX.lower(), SUFFIX, None),
        ("pith:BMWHAH2D", "BMWHAH2D", None),
        ("BMWHAH2D", "BMWHAH2D", None),
        ("pith:BMWHAH2DRYP4", "BMWHAH2DRYP4", None),
        ("BMWHAH2DRYP4HKSV", "BMWHAH2DRYP4HKSV", None),
        (f"https://pith.science/pith/{SUFFIX}", SUFFIX, None),
        (f"https://pith.science/pith/{SUFFIX}.json", SUFFIX, None),
        (f"https://pith.science/pith/{SUFFIX}/bundle.json", SUFFIX, None),
        (f"https://pith.science/pith/{SUFFIX}?x=1#top", SUFFIX, None),
        (f"https://pith.science/.well-known/pith/{SUFFIX}/bundle.json", SUFFIX, None),
        (f"https://pith.science/api/pith-number/{SUFFIX}/graph.json", SUFFIX, None),
        ("https://pith.science/paper/BMWHAH2D", "BMWHAH2D", None),
        (f"http://localhost:8000/pith/{SUFFIX}", SUFFIX, None),
        (f"pith.science/pith/{SUFFIX}", SUFFIX, None),
    ],
)
def test_every_form_of_a_number_is_read(text: str, suffix: str, year: int | None) -> None:
    assert PithNumber.parse(text) == PithNumber(suffix, year)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("pith:", "empty"),
        ("pith:2024:", "empty"),
        (SUFFIX[:-1], "25 symbols"),
        (SUFFIX + "A", "27 symbols"),
        ("BMWHAH2", "7 symbols"),
        ("BMWHAH2DR", "9 symbols"),
        ("pith:2024:BMWHAH2D", "26 symbols"),
        (f"pith:24:{SUFFIX}", "year"),
        (f"pith:1801:{SUFFIX}", "year"),
        (f"pith:20244:{SUFFIX}", "year"),
        (f"pith::{SUFFIX}", "year"),
        (f"pith:x:2024:{SUFFIX}", "begins with pith:"),
        (f"pit:2024:{SUFFIX}", "begins with pith:"),
        (f"2024:{SUFFIX}", "begins with pith:"),
        (SUFFIX[:-1] + "0", "'0'"),
        (SUFFIX[:-1] + "1", "'1'"),
        (SUFFIX[:-1] + "8", "'8'"),
        (SUFFIX[:-1] + "9", "'9'"),
        (SUFFIX[:-1] + "=", "'='"),
        (SUFFIX[:13] + " " + SUFFIX[13:], "' '"),
        (SUFFIX[:13] + "\n" + SUFFIX[13:], "can't stand"),
        (SUFFIX[:-1] + "\u0415", "beyond ASCII"),
        (SUFFIX[:-1] + "\uff25", "beyond ASCII"),
        ("p\u0131th:2024:" + SUFFIX, "beyond ASCII"),
        (f"https://pith.science/other/{SUFFIX}", "URL"),
        (f"https://pith.science/pith/{SUFFIX} x", "URL"),
        ("https://pith.science/pith/", "URL"),
    ],
    ids=ascii,
)
def test_what_is_no_number_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidNumber) as caught:
        PithNumber.parse(text)
    assert reason in caught.value.message
    assert shown(text) in caught.value.message or "year" in reason


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("\u0415", "give it as pith:"),
        ("a:b", "give it as pith:"),
        (f"pith:24:{SUFFIX}", "give it as pith:"),
        ("pith:2024:BMWHAH2D", "a short form has no year: pith:BMWHAH2D"),
        ("0189", "base32 has A-Z and 2-7; "),
    ],
    ids=ascii,
)
def test_what_is_no_number_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(InvalidNumber) as caught:
        PithNumber.parse(text)
    assert str(caught.value.hint).startswith(hint)


def test_the_first_five_wrong_symbols_are_shown() -> None:
    with pytest.raises(InvalidNumber) as caught:
        PithNumber.parse("A189=+-!A")
    assert "'!', '+', '-', '1', '8' can't stand in it" in caught.value.message


def test_a_wrong_transcription_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidNumber) as caught:
        PithNumber.from_transcription("0" + TRANSCRIPTION[1:])
    assert caught.value.message.endswith("the check symbol does not fit")
    assert str(caught.value.hint).startswith("a symbol is wrong, or two neighbours are swapped")
    with pytest.raises(InvalidNumber, match=r"has 3$"):
        PithNumber.from_transcription("ABC")
    with pytest.raises(InvalidNumber, match=r"has 3 with others among them$"):
        PithNumber.from_transcription("AB!")


@pytest.mark.parametrize("length", [8, 12, 16])
def test_a_short_form_is_the_start_of_the_suffix(length: int) -> None:
    short = PithNumber(SUFFIX, 2024).short(length)  # type: ignore[arg-type]
    assert short == SUFFIX[:length]
    assert PithNumber.parse(f"pith:{short}").is_short


@pytest.mark.parametrize(("suffix", "length"), [(SUFFIX, 9), (SUFFIX, 26), ("BMWHAH2D", 12)])
def test_there_are_no_other_short_forms(suffix: str, length: int) -> None:
    with pytest.raises(ValueError, match="no short form"):
        PithNumber(suffix).short(length)  # type: ignore[arg-type]


def test_a_whole_number_is_not_short() -> None:
    assert not PithNumber.parse(SUFFIX).is_short


@pytest.mark.parametrize(
    ("number", "text"),
    [(PithNumber(SUFFIX, 2024), f"pith:2024:{SUFFIX}"), (PithNumber("BMWHAH2D"), "pith:BMWHAH2D")],
)
def test_a_number_prints_as_it_is_published(number: PithNumber, text: str) -> None:
    assert str(number) == text


# --- transcription ----------------------------------------------------------------------------------------------


def test_transcription_is_27_symbols_in_groups_of_three() -> None:
    assert PithNumber(SUFFIX, 2024).transcription() == TRANSCRIPTION


@pytest.mark.parametrize("leading", [1, 2, 13, 25, 26])
def test_transcription_keeps_leading_zeros(leading: int) -> None:
    number = PithNumber("A" * leading + SUFFIX[leading:], 2024)
    spoken = number.transcription()
    assert spoken.replace("-", "").startswith("0" * leading)
    assert PithNumber.from_transcription(spoken, 2024) == number


def test_a_short_form_has_no_transcription() -> None:
    with pytest.raises(InvalidNumber, match="whole number"):
        PithNumber("BMWHAH2D").transcription()


@pytest.mark.parametrize(
    "spoken",
    [
        TRANSCRIPTION,
        TRANSCRIPTION.lower(),
        TRANSCRIPTION.replace("-", ""),
        TRANSCRIPTION.replace("-", " "),
        f" {TRANSCRIPTION} ",
        TRANSCRIPTION.replace("0", "O"),
        TRANSCRIPTION.replace("0", "o"),
        TRANSCRIPTION.replace("1", "I"),
        TRANSCRIPTION.replace("1", "l"),
        "-".join(TRANSCRIPTION),
    ],
)
def test_transcription_forgives_how_it_is_written(spoken: str) -> None:
    assert PithNumber.from_transcription(spoken, 2024) == PithNumber(SUFFIX, 2024)


@pytest.mark.parametrize(
    "spoken",
    [
        "",
        TRANSCRIPTION[:-1],
        TRANSCRIPTION + "0",
        "0" + TRANSCRIPTION,
        TRANSCRIPTION + "\n",
        "\n" + TRANSCRIPTION,
        TRANSCRIPTION[:-1] + "\n",
        TRANSCRIPTION.replace("-", "\t"),
        TRANSCRIPTION.replace("-", "\u2010"),
        TRANSCRIPTION.replace("0", "\u041e"),
        TRANSCRIPTION.replace("1", "\uff11"),
        TRANSCRIPTION.replace("1", "\u0661"),
        TRANSCRIPTION.replace("S", "\u017f"),
        "U" + TRANSCRIPTION[1:],
        "*" + TRANSCRIPTION[1:],
        "_" + TRANSCRIPTION[1:],
        SUFFIX,
    ],
    ids=ascii,
)
def test_what_is_no_transcription_is_refused(spoken: str) -> None:
    with pytest.raises(InvalidNumber):
        PithNumber.from_transcription(spoken)
