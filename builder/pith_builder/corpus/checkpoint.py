"""The checkpoint of a run: of which input, under which key, how far it is, and what came of the rows so far."""

from __future__ import annotations

import msgspec

from pith_builder.corpus.snapshot import Identity, Number, Place
from pith_builder.errors import Refused
from pith_builder.published import Profile
from pith_builder.signing import Signer, fingerprint


class CheckpointDiffers(Refused):
    """The run that stopped was of another input, under another key or with other settings."""

    code = "run_differs"


class RunSettings(msgspec.Struct, frozen=True):
    """What must stay the same over a whole run."""

    key_id: str
    key_fingerprint: str
    base_url: str
    builder_version: str

    @classmethod
    def of(cls, signer: Signer, profile: Profile) -> RunSettings:
        return cls(signer.key_id, fingerprint(signer.public_key), profile.base_url, profile.builder_version)


class Counts(msgspec.Struct, frozen=True):
    """What came of the rows: new numbers, other paper blocks of known ones, nothing new, and no record at all.

    `repeated` are the rows that say again what another one said; it is known at the end of a run.
    """

    rows: Number = 0
    issued: Number = 0
    updated: Number = 0
    stored: Number = 0
    rejected: Number = 0
    repeated: Number = 0

    def plus(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Checkpoint(msgspec.Struct, frozen=True):
    """How far a run is. Times are in receipt form; `sizes` are those of the files that grow beside it, in bytes.

    `merges` is how often a store has taken records over; `resumed_at` and what follows it say since when, and from
    where on, the process works that is at it.
    """

    input_name: str
    input: Identity
    settings: RunSettings
    rejects: str
    begun_at: str
    saved_at: str
    resumed_at: str
    resumed_file_offset: Number = 0
    resumed_rows: Number = 0
    place: Place = Place()
    counts: Counts = Counts()
    sizes: dict[str, Number] = {}
    merges: Number = 0
    finished_at: str | None = None

    @classmethod
    def read(cls, data: bytes) -> Checkpoint:
        """A checkpoint as `to_json` wrote it. Raises CheckpointDiffers where it can't be read."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError):
            raise CheckpointDiffers("the checkpoint can't be read", hint=_ANEW) from None

    @property
    def is_empty(self) -> bool:
        """Whether a run has yet to read its first row: there is nothing to go on with."""
        return self.counts.rows == 0 and self.finished_at is None

    def resumed(self, now: str) -> Checkpoint:
        """The same, for a process that goes on from here at `now`."""
        return msgspec.structs.replace(
            self, resumed_at=now, resumed_file_offset=self.place.file_offset, resumed_rows=self.counts.rows
        )

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    def is_same(self, other: Checkpoint) -> bool:
        """Whether `other` is of the same input, under the same key and with the same settings."""
        return (self.input, self.settings) == (other.input, other.settings)

    def check_same(self, other: Checkpoint) -> None:
        """Raise CheckpointDiffers where `other`, of the command given now, can't go on with this run."""
        place = f"the run over {self.input_name} that stopped behind line {self.place.line}"
        if self.input != other.input:
            what = "changed since then" if self.input_name == other.input_name else "is another input"
            raise CheckpointDiffers(
                f"{other.input_name} {what}; there is {place}", hint=f"give that input again to finish it, or {_ANEW}"
            )
        for name in self.settings.__struct_fields__:
            if (was := getattr(self.settings, name)) != (now := getattr(other.settings, name)):
                raise CheckpointDiffers(
                    f"{place} has {name} {was}, not {now}", hint=f"use what it began with, or {_ANEW}"
                )


_ANEW = "begin anew with --restart; what is issued stays, and is not issued twice"
