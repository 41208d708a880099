"""A good record that can be had in many variants, to be broken."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Any

import msgspec

from pith_builder.enrichment import Enrichment
from pith_builder.issue import Issuer
from pith_builder.metadata import PaperMetadata
from pith_builder.published import DEFAULT_PROFILE, PithRecord, Surroundings, assemble
from pith_builder.receipt import sign_receipt
from pith_builder.record import CanonicalRecord, Paper, canonical_record
from pith_builder.signing import SeedSigner
from pith_builder.snapshot import build_snapshot
from pith_builder.testing import FrozenClock
from pith_builder.testing.chain import ACTIVE, make_chain
from pith_builder.testing.kinds import NOW, make
from pith_builder.testing.made_up import Draw
from pith_builder.times import receipt_time, record_time

Document = dict[str, Any]

#: Between two clock readings of an issue.
STEP = timedelta(seconds=1)


class Plain:
    """A good record, and good ones that differ from it, to be broken."""

    def __init__(self, seed: int) -> None:
        self.chain = make_chain(seed)
        self.draw = Draw(seed, "broken", 1)
        self.raw = make("minimal", seed).metadata
        self.record = self.issued()

    def issued(
        self,
        around_it: Document | None = None,
        *,
        signer: SeedSigner | None = None,
        at: datetime = NOW.at,
        **changes: Any,
    ) -> Document:
        """A record of the paper, or of one that differs in some fields of its metadata."""
        metadata = PaperMetadata(**self.raw | changes)
        enrichment = None if around_it is None else Enrichment.from_json(msgspec.json.encode(around_it))
        issuer = Issuer(signer or self.chain.signer(ACTIVE), clock=FrozenClock(at, STEP))
        return _document(issuer.issue(metadata, enrichment))

    def of_canonical(self, *, source: Document | None = None, metadata: Document | None = None) -> Document:
        """A record that is right in all but its canonical record, in which some fields are others."""
        paper = PaperMetadata(**self.raw)
        right = msgspec.to_builtins(canonical_record(paper))
        right["source"] |= source or {}
        right["metadata"] |= metadata or {}
        canonical = msgspec.convert(right, CanonicalRecord)
        time, version = NOW.at, DEFAULT_PROFILE.builder_version
        block = Paper.of(paper, canonical)
        receipt = sign_receipt(
            canonical.digest(),
            self.chain.signer(ACTIVE),
            first_computed_at=receipt_time(time),
            last_reissued_at=receipt_time(time),
            signed_at=time,
            builder_version=version,
        )
        return _document(
            assemble(
                canonical,
                block,
                build_snapshot(block, canonical, None, version),
                receipt,
                Surroundings.of(None),
                base_url=DEFAULT_PROFILE.base_url,
                created_at=record_time(time),
                updated_at=record_time(time),
            )
        )


def edited(record: Document, **places: Any) -> Document:
    """A copy with other values at places, as `receipt__key_id="x"`; `paper` is changed in both its places."""
    out = copy.deepcopy(record)
    for place, value in places.items():
        *parents, last = place.split("__")
        for root in [out, out["graph_snapshot"]] if parents[:1] == ["paper"] else [out]:
            target: Any = root
            for name in parents:
                target = target[int(name) if name.isdigit() else name]
            target[last] = value
    return out


def _document(record: PithRecord) -> Document:
    document: Document = msgspec.json.decode(record.to_json())
    return document
