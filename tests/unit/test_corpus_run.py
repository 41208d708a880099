"""A corpus run, in one process: what becomes of the rows, and that a run goes on behind every checkpoint."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import Enrichment, Issuer, Profile, Provenance, canonical_record, verify
from pith_builder.corpus import into_store as into_store_module
from pith_builder.corpus import run as run_module
from pith_builder.corpus import snapshot as snapshot_module
from pith_builder.corpus.beside import Beside
from pith_builder.corpus.checkpoint import Checkpoint, CheckpointDiffers, Counts, RunSettings
from pith_builder.corpus.into_folder import CHECKPOINT, IntoFolder
from pith_builder.corpus.into_store import IntoStore, newest_run
from pith_builder.corpus.manifest import Manifest
from pith_builder.corpus.merging import Merging
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.corpus.run import Interrupted, Run, TooManyRejects
from pith_builder.corpus.snapshot import InputChanged, opened
from pith_builder.corpus.spool import Spool
from pith_builder.corpus.work import work
from pith_builder.errors import FileFailed, InvalidMetadata, StoreFailed
from pith_builder.sources.papers import read_paper
from pith_builder.store import Store, bulk, runs
from pith_builder.store.database import reading, writing
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_signer
from pith_builder.testing.corpus import rows
from pith_builder.times import parse_receipt_time, receipt_time

SIGNER = make_signer()
PROFILE = Profile()
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of about six rows, batches of two chunks, and two batches that go into the tables together."""
    monkeypatch.setattr(snapshot_module, "CHUNK", 10_000)
    monkeypatch.setattr(run_module, "CHUNK", 10_000)
    monkeypatch.setattr(run_module, "BATCH", 2)
    monkeypatch.setattr(into_store_module, "MERGE", 40_000)


class Corpus:
    """An input, where its papers go, and the clock of the runs, a day later each time."""

    def __init__(self, folder: Path, store_url: str | None) -> None:
        self.file = folder / "snapshot.jsonl"
        self.rejects = folder / "rejects.jsonl" if store_url else folder / "out" / "rejects.jsonl"
        self.repeats = self.rejects.with_name("repeats.jsonl")
        self.receipts = folder / "out" / "receipts.jsonl"
        self.folder = folder / "out"
        self.store = None if store_url is None else Store(store_url)
        self.clock = FrozenClock(START + 365 * DAY, step=timedelta(milliseconds=1))
        self.checkpoint: Checkpoint

    def write(self, *lines: bytes) -> None:
        self.file.write_bytes(b"".join(lines))

    def run(
        self,
        *,
        restart: bool = False,
        steps: int | None = None,
        signer: Any = SIGNER,
        profile: Profile = PROFILE,
        name: str | None = None,
        **options: Any,
    ) -> Counts:
        """Run, or go on; only for the first `steps` steps where they are given."""
        self.clock.now += DAY
        with opened(name or str(self.file)) as source:
            target: Any = (
                IntoFolder(self.folder) if self.store is None else IntoStore(self.store, signer, profile, self.clock)
            )
            time = receipt_time(self.clock())
            settings = RunSettings.of(signer, profile)
            fresh = Checkpoint(source.name, source.identity, settings, str(self.rejects), time, time, time)

            def results(chunks: Iterator[Any]) -> Iterator[Any]:
                return ((c, work(c, signer, profile, self.clock, target.shape, source.name)) for c in chunks)

            try:
                begun = target.begin(fresh, restart=restart)
                run = Run(source, target, results, begun, self.clock, **options)
                for _ in itertools.islice(run.go(), steps):
                    pass
            finally:
                target.close()
        self.checkpoint = run.checkpoint
        return run.checkpoint.counts

    def numbers(self) -> set[str]:
        if self.store is not None:
            return {record.pith_number for record in self.records()}
        return {line.pith_number for line in self.lines()}

    def records(self) -> list[Any]:
        assert self.store is not None
        with reading(self.store.engine) as connection:
            ids = connection.exec_driver_sql("SELECT suffix FROM records ORDER BY suffix").scalars().all()
        return [self.store.get(suffix).record for suffix in ids]

    def lines(self) -> list[NumberedReceipt]:
        return [msgspec.json.decode(line, type=NumberedReceipt) for line in self.receipts.read_bytes().splitlines()]


@pytest.fixture
def into_store(tmp_path: Path, store_url: str) -> Corpus:
    return Corpus(tmp_path, store_url)


@pytest.fixture
def into_folder(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path, None)


@pytest.fixture(params=["sqlite", "folder"])
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Corpus:
    """A corpus into either kind of target."""
    return Corpus(tmp_path, f"sqlite:///{tmp_path / 'pith.db'}" if request.param == "sqlite" else None)


def own(**changes: Any) -> bytes:
    """A row in our own form."""
    return msgspec.json.encode(make_metadata(**changes)) + b"\n"


def row(n: int = 0, **changes: Any) -> bytes:
    """A row of the snapshot, with other values in some fields."""
    return json.dumps(json.loads(next(rows(1, start=n))) | changes).encode() + b"\n"


def numbers_of(lines: list[bytes]) -> set[str]:
    return {str(canonical_record(read_paper(line).metadata).number()) for line in lines}


# --- what becomes of the rows ---------------------------------------------------------------------------------


def test_every_row_is_issued_as_the_issuer_does_it(into_store: Corpus) -> None:
    lines = list(rows(40))
    into_store.write(*lines)
    assert into_store.run() == Counts(rows=40, issued=40)
    for line in lines:
        paper = read_paper(line)
        metadata = paper.metadata
        assert into_store.store is not None
        stored = into_store.store.get(str(metadata.id))
        signed_at = parse_receipt_time(stored.record.receipt.signed_at)
        assert signed_at is not None
        assert stored.record == Issuer(SIGNER, PROFILE, FrozenClock(signed_at)).issue(metadata)
        assert verify(stored.record, make_keyring(SIGNER), metadata).ok
        assert stored.provenance.source == "snapshot:snapshot.jsonl"
        assert (stored.provenance.source_time or "")[:10] == paper.update_date


def test_every_row_gives_a_line_of_number_and_receipt(into_folder: Corpus) -> None:
    lines = list(rows(40))
    into_folder.write(*lines)
    assert into_folder.run() == Counts(rows=40, issued=40)
    for line, found in zip(lines, into_folder.lines(), strict=True):
        metadata = read_paper(line).metadata
        record = canonical_record(metadata)
        assert (found.canonical_record, found.pith_number) == (record, str(record.number()))
        assert (found.arxiv_id, found.version) == (metadata.arxiv_id, metadata.version)
        assert found.receipt.is_signed_by(SIGNER.public_key, record.digest())
        assert found.receipt.signed_at[:-1] == found.created_at[:-6]


def test_a_finished_folder_has_a_manifest_and_nothing_unfinished(into_folder: Corpus) -> None:
    into_folder.write(*rows(20))
    into_folder.run()
    manifest = Manifest.read(into_folder.folder)
    assert (manifest.form, manifest.records, manifest.rejects) == ("receipts", 20, 0)
    names = sorted(path.name for path in into_folder.folder.iterdir())
    assert names == [CHECKPOINT, "manifest.json", "receipts.jsonl", "rejects.jsonl", "repeats.jsonl"]


def test_rows_of_our_own_form_are_issued_too(corpus: Corpus) -> None:
    corpus.write(own(), own(arxiv_id="2601.00002"))
    assert corpus.run() == Counts(rows=2, issued=2)


def test_rows_that_give_no_record_are_listed_and_the_run_goes_on(corpus: Corpus) -> None:
    good = row(1)
    corpus.write(b'{"id": "2601.00001", \n', good, b"[1]\n", row(2, license=5), b"\n", row(3, id="nonsense"))
    assert corpus.run() == Counts(rows=5, issued=1, rejected=4)
    rejects = [json.loads(line) for line in corpus.rejects.read_bytes().splitlines()]
    assert [(r["line"], r["code"], r["id"], r["field"]) for r in rejects] == [
        (1, "invalid_json", None, ""),
        (3, "invalid_metadata", None, ""),
        (4, "invalid_metadata", read_paper(row(2)).metadata.arxiv_id, "license"),
        (6, "invalid_metadata", None, "arxiv_id"),
    ]
    data = corpus.file.read_bytes()
    for reject in rejects:
        assert data[: reject["offset"]].count(b"\n") == reject["line"] - 1
        assert reject["reason"]


def test_an_unknown_licence_is_a_reject(corpus: Corpus) -> None:
    value = json.loads(row(1))
    del value["license"]
    corpus.write(json.dumps(value).encode() + b"\n", row(2))
    assert corpus.run().rejected == 1
    assert json.loads(corpus.rejects.read_bytes())["code"] == "license_unknown"


@pytest.mark.parametrize("content", [b"", b"\n \n\n"])
def test_an_input_without_any_row_is_an_error(corpus: Corpus, content: bytes) -> None:
    corpus.write(content)
    with pytest.raises(InvalidMetadata, match="no paper"):
        corpus.run()


def test_too_many_rejects_stop_the_run_which_can_go_on(corpus: Corpus) -> None:
    lines = [line for good in rows(40) for line in (good, b"{}\n")]
    corpus.write(*lines)
    with pytest.raises(TooManyRejects, match="no more than 5 were allowed"):
        corpus.run(max_rejects=5)
    assert corpus.run(max_rejects=40) == Counts(rows=80, issued=40, rejected=40)


# --- the same number again ----------------------------------------------------------------------------------------


def test_a_second_run_changes_nothing(into_store: Corpus) -> None:
    into_store.write(*rows(40))
    into_store.run()
    before = into_store.records()
    assert into_store.run() == Counts(rows=40, stored=40)
    assert into_store.records() == before


def test_a_newer_snapshot_issues_what_is_new_or_changed(into_store: Corpus) -> None:
    into_store.write(*rows(20))
    into_store.run()
    lines = list(rows(22))
    lines[3] = row(3, authors="Ada Lovelace", update_date="2026-11-01")
    lines[4] = row(4, title="Another Title Altogether", update_date="2026-11-01")
    lines[5] = row(5, update_date="2026-11-02")
    into_store.write(*lines)
    assert into_store.run() == Counts(rows=22, issued=3, updated=1, stored=18)
    assert into_store.store is not None
    changed = into_store.store.get(read_paper(lines[3]).metadata.arxiv_id)
    assert changed.record.paper.authors_text == "Ada Lovelace"
    assert changed.record.updated_at > changed.record.created_at
    said_again = into_store.store.get(read_paper(lines[5]).metadata.arxiv_id)
    with reading(into_store.store.engine) as connection:
        said_at = "SELECT said_at FROM records WHERE suffix = '" + said_again.record.number.suffix + "'"
        assert connection.exec_driver_sql(said_at).scalar() == "2026-11-02T00:00:00Z"


def test_an_older_snapshot_takes_no_newer_description_away(into_store: Corpus) -> None:
    into_store.write(row(1, authors="Ada Lovelace", update_date="2026-11-01"))
    into_store.run()
    into_store.write(row(1, authors="Nobody", update_date="2026-10-01"))
    assert into_store.run() == Counts(rows=1, stored=1)
    assert [record.paper.authors_text for record in into_store.records()] == ["Ada Lovelace"]


def test_an_enrichment_in_the_store_stays(into_store: Corpus) -> None:
    line = row(1)
    metadata = read_paper(line).metadata
    assert into_store.store is not None
    review = Enrichment.from_json('{"headline":"Reviewed"}')
    issuer = Issuer(SIGNER, PROFILE, into_store.clock)
    before = into_store.store.issue(metadata, Provenance("test", "2020-01-01T00:00:00Z"), issuer, review).record
    into_store.write(line, row(2))
    assert into_store.run() == Counts(rows=2, issued=1, stored=1)
    assert into_store.store.get(str(metadata.id)).record == before


@pytest.mark.parametrize("between", [0, 40])
def test_of_rows_with_one_number_the_last_wins(into_store: Corpus, between: int) -> None:
    """In one batch or in two, and whatever the rows say of their time."""
    lines = [
        row(1, authors="Grace Hopper", update_date="2026-11-01"),
        *itertools.islice(rows(50, start=10), between),
        row(1, authors="Emmy Noether", update_date="2026-10-01"),
    ]
    into_store.write(*lines)
    assert into_store.run() == Counts(rows=between + 2, issued=between + 1, updated=1, repeated=1)
    assert into_store.store is not None
    found = into_store.store.get(read_paper(lines[0]).metadata.arxiv_id).record
    assert found.paper.authors_text == "Emmy Noether"
    repeat = json.loads(into_store.repeats.read_bytes())
    assert (repeat["line"], repeat["first_line"], repeat["code"]) == (between + 2, 1, "repeated_row")
    assert repeat["number"] == f"pith:{found.number.suffix}"


@pytest.mark.parametrize("between", [0, 40])
def test_what_another_source_says_meanwhile_is_no_row_of_the_input(into_store: Corpus, between: int) -> None:
    """A daily sync may put a paper in while a run is under way; its description is newer than that of the snapshot."""
    line = row(1, authors="Grace Hopper", update_date="2026-10-01")
    metadata = read_paper(row(1, authors="Emmy Noether")).metadata
    into_store.write(*itertools.islice(rows(50, start=10), between), row(2), line)
    into_store.run(steps=1 if between else 0)
    assert into_store.store is not None
    into_store.clock.now += DAY
    issuer = Issuer(SIGNER, PROFILE, into_store.clock)
    live = Provenance("oai:oaipmh.arxiv.org", "2026-12-01T00:00:00Z", "2027-06-01T00:00:00Z")
    newer = into_store.store.issue(metadata, live, issuer).record
    assert into_store.run() == Counts(rows=between + 2, issued=between + 1, stored=1)
    assert into_store.store.get(str(metadata.id)).record == newer


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_what_others_have_changed_since_the_run_looked_is_compared(
    into_store: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row says again what the store had, and another writer has put in something older than the row, or newer."""
    lines = [row(n, authors="Grace Hopper", update_date="2026-09-01") for n in (1, 2)]
    into_store.write(*lines)
    into_store.run()
    into_store.write(*(row(n, authors="Grace Hopper", update_date="2026-11-01") for n in (1, 2)))
    store, lock = into_store.store, bulk.lock
    assert store is not None
    papers = [read_paper(line).metadata for line in lines]
    says = ["2026-10-01T00:00:00Z", "2026-12-01T00:00:00Z"]

    def locked_late(*arguments: Any) -> None:
        for paper, said_at in zip(papers, says, strict=True):
            changed = msgspec.structs.replace(paper, authors="Emmy Noether")
            assert store.issue(changed, Provenance("test", said_at), Issuer(SIGNER, PROFILE, into_store.clock))
        lock(*arguments)

    monkeypatch.setattr(bulk, "lock", locked_late)
    into_store.run()
    found = [store.get(str(paper.id)) for paper in papers]
    assert [one.record.paper.authors_text for one in found] == ["Grace Hopper", "Emmy Noether"]
    with reading(store.engine) as connection:
        said = set(connection.exec_driver_sql("SELECT said_at FROM records").scalars())
    assert said == {"2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"}


@pytest.mark.parametrize("between", [0, 40])
def test_of_rows_with_one_number_only_the_last_one_has_a_line(into_folder: Corpus, between: int) -> None:
    repeated, others = row(1), list(itertools.islice(rows(50, start=10), between))
    into_folder.write(repeated, *others, repeated, row(2), repeated)
    assert into_folder.run() == Counts(rows=between + 4, issued=between + 2, stored=2, repeated=2)
    numbers = [line.pith_number for line in into_folder.lines()]
    assert len(set(numbers)) == len(numbers) == Manifest.read(into_folder.folder).records
    assert numbers[-1] == min(numbers_of([repeated]))


def test_a_second_run_leaves_what_the_last_row_said(into_store: Corpus) -> None:
    into_store.write(row(1, authors="Grace Hopper"), *rows(50, start=10), row(1, authors="Emmy Noether"))
    into_store.run()
    before = into_store.records()
    for _ in range(2):
        assert into_store.run() == Counts(rows=52, stored=52, repeated=1)
        assert into_store.records() == before


def test_an_input_that_came_to_nothing_keeps_no_other_away(corpus: Corpus) -> None:
    corpus.write(b"")
    with pytest.raises(InvalidMetadata):
        corpus.run()
    corpus.write(*rows(3))
    assert corpus.run() == Counts(rows=3, issued=3)


def test_one_version_described_twice_is_reported_and_both_are_issued(corpus: Corpus) -> None:
    one, other = row(1), row(1, title="Another Title Altogether")
    corpus.write(one, row(2), other)
    assert corpus.run() == Counts(rows=3, issued=3, repeated=1)
    repeat = json.loads(corpus.repeats.read_bytes())
    assert (repeat["line"], repeat["first_line"], repeat["code"]) == (3, 1, "conflicting_metadata")
    assert corpus.numbers() == numbers_of([one, row(2), other])


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_what_others_put_in_since_the_run_looked_is_compared(
    into_store: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    into_store.write(*rows(10))
    into_store.run()
    monkeypatch.setattr(bulk, "known", lambda *_: {})
    into_store.write(*rows(9), row(9, authors="Ada Lovelace", update_date="2026-12-01"), row(10))
    assert into_store.run() == Counts(rows=11, issued=1, updated=1, stored=9)


# --- going on -----------------------------------------------------------------------------------------------------


def stored(corpus: Corpus) -> Any:
    """What a run leaves, but for the times."""
    notes = (corpus.rejects.read_bytes(), corpus.repeats.read_bytes())
    if corpus.store is None:
        return [(line.pith_number, line.receipt.signature_b64) for line in corpus.lines()], notes
    with reading(corpus.store.engine) as connection:
        found = connection.exec_driver_sql(
            "SELECT records.id, suffix, paper, snapshot, canonical, said_at, record_id, receipts.id "
            "FROM records JOIN receipts ON record_id = records.id ORDER BY receipts.id"
        )
        return [tuple(one) for one in found], [record.receipt.signature_b64 for record in corpus.records()], notes


def damaged_corpus() -> list[bytes]:
    lines = list(rows(60))
    lines[7:7] = [b"not json\n"]
    lines[30:30] = [row(2, authors="Ada Lovelace"), b"{}\n"]
    lines.append(lines[11])
    return lines


@pytest.mark.parametrize("kind", ["sqlite", "folder"])
def test_a_run_that_stops_behind_any_batch_ends_as_one_that_never_did(tmp_path: Path, kind: str) -> None:
    def made(name: str) -> Corpus:
        (tmp_path / name).mkdir()
        corpus = Corpus(tmp_path / name, f"sqlite:///{tmp_path / name}/pith.db" if kind == "sqlite" else None)
        corpus.write(*damaged_corpus())
        return corpus

    undisturbed = made("undisturbed")
    counts = undisturbed.run()
    assert (counts.rows, counts.rejected, counts.repeated) == (64, 2, 2)
    for steps in (1, 2, 3):
        corpus = made(f"stopped after {steps}")
        corpus.run(steps=steps)
        assert 0 < corpus.checkpoint.counts.rows < 64
        for _ in range(20):
            if corpus.checkpoint.finished_at:
                break
            corpus.run(steps=steps)
        assert corpus.checkpoint.counts == counts
        assert stored(corpus) == stored(undisturbed)


def test_a_merge_that_was_under_way_is_done_again(into_store: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a kill: what came in while it was under way is in the spool behind."""
    into_store.write(*damaged_corpus())
    assert into_store.store is not None

    def interrupted(*_: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Merging, "merge", interrupted)
        with pytest.raises(RuntimeError):
            into_store.run()
    told = newest_run(into_store.store)
    assert told is not None
    assert told.counts.rows > 20
    assert into_store.numbers() == set()
    monkeypatch.setattr(into_store_module, "MERGE", 10**9)
    assert into_store.run() == Counts(rows=64, issued=60, updated=1, stored=1, rejected=2, repeated=2)
    assert len(into_store.numbers()) == 60


def test_what_is_in_the_tables_is_kept_in_no_memory(into_store: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Watched(Spool):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            made.append(self)

    monkeypatch.setattr(into_store_module, "Spool", Watched)
    into_store.write(*rows(150))
    into_store.run()
    assert len(made) > 3
    assert [len(spool) for spool in made] == [0] * len(made)


def test_files_of_a_run_into_another_store_are_not_taken(tmp_path: Path) -> None:
    one, other = (Corpus(tmp_path, f"sqlite:///{tmp_path / name}") for name in ("one.db", "other.db"))
    other.clock.now += DAY / 2
    one.write(*rows(60))
    one.run(steps=1)
    with pytest.raises(FileFailed, match="into another store has stopped") as refused:
        other.run()
    assert "--rejects" in refused.value.hint
    assert one.run() == Counts(rows=60, issued=60)
    assert other.run() == Counts(rows=60, issued=60)


def test_a_store_that_was_put_back_is_filled_again(tmp_path: Path) -> None:
    """From a backup: what the files beside the rejects say is of a later state."""
    corpus = Corpus(tmp_path, f"sqlite:///{tmp_path / 'pith.db'}")
    corpus.write(*rows(100))
    corpus.run(steps=4)
    with closing(sqlite3.connect(tmp_path / "pith.db")) as now, closing(sqlite3.connect(tmp_path / "then.db")) as then:
        now.backup(then)
        corpus.run(steps=4)
        then.backup(now)
    assert corpus.run() == Counts(rows=100, issued=100)
    assert corpus.store is not None
    assert corpus.store.count() == 100


def test_what_was_written_behind_the_checkpoint_is_cut_back(corpus: Corpus) -> None:
    corpus.write(*damaged_corpus())
    corpus.run(steps=1)
    for path in corpus.rejects.parent.rglob("*.partial"):
        with path.open("ab") as file:
            file.write(b"left by a kill")
    corpus.run()
    assert len(corpus.rejects.read_bytes().splitlines()) == corpus.checkpoint.counts.rejected == 2
    assert len(corpus.numbers()) == 60


def test_a_stop_that_is_asked_for_ends_behind_a_batch(corpus: Corpus) -> None:
    corpus.write(*damaged_corpus())
    with pytest.raises(Interrupted):
        corpus.run(stop=lambda: True)
    assert corpus.run().rows == 64


@pytest.mark.parametrize("step", ["find_repeats", "finish", "clear"])
def test_an_end_that_was_interrupted_is_done_again(corpus: Corpus, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.write(*damaged_corpus())
    with monkeypatch.context() as patch:
        patch.setattr(Beside, step, _killed)
        with pytest.raises(RuntimeError):
            corpus.run()
    corpus.run()
    assert corpus.checkpoint.finished_at
    assert len(corpus.numbers()) == 60
    assert len(corpus.rejects.read_bytes().splitlines()) == 2
    assert not list(corpus.rejects.parent.glob("*.partial")) + list(corpus.rejects.parent.glob(".*.partial"))


def _killed(*_: Any, **__: Any) -> None:
    raise RuntimeError


def test_another_input_is_refused_while_a_run_is_unfinished(corpus: Corpus) -> None:
    corpus.write(*rows(40))
    corpus.run(steps=1)
    corpus.write(*rows(41))
    with pytest.raises(CheckpointDiffers, match="changed since then") as refused:
        corpus.run()
    assert "--restart" in refused.value.hint
    assert corpus.run(restart=True).rows == 41
    assert len(corpus.numbers()) == 41


@pytest.mark.parametrize(
    ("changed", "what"),
    [({"signer": make_signer(2)}, "key_id"), ({"profile": Profile(base_url="https://else.example")}, "base_url")],
)
def test_another_key_or_setting_is_refused_while_a_run_is_unfinished(
    corpus: Corpus, changed: dict[str, Any], what: str
) -> None:
    corpus.write(*rows(40))
    corpus.run(steps=1)
    with pytest.raises(CheckpointDiffers, match=f"has {what} ") as refused:
        corpus.run(**changed)
    assert "--restart" in refused.value.hint
    corpus.run()
    assert corpus.checkpoint.counts == Counts(rows=40, issued=40)


def test_a_moved_input_is_known_again(corpus: Corpus, tmp_path: Path) -> None:
    corpus.write(*rows(40))
    corpus.run(steps=1)
    corpus.file.rename(tmp_path / "elsewhere.jsonl")
    assert corpus.run(name=str(tmp_path / "elsewhere.jsonl")) == Counts(rows=40, issued=40)


def test_an_input_that_grows_while_it_is_read_is_an_error(corpus: Corpus) -> None:
    corpus.write(*rows(40))

    def grow() -> bool:
        with corpus.file.open("ab") as file:
            file.write(b"{}\n")
        return False

    with pytest.raises(InputChanged):
        corpus.run(stop=grow)


def test_how_far_a_run_is_can_be_told_while_it_goes_on(into_store: Corpus) -> None:
    assert into_store.store is not None
    assert newest_run(into_store.store) is None
    into_store.write(*damaged_corpus())
    into_store.run(steps=1)
    told = newest_run(into_store.store)
    assert told is not None
    assert told.place == into_store.checkpoint.place
    assert (told.counts.rows, told.counts.rejected) == (into_store.checkpoint.counts.rows, 1)
    into_store.run()
    told = newest_run(into_store.store)
    assert told is not None
    assert (told.finished_at is not None, told.counts) == (True, into_store.checkpoint.counts)


def test_a_run_that_was_given_up_elsewhere_ends(into_store: Corpus) -> None:
    into_store.write(*rows(100))
    assert into_store.store is not None
    engine = into_store.store.engine

    def given_up() -> bool:
        runs.begin(engine, b"{}", "2027-01-01T00:00:00.000000Z")
        return True

    with pytest.raises(StoreFailed, match="another process"):
        into_store.run(stop=given_up)


def test_two_processes_never_go_on_with_one_run(corpus: Corpus) -> None:
    corpus.write(*rows(40))

    def other() -> bool:
        corpus.run()
        return False

    with pytest.raises((FileFailed, StoreFailed), match=r"another (run|process)"):
        corpus.run(stop=other)


def test_a_finished_folder_is_left_as_it_is(into_folder: Corpus) -> None:
    into_folder.write(*rows(20))
    into_folder.run()
    before = into_folder.receipts.stat().st_mtime_ns
    assert into_folder.run() == Counts(rows=20, issued=20)
    assert into_folder.receipts.stat().st_mtime_ns == before
    into_folder.write(*rows(21))
    for restart in (False, True):
        with pytest.raises(FileFailed, match="finished run"):
            into_folder.run(restart=restart)


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"{}\n")])
def test_a_finished_folder_that_lost_its_lines_is_told(into_folder: Corpus, damage: Callable[[Path], Any]) -> None:
    into_folder.write(*rows(20))
    into_folder.run()
    damage(into_folder.receipts)
    with pytest.raises(FileFailed, match=r"receipts\.jsonl: (can't look at the file|it was altered)"):
        into_folder.run()


def test_a_finished_folder_whose_checkpoint_was_altered_is_not_given_up(into_folder: Corpus) -> None:
    into_folder.write(*rows(20))
    into_folder.run()
    (into_folder.folder / CHECKPOINT).write_bytes(b"{")
    for restart in (False, True):
        with pytest.raises(FileFailed, match="finished run, of which the checkpoint can't be read"):
            into_folder.run(restart=restart)
    assert len(into_folder.lines()) == 20


@pytest.mark.parametrize("name", ["rejects.jsonl", "repeats.jsonl"])
@pytest.mark.parametrize("content", [b"precious\n", b"{}\n", b"\xff", b"[" * 70_000, b'{"line":1}\n'])
def test_a_file_that_holds_something_else_is_not_replaced(into_store: Corpus, name: str, content: bytes) -> None:
    into_store.write(*rows(3))
    path = into_store.rejects.with_name(name)
    path.write_bytes(content)
    with pytest.raises(FileFailed, match="it holds something else") as caught:
        into_store.run()
    assert "--rejects" in caught.value.hint
    assert path.read_bytes() == content


def test_lists_of_earlier_runs_are_replaced(into_store: Corpus) -> None:
    lines = list(rows(3))
    into_store.write(*lines, b"{}\n", lines[0])
    assert into_store.run().rejected == 1
    assert into_store.run().rejected == 1
    into_store.write(*lines)
    assert into_store.run() == Counts(rows=3, stored=3)
    assert into_store.rejects.read_bytes() == into_store.repeats.read_bytes() == b""


def test_a_restart_elsewhere_takes_along_what_the_run_has_left(into_store: Corpus, tmp_path: Path) -> None:
    into_store.write(b"{}\n", *rows(40))
    into_store.run(steps=1)
    elsewhere, there = tmp_path / "elsewhere", into_store.rejects
    elsewhere.mkdir()
    assert len(list(there.parent.glob(".rejects.jsonl.*"))) > 1
    into_store.rejects = elsewhere / "rejects.jsonl"
    others = there.with_name(".rejects.jsonl.other.staged")  # of another run, which lists its rejects there too
    others.write_bytes(b"")
    assert into_store.run(restart=True).rows == 41
    assert list(there.parent.glob(".rejects.jsonl.*")) == [others]
    assert not there.with_name("rejects.jsonl.partial").exists()
    assert len(into_store.rejects.read_bytes().splitlines()) == 1


def test_a_restart_leaves_files_of_another_run_alone(into_store: Corpus, tmp_path: Path) -> None:
    into_store.write(*rows(40))
    into_store.run(steps=1)
    there = into_store.rejects
    staged = there.with_name(".rejects.jsonl.staged")
    staged.write_bytes(staged.read_bytes().replace(b'"begun_at":"2', b'"begun_at":"1'))  # of a run into another store
    before = sorted(there.parent.glob(".rejects.jsonl.*"))
    into_store.rejects = tmp_path / "elsewhere.jsonl"
    assert into_store.run(restart=True).rows == 40
    assert sorted(there.parent.glob(".rejects.jsonl.*")) == before


def test_a_run_that_is_running_is_not_given_up(into_store: Corpus, tmp_path: Path) -> None:
    into_store.write(*rows(40))
    rejects = into_store.rejects

    def other() -> bool:
        into_store.rejects = tmp_path / "elsewhere.jsonl"
        with pytest.raises(StoreFailed, match="another process") as caught:
            into_store.run(restart=True)
        into_store.rejects = rejects
        assert "one run at a time" in caught.value.hint
        return False

    assert into_store.run(stop=other).rows == 40


def test_a_folder_with_other_files_is_refused(into_folder: Corpus) -> None:
    into_folder.folder.mkdir()
    (into_folder.folder / "mine.txt").write_text("mine")
    into_folder.write(*rows(2))
    with pytest.raises(FileFailed, match=r"mine\.txt"):
        into_folder.run()


def test_a_checkpoint_that_cannot_be_read_is_refused(into_folder: Corpus) -> None:
    into_folder.write(*rows(40))
    into_folder.run(steps=1)
    (into_folder.folder / CHECKPOINT).write_bytes(b"{")
    with pytest.raises(CheckpointDiffers, match="can't be read"):
        into_folder.run()


def test_a_file_that_lost_what_the_checkpoint_counts_is_refused(corpus: Corpus) -> None:
    corpus.write(b"{}\n", *rows(40))
    corpus.run(steps=1)
    partial = corpus.rejects.with_name("rejects.jsonl.partial")
    partial.write_bytes(b"")
    with pytest.raises(FileFailed, match="is shorter now"):
        corpus.run()


@pytest.mark.parametrize("name", ["rejects.jsonl", "rejects.jsonl.partial", "repeats.jsonl"])
def test_an_input_that_the_run_would_replace_is_refused(into_store: Corpus, name: str) -> None:
    content = b"".join(rows(3))
    into_store.file = into_store.file.with_name(name)
    into_store.file.write_bytes(content)
    with pytest.raises(FileFailed, match="it is the input"):
        into_store.run()
    assert into_store.file.read_bytes() == content
    assert into_store.numbers() == set()


def test_an_input_in_the_folder_of_the_run_is_refused(into_folder: Corpus) -> None:
    into_folder.write(*rows(3))
    into_folder.run()
    into_folder.file = into_folder.rejects.with_name("receipts.jsonl")
    content = into_folder.file.read_bytes()
    with pytest.raises(FileFailed, match="the input is in it"):
        into_folder.run(restart=True)
    assert into_folder.file.read_bytes() == content


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_a_file_is_replaced_by_the_rejects(into_store: Corpus, make: Callable[[Path], None]) -> None:
    into_store.write(*rows(3))
    make(into_store.rejects)
    with pytest.raises(FileFailed, match="it is no file"):
        into_store.run()
    assert not into_store.rejects.is_file()


def test_a_checkpoint_that_cannot_be_read_is_given_up(corpus: Corpus) -> None:
    corpus.write(*rows(20))
    corpus.run(steps=1)
    if corpus.store is None:
        (corpus.folder / CHECKPOINT).write_bytes(b'{"input_name":"\xff"}')
    else:
        with writing(corpus.store.engine) as connection:
            connection.exec_driver_sql("UPDATE corpus_runs SET checkpoint = 7")
    with pytest.raises(CheckpointDiffers, match="can't be read"):
        corpus.run()
    assert corpus.run(restart=True).rows == 20


@pytest.mark.parametrize(
    ("name", "fill"), [("records-0", b"\0"), ("records-0", b"\xff"), ("records-0", b"a"), ("entries", b"\xff")]
)
def test_files_that_were_altered_beside_a_run_are_refused(into_store: Corpus, name: str, fill: bytes) -> None:
    into_store.write(*rows(20))
    into_store.run(steps=1)
    path = into_store.rejects.with_name(f".rejects.jsonl.{name}.partial")
    path.write_bytes(fill * path.stat().st_size)
    with pytest.raises(FileFailed, match="altered"):
        into_store.run()
    assert into_store.run(restart=True).rows == 20
    assert len(into_store.numbers()) == 20


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_input_without_any_row_stands_in_nobodys_way(corpus: Corpus, content: bytes) -> None:
    """As of a download that gave nothing, on standard input."""
    corpus.write(content)
    with pytest.raises(InvalidMetadata):
        corpus.run()
    corpus.write(*rows(60))
    assert 0 < corpus.run(steps=1).rows < 60
    assert corpus.run() == Counts(rows=60, issued=60)
