"""Broken documents: for every check of verification and every error that a document can raise, what fails there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from pith_builder.testing.chain import make_chain
from pith_builder.testing.operations import Situation, outcome


class Broken(NamedTuple):
    """A document that is broken for one operation, and what is at hand beside it.

    `breaks` is the name of the one check that fails, or the code of the error that is raised.
    """

    breaks: str
    about: str
    operation: str
    document: bytes
    metadata: bytes | None = None
    at: str | None = None
    asked: str | None = None

    def outcome(self, seed: int = 0) -> dict[str, Any]:
        """What our implementation makes of it: `report` or `error`."""
        return outcome(self.operation, self.document, Situation(make_chain(seed), self.metadata, self.at, self.asked))


def broken(seed: int = 0) -> Iterator[tuple[str, Broken]]:
    """All broken documents of a seed, with a name for each: what it breaks, and a number."""
    from pith_builder.testing.broken_documents import broken_documents
    from pith_builder.testing.broken_records import broken_records

    seen: Counter[str] = Counter()
    for case in (*broken_records(seed), *broken_documents(seed)):
        seen[case.breaks] += 1
        yield f"{case.breaks}-{seen[case.breaks]}", case


#: Codes that no document can raise, each with the reason.
NO_DOCUMENT: dict[str, str] = {
    "error": "the root of the tree, which is never raised itself",
    "invalid_input": "a family",
    "refused": "a family",
    "key_unusable": "a family",
    "storage_failed": "a family",
    "source_failed": "a family",
    "invalid_setting": "a setting of a machine",
    "unknown_command": "a command line",
    "not_found": "a paper that is nowhere",
    "ambiguous": "needs two records whose digests agree in 40 bits",
    "key_missing": "a private key that is not there",
    "key_locked": "a passphrase that is wrong",
    "key_unfit": "the state of a file, or of the key ring at the time of signing",
    "signer_failed": "a signer that stops signing",
    "no_evidence": "a store that has lost an earlier receipt",
    "record_differs": "a store that has the record with another content",
    "checkpoint_differs": "a run that is taken up with other files",
    "run_differs": "a corpus run that is taken up with another input, key or setting",
    "input_changed": "a snapshot that others write to while it is read",
    "too_many_rejects": "a limit that was given for a run",
    "file_failed": "the world around",
    "store_failed": "the world around",
    "target_differs": "a copy into a store that has something else",
    "source_unreachable": "the network",
    "source_refused": "the network",
    "source_throttled": "the network",
    "source_malformed": "an answer of arXiv's interfaces, which has forms of its own",
    "token_expired": "an answer of arXiv's interfaces",
    "invalid_manifest": "the manifest of a folder of many records",
    "worker_lost": "a process that was killed",
    "invalid_vectors": "a file of conformance vectors",
    "command_failed": "another implementation under test",
}
