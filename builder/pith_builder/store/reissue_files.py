"""New receipts for records in a file: streaming, and safe against a kill at any moment.

The records go to OUT.partial, their earlier receipts to a history beside it. Every so often both are flushed to the
disk and a checkpoint is put beside them, which says how far the input was read and how long the two were then. The
same command again cuts both back to the checkpoint and goes on. At the end both get their names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from pith_builder import files
from pith_builder.errors import FileFailed, KeyUnusable, PithError
from pith_builder.issue import receipt_needs_reissue, reissue
from pith_builder.keyring import KeyRing
from pith_builder.published import PithRecord, Profile
from pith_builder.signing import Signer, fingerprint
from pith_builder.sources.pieces import Piece, pieces
from pith_builder.store.reissue import NoEvidence, Progress, Recompute, Refusal
from pith_builder.times import Clock
from pith_builder.verify import verify

_RECORDS_A_CHECKPOINT = 1000
_HEAD = 2**16


class Checkpoint(msgspec.Struct, frozen=True):
    """How far a run came; sizes and offsets in bytes."""

    input_size: int
    input_head_sha256: str
    key_fingerprint: str
    offset: int
    out_size: int
    history_size: int
    reissued: int
    refused: int


class CheckpointDiffers(FileFailed):
    """There is an unfinished run of another input or under another key."""

    code = "checkpoint_differs"


def reissue_file(
    source: Path,
    target: Path,
    ring: KeyRing,
    signer: Signer,
    profile: Profile,
    clock: Clock,
    *,
    recompute: Recompute | None,
    refused: Callable[[Refusal], None],
) -> Iterator[Progress]:
    """Reissue the records of `source` that need it into `target`; others are copied as they are. Gives the progress.

    A record that is refused is copied too, so that none is lost. Raises FileFailed or what the signer raises.
    """
    history = target.with_suffix(".history.jsonl")
    partial, partial_history = _partial(target), _partial(history)
    kept = target.with_name(f".{target.name}.checkpoint")
    with files.failing("read the file", source), open(source, "rb") as stream:
        start = _begin(stream, kept, signer, target)
        with files.failing("write the file", target):
            with _cut_back(partial, start.out_size) as out, _cut_back(partial_history, start.history_size) as earlier:
                progress = Progress(start.reissued + start.refused, start.reissued, start.refused)
                for n, piece in enumerate(_from(stream, start.offset), 1):
                    line = _next(piece, ring, signer, profile, clock, recompute, progress, refused, earlier)
                    out.write(line + b"\n")
                    progress.total += 1
                    if n % _RECORDS_A_CHECKPOINT == 0:
                        _save(kept, start, piece.offset + len(piece.data), out, earlier, progress)
                        yield progress
                _save(kept, start, start.input_size, out, earlier, progress)
            os.replace(partial_history, history)
            os.replace(partial, target)
            kept.unlink(missing_ok=True)
    yield progress


def _next(
    piece: Piece,
    ring: KeyRing,
    signer: Signer,
    profile: Profile,
    clock: Clock,
    recompute: Recompute | None,
    progress: Progress,
    refused: Callable[[Refusal], None],
    earlier: BinaryIO,
) -> bytes:
    try:
        record = PithRecord.from_json(piece.data)
        receipt = record.receipt
        key = ring.find(receipt.key_id, receipt.public_key_fingerprint)
        if not receipt_needs_reissue(key, receipt.builder_version, profile):
            return piece.data
        _check(record, ring, recompute)
        new = reissue(record, signer, profile, clock)
    except KeyUnusable:
        raise
    except PithError as error:
        progress.refused += 1
        refused(Refusal(f"line {piece.line}", error.code, error.message))
        return piece.data
    earlier.write(msgspec.json.encode({"pith_number": record.pith_number, "receipt": receipt}) + b"\n")
    progress.reissued += 1
    return new.to_json()


def _check(record: PithRecord, ring: KeyRing, recompute: Recompute | None) -> None:
    """Raise Refused where neither the receipt nor metadata vouch for the record."""
    paper = record.canonical_record.arxiv_id
    if recompute is not None and recompute([paper]).get(paper) == record.canonical_record.digest():
        return
    report = verify(record, ring)
    if not report.ok:
        reasons = "; ".join(f"{check.name}: {check.reason}" for check in report.failed)
        raise NoEvidence(f"{reasons}; give its metadata to recompute it")


# --- the unfinished run -----------------------------------------------------------------------------------------


def _begin(stream: BinaryIO, kept: Path, signer: Signer, target: Path) -> Checkpoint:
    size = os.fstat(stream.fileno()).st_size
    head = hashlib.sha256(stream.read(_HEAD)).hexdigest()
    stream.seek(0)
    fresh = Checkpoint(size, head, fingerprint(signer.public_key), 0, 0, 0, 0, 0)
    if not kept.exists():
        if target.exists():
            raise FileFailed("there is such a file already", hint="name another with --out").at(file=str(target))
        return fresh
    try:
        found = msgspec.json.decode(files.read(kept), type=Checkpoint)
    except msgspec.MsgspecError:
        found = fresh
    same = (found.input_size, found.input_head_sha256, found.key_fingerprint)
    if same != (fresh.input_size, fresh.input_head_sha256, fresh.key_fingerprint):
        raise CheckpointDiffers(
            f"{kept} is of an unfinished run over another input or under another key",
            hint=f"finish that run, or begin anew without {kept}",
        )
    return found


def _from(stream: BinaryIO, offset: int) -> Iterator[Piece]:
    if offset == 0:
        yield from pieces(stream)
        return
    stream.seek(offset)
    for piece in pieces(stream):
        yield piece._replace(offset=offset + piece.offset)


def _save(kept: Path, start: Checkpoint, offset: int, out: BinaryIO, earlier: BinaryIO, progress: Progress) -> None:
    for file in (out, earlier):
        file.flush()
        os.fsync(file.fileno())
    checkpoint = msgspec.structs.replace(
        start,
        offset=offset,
        out_size=out.tell(),
        history_size=earlier.tell(),
        reissued=progress.reissued,
        refused=progress.refused,
    )
    files.replace(kept, msgspec.json.encode(checkpoint))


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


def _cut_back(path: Path, size: int) -> BinaryIO:
    """The file opened to go on behind its first `size` bytes."""
    file = open(path, "r+b" if size else "w+b")  # noqa: SIM115  # closed by who asked
    file.truncate(size)
    file.seek(size)
    return file
