"""A stream of JSON, cut into its documents."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from pith_builder.sources import pieces as module
from pith_builder.sources.pieces import pieces

ONE, TWO = b'{"a":1}', b'{"b":2}'
PRETTY = json.dumps({"a": [1, {"b": 2}]}, indent=1).encode()


def cut(data: bytes) -> list[tuple[int, int, bytes]]:
    return [(piece.line, piece.offset, piece.data) for piece in pieces(io.BytesIO(data))]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\n \n\t\n", []),
        (ONE, [(1, 0, ONE)]),
        (ONE + b"\n", [(1, 0, ONE)]),
        (ONE + b"\n" + TWO, [(1, 0, ONE), (2, 8, TWO)]),
        (ONE + b"\r\n" + TWO + b"\r\n", [(1, 0, ONE), (2, 9, TWO)]),
        (ONE + b"\n\n \n" + TWO + b"\n\n", [(1, 0, ONE), (4, 11, TWO)]),
        (b"\n\n" + ONE, [(3, 2, ONE)]),
        (b"\xef\xbb\xbf" + ONE + b"\n" + TWO, [(1, 3, ONE), (2, 11, TWO)]),
        (PRETTY, [(1, 0, PRETTY)]),
        (b"\n" + PRETTY + b"\n\n", [(2, 1, PRETTY)]),
        (b"\xef\xbb\xbf" + PRETTY, [(1, 3, PRETTY)]),
        (b'[\n{"a":1},\n{"b":2}\n]', [(1, 0, b'[\n{"a":1},\n{"b":2}\n]')]),
    ],
    ids=ascii,
)
def test_a_stream_is_one_document_or_json_lines(data: bytes, found: list[Any]) -> None:
    assert cut(data) == found


def test_a_broken_line_among_lines_is_a_piece_of_its_own() -> None:
    assert cut(ONE + b"\n{broken\n" + TWO) == [(1, 0, ONE), (2, 8, b"{broken"), (3, 16, TWO)]


def test_a_broken_first_line_leaves_the_lines_behind_it() -> None:
    assert cut(b"{broken\n" + ONE + b"\n" + TWO) == [(1, 0, b"{broken"), (2, 8, ONE), (3, 16, TWO)]


def test_a_broken_document_is_one_piece() -> None:
    broken = PRETTY[:-1] + b","
    assert cut(broken) == [(1, 0, broken)]


def test_a_line_that_is_no_json_is_one_piece() -> None:
    assert cut(b"nothing\n") == [(1, 0, b"nothing")]


@pytest.mark.parametrize("data", [b"{\xff\n" + ONE, ONE + b"\n{\xff"], ids=ascii)
def test_invalid_utf8_spoils_its_own_line_alone(data: bytes) -> None:
    assert sorted(piece[2] for piece in cut(data)) == sorted([ONE, b"{\xff"])


@pytest.mark.parametrize(
    "data",
    [
        b'{\n  "previous":\n' + ONE + b',\n  "title": "cut',
        b"[\n" + ONE + b",\n" + TWO + b"\n",
        b'{"a":\n' + ONE + b'\n"x',
    ],
    ids=ascii,
)
def test_an_object_inside_a_broken_document_is_no_row(data: bytes) -> None:
    assert [piece[2] for piece in cut(data)] == [data.rstrip()]


def test_what_follows_a_document_cut_for_its_length_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DOCUMENT", 50)
    for data in (ONE + b" " * 60 + b"rubbish", ONE + b" " * 60 + b"\n" + TWO, b"{\n" + b" " * 60 + b"}"):
        assert len(cut(data)[0][2]) > 50


def test_every_piece_stands_at_its_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DOCUMENT", 50)
    data = b"\n" + ONE + b"\r\n\n" + b"[" + b"0," * 100 + b"0]\n" + TWO + b"\n"
    for line, offset, piece in cut(data):
        assert data[offset:].startswith(piece)
        assert data[:offset].count(b"\n") == line - 1


def test_an_overlong_line_comes_cut_and_the_next_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DOCUMENT", 50)
    found = cut(ONE + b"\n" + b"x" * 200 + b"\n" + TWO)
    assert [len(piece) for _, _, piece in found] == [7, 53, 7]
    assert found[2] == (3, 209, TWO)
