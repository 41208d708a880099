"""The generated files are what the code generates, byte for byte, on every interpreter."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pith_builder import KeyRing, verify


def test_generated_files_are_up_to_date(root: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_fixtures", root / "tests" / "make_fixtures.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generated: dict[str, bytes] = module.generated()
    stale = [name for name, content in generated.items() if (root / name).read_bytes() != content]
    assert stale == [], "run: make fixtures"
    kept = {str(path.relative_to(root)) for path in (root / "fixtures" / "records").iterdir()}
    assert kept <= generated.keys()


def test_the_generated_records_verify_under_the_keyring_of_the_checkout(root: Path) -> None:
    ring = KeyRing.from_json((root / "keys" / "keyring.json").read_bytes())
    records = sorted((root / "fixtures" / "records").glob("*.json"))
    assert records
    assert [path.name for path in records if not verify(path.read_bytes().rstrip(b"\n"), ring).ok] == []
