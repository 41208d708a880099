"""The real published records that tests are taken from (fixtures/registry/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Real:
    """The folder of real published records, read as it is asked."""

    def __init__(self, registry: Path) -> None:
        self.registry = registry

    def value(self, name: str) -> Any:
        """A JSON file."""
        return json.loads((self.registry / name).read_bytes())

    def lines(self, name: str) -> list[dict[str, Any]]:
        """A JSON Lines file."""
        return [json.loads(line) for line in (self.registry / name).read_bytes().splitlines()]

    def text(self, name: str) -> str:
        """A file as text, without the newline at its end."""
        return (self.registry / name).read_text(encoding="utf-8").removesuffix("\n")
