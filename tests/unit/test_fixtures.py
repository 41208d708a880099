"""The generated files are what the code generates, byte for byte, on every interpreter."""

from __future__ import annotations

import importlib.util
import json
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
    folders = {path.split("/")[1] for path in generated if path.startswith("fixtures/") and path.count("/") > 1}
    kept = {str(path.relative_to(root)) for name in folders for path in (root / "fixtures" / name).rglob("*.*")}
    assert kept <= generated.keys()


def test_the_generated_records_verify_under_the_keyring_of_the_checkout(root: Path) -> None:
    ring = KeyRing.from_json((root / "keys" / "keyring.json").read_bytes())
    manifest = json.loads((root / "fixtures" / "manifest.json").read_bytes())
    expected = {paper["record"]: paper["expected"][0]["ok"] for paper in manifest["papers"]}
    records = sorted((root / "fixtures" / "records").glob("*.json"))
    assert len(records) > len(expected)
    for path in records:
        outcome = verify(path.read_bytes(), ring).ok
        assert outcome == expected.get(f"records/{path.name}", True), path.name
