"""The conformance vectors: every rule's tests, and the files that they are published as (docs/vectors.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from pith_builder.testing.vectors import hashes, names, record_edges, rings, texts, verification_edges
from pith_builder.testing.vectors.model import Case, VectorFile, VectorTest, vector_file
from pith_builder.testing.vectors.real import Real
from pith_builder.testing.vectors.unicode_tables import unicode_file

__all__ = ["RULES", "VectorFile", "VectorTest", "vector_files"]


class Rule(NamedTuple):
    """Where a rule is told (docs/protocol.md), what its tests are about, and the tests."""

    section: str
    about: str
    cases: Callable[[Real], Iterable[Case]]


RULES: dict[str, Rule] = {
    "text": Rule("§1", "Canonical text of titles and abstracts, and its hash", texts.text),
    "authors": Rule("§4", "The published author list from arXiv's raw string", texts.authors),
    "excerpt": Rule("§4", "The published excerpt from arXiv's raw abstract", texts.excerpt),
    "arxiv-id": Rule("§2", "Reading arXiv identifiers as people paste them", names.arxiv_id),
    "canonical-json": Rule("§2", "Strict JSON, and the canonical form that is hashed", hashes.canonical_json),
    "number": Rule("§3", "Pith numbers from a digest, and from what people paste", names.number),
    "short-forms": Rule("§3", "Short number and aliases", names.short_forms),
    "transcription": Rule("§3", "The form for print and telephone, both ways", names.transcription),
    "snapshot": Rule("§5", "Hashes and counts of the sections of a graph snapshot", hashes.snapshot),
    "receipt": Rule("§6", "Whether a receipt is a key's over a digest", rings.receipt),
    "keyring": Rule("§9", "Reading key rings", rings.keyring),
    "rotation": Rule("§10", "What a verifier that pinned one ring trusts of another", rings.rotation),
    "record": Rule("§4", "Building a whole record, byte for byte", record_edges.record),
    "reissue": Rule("§6", "A new receipt for a record, byte for byte", record_edges.reissue),
    "verify": Rule("§11", "Which checks of a record fail", verification_edges.verify),
}


def vector_files(registry: Path) -> dict[str, bytes]:
    """File name -> content, from this code and the folder of real published records."""
    real = Real(registry)
    files = {
        f"{name}.json": vector_file(name, rule.section, rule.about, rule.cases(real)) for name, rule in RULES.items()
    }
    return files | {"unicode-14.0.json": unicode_file()}
