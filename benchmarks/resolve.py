"""How long resolving takes in a store of a million made-up records, by each kind of alias, and how large the store is.

`python benchmarks/resolve.py --records 1000000 [--store URL]`; without `--store` in a SQLite file that is taken away.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import contextlib

import stored

from pith_builder import KeyRing, PithRecord, Provenance
from pith_builder.errors import NotFound
from pith_builder.store import Store
from pith_builder.store.database import writing
from pith_builder.store.resolve import resolve
from pith_builder.store.stats import stats
from pith_builder.store.store import insert_record

BATCH = 5_000
ROUNDS = 500

KINDS = {
    "arXiv id": lambda record: record.source.id,
    "arXiv id with version": lambda record: f"{record.source.id}v{record.source.version}",
    "DOI": lambda record: f"10.48550/arxiv.{record.source.id}",
    "pith number": lambda record: record.pith_number,
    "short 16": lambda record: record.number.short(16),
    "short 12": lambda record: record.number.short(12),
    "short 8": lambda record: record.number.short(8),
    "transcription": lambda record: record.number.transcription(),
    "URL": lambda record: record.links.html,
    "nothing": lambda record: f"{record.source.id}v7",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--store", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(options.store or f"sqlite:///{folder}/pith.db")
        sample = fill(store, options.records)
        size = stats(store, KeyRing.empty())
        print(f"{size.records} records, {size.bytes_per_record:.0f} bytes each")
        print(f"{'ms':24}{'median':>10}{'p99':>10}{'worst':>10}")
        for kind, alias in KINDS.items():
            took = sorted(timed(store, alias(record)) for record in sample)
            print(f"{kind:24}{statistics.median(took):10.3f}{took[len(took) * 99 // 100]:10.3f}{took[-1]:10.3f}")


def fill(store: Store, count: int) -> list[PithRecord]:
    """Issue the records into the store; gives some of them, in random order."""
    chance = random.Random(1)
    chosen = set(chance.sample(range(count), min(ROUNDS, count)))
    sample = []
    begun = time.perf_counter()
    records = enumerate(stored.made_up(count))
    for end in range(BATCH, count + BATCH, BATCH):
        with writing(store.engine) as connection:
            for n, record in itertools.islice(records, BATCH):
                insert_record(connection, record, None, Provenance("benchmark"), record.receipt.signed_at)
                if n in chosen:
                    sample.append(record)
        if end % (20 * BATCH) == 0:
            print(f"{end} records, {time.perf_counter() - begun:.0f} s", flush=True)
    chance.shuffle(sample)
    return sample


def timed(store: Store, alias: str) -> float:
    """Milliseconds for one alias, as the command resolves it in a store that is open."""
    begun = time.perf_counter()
    with contextlib.suppress(NotFound):
        resolve(store, alias)
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
