"""New receipts for records in a file of JSON Lines: streaming, and safe against a kill at any moment.

The records go to OUT.partial, their earlier receipts to a history and the refusals to a list beside it, all growing at
their ends. Every so often they are flushed to the disk and a checkpoint is put beside them, which says how far the
input was read and how long they were then. The same command again cuts them back to the checkpoint and goes on. At the
end they get their names, and the checkpoint goes last, so that this too can be done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from pith_builder import files
from pith_builder.documents import MAX_DOCUMENT
from pith_builder.errors import FileFailed, InvalidJson, KeyUnusable, PithError
from pith_builder.issue import receipt_needs_reissue, reissue
from pith_builder.keyring import KeyRing
from pith_builder.published import PithRecord, Profile
from pith_builder.signing import Signer, fingerprint
from pith_builder.sources.pieces import Piece, rows
from pith_builder.store.evidence import NoEvidence, has_compromised
from pith_builder.store.reissue import Progress, Recompute, Refusal
from pith_builder.times import Clock
from pith_builder.verify import verify

_RECORDS_A_CHECKPOINT = 1000
_HEAD = 2**16


class Checkpoint(msgspec.Struct, frozen=True):
    """How far a run came: place in the input, and the sizes of the three outputs, in bytes."""

    input_size: int
    input_ends_sha256: str
    key_fingerprint: str
    line: int = 0
    offset: int = 0
    sizes: tuple[int, int, int] = (0, 0, 0)
    reissued: int = 0
    refused: int = 0
    finished: bool = False


class CheckpointDiffers(FileFailed):
    """There is an unfinished run of another input or under another key."""

    code = "checkpoint_differs"


class FileReissue:
    """One run over a file: the records of `source` that need it get new receipts in `target`, all others are copied."""

    def __init__(
        self,
        source: Path,
        target: Path,
        ring: KeyRing,
        signer: Signer,
        profile: Profile,
        clock: Clock,
        *,
        recompute: Recompute | None,
        refused: Callable[[Refusal], None],
    ) -> None:
        self._source, self._target = source, target
        self._ring, self._signer, self._profile, self._clock = ring, signer, profile, clock
        self._recompute, self._refused = recompute, refused
        self._names = (target, target.with_suffix(".history.jsonl"), target.with_suffix(".refused.jsonl"))
        self._partials = tuple(name.with_name(f"{name.name}.partial") for name in self._names)
        self._kept = target.with_name(f".{target.name}.checkpoint")

    def run(self) -> Iterator[Progress]:
        """Do it, giving the progress at each checkpoint.

        A record that is refused is copied too, so that none is lost. Raises FileFailed, InvalidJson for a line that is
        too long to copy, or what the signer raises.
        """
        if self._source.resolve() in [path.resolve() for path in self._partials]:
            raise FileFailed("the input is one of the outputs", hint="name another with --out").at(
                file=str(self._source)
            )
        lock = self._kept.with_suffix(".lock")
        with files.locked(lock, wait=False):
            try:
                yield from self._run()
            finally:
                lock.unlink(missing_ok=True)

    def _run(self) -> Iterator[Progress]:
        with files.failing("read the file", self._source), open(self._source, "rb") as stream:
            start = self._begin(stream)
            progress = Progress(start.reissued + start.refused, start.reissued, start.refused)
            if start.finished:
                self._tell_again(next((p for p in (self._partials[2], self._names[2]) if p.exists()), None))
                self._finish()
                yield progress
                return
            with contextlib.ExitStack() as stack:
                outputs = self._open_outputs(start, stack)
                stream.seek(start.offset)
                for n, piece in enumerate(rows(stream, start.line, start.offset), 1):
                    self._one(piece, outputs, progress)
                    if n % _RECORDS_A_CHECKPOINT == 0:
                        self._save(start, piece, outputs, progress)
                        yield progress
                self._save(start, None, outputs, progress)
            self._finish()
        yield progress

    def _one(self, piece: Piece, outputs: list[BinaryIO], progress: Progress) -> None:
        if len(piece.data) > MAX_DOCUMENT:
            raise InvalidJson(f"is longer than {MAX_DOCUMENT} bytes, and can't be copied whole").at(
                file=str(self._source), line=piece.line
            )
        records, history, refusals = outputs
        progress.total += 1
        line, earlier = piece.data, b""
        try:
            record = PithRecord.from_json(piece.data)
            receipt = record.receipt
            key = self._ring.find(receipt.key_id, receipt.public_key_fingerprint)
            if receipt_needs_reissue(key, receipt.builder_version, self._profile):
                self._check(record)
                line = reissue(record, self._signer, self._profile, self._clock).to_json()
                earlier = msgspec.json.encode({"pith_number": record.pith_number, "receipt": receipt}) + b"\n"
                progress.reissued += 1
        except KeyUnusable:
            raise
        except PithError as error:
            refusal = Refusal(f"line {piece.line}", error.code, error.message)
            refusals.write(msgspec.json.encode(refusal) + b"\n")
            progress.refused += 1
            self._refused(refusal)
        history.write(earlier)
        records.write(line + b"\n")

    def _check(self, record: PithRecord) -> None:
        """Raise NoEvidence where neither the receipt nor metadata vouch for the record."""
        paper = record.canonical_record.arxiv_id
        described = self._recompute([paper]) if self._recompute else {}
        recomputed = described.get(paper) == record.canonical_record.digest()
        failed = verify(record, self._ring).failed
        if recomputed:  # then the earlier receipt needn't vouch for it; all else must still hold
            failed = [check for check in failed if check.name not in ("signature", "key_known", "key_valid")]
        if failed:
            reasons = "; ".join(f"{check.name}: {check.reason}" for check in failed)
            raise NoEvidence(f"{reasons}; give its metadata to recompute it")
        receipt = record.receipt
        if not recomputed and receipt.last_reissued_at != receipt.first_computed_at and has_compromised(self._ring):
            raise NoEvidence(
                "it was reissued before, perhaps from a receipt of a key that is known as compromised now; "
                "give its metadata to recompute it"
            )

    # --- the unfinished run ---

    def _begin(self, stream: BinaryIO) -> Checkpoint:
        size = os.fstat(stream.fileno()).st_size
        ends = hashlib.sha256(stream.read(_HEAD))
        stream.seek(max(0, size - _HEAD))
        ends.update(stream.read(_HEAD))
        fresh = Checkpoint(size, ends.hexdigest(), fingerprint(self._signer.public_key))
        if not self._kept.exists():
            for name in self._names:
                if name.exists():
                    raise FileFailed("there is such a file already", hint="name another with --out").at(file=str(name))
            return fresh
        try:
            found = msgspec.json.decode(files.read(self._kept), type=Checkpoint)
        except msgspec.MsgspecError:
            raise CheckpointDiffers(f"{self._kept} can't be read", hint=f"begin anew without {self._kept}") from None
        same = (found.input_size, found.input_ends_sha256, found.key_fingerprint)
        if same != (fresh.input_size, fresh.input_ends_sha256, fresh.key_fingerprint):
            raise CheckpointDiffers(
                f"{self._kept} is of an unfinished run over another input or under another key",
                hint=f"finish that run, or begin anew without {self._kept}",
            )
        return found

    def _open_outputs(self, start: Checkpoint, stack: contextlib.ExitStack) -> list[BinaryIO]:
        outputs: list[BinaryIO] = []
        for path, size in zip(self._partials, start.sizes, strict=True):
            with files.failing("write the file", path):
                file = open(path, "r+b" if size else "w+b")  # noqa: SIM115  # closed by the stack
                stack.enter_context(file)
                file.truncate(size)
                file.seek(size)
            outputs.append(file)
        self._tell_again(self._partials[2])
        return outputs

    def _tell_again(self, refusals: Path | None) -> None:
        """The refusals before a resume: who resumes wants the whole list."""
        for line in files.read(refusals).splitlines() if refusals else ():
            self._refused(msgspec.json.decode(line, type=Refusal))

    def _save(self, start: Checkpoint, last: Piece | None, outputs: list[BinaryIO], progress: Progress) -> None:
        with files.failing("write the file", self._target):
            for file in outputs:
                file.flush()
                os.fsync(file.fileno())
        records, history, refusals = (file.tell() for file in outputs)
        checkpoint = msgspec.structs.replace(
            start,
            line=last.line if last else 0,
            offset=last.end if last else start.input_size,
            sizes=(records, history, refusals),
            reissued=progress.reissued,
            refused=progress.refused,
            finished=last is None,
        )
        files.replace(self._kept, msgspec.json.encode(checkpoint))

    def _finish(self) -> None:
        """Give the outputs their names, whichever of them has none yet; then nothing is unfinished any more."""
        for partial, name in zip(self._partials, self._names, strict=True):
            if partial == self._partials[2] and partial.exists() and partial.stat().st_size == 0:
                partial.unlink()  # nothing was refused
            elif partial.exists():
                files.rename(partial, name)
        with files.failing("remove the file", self._kept):
            self._kept.unlink(missing_ok=True)
