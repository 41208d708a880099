"""A corpus into a folder: a line of number and receipt for each paper, in the order of the input, and a manifest.

The lines are synced before the checkpoint that counts them, and cut back to it before a run goes on. Of rows with one
number only the last one's line stays.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from pith_builder import files
from pith_builder.corpus.beside import Beside
from pith_builder.corpus.checkpoint import Checkpoint, CheckpointDiffers, Counts
from pith_builder.corpus.growing import Growing
from pith_builder.corpus.manifest import NAME as MANIFEST
from pith_builder.corpus.manifest import ListedFile, Manifest
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.corpus.targets import Batch, counted
from pith_builder.corpus.work import Item
from pith_builder.errors import FileFailed
from pith_builder.issue import Signed
from pith_builder.sources.pieces import Piece
from pith_builder.sources.rows import Described

_ELSEWHERE = "name another folder with --out"

RECEIPTS, REJECTS, CHECKPOINT = "receipts.jsonl", "rejects.jsonl", ".checkpoint.json"


def line_item(name: str, begun: datetime) -> Item:
    """The shape of items that go into a folder: a paper's line."""
    del name, begun

    def item(signed: Signed, paper: Described, piece: Piece) -> bytes:
        del paper, piece
        return msgspec.json.encode(NumberedReceipt.of(signed)) + b"\n"

    return item


class IntoFolder:
    """A folder as the target of a run."""

    shape = staticmethod(line_item)

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept = folder / CHECKPOINT
        self._receipts = Growing(folder / RECEIPTS)
        self._beside = Beside(folder / REJECTS)

    def begin(self, fresh: Checkpoint, *, restart: bool) -> Checkpoint:
        files.make_folder(self._folder, 0o755)
        self._check_own(Path(fresh.input_name))
        self._beside.lock(fresh.input_name)
        found = self._found(restart=restart)
        if found is not None and found.finished_at is not None and (restart or not found.is_same(fresh)):
            raise FileFailed(f"it holds what came of the finished run over {found.input_name}", hint=_ELSEWHERE).at(
                file=str(self._folder)
            )
        if found is None or restart or found.is_empty:
            found = fresh
            self._save(found)  # before there is any other file, by which the folder would be somebody else's
            with files.failing("remove the file", self._folder / MANIFEST):
                (self._folder / MANIFEST).unlink(missing_ok=True)
        found.check_same(fresh)
        if found.finished_at is None:
            self._receipts.open(found.sizes.get("receipts", 0))
            self._beside.open(found.sizes)
        else:
            self._check_whole()
            self._clear()
        return found

    def _check_whole(self) -> None:
        """Raise FileFailed where what a finished run gave is not there, by its size."""
        for listed in Manifest.read(self._folder).files:
            path = self._folder / listed.path
            with files.failing("look at the file", path):
                if path.stat().st_size != listed.bytes:
                    raise FileFailed("it was altered since the run was finished", hint=_ELSEWHERE).at(file=str(path))

    def _found(self, *, restart: bool) -> Checkpoint | None:
        try:
            return read_checkpoint(self._folder)
        except CheckpointDiffers as error:  # it can't be read
            if (self._folder / MANIFEST).exists():
                reason = f"it holds what came of a finished run, of which {error.message}"
                raise FileFailed(reason, hint=_ELSEWHERE).at(file=str(self._folder)) from None
            if restart:
                return None
            raise

    def _check_own(self, input_: Path) -> None:
        """Raise FileFailed where the folder holds the input, or something and no run: hidden files don't count."""
        with files.failing("read the folder", self._folder):
            if input_.resolve().is_relative_to(self._folder.resolve()):
                raise FileFailed("the input is in it", hint="name another folder").at(file=str(self._folder))
            others = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        if others and not self._kept.exists():
            raise FileFailed(
                f"there are other files in it, such as {others[0]}", hint="name a folder that is new or empty"
            ).at(file=str(self._folder))

    def commit(self, batch: Batch, reached: Checkpoint) -> Checkpoint:
        for _, done in batch:
            self._receipts.write(done.items)
        sizes = {"receipts": self._receipts.sync(), **self._beside.write(batch)}
        issued = Counts(issued=sum(done.papers for _, done in batch))
        counts = reached.counts.plus(counted(batch)).plus(issued)
        reached = msgspec.structs.replace(reached, counts=counts, sizes=sizes)
        self._save(reached)
        return reached

    def pause(self, reached: Checkpoint) -> Checkpoint:
        return reached

    def finish(self, last: Checkpoint) -> Checkpoint:
        found = self._beside.find_repeats()
        superseded = found.superseded[0]
        if superseded:
            self._write_once(superseded)
        else:
            self._receipts.finish()
        self._beside.finish()
        count = len(superseded)
        counts = last.counts.plus(Counts(issued=-count, stored=count, repeated=len(found.repeats)))
        last = msgspec.structs.replace(last, counts=counts)
        listed = ListedFile.of(self._folder, RECEIPTS, counts.issued)
        Manifest.of("receipts", [listed], counts.rejected).write(self._folder)
        self._save(last)
        self._clear()
        return last

    def _clear(self) -> None:
        """Take away what a finished run has left, and what its killed processes did."""
        self._receipts.discard()
        self._beside.clear()
        with files.failing("remove the file", self._folder):
            for temporary in self._folder.glob(".*.partial"):
                temporary.unlink()

    def _write_once(self, superseded: set[int]) -> None:
        """Write the lines to their place without these; the partial file stays until the end is noted."""
        self._receipts.close()
        kept = Growing(self._folder / f".{RECEIPTS}.once")
        kept.open(0)
        with files.failing("read the file", self._receipts.partial), open(self._receipts.partial, "rb") as lines:
            for n, line in enumerate(lines):
                if n not in superseded:
                    kept.write(line)
        kept.sync()
        kept.finish()
        files.rename(kept.path, self._receipts.path)

    def close(self) -> None:
        self._receipts.close()
        self._beside.close()

    def _save(self, checkpoint: Checkpoint) -> None:
        files.replace(self._kept, checkpoint.to_json())


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint of the run into a folder, None where there is none. Raises FileFailed, CheckpointDiffers."""
    path = folder / CHECKPOINT
    return Checkpoint.read(files.read(path)) if path.exists() else None
