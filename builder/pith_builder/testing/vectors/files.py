"""Finding and reading the vector files: those of a folder, of the installed package, or of the checkout."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from pith_builder.errors import FileFailed, InvalidInput
from pith_builder.testing.vectors.model import VectorFile

#: Where a wheel holds them, and where the checkout does; the wheel's are the checkout's, put there when it is built.
_IN_PACKAGE = ("data", "vectors")
_IN_CHECKOUT = Path("fixtures") / "vectors"


class InvalidVectors(InvalidInput):
    """A file that should hold vectors and doesn't."""

    code = "invalid_vectors"


def default_folder() -> Path:
    """The folder of the vectors that belong to this code. Raises FileFailed where there are none."""
    package = Path(str(resources.files("pith_builder")))
    folders = [package.joinpath(*_IN_PACKAGE), package.parents[1] / _IN_CHECKOUT]
    found = next((folder for folder in folders if folder.is_dir()), None)
    if found is None:
        raise FileFailed("no vectors came with this installation", hint="give their folder: --vectors DIR")
    return found


def read_vectors(folder: Path) -> list[VectorFile]:
    """The vector files of a folder, by name. Raises FileFailed or InvalidVectors; other JSON files are passed over."""
    try:
        contents = [(path, path.read_bytes()) for path in sorted(folder.iterdir()) if path.suffix == ".json"]
    except OSError as error:
        raise FileFailed(f"{error.strerror}: {folder}", hint="give the folder of the vectors: --vectors DIR") from None
    files = [file for path, content in contents if (file := _read(path, content)) is not None]
    if not files:
        raise FileFailed(f"no vectors in {folder}", hint="give the folder of the vectors: --vectors DIR")
    return files


def load_vectors() -> dict[str, dict[str, Any]]:
    """The vectors that belong to this code by their rule, as JSON values: `load_vectors()["number"]["tests"]`.

    Raises FileFailed where this installation has none.
    """
    return {file.rule: msgspec.to_builtins(file) for file in read_vectors(default_folder())}


def _read(path: Path, content: bytes) -> VectorFile | None:
    try:
        value = json.loads(content)  # not strict: inputs may hold lone surrogates
        if not isinstance(value, dict) or not str(value.get("schema", "")).startswith("pith-vectors/"):
            return None
        return msgspec.convert(value, VectorFile)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise InvalidVectors(str(error).partition(" - at")[0], hint="write the vectors anew: make fixtures").at(
            file=str(path)
        ) from None
