"""What a cluster needs beside this package: looked for before anything that imports it."""

from __future__ import annotations

import importlib.util

from pith_builder.errors import StorageFailed


def check_installed() -> None:
    """Raise StorageFailed where Ray or pyarrow is missing."""
    for name in ("ray", "pyarrow"):
        if importlib.util.find_spec(name) is None:
            raise missing(f"there is no module {name}")


def missing(why: object) -> StorageFailed:
    """The error of a package that is not there, or can't be imported."""
    return StorageFailed(f"the engine ray needs Ray Data: {why}", hint="pip install 'pith-build[ray]'")
