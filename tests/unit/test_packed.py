"""Packed streams: unpacked in small pieces, and never silently cut."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable

import pytest
from zstandard import ZstdCompressor

from pith_builder.errors import FileFailed
from pith_builder.sources import packed

DATA = random.Random(1).randbytes(3000) + b"a line\n" * 100_000  # what can't be packed, and what can


def gzipped(data: bytes) -> bytes:
    """Packed, the same at any time."""
    return gzip.compress(data, mtime=0)


def zstd(data: bytes) -> bytes:
    return ZstdCompressor().compress(data)


def with_checksum(data: bytes) -> bytes:
    return ZstdCompressor(write_checksum=True).compress(data)


def in_frames(data: bytes) -> bytes:
    return zstd(data[:1000]) + zstd(b"") + zstd(data[1000:])


def in_members(data: bytes) -> bytes:
    return gzipped(data[:1000]) + gzipped(data[1000:])


PACKERS: list[Callable[[bytes], bytes]] = [gzipped, in_members, zstd, with_checksum, in_frames]


def read(content: bytes, size: int = -1) -> bytes:
    stream = packed.unpacked(io.BytesIO(content), content[:100])
    with packed.failing("the file"):
        return b"".join(iter(lambda: stream.read(size), b""))


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("size", [-1, 7, 2**16])
def test_what_was_packed_comes_out(pack: Callable[[bytes], bytes], size: int) -> None:
    data = DATA[:5000] if size == 7 else DATA
    assert packed.is_packed(pack(data))
    assert read(pack(data), size) == data


def test_other_streams_stay_as_they_are() -> None:
    assert not packed.is_packed(b"{}")
    assert read(b"{}\n") == b"{}\n"


@pytest.mark.parametrize("pack", PACKERS)
def test_a_stream_that_ends_too_early_is_an_error(pack: Callable[[bytes], bytes]) -> None:
    whole = pack(DATA)
    for missing in [*range(1, 40), 500, 2000]:
        with pytest.raises(FileFailed, match="unpacked"):
            read(whole[:-missing])


@pytest.mark.parametrize("pack", PACKERS)
def test_anything_behind_the_end_is_an_error(pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(FileFailed):
        read(pack(DATA) + b"garbage")


@pytest.mark.parametrize("pack", PACKERS)
def test_a_damaged_stream_is_an_error(pack: Callable[[bytes], bytes]) -> None:
    damaged = bytearray(pack(DATA[:3000]))
    damaged[4:2000] = bytes(1996)
    with pytest.raises(FileFailed):
        read(bytes(damaged))


def test_a_window_that_takes_too_much_memory_is_refused() -> None:
    from zstandard import ZstdCompressionParameters

    large = ZstdCompressor(compression_params=ZstdCompressionParameters(window_log=28, enable_ldm=True))
    chunks = large.chunker()
    content = b"".join([*chunks.compress(b"x" * 2**20), *chunks.finish()])
    with pytest.raises(FileFailed, match="memory"):
        read(content)
