"""Made-up enrichments: what is known around a made-up paper, section by section (DESIGN "Enrichment")."""

from __future__ import annotations

from typing import Any

from pith_builder.testing.made_up import Draw


def verdict(draw: Draw) -> dict[str, Any]:
    """A review: headline, verdict, and the three claims that come from it (PROTOCOL §5)."""
    said = {name: draw.sentence(name) for name in ("strongest_claim", "weakest_assumption", "one_line_summary")}
    kinds = enumerate(said, 1)
    return {
        "headline": draw.sentence("headline"),
        "verdict": {
            "id": f"TEST-verdict-{draw.n}",
            "model_set": {"reviewer": "TEST-model"},
            "created_at": "2026-01-02T00:00:00+00:00",
            **said,
        },
        "claims": [
            {
                "kind": kind,
                "text": said[kind],
                "source": f"verdict.{kind}",
                "status": "machine_extracted",
                "claim_id": f"C{i}",
                "attestation": "unclaimed",
            }
            for i, kind in kinds
        ],
    }


def findings(draw: Draw) -> dict[str, Any]:
    """Three detectors, two of which found something; all severities are there."""
    found = (
        ("doi_compliance", "advisory"),
        ("doi_compliance", "informational"),
        ("claim_evidence", "critical"),
        ("claim_evidence", "advisory"),
    )
    names = ("doi_compliance", "claim_evidence", "cited_work_retraction")
    count = {name: sum(detector == name for detector, _ in found) for name in names}
    return {
        "integrity": {
            "detectors_run": [
                {"name": name, "version": "1.0.0", "status": "completed", "findings_count": count[name]}
                for name in names
            ],
            "findings": [
                {"detector": detector, "severity": severity, "note": draw.sentence(f"finding {i}")}
                for i, (detector, severity) in enumerate(found)
            ],
        }
    }


def references(draw: Draw, *, unresolved: int = 0, count: int = 7) -> dict[str, Any]:
    """More references than the sample of five shows; the last `unresolved` are not resolved."""
    return {
        "references": [
            {
                "ref_index": i,
                "title": draw.sentence(f"reference {i}"),
                "resolved": i <= count - unresolved,
                "is_internal_anchor": i == 1,
            }
            for i in range(1, count + 1)
        ]
    }


def author_claims(draw: Draw, *strengths: str) -> dict[str, Any]:
    names = draw.names(len(strengths))
    return {
        "author_claims": [{"author": a, "strength": strength} for a, strength in zip(names, strengths, strict=True)]
    }


def formal(draw: Draw, count: int = 1) -> dict[str, Any]:
    evidence = [{"kind": "lean", "name": f"TEST.theorem_{draw.number(f'theorem {i}', 1000)}"} for i in range(count)]
    return {"formal_canon": {"evidence": evidence, "anchors": ["TEST.anchor"]}}


def citations(draw: Draw, count: int = 1) -> dict[str, Any]:
    return {
        "inbound_citations": [
            {
                "citing_arxiv_id": f"2512.{90_000 + draw.number(f'citing {i}', 10_000)}",
                "citing_title": draw.sentence(f"citation {i}"),
                "ref_index": 1 + draw.number(f"ref_index {i}", 60),
                "is_internal_anchor": i > 0,
            }
            for i in range(count)
        ]
    }


def events(*types: str) -> dict[str, Any]:
    return {"events": [{"event_type": t, "event_id": f"TEST-event-{i}"} for i, t in enumerate(types, 1)]}


def everything(draw: Draw) -> dict[str, Any]:
    """Every section, none of them empty."""
    return {
        **verdict(draw),
        **findings(draw),
        **references(draw),
        **formal(draw),
        **author_claims(draw, "strong", "weak"),
        **citations(draw, 2),
        **events("citation_signature", "replication_record", "timestamp_anchor", "storage_attestation"),
        "paper_claims": [{"claim": draw.sentence("paper claim")}],
    }


def astral_keys() -> dict[str, Any]:
    """Hashed rows whose keys are in another order by code points than by UTF-16 code units (PROTOCOL §2)."""
    return {"references": [{"\U00010000": "astral", "\ufb01": "ligature", "é": 1, "z": 2, "resolved": True}]}
