"""What is known of a paper from outside it: enrichments with every section, and the open rows in them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pith_builder.canonical import INTEGER_LIMIT
from pith_builder.enrichment import Enrichment, FormalCanonInput, IntegrityInput, Row, Verdict
from pith_builder.snapshot import SAMPLE_ROWS

#: The event types that a flag follows from (PROTOCOL §7), and others.
EVENT_TYPES = (
    *("citation_signature", "replication_record", "timestamp_anchor", "storage_attestation"),
    *("author_attestation", "withdrawn_by_author", "\u00e9v\u00e9nement"),
)
#: The kinds of claims that a verdict gives, C1 to C3 (PROTOCOL §5).
CLAIM_KINDS = ("strongest_claim", "weakest_assumption", "one_line_summary")
SEVERITIES = ("critical", "advisory", "informational")
_DETECTORS = ("doi_compliance", "citation_quote", "external_links", "\u00e9")

_strings = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
#: Keys that are sorted otherwise by code point, by UTF-16 and by length (PROTOCOL §2, §4).
_keys = st.sampled_from(["a", "b", "aa", "B", "\u00e9", "\ud7ff", "\ue000", "\uffee", "\U0001f600"]) | _strings


def json_values(*, floats: bool = False) -> SearchStrategy[Any]:
    """JSON values that have a canonical form (PROTOCOL §2); with floats, such as may stand where nothing is hashed."""
    scalars: SearchStrategy[Any] = (
        st.none() | st.booleans() | st.integers(-INTEGER_LIMIT + 1, INTEGER_LIMIT - 1) | _strings
    )
    if floats:
        scalars |= st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3), max_leaves=6
    )


def _rows(
    required: dict[str, SearchStrategy[Any]], optional: dict[str, SearchStrategy[Any]] | None = None, **size: Any
) -> SearchStrategy[list[Row]]:
    """Lists of open objects with these fields, before and after fields that nobody knows."""
    known = st.fixed_dictionaries(required, optional=optional or {})
    names = {*required, *(optional or {})}
    unknown = st.dictionaries(
        _keys.filter(lambda key: key not in names), json_values(floats=size.pop("floats", False)), max_size=2
    )
    row = st.builds(
        lambda fields, more, first: more | fields if first else fields | more, known, unknown, st.booleans()
    )
    return st.lists(row, **{"max_size": 3} | size)


def _claims() -> SearchStrategy[list[Row]]:
    return _rows(
        {"kind": st.sampled_from(CLAIM_KINDS), "text": _strings, "claim_id": st.sampled_from(["C1", "C2", "C3"])},
        {"status": st.just("machine_extracted"), "attestation": st.sampled_from(["unclaimed", "claimed"])},
    )


def _integrity() -> SearchStrategy[IntegrityInput]:
    detectors = st.sampled_from(_DETECTORS)
    run = _rows({"name": detectors}, {"version": st.just("1.0.0"), "findings_count": st.integers(0, 9)})
    findings = _rows({"detector": detectors, "severity": st.sampled_from(SEVERITIES)}, {"note": _strings}, max_size=5)
    return st.builds(IntegrityInput, run, findings)


def _verdicts() -> SearchStrategy[Row]:
    text = st.none() | _strings
    version = st.none() | _strings | st.integers(0, 9)
    known: dict[str, SearchStrategy[Any]] = dict.fromkeys(Verdict.__struct_fields__, text)
    known |= {"id": version, "pipeline_version": version}
    known["model_set"] = st.dictionaries(_keys, json_values(floats=True), max_size=2)
    return st.fixed_dictionaries({}, optional={**known, "x_reviewer": json_values(floats=True)})


def _inbound_citations() -> SearchStrategy[list[Row] | Row]:
    """The rows alone, or rows with the counts of more than are shown."""
    rows = _rows({}, {"is_internal_anchor": st.booleans(), "ref_index": st.integers(1, 99)}, floats=True)

    def counted(sample: list[Row], hidden: int, hidden_internal: int) -> Row:
        internal = sum(row.get("is_internal_anchor", False) for row in sample)
        count = {"count": len(sample) + hidden, "internal_anchor_count": internal + min(hidden, hidden_internal)}
        return {"sample": sample, **count}

    return rows | st.builds(counted, rows, st.integers(0, 9), st.integers(0, 9))


def enrichments() -> SearchStrategy[Enrichment]:
    """Enrichments of any sections, with open rows; no floats where rows are hashed; more rows than a sample shows."""
    flags = {"resolved": st.booleans(), "is_internal_anchor": st.booleans()}
    many = SAMPLE_ROWS + 2
    return st.builds(
        Enrichment,
        headline=_strings,
        verdict=_verdicts(),
        claims=_claims(),
        integrity=_integrity(),
        references=_rows({}, flags, max_size=many) | _rows({"resolved": st.just(True)}, min_size=1, max_size=many),
        formal_canon=st.builds(
            FormalCanonInput,
            _rows({}, {"kind": _strings}, max_size=many),
            st.lists(json_values(floats=True), max_size=2),
        ),
        author_claims=_rows({"strength": st.sampled_from(["weak", "strong"])}, {"author": _strings}),
        inbound_citations=_inbound_citations(),
        events=_rows({"event_type": st.sampled_from(EVENT_TYPES) | _strings}, floats=True, max_size=5),
        paper_claims=st.lists(json_values(floats=True), max_size=2),
    )
