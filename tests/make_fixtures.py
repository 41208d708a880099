"""Write the generated files: keys/keyring.json, fixtures/ but for fixtures/registry/, schemas/, docs/commands.md.

`make fixtures` runs this; a test runs it into an empty folder and compares every byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from pith_builder import KeyRing, PaperMetadata
from pith_builder.cli.app import COMMANDS
from pith_builder.schemas import schema_files
from pith_builder.testing import make_record
from pith_builder.testing.chain import make_chain
from pith_builder.testing.generate import fixtures
from pith_builder.testing.vectors import vector_files

ROOT = Path(__file__).parent.parent


ENRICHMENT = {
    "headline": "A reviewed paper",
    "verdict": {
        "id": "TEST-verdict-1",
        "model_set": {"reviewer": "TEST-model"},
        "created_at": "2026-01-02T00:00:00+00:00",
        "strongest_claim": "It holds.",
        "one_line_summary": "A paper about nothing.",
        "weakest_assumption": "That nothing exists.",
    },
    "claims": [
        {
            "kind": "strongest_claim",
            "text": "It holds.",
            "source": "verdict.strongest_claim",
            "status": "machine_extracted",
            "claim_id": "C1",
            "attestation": "unclaimed",
        }
    ],
    "integrity": {
        "detectors_run": [{"name": "doi_compliance", "version": "1.0.0", "status": "completed", "findings_count": 1}],
        "findings": [{"detector": "doi_compliance", "severity": "advisory", "note": "A DOI is broken by a line end."}],
    },
    "references": [
        {"ref_index": n, "title": f"Reference {n}", "resolved": True, "is_internal_anchor": n == 1} for n in range(1, 8)
    ],
    "formal_canon": {"evidence": [{"kind": "lean", "name": "nothing_exists"}], "anchors": ["nothing"]},
    "author_claims": [{"author": "Ada Lovelace", "strength": "strong"}, {"author": "Emmy Noether", "strength": "weak"}],
    "inbound_citations": [{"citing_arxiv_id": "2602.00001", "ref_index": 3, "is_internal_anchor": True}],
    "events": [{"event_type": "citation_signature"}, {"event_type": "timestamp_anchor"}],
}


def generated() -> dict[str, bytes]:
    """Path below the root -> content."""
    real = ROOT / "fixtures" / "registry" / "seeds"
    seeds = {name: json.loads((real / f"{name}.metadata.json").read_bytes()) for name in _SEEDS}
    out = {f"fixtures/{path}": content for path, content in fixtures(seed=0, count=1)}
    ring = make_chain(0).ring.trusting(KeyRing.registry())
    out["keys/keyring.json"] = msgspec.json.format(ring.to_json(), indent=1) + b"\n"
    out["fixtures/checksums.json"] = json.dumps([checksum(*of) for of in CHECKED], indent=1).encode() + b"\n"
    out["fixtures/enrichment.json"] = json.dumps(ENRICHMENT, indent=1).encode() + b"\n"
    for metadata in seeds.values():
        name = f"{metadata['arxiv_id']}v{metadata['version']}"
        out[f"fixtures/metadata/{name}.json"] = json.dumps(metadata, indent=1, ensure_ascii=False).encode() + b"\n"
        out[f"fixtures/records/{name}.json"] = make_record(PaperMetadata(**metadata)).to_json() + b"\n"
    for name, content in vector_files(ROOT / "fixtures" / "registry").items():
        out[f"fixtures/vectors/{name}"] = content
    for name, content in schema_files().items():
        out[f"schemas/{name}"] = content
    out["docs/commands.md"] = commands_page().encode()
    return out


#: Seed, count and names of folders that are too large to keep: their checksums are kept instead.
CHECKED: tuple[tuple[int, int, list[str] | None], ...] = (
    (0, 1, None),
    (7, 3, None),
    (7, 1, ["single-field-changes"]),
    (2**63, 2, ["minimal", "everything"]),
)


def checksum(seed: int, count: int, names: list[str] | None) -> dict[str, Any]:
    """The SHA-256 of the manifest of a folder, which holds that of every file; whether they are right is looked at."""
    *files, (_, manifest) = fixtures(seed, count, names)
    named = {path: hashlib.sha256(content).hexdigest() for path, content in files}
    assert json.loads(manifest)["files"] == named
    return {"seed": seed, "count": count, "kinds": names, "manifest_sha256": hashlib.sha256(manifest).hexdigest()}


def commands_page() -> str:
    """The help of every command, as one page."""
    subcommands = {
        "keys": ("generate", "list", "show", "export", "import", "check", *MOVES),
        "store": STORE,
        "corpus": ("issue", "status", "export", "verify"),
        "fixtures": ("generate",),
        "vectors": ("check", "serve"),
    }
    names = [""]
    for name in COMMANDS:
        names += [name, *(f"{name} {sub}" for sub in subcommands.get(name, ()))]
    parts = ["# Commands", "Made from the program's own help by `make fixtures`."]
    for name in names:
        parts += [f"## pith-build {name}".rstrip(), f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def help_of(name: str) -> str:
    settings = os.environ | {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "pith_builder", *name.split(), "--help"]
    shown = subprocess.run(command, env=settings, check=True, capture_output=True).stdout.decode()
    return "\n".join(line.rstrip() for line in shown.strip("\n ").splitlines())


STORE = ("check", "stats", "migrate", "backup", "copy", "withdraw", "import")

MOVES = ("rotate", "sign", "retire", "revoke")

_SEEDS = ("2403.07648v2", "2407.14645v1")


def write(root: Path) -> None:
    for name, content in generated().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
