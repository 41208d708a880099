"""What the check symbol of the transcription form promises (PROTOCOL §3, DESIGN "transcription form")."""

from __future__ import annotations

import base64
import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pith_builder import PithNumber
from pith_builder.errors import InvalidNumber
from pith_builder.testing.strategies import digests, pith_numbers

SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CHECK_SYMBOLS = SYMBOLS + "*~$=U"


def is_refused(spoken: str) -> bool:
    with contextlib.suppress(InvalidNumber):
        PithNumber.from_transcription(spoken)
        return False
    return True


@given(digests(), st.integers(1991, 2099))
def test_a_number_is_the_base32_of_the_digest(digest: bytes, year: int) -> None:
    assert str(PithNumber.from_digest(digest, year)) == f"pith:{year}:{base64.b32encode(digest).decode()[:26]}"


@given(pith_numbers())
def test_a_printed_number_is_read_as_itself(number: PithNumber) -> None:
    assert PithNumber.parse(str(number).lower()) == number


@example(PithNumber("A" * 26, 2024))
@example(PithNumber("7" * 26, 2024))
@given(pith_numbers())
def test_a_transcription_is_read_as_its_number(number: PithNumber) -> None:
    assert PithNumber.from_transcription(number.transcription(), number.year) == number


@example(PithNumber("A" * 26, 2024))
@given(pith_numbers())
def test_every_single_wrong_symbol_is_caught(number: PithNumber) -> None:
    spoken = number.transcription().replace("-", "")
    for place, right in enumerate(spoken):
        for wrong in CHECK_SYMBOLS:
            if wrong != right:
                assert is_refused(spoken[:place] + wrong + spoken[place + 1 :])


@given(pith_numbers())
def test_every_swap_of_neighbours_is_caught(number: PithNumber) -> None:
    spoken = number.transcription().replace("-", "")
    for place in range(len(spoken) - 1):
        left, right = spoken[place], spoken[place + 1]
        if left != right:
            assert is_refused(spoken[:place] + right + left + spoken[place + 2 :])


@given(pith_numbers(), st.data())
def test_a_transcription_written_otherwise_is_read_as_its_number(number: PithNumber, data: st.DataObject) -> None:
    alike = {"0": "0oO", "1": "1iIlL", "-": ("", "-", " ", " - ")}
    spoken = "".join(
        data.draw(st.sampled_from(alike.get(symbol, (symbol, symbol.lower())))) for symbol in number.transcription()
    )
    assert PithNumber.from_transcription(spoken, number.year) == number


@pytest.mark.parametrize("read", [PithNumber.parse, PithNumber.from_transcription])
@given(text=st.text(max_size=40) | st.text("pith:/2024ABCZ0189-", max_size=40))
def test_any_text_is_read_or_refused(read: object, text: str) -> None:
    assert callable(read)
    with contextlib.suppress(InvalidNumber):
        assert PithNumber.parse(str(read(text))) == read(text)
