"""The files that a manifest lists, read batch by batch within bounds, and what is wrong with them as files."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pith_builder import files
from pith_builder.corpus.manifest import MARKER, NAME, InvalidManifest, ListedFile, Manifest
from pith_builder.errors import cut, shown
from pith_builder.sources.packed import unpacked
from pith_builder.sources.pieces import batches, rows

#: What a run without a store keeps in its folder beside what it gives.
_BESIDE_RECEIPTS = {"rejects.jsonl", "repeats.jsonl", ".checkpoint.json", ".rejects.jsonl.lock"}

#: The same of a run on a cluster, which has a folder for its plan and notes.
_BESIDE_SHARDS, _STATE_OF_SHARDS = {"rejects.jsonl", "repeats.jsonl"}, "shards/"

#: Records that go to a process at once, and lines (bytes) at which a batch ends before it has so many.
BATCH = 200
_BATCH_BYTES = 4 * 2**20

#: A row group of a Parquet file, unpacked, at most (bytes); those of an export have a tenth of it.
_GROUP_BYTES = 2**28


def check_paths(manifest: Manifest) -> None:
    """Raise InvalidManifest for a path that is not plainly below the folder, or stands twice."""
    seen: set[str] = set()
    for listed in manifest.files:
        path = PurePosixPath(listed.path)
        is_plain = str(path) == listed.path and listed.path.isprintable() and path.parts and ".." not in path.parts
        if path.is_absolute() or not is_plain:
            raise InvalidManifest(f"{shown(listed.path)} is no path below the folder", field="files")
        if listed.path in seen or listed.path in (NAME, MARKER):
            raise InvalidManifest(f"{shown(listed.path)} can't be listed, or stands twice", field="files")
        seen.add(listed.path)


def unlisted(folder: Path, manifest: Manifest) -> list[str]:
    """Files in the folder that the manifest should list, and doesn't; in order."""
    known = {listed.path for listed in manifest.files} | {NAME, MARKER}
    if manifest.form == "receipts":
        known |= _BESIDE_RECEIPTS
    with files.failing("look into the folder", folder):
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if manifest.form == "shards":
        found = {name for name in found - _BESIDE_SHARDS if not name.startswith(_STATE_OF_SHARDS)}
    return sorted(found - known)


class FileReader:
    """One listed file: after `lines` or `table` has given all its records, `faults` tells what is wrong with it."""

    def __init__(self, folder: Path, listed: ListedFile) -> None:
        self._folder, self._listed = folder, listed
        self._path = folder / listed.path
        self._found: ListedFile | None = None
        self._faults: list[str] = []
        with files.failing("look at the file", self._path):
            if self._path.resolve() != folder.resolve() / listed.path:
                self._faults.append("is a link, or stands below one")
            elif not self._path.is_file():
                self._faults.append("is no file" if self._path.exists() else "is not there")

    def lines(self) -> Iterator[list[tuple[int, bytes]]]:
        """The records of JSON Lines with the number of their line (from 1). Raises FileFailed."""
        if self._faults:
            return
        with files.failing("read the file", self._path), open(self._path, "rb", buffering=0) as file:
            hashed = _Hashed(file)
            stream = io.BufferedReader(hashed)
            try:
                for batch in batches(rows(unpacked(stream, stream.peek(8))), BATCH, _BATCH_BYTES):
                    yield [(piece.line, piece.data) for piece in batch]
            except (OSError, EOFError, zlib.error) as error:
                if getattr(error, "errno", None) is not None:  # the disk's failure, not the file's
                    raise
                self._faults.append(str(error))
            while hashed.read(2**20):
                pass
        self._found = hashed.listed(self._listed.path)

    def table(self) -> Iterator[tuple[int, bytes]]:
        """The rows of a table in Arrow's form, behind the number of the first one (from 1). Raises FileFailed."""
        if self._faults:
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        from pith_builder.corpus.table import SCHEMA

        self._found = ListedFile.of(self._folder, self._listed.path, 0)
        first = 1
        try:
            file = pq.ParquetFile(self._path)
            groups = [file.metadata.row_group(n).total_byte_size for n in range(file.num_row_groups)]
            if not file.schema_arrow.equals(SCHEMA):
                self._faults.append("has other columns than the table of numbers")
                return
            if max(groups, default=0) > _GROUP_BYTES:
                self._faults.append(f"has a row group of more than {_GROUP_BYTES} bytes")
                return
            for batch in file.iter_batches(BATCH, use_threads=False):
                yield first, batch.serialize().to_pybytes()
                first += batch.num_rows
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self._faults.append(f"can't be read as Parquet: {cut(str(error))}")

    def faults(self, records: int) -> list[str]:
        """What is wrong with the file, in which so many records were found."""
        listed, found, faults = self._listed, self._found, list(self._faults)
        if found is not None and found.bytes != listed.bytes:
            faults.append(f"has {found.bytes} bytes, {listed.bytes} in the manifest")
        elif found is not None and found.sha256 != listed.sha256:
            faults.append("has another SHA-256 than in the manifest")
        if found is not None and records != listed.records:
            faults.append(f"has {records} records, {listed.records} in the manifest")
        return faults


class _Hashed(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self._digest, self._size = hashlib.sha256(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed's buffer can't be sliced
        size = self._file.readinto(buffer) or 0
        self._digest.update(buffer[:size])
        self._size += size
        return size

    def listed(self, path: str) -> ListedFile:
        """The entry of what was read; how many records that were is not known here."""
        return ListedFile(path, 0, self._size, self._digest.hexdigest())
