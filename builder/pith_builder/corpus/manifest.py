"""The manifest beside a corpus in files: what is in the folder, so that nothing can be missing or altered unseen."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from pith_builder import files
from pith_builder.documents import Document
from pith_builder.errors import InvalidInput

NAME = "manifest.json"

#: What a folder has as long as an export into it is not finished.
MARKER = ".export"

#: The list of records that were issued in error, if there are any: a notice is no part of a record.
WITHDRAWN = "withdrawn.jsonl"

#: What the files hold: lines of numbers and receipts, whole records, a table of numbers and receipts, or shards of such
#: a table, in the order of what a cluster was given.
Form = Literal["receipts", "records", "table", "shards"]

#: The forms that are Parquet tables, and those in the order of suffixes, in which no number stands twice.
TABLES, ORDERED = frozenset[Form]({"table", "shards"}), frozenset[Form]({"records", "table"})


class InvalidManifest(InvalidInput):
    """Not the manifest of a corpus in files."""

    code = "invalid_manifest"


class Withdrawn(msgspec.Struct, frozen=True):
    """A line of `WITHDRAWN`; `at` is in receipt form."""

    pith_number: str
    at: str
    reason: str


class ListedFile(msgspec.Struct, frozen=True):
    """A file below the manifest's folder: how many records it holds, its size, its SHA-256 (64 hex digits)."""

    path: str
    records: int
    bytes: int
    sha256: str

    @classmethod
    def of(cls, folder: Path, path: str, records: int) -> ListedFile:
        """The entry of a file that is finished. Raises FileFailed."""
        digest, size = hashlib.sha256(), 0
        with files.failing("read the file", folder / path), open(folder / path, "rb") as stream:
            while part := stream.read(2**20):
                digest.update(part)
                size += len(part)
        return cls(path, records, size, digest.hexdigest())


class Manifest(Document, frozen=True):
    """What a folder holds: so many records in these files, in this order; `rejects` rows gave none."""

    error: ClassVar[type[InvalidInput]] = InvalidManifest

    corpus_manifest: Literal["1.0"]
    form: Form
    records: int
    rejects: int
    files: list[ListedFile]

    @classmethod
    def of(cls, form: Form, listed: list[ListedFile], rejects: int = 0) -> Manifest:
        return cls("1.0", form, sum(file.records for file in listed), rejects, listed)

    def write(self, folder: Path) -> None:
        """Put the manifest into its folder: the last step, which makes the folder whole. Raises FileFailed."""
        files.replace(folder / NAME, msgspec.json.format(self.to_json(), indent=1) + b"\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a folder. Raises FileFailed or InvalidManifest."""
        path = folder / NAME
        try:
            return cls.from_json(files.read(path))
        except InvalidInput as error:
            raise error.at(file=str(path)) from None
