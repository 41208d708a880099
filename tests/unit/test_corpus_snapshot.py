"""A snapshot in chunks: whole lines, from every place on, whatever is in the file."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from zstandard import ZstdCompressor

from pith_builder.corpus import snapshot as module
from pith_builder.corpus.snapshot import Chunk, Identity, InputChanged, Place, opened
from pith_builder.documents import MAX_DOCUMENT
from pith_builder.errors import FileFailed

LINES = [b"%d " % n + b"x" * (n * 37 % 300) + b"\n" for n in range(400)]
CONTENT = b"".join(LINES)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 1000)


@pytest.fixture(params=["plain", "gzip", "zstd", "standard input"])
def write(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], str]:
    """Write a snapshot in each form; gives its name."""

    def call(content: bytes) -> str:
        if request.param == "standard input":
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            return "-"
        pack: Any = {"plain": bytes, "gzip": gzip.compress, "zstd": ZstdCompressor().compress}[request.param]
        path = tmp_path / "snapshot"
        path.write_bytes(pack(content))
        return str(path)

    return call


def chunks(name: str, start: Place = Place()) -> list[Chunk]:  # noqa: B008  # frozen
    with opened(name) as source:
        return list(source.chunks(start))


def test_chunks_are_whole_lines_and_all_of_them(write: Callable[[bytes], str]) -> None:
    found = chunks(write(CONTENT))
    assert b"".join(chunk.data for chunk in found) == CONTENT
    assert all(chunk.data.endswith(b"\n") for chunk in found)
    assert len(found) > 40


def test_a_chunk_knows_where_it_begins_and_ends(write: Callable[[bytes], str]) -> None:
    line = offset = 0
    for chunk in chunks(write(CONTENT)):
        assert (chunk.begin.line, chunk.begin.offset) == (line, offset)
        line, offset = line + chunk.data.count(b"\n"), offset + len(chunk.data)
        assert (chunk.end.line, chunk.end.offset) == (line, offset)
        assert CONTENT[chunk.begin.offset : chunk.end.offset] == chunk.data
    assert (line, offset) == (len(LINES), len(CONTENT))


def test_reading_goes_on_from_every_place(write: Callable[[bytes], str]) -> None:
    whole = chunks(write(CONTENT))
    for n, chunk in enumerate(whole):
        assert [c.data for c in chunks(write(CONTENT), chunk.end)] == [c.data for c in whole[n + 1 :]]


def test_the_last_line_may_lack_its_end(write: Callable[[bytes], str]) -> None:
    found = chunks(write(CONTENT + b"last"))
    assert found[-1].data.endswith(b"\nlast")
    assert found[-1].end.line == len(LINES) + 1


def test_an_empty_input_has_no_chunk(write: Callable[[bytes], str]) -> None:
    assert chunks(write(b"")) == []


def test_a_line_that_is_too_long_comes_cut_and_the_next_is_in_its_place(write: Callable[[bytes], str]) -> None:
    size = MAX_DOCUMENT + 100_000
    content = b"first\n" + b"x" * size + b"\nnext\n"
    found = chunks(write(content))
    assert [len(chunk.data) for chunk in found] == [len(b"first\n") + MAX_DOCUMENT + 3, len(b"next\n")]
    assert (found[1].begin.line, found[1].begin.offset) == (2, len(b"first\n") + size + 1)


def test_an_endless_last_line_is_passed_over_too(write: Callable[[bytes], str]) -> None:
    [found] = chunks(write(b"x" * (MAX_DOCUMENT + 5_000_000)))
    assert (len(found.data), found.end.offset, found.end.line) == (MAX_DOCUMENT + 3, MAX_DOCUMENT + 5_000_000, 1)


def test_an_input_is_told_by_its_size_and_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    content = bytes(100_000) + b"end"
    path.write_bytes(content)
    with opened(str(path)) as source:
        head, tail = (hashlib.sha256(part).hexdigest() for part in (content[: 2**16], content[-(2**16) :]))
        assert source.identity == Identity(len(content), head, tail)


def test_a_stream_that_began_otherwise_is_not_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def stream(content: bytes) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return "-"

    place = chunks(stream(CONTENT))[3].end
    with pytest.raises(InputChanged, match="does not begin with"):
        chunks(stream(CONTENT.replace(b"5 ", b"6 ", 1)), place)
    with pytest.raises(InputChanged, match="does not begin with"):
        chunks(stream(CONTENT[:100]), place)


def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    path.write_bytes(CONTENT)
    with opened(str(path)) as source:
        reading = source.chunks(Place())
        next(reading)
        path.write_bytes(b"")
        with pytest.raises(InputChanged, match="has 0 now"):
            list(reading)


def test_a_packed_file_that_is_cut_is_an_error_behind_what_could_be_read(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.gz"
    path.write_bytes(gzip.compress(CONTENT)[:-20])
    found = []
    with opened(str(path)) as source, pytest.raises(FileFailed, match="can't be unpacked"):
        found.extend(source.chunks(Place()))
    assert b"".join(chunk.data for chunk in found) in CONTENT


@pytest.mark.parametrize("name", ["nowhere", ""])
def test_what_cannot_be_opened_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileFailed):
        chunks(str(tmp_path / name))
