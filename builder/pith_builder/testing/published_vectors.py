"""The conformance vectors as they are published: `fixtures/vectors/` of a checkout, package data of a wheel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent
#: Where they are installed to, and where they are in a checkout.
PLACES = (PACKAGE / "data" / "vectors", PACKAGE.parent.parent / "fixtures" / "vectors")


def load_vectors(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The vector files by their rule, as JSON values, read anew each time: `load_vectors()["number"]["tests"]`.

    Raises FileNotFoundError where this installation has none.
    """
    place = folder or next(filter(Path.is_dir, PLACES), PLACES[0])
    if not place.is_dir():
        raise FileNotFoundError(f"this installation of pith-build has no conformance vectors at {place}")
    files = [json.loads(path.read_bytes()) for path in sorted(place.glob("*.json"))]
    return {file["rule"]: file for file in files if "rule" in file}
