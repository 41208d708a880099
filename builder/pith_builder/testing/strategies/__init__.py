"""Hypothesis strategies for every public type. All they draw is valid by construction; damage is for the test to add.

They need the extra `testing`; the factories of `pith_builder.testing` do not. What they draw has the edges that the
protocol names: see `docs/testing.md`.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401  # asked for first, so that its absence is told in our words
except ModuleNotFoundError as error:
    if error.name != "hypothesis":
        raise
    raise ImportError(
        "pith_builder.testing.strategies needs hypothesis, of the extra `testing`: pip install 'pith-build[testing]'",
        name="hypothesis",
    ) from None

from pith_builder.testing.strategies.around import enrichments, json_values
from pith_builder.testing.strategies.keys import (
    KeyHistory,
    key_histories,
    keyrings,
    revocations,
    rotations,
    signers,
    statements,
)
from pith_builder.testing.strategies.papers import (
    arxiv_ids,
    canonical_records,
    categories,
    digests,
    licenses,
    metadata,
    papers,
    pith_numbers,
    provenances,
    short_numbers,
    submission_times,
)
from pith_builder.testing.strategies.records import (
    clocks,
    graph_snapshots,
    issuers,
    profiles,
    receipts,
    records,
    records_and_keyrings,
    reports,
)
from pith_builder.testing.strategies.texts import abstracts, author_lists, canonical_texts, texts, titles

__all__ = [
    "KeyHistory",
    "abstracts",
    "arxiv_ids",
    "author_lists",
    "canonical_records",
    "canonical_texts",
    "categories",
    "clocks",
    "digests",
    "enrichments",
    "graph_snapshots",
    "issuers",
    "json_values",
    "key_histories",
    "keyrings",
    "licenses",
    "metadata",
    "papers",
    "pith_numbers",
    "profiles",
    "provenances",
    "receipts",
    "records",
    "records_and_keyrings",
    "reports",
    "revocations",
    "rotations",
    "short_numbers",
    "signers",
    "statements",
    "submission_times",
    "texts",
    "titles",
]
