"""How a folder of generated files comes to stand whole: the manifest goes first and comes last."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pith_builder import files
from pith_builder.documents import loads
from pith_builder.errors import FileFailed, InvalidInput
from pith_builder.testing.generate import MANIFEST, File

_LOCK = ".generate.lock"


class Written(NamedTuple):
    """What was written: how many files, and the SHA-256 of the manifest (hex), which names all of them."""

    files: int
    manifest_sha256: str


def write(folder: Path, generated: Iterable[File], *, force: bool = False) -> Written:
    """Write files into a folder, the last one of `generated` being the manifest.

    Each file appears whole, and a folder with a manifest holds all that it names; what ends a run before leaves none.
    A folder in which anything stands is refused; with `force` the files of an earlier manifest are taken away, and what
    else is there stays, unless it has a name that is written. Raises FileFailed.
    """
    if not force:
        _check_empty(folder)
    files.make_folder(folder, 0o755)
    with files.locked(folder / _LOCK, wait=False, hint="another run is writing into this folder; wait for its end"):
        if not force:
            _check_empty(folder)  # what another run has written in between
        try:
            return _write(folder, generated)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(folder / _LOCK)


def _check_empty(folder: Path) -> None:
    with files.failing("look into the folder", folder):
        if folder.exists() and any(path.name != _LOCK for path in folder.iterdir()):
            hint = "name an empty or a new folder, or write over an earlier run's files with --force"
            raise FileFailed("the folder is not empty", hint=hint).at(file=str(folder))


def _write(folder: Path, generated: Iterable[File]) -> Written:
    earlier = _named_by_manifest(folder)
    with files.failing("take the earlier manifest away", folder / MANIFEST), contextlib.suppress(FileNotFoundError):
        os.unlink(folder / MANIFEST)
    for path in earlier:
        with files.failing("take an earlier file away", path), contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    count, content = 0, b""
    for name, content in generated:
        path = folder / name
        files.make_folder(path.parent, 0o755)
        if name == MANIFEST:
            os.sync()  # once for all files: one by one takes minutes for many thousands
        files.replace(path, content, sync=name == MANIFEST)
        count += 1
    return Written(count, hashlib.sha256(content).hexdigest())


def _named_by_manifest(folder: Path) -> list[Path]:
    """The files that the manifest of an earlier run names and that are as it wrote them, none outside the folder."""
    try:
        manifest: Any = loads(files.read(folder / MANIFEST))
    except (FileFailed, InvalidInput):
        return []
    named = manifest.get("files") if isinstance(manifest, dict) else None
    whole = folder.resolve()
    return [whole / name for name, digest in _items(named) if _is_as_written(whole, name, digest)]


def _items(value: object) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _is_as_written(folder: Path, name: str, sha256: object) -> bool:
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder) and path.is_file()
        return inside and hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    except (OSError, ValueError, RuntimeError):  # a name that none can be, or links in a circle
        return False
