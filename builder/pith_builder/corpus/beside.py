"""The files that grow beside every run: its rejects, and the entries by which repeated rows are found at its end."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

from pith_builder import files
from pith_builder.corpus import notes, repeats
from pith_builder.corpus.growing import Growing
from pith_builder.corpus.notes import Reject, Repeat
from pith_builder.corpus.targets import Batch
from pith_builder.errors import FileFailed


def repeats_path(rejects: Path) -> Path:
    """Where the rows are listed that repeat others, beside those that gave no record."""
    is_usual = rejects.name == "rejects.jsonl"
    return rejects.with_name("repeats.jsonl" if is_usual else f"{rejects.stem}.repeats.jsonl")


def is_running(rejects: Path) -> bool | None:
    """Whether a process on this machine is at the run that lists its rejects there; None where it can't be told."""
    return files.is_locked(_lock_path(rejects))


def _lock_path(rejects: Path) -> Path:
    return rejects.with_name(f".{rejects.name}.lock")


class Beside:
    """`rejects.jsonl`, and at the end `repeats.jsonl` in the same folder."""

    def __init__(self, rejects: Path) -> None:
        self._rejects = Growing(rejects)
        self._entries = Growing(rejects.with_name(f".{rejects.name}.entries"))
        self._repeats = repeats_path(rejects)
        self._lock = _lock_path(rejects)
        self._locked = contextlib.ExitStack()

    def lock(self, input_name: str) -> None:
        """Keep other runs away until `close`: before the checkpoint is read that is gone on from.

        Raises FileFailed, also where one of these files is the input of that name, or no file that may be replaced.
        """
        for path, kind in ((self._rejects.path, Reject), (self._rejects.partial, None), (self._repeats, Repeat)):
            _check_place(path, kind, Path(input_name))
        files.make_folder(self._lock.parent, 0o755)
        hint = "another run writes there; let it end first"
        self._locked.enter_context(files.locked(self._lock, wait=False, hint=hint))
        self._locked.callback(self._lock.unlink, missing_ok=True)

    def open(self, sizes: dict[str, int]) -> None:
        """Go on behind these sizes. Raises FileFailed."""
        self._rejects.open(sizes.get("rejects", 0))
        self._entries.open(sizes.get("entries", 0))

    def write(self, batch: Batch) -> dict[str, int]:
        """Add what a batch has to tell; gives the sizes of what is on the disk. Raises FileFailed."""
        for _, done in batch:
            self._rejects.write(notes.lines(done.rejects))
            self._entries.write(done.entries)
        return {"rejects": self._rejects.sync(), "entries": self._entries.sync()}

    def find_repeats(self) -> repeats.Found:
        """Write down which rows repeat others. Raises FileFailed."""
        try:
            found = repeats.find([self._entries.partial])
        except (struct.error, UnicodeError):
            hint = "begin anew with --restart"
            place = str(self._entries.partial)
            raise FileFailed("it was altered since the run stopped", hint=hint).at(file=place) from None
        files.remove(self._repeats)
        told = [Repeat(of.line, of.offset, of.id, of.code, of.number, of.first_line) for of in found.repeats]
        files.replace(self._repeats, notes.lines(told))
        return found

    def finish(self) -> None:
        """Give the rejects their name. Raises FileFailed."""
        self._rejects.finish()

    def clear(self) -> None:
        """Take away what no finished run needs. Raises FileFailed."""
        self._entries.discard()

    def discard(self) -> None:
        """Take away what a run that is given up has left, but for its lists. Raises FileFailed."""
        self._rejects.discard()
        self._entries.discard()
        files.remove(self._lock)

    def close(self) -> None:
        """Leave the files as they are, and let other runs in."""
        with self._locked:
            self._rejects.close()
            self._entries.close()


def _check_place(path: Path, kind: type[Reject | Repeat] | None, input_: Path) -> None:
    with files.failing("look at the file", path):
        if not path.exists():
            return
        if not path.is_file():
            reason = "it is no file"
        elif input_.exists() and path.samefile(input_):
            reason = "it is the input"
        elif kind is not None and not notes.is_list(path, kind):
            reason = "it holds something else"
        else:
            return
    hint = "name another one with --rejects"
    raise FileFailed(f"{reason}, and would be replaced by the list of rejects", hint=hint).at(file=str(path))
