"""The short ways of reading rows and JSON give what the long ones give, whatever the bytes are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import REGISTRY
from pith_builder import documents
from pith_builder.documents import MAX_DOCUMENT, loads
from pith_builder.errors import InvalidInput
from pith_builder.sources.papers import provenance, read_paper
from pith_builder.sources.rows import Described, described, read_usual_row

ROWS = (REGISTRY / "snapshot_rows.jsonl").read_bytes().splitlines()

#: What is put between the bytes of a row: all that JSON may have, and what it may not.
PIECES = [
    *(b'"', b":", b",", b"{", b"}", b"[", b"]", b" ", b"\t", b"\r", b"\n", b"\x0b", b"\0", b"\x7f", b"\\", b"\\/"),
    *(rb"\u003a", rb"\u003A", rb"\\u003a", rb"\u0069d", rb"\u0000", rb"\ud800", rb"\udc00", rb"\ud83d\ude00"),
    *(b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc3\xa9", b"\xed\xa0\x80", b"\xc0\x80", b"\xff"),
    *(b"null", b"true", b"NaN", b"-0", b"00", b"1e400", b"18446744073709551616", b"9" * 4301, b"[" * 65),
    *(b',"id":"2403.07648"', b'"id":"2403.07648",', b'"title":null,', b'"x":1,', b'"arxiv_id":"2403.07648",'),
    b'{"version":"v2","created":"Tue, 24 Jul 2007 20:10:27 GMT","version":"v3"},',
]
edits = st.tuples(st.integers(0, 6000), st.sampled_from(PIECES) | st.binary(max_size=3), st.integers(0, 40))


@st.composite
def damaged_rows(draw: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
    """A real row as it is, or written in another way, in which some bytes were put in the place of others."""
    data: bytes = draw(st.sampled_from(ROWS))
    if draw(st.booleans()):
        items = draw(st.permutations(list(json.loads(data).items())))
        indent, ascii_only = draw(st.sampled_from([None, 0, 1])), draw(st.booleans())
        data = json.dumps(dict(items), indent=indent, ensure_ascii=ascii_only).encode()
    for place, put, cut in draw(st.lists(edits, max_size=3)):
        at = place % (len(data) + 1)
        data = data[:at] + put + data[at + cut :]
    return data


def outcome(read: Callable[[bytes], Any], data: bytes) -> str:
    """What comes of reading: the value with the types and the order of all in it, or the error."""
    try:
        return repr(read(data))
    except InvalidInput as error:
        return f"{error.code} {error}"


def without_short_way(data: bytes) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "_without_repeated_keys", lambda _: None)
        return loads(data)


def told(paper: Described, data: bytes) -> Any:
    """All that a record is built from."""
    return paper.metadata, provenance(paper, data, "rows.jsonl", "2026-07-01T00:00:00Z")


jsonish = st.text('{}[]":,1e-9.\\u03aA \n', max_size=40).map(str.encode)


@given(damaged_rows() | jsonish | st.binary(max_size=20))
def test_json_is_read_alike_on_the_short_way(data: bytes) -> None:
    assert outcome(loads, data) == outcome(without_short_way, data)


@given(damaged_rows())
def test_a_row_is_read_alike_on_the_short_way(data: bytes) -> None:
    def usual(data: bytes) -> Any:
        paper = read_usual_row(data)
        return None if paper is None else told(paper, data)

    if (found := outcome(usual, data)) != "None":
        assert found == outcome(lambda data: told(described(loads(data)), data), data)


@pytest.mark.parametrize("row", ROWS[:3])
def test_real_rows_take_the_short_way(row: bytes) -> None:
    assert read_usual_row(row) is not None


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_a_row_is_no_longer_than_a_document(more: int, is_read: bool) -> None:
    given = json.loads(ROWS[0])
    size = len(json.dumps(given).encode())
    data = json.dumps(given | {"abstract": given["abstract"] + "a" * (MAX_DOCUMENT - size + more)}).encode()
    assert ("longer than" not in outcome(read_paper, data)) is is_read
