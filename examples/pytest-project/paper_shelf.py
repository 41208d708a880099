"""A shelf of other people's pith records: a folder in which each record that verifies is a file."""

from __future__ import annotations

import base64
from pathlib import Path

from pith_builder import KeyRing, PithNumber, PithRecord, verify


def number_of(digest: bytes, year: int) -> str:
    """The pith number of a digest (32 bytes), written as the protocol tells it and not as pith-build does it."""
    return f"pith:{year}:{base64.b32encode(digest).decode()[:26]}"


class Shelf:
    """Records in a folder, of issuers whose keys are in `keyring`."""

    def __init__(self, folder: Path, keyring: KeyRing) -> None:
        self.folder = folder
        self.keyring = keyring

    def put(self, data: bytes) -> PithNumber:
        """Keep a record as it came. Raises pith_builder.PithError for one that doesn't verify."""
        verify(data, self.keyring).require()
        number = PithRecord.from_json(data).number
        self._path(number).write_bytes(data)
        return number

    def get(self, number: PithNumber) -> bytes:
        """The record of a whole number. Raises KeyError."""
        try:
            return self._path(number).read_bytes()
        except FileNotFoundError:
            raise KeyError(str(number)) from None

    def find(self, number: PithNumber) -> list[PithNumber]:
        """All numbers that a short form, or a whole number, may stand for."""
        return [PithNumber.parse(path.stem) for path in sorted(self.folder.glob(f"{number.suffix}*.json"))]

    def _path(self, number: PithNumber) -> Path:
        return self.folder / f"{number.suffix}.json"
