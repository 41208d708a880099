"""What several rules' tests are made from."""

from __future__ import annotations

import json
from typing import Any

#: An enrichment with every section.
ENRICHMENT: dict[str, Any] = {
    "headline": "A reviewed paper",
    "verdict": {
        "id": "TEST-verdict-1",
        "model_set": {"reviewer": "TEST-model", "a": 1},
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
    "paper_claims": ["It is a paper."],
}


def dumps(value: Any) -> str:
    """Compact JSON, as bytes that a test holds would be; what UTF-8 can't hold stays escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text
