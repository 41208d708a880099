"""The files of a folder of fixtures, which follow from a seed to the byte."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec

from pith_builder import times
from pith_builder.metadata import PaperMetadata
from pith_builder.testing import changes, key_text
from pith_builder.testing.broken import Broken, broken
from pith_builder.testing.chain import NEXT, RETIRED, make_chain
from pith_builder.testing.kinds import KINDS, MAX_COUNT, Made, make
from pith_builder.testing.operations import OPERATIONS, shown
from pith_builder.verify import verify

#: Of the folder's layout and what is in its files; it moves when the files of a seed become others.
FIXTURES_VERSION = "1"

MANIFEST = "manifest.json"

#: What can be generated beside papers, and what it is for. Changes are many megabytes, so only who asks gets them.
BROKEN, CHANGES = "broken", "single-field-changes"
SETS = {
    BROKEN: "for every check and every error, documents that fail just there, each with what must come of it",
    CHANGES: "every field of a record altered, removed, of another type, or added, as JSON Lines; only by its name",
}
_CHANGED_KIND = "cited"

File = tuple[str, bytes]


class Part(NamedTuple):
    """Files that belong together, and the section and the entry of the manifest that tell of them."""

    files: list[File]
    section: str = ""
    entry: dict[str, Any] = {}


def all_names() -> dict[str, str]:
    """All names that can be generated, and what each is for."""
    return {name: kind.about for name, kind in KINDS.items()} | SETS


def default_names() -> tuple[str, ...]:
    """What is generated where no names are given."""
    return (*KINDS, BROKEN)


def nearest(name: str) -> str | None:
    """The name that is most like one that isn't known."""
    return next(iter(get_close_matches(name, all_names(), n=1)), None)


def fixtures(seed: int = 0, count: int = 1, names: Iterable[str] | None = None) -> Iterator[File]:
    """The files of a folder, each a path below it and its content, the manifest last.

    `count` papers (1 to 1000) of each kind in `names`, which may name sets as well; all kinds and the broken documents
    without any. Raises ValueError for another count, KeyError for a name that isn't known.
    """
    if not 1 <= count <= MAX_COUNT:
        raise ValueError(f"from 1 to {MAX_COUNT} papers of a kind, not {count}")
    chosen = set(default_names() if names is None else names)
    if unknown := sorted(chosen - all_names().keys()):
        raise KeyError(unknown[0])
    sums: dict[str, str] = {}
    sections: dict[str, list[dict[str, Any]]] = {"papers": [], "broken": [], "changes": []}
    for part in _parts(seed, count, chosen):
        if part.section:
            sections[part.section].append(part.entry)
        for path, content in part.files:
            sums[path] = hashlib.sha256(content).hexdigest()
            yield path, content
    head = {
        "fixtures_version": FIXTURES_VERSION,
        "seed": seed,
        "count": count,
        "kinds": {name: about for name, about in all_names().items() if name in chosen},
        "keyring": "keyring.json",
        "pins": "pins.json",
        "test_keys": _test_keys(seed),
        "operations": {name: operation.about for name, operation in OPERATIONS.items()},
    }
    yield _file(MANIFEST, head | sections | {"files": sums})


def _parts(seed: int, count: int, chosen: set[str]) -> Iterator[Part]:
    yield Part(_key_files(seed))
    for name in KINDS:
        if name in chosen:
            for n in range(1, count + 1):
                yield _paper(name, seed, n)
    if BROKEN in chosen:
        for name, case in broken(seed):
            yield _broken(name, case, seed)
    if CHANGES in chosen:
        for n in range(1, count + 1):
            yield _changes(seed, n)


def _key_files(seed: int) -> list[File]:
    chain = make_chain(seed)
    rings = [("keyring.json", chain.ring), ("pins.json", chain.pins)]
    statements = [(f"statements/{i}.json", statement) for i, statement in enumerate(chain.statements)]
    return [_file(path, what) for path, what in (*rings, *statements)]


def _test_keys(seed: int) -> dict[str, str]:
    """The id of each key of the ring, and the ASCII text whose SHA-256 is its seed."""
    chain, numbers = make_chain(seed), range(RETIRED, NEXT + 1)
    texts = {chain.signer(n).key_id: key_text(n, seed) for n in numbers}
    return texts | {chain.recovery.key_id: key_text("recovery", seed)}


def _paper(kind: str, seed: int, n: int) -> Part:
    name, made = f"{kind}-{n}", make(kind, seed, n)
    record = made.record.to_json() + b"\n"
    reports = _reports(kind, seed, made)
    written = {"record": (f"records/{name}.json", record), "metadata": _file(f"metadata/{name}.json", made.metadata)}
    if made.enrichment is not None:
        written["enrichment"] = _file(f"enrichments/{name}.json", made.enrichment)
    if len(reports) > 1:
        written["reports"] = _file(f"reports/{name}.json", reports)
    canonical = made.record.canonical_record
    entry = {
        "name": name,
        "kind": kind,
        "arxiv_id": canonical.source.id,
        "version": canonical.source.version,
        "pith_number": made.record.pith_number,
        "canonical_sha256": made.record.canonical_sha256,
        **{what: path for what, (path, _) in written.items()},
        "expected": [_outcome(report) for report in reports],
    }
    return Part(list(written.values()), "papers", entry)


def _reports(kind: str, seed: int, made: Made) -> list[dict[str, Any]]:
    """What verification says today, and what it says of the times that the kind asks about."""
    metadata = PaperMetadata(**made.metadata)
    return [
        {"at": None if at is None else times.seconds(at)}
        | shown(verify(made.record, make_chain(seed).ring, metadata, at))
        for at in (None, *KINDS[kind].asked_at)
    ]


def _outcome(report: dict[str, Any]) -> dict[str, Any]:
    failed = [check["name"] for check in report["checks"] if check["status"] == "failed"]
    return {"at": report["at"], "ok": report["ok"], "failed": failed}


def _broken(name: str, case: Broken, seed: int) -> Part:
    path = f"broken/{name}.json" if case.operation != "find" else f"broken/{name}.jsonl"
    beside = None if case.metadata is None else f"broken/{name}.metadata.json"
    entry = {
        "name": name,
        "breaks": case.breaks,
        "about": case.about,
        "operation": case.operation,
        "document": path,
        "metadata": beside,
        "at": case.at,
        "asked": case.asked,
    }
    written = [(path, case.document), _file(f"broken/{name}.report.json", entry | case.outcome(seed))]
    if beside is not None and case.metadata is not None:
        written.append((beside, case.metadata))
    return Part(written, "broken", entry)


def _changes(seed: int, n: int) -> Part:
    """All changes of a record, one a line; what verification makes of each is said beside it."""
    ring, lines, noticed = make_chain(seed).ring, [], 0
    for change in changes.changes(msgspec.json.decode(make(_CHANGED_KIND, seed, n).record.to_json())):
        outcome = changes.outcome(change.document, ring)
        noticed += outcome.noticed
        line = {
            "path": changes.exactly(change.path),
            "field": changes.field(change.path),
            "change": change.how,
            "noticed": outcome.noticed,
            "unknown_fields": outcome.unknown_fields,
            "document": change.document,
        }
        lines.append(msgspec.json.encode(line) + b"\n")
    path = f"changes/{CHANGES}-{n}.jsonl"
    entry = {"name": f"{CHANGES}-{n}", "changes": path, "lines": len(lines), "noticed": noticed}
    return Part([(path, b"".join(lines))], "changes", entry)


def _file(path: str, value: Any) -> File:
    return path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
