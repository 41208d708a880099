"""What a worker of a cluster does: it takes the key from its own source, once, and issues shard after shard."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pith_builder import files
from pith_builder.arxiv_id import ArxivId
from pith_builder.corpus import table
from pith_builder.corpus.arrow import issue_batch
from pith_builder.corpus.cluster import parquet, parts
from pith_builder.corpus.cluster.inputs import InputFile, Shard
from pith_builder.corpus.cluster.parts import FileReject, Part
from pith_builder.corpus.cluster.reading import Reader, Rows
from pith_builder.corpus.repeats import entry
from pith_builder.corpus.table import pa
from pith_builder.errors import KeyUnfit, PithError
from pith_builder.published import Profile
from pith_builder.signers import Deferred, passphrases
from pith_builder.signers.active import KeySource
from pith_builder.signing import fingerprint

#: Where a worker finds the URI of its signer when it is told none.
KEY_VARIABLE = "PITH_KEY"


class Job(msgspec.Struct, frozen=True):
    """What every worker is told; neither a key nor a passphrase is in it. `run` is the name of the run."""

    folder: str
    run: str
    size: int
    inputs: list[InputFile]
    keys: KeySource
    key_fingerprint: str
    profile: Profile


class Worker:
    """A worker, as an engine calls it: with the number and shape of a shard, for the note on it or the error."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._signer: Deferred | None = None
        self._reader = Reader(job.inputs, job.size)

    def close(self) -> None:
        """Close what is open; the worker can go on all the same."""
        self._reader.close()

    def __call__(self, batch: pa.Table) -> pa.Table:
        """The answers to a batch with columns `n` and `shard`: `answer` holds a Part or a PithError, pickled."""
        answers = [pickle.dumps(self._answer(row["n"], row["shard"])) for row in batch.to_pylist()]
        return pa.table({"n": batch["n"], "answer": pa.array(answers, pa.binary())})

    def _answer(self, n: int, shard: bytes) -> Part | PithError:
        try:
            return self.work(n, msgspec.json.decode(shard, type=Shard))
        except PithError as error:
            return error

    def work(self, n: int, shard: Shard) -> Part:
        """Issue the n-th shard and write its files. Raises KeyUnusable, FileFailed, or WorkerLost."""
        job, folder = self._job, Path(self._job.folder)
        signer = self._opened()
        signer.confirm()
        parts.begin_attempt(folder, n)
        count = 0
        rejects: list[FileReject] = []
        entries: list[bytes] = []
        writer = parquet.NumbersWriter(folder / parts.table_name(n))
        try:
            for given in self._reader.read(shard):
                issued = issue_batch(given.batch, signer=signer.opened(), clock=_now, profile=job.profile)
                count += issued.num_rows
                writer.write(issued.filter(issued["error_code"].is_null()).select(table.SCHEMA.names))
                rejects += _rejects(given, issued)
                entries += _entries(given, issued)
            files.replace(folder / parts.rejects_name(n), b"".join(msgspec.json.encode(r) + b"\n" for r in rejects))
            files.replace(folder / parts.entries_name(n), b"".join(entries))
            writer.finish()
        finally:
            writer.discard()
        part = Part.of(folder, n, job.run, count, len(rejects))
        part.write(folder, n)
        parts.end_attempts(folder, n)
        return part

    def _opened(self) -> Deferred:
        if self._signer is None:
            keys = self._job.keys
            if keys.uri is None:
                keys = msgspec.structs.replace(keys, uri=os.environ.get(KEY_VARIABLE))
            signer = keys.signer(passphrases.of_worker, _now)
            if fingerprint(signer.public_key) != self._job.key_fingerprint:
                raise KeyUnfit("this worker's ring has another active key than the run", hint="share the ring")
            signer.opened()
            self._signer = signer
        return self._signer


def _rejects(given: Rows, issued: pa.RecordBatch) -> list[FileReject]:
    if issued["error_code"].null_count == issued.num_rows:
        return []
    reasons = zip(issued["error_code"].to_pylist(), issued["error_message"].to_pylist(), strict=True)
    return [
        FileReject(given.file, *given.place(n), given.claimed(n), code, reason)
        for n, (code, reason) in enumerate(reasons)
        if code is not None
    ]


def _entries(given: Rows, issued: pa.RecordBatch) -> Iterator[bytes]:
    """What is left of each paper for finding rows that repeat it."""
    columns = [issued[name].to_pylist() for name in ("canonical_sha256", "arxiv_id", "version")]
    for n, (digest, name, version) in enumerate(zip(*columns, strict=True)):
        if digest is not None:
            line, offset = given.place(n)
            yield entry(bytes.fromhex(digest), ArxivId(name, version), line, offset or 0)


def _now() -> datetime:
    return datetime.now(UTC)
