"""pith-build: content-addressed, signed records of papers (pith numbers), built and checked offline.

PYTEST_DONT_REWRITE: the package comes with a pytest plugin, and pytest would warn a program that had loaded the package
before it that no assertions of it can be rewritten; it has none.
"""

from __future__ import annotations

from pith_builder.arxiv_id import ArxivId
from pith_builder.canonical import canonical_bytes
from pith_builder.enrichment import Enrichment
from pith_builder.errors import PithError
from pith_builder.issue import Issuer, needs_reissue, reissue
from pith_builder.keyring import KeyRing
from pith_builder.metadata import PaperMetadata, Provenance
from pith_builder.number import PithNumber
from pith_builder.published import PithRecord, Profile
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord, Paper, canonical_record
from pith_builder.rotation import follow
from pith_builder.signing import SeedSigner, Signer, fingerprint
from pith_builder.snapshot import GraphSnapshot
from pith_builder.text import CanonicalText, canonical_text, text_sha256
from pith_builder.verify import VerificationReport, verify

__all__ = [
    "ArxivId",
    "CanonicalRecord",
    "CanonicalText",
    "Enrichment",
    "GraphSnapshot",
    "Issuer",
    "KeyRing",
    "Paper",
    "PaperMetadata",
    "PithError",
    "PithNumber",
    "PithRecord",
    "Profile",
    "Provenance",
    "Receipt",
    "SeedSigner",
    "Signer",
    "VerificationReport",
    "canonical_bytes",
    "canonical_record",
    "canonical_text",
    "fingerprint",
    "follow",
    "needs_reissue",
    "reissue",
    "text_sha256",
    "verify",
]

__version__ = "0.1.0"
