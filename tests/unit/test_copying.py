"""A whole store in another database, in all four directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
import sqlalchemy as sa

from pith_builder import Enrichment, Issuer, KeyRing, Profile, Provenance
from pith_builder.errors import StoreFailed
from pith_builder.keyring import RingKey
from pith_builder.store import Store, copying
from pith_builder.store.check import check_store
from pith_builder.store.copying import TABLES, Copied, Copy, TargetDiffers
from pith_builder.store.database import reading, writing
from pith_builder.store.harvests import Harvest, Harvests, Window
from pith_builder.store.importing import Import
from pith_builder.store.reissue import Reissue
from pith_builder.store.schema import records
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_record, make_signer
from postgresql_server import Server

DAY = timedelta(days=1)
LATER = FrozenClock(START + 40 * DAY)
OLD, NEW = make_signer(1), make_signer(2)
ROTATED = KeyRing.empty().with_key(RingKey.of(NEW.key_id, NEW.public_key, "active", "receipts"))
ROTATED = ROTATED.with_key(RingKey.of(OLD.key_id, OLD.public_key, "retired", "receipts"))
PAPERS = 7
SOURCE = "https://oai.example/oai"


def issue(store: Store, n: int = 1, said_at: str | None = None, signer: Any = OLD, **changes: Any) -> Any:
    issuer = Issuer(signer, clock=FrozenClock())
    metadata = make_metadata(arxiv_id=f"2601.{n:05}", **changes)
    return store.issue(metadata, Provenance("test", said_at), issuer, Enrichment.from_json('{"headline":"x"}'))


@pytest.fixture
def source(store_url: str, tmp_path: Path) -> Store:
    """A store in which everything has happened: updates, withdrawals, imports, reissues, a check."""
    store = Store(store_url)
    for n in range(1, PAPERS + 1):
        issue(store, n, license="")
    issue(store, 1, license="", authors="Grace Hopper")
    withdraw(store, "2601.00002", "wrong", LATER)
    path = tmp_path / "theirs.json"
    raw = make_record(make_metadata(arxiv_id="2601.00099"), signer=NEW).to_json()
    path.write_bytes(raw[:-1] + b',"note":{"shelf":7}}')
    [(_, taken)] = Import(store, make_keyring(NEW), LATER).run(str(path))
    assert getattr(taken, "action", taken) == "imported"
    *_, _ = Reissue(store, ROTATED, NEW, Profile(), LATER).run_named([1, 3])
    *_, _ = check_store(store, ROTATED, LATER, lambda *_: None)
    harvests = Harvests(store, LATER)
    harvests.page_done(Harvest(Window(SOURCE, "2026-01-01")), "the next page", "2026-01-02", 100)
    return store


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store, on each database in turn."""
    if request.param == "sqlite":
        yield Store(f"sqlite:///{tmp_path / 'copy.db'}")
        return
    server = request.getfixturevalue("postgresql")
    url = server.empty_database()
    yield Store(url)
    server.give_back(url)


def copy(source: Store, target: Store) -> dict[str, Copied]:
    run = Copy(source.engine, target.engine)
    for _ in run.run():
        pass
    return {table.table: table for table in run.tables}


def everything(store: Store) -> dict[str, list[Any]]:
    with reading(store.engine) as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(sa.select(table).order_by(table.columns[0]))]
            for table in TABLES
        }


@pytest.mark.parametrize("batch", [3, 500])
def test_every_row_of_every_table_is_there_with_its_id(
    source: Store, target: Store, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(copying, "BATCH", batch)
    copied = copy(source, target)
    assert everything(target) == everything(source)
    assert {name: table.rows for name, table in copied.items()} == {n: len(r) for n, r in everything(source).items()}
    assert all(table.rows == table.new > 0 == table.changed for table in copied.values())


def test_records_come_out_of_the_copy_as_of_the_source(source: Store, target: Store) -> None:
    copy(source, target)
    for alias in ("2601.00001", "2601.00002", "2601.00099"):
        assert target.get(alias) == source.get(alias)
        assert target.get(alias).record.to_json() == source.get(alias).record.to_json()


def test_copy_is_a_store_that_goes_on(source: Store, target: Store) -> None:
    copy(source, target)
    assert issue(target, 50, signer=NEW).action == "issued"
    assert issue(target, 2, license="", authors="Grace Hopper").action == "updated"
    *_, progress = Reissue(target, ROTATED, NEW, Profile(), LATER).run_all()
    assert progress.refused == 0
    *_, counts = check_store(target, ROTATED, LATER, lambda *_: None)
    assert (counts.checked, counts.failed) == (PAPERS + 2, 0)


def test_copy_of_an_empty_store_is_an_empty_store_that_goes_on(store_url: str, target: Store) -> None:
    copied = copy(Store(store_url), target)
    assert {table.rows for table in copied.values()} == {0}
    assert issue(target).action == "issued"


def test_copy_back_again_is_the_same(source: Store, target: Store, tmp_path: Path) -> None:
    copy(source, target)
    back = Store(f"sqlite:///{tmp_path / 'back.db'}")
    copy(target, back)
    assert everything(back) == everything(source)


# --- one moment -------------------------------------------------------------------------------------------------


def test_copy_is_of_the_moment_when_it_began(source: Store, target: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH", 3)
    before = everything(source)
    run = Copy(source.engine, target.engine)
    for n, _ in enumerate(run.run()):
        issue(source, 60 + n)
        issue(source, 1 + n % PAPERS, license="", authors=f"Author {n}")
    assert everything(target) == before
    assert everything(source) != before


# --- going on ---------------------------------------------------------------------------------------------------


@pytest.fixture
def stopped(source: Store, target: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Begin a copy, and stop it after so many batches of three rows."""
    monkeypatch.setattr(copying, "BATCH", 3)

    def call(batches: int) -> None:
        steps = Copy(source.engine, target.engine).run()
        for _ in range(batches):
            next(steps)
        steps.close()  # type: ignore[attr-defined]  # a generator

    return call


@pytest.mark.parametrize("batches", [1, 3, 6, 10])
def test_copy_that_stopped_goes_on(source: Store, target: Store, stopped: Any, batches: int) -> None:
    stopped(batches)
    copied = copy(source, target)
    assert everything(target) == everything(source)
    assert sum(table.new for table in copied.values()) < sum(table.rows for table in copied.values())


def test_copy_that_stopped_shows_only_whole_records(source: Store, target: Store, stopped: Any) -> None:
    total = sum(-(-len(rows) // 3) for rows in everything(source).values())
    seen = []
    for batches in (1, 3, 6, total - 2, total - 1):
        stopped(batches)
        seen.append(0)
        for n in (*range(1, PAPERS + 1), 99):
            for stored in target.find(f"2601.{n:05}"):
                assert stored == source.get(f"2601.{n:05}")
                seen[-1] += 1
    assert seen == [0, 0, 0, 3, 6]


def test_copy_goes_on_although_the_source_changed_what_was_copied(source: Store, target: Store, stopped: Any) -> None:
    stopped(6)
    issue(source, 1, license="", authors="Emmy Noether")
    issue(source, 2, "2026-02-01T00:00:00Z", license="")
    withdraw(source, "2601.00003", "wrong too", LATER)
    a_harvest(source)
    copied = copy(source, target)
    assert everything(target) == everything(source)
    assert (copied["records"].changed, copied["harvests"].changed) == (3, 1)


def test_copy_again_brings_an_earlier_one_up_to_date(source: Store, target: Store) -> None:
    copy(source, target)
    issue(source, 70)
    *_, _ = Reissue(source, ROTATED, NEW, Profile(), LATER).run_all()
    copied = copy(source, target)
    assert everything(target) == everything(source)
    assert (copied["records"].new, copied["records"].changed) == (1, 0)
    assert copied["current"].changed == PAPERS - 2
    assert copy(source, target)["receipts"].new == 0


# --- what the target holds --------------------------------------------------------------------------------------


def another_record(store: Store) -> None:
    issue(store, 80)


def another_receipt(store: Store) -> None:
    *_, _ = Reissue(store, ROTATED, NEW, Profile(), LATER).run_named([4])


def other_blocks(store: Store) -> None:
    issue(store, 5, license="", authors="Mallory")


def a_check(store: Store) -> None:
    *_, _ = check_store(store, ROTATED, LATER, lambda *_: None)


def a_withdrawal(store: Store) -> None:
    withdraw(store, "2601.00004", "wrong there", LATER)


def another_withdrawal(store: Store) -> None:
    with writing(store.engine) as connection:
        connection.execute(records.update().where(records.c.id == 2).values(withdrawn=b"{}"))


def a_newer_description(store: Store) -> None:
    issue(store, 6, "2026-02-01T00:00:00Z", license="")


def a_later_state_of_anothers_record(store: Store) -> None:
    later = make_record(make_metadata(arxiv_id="2601.00099"), signer=NEW).replace(
        updated_at="2026-01-20T00:00:00.000000+00:00"
    )
    ring = KeyRing.empty().with_key(RingKey.of(NEW.key_id, NEW.public_key, "active", "verify"))
    with NamedTemporaryFile() as file:
        Path(file.name).write_bytes(later.to_json())
        [(_, taken)] = Import(store, ring, LATER).run(file.name)
    assert getattr(taken, "action", taken) == "updated"


def a_harvest(store: Store) -> None:
    harvests = Harvests(store, LATER)
    [interrupted] = [harvest for harvest in harvests.due(SOURCE, "") if harvest.id]
    harvests.page_done(interrupted, None, "2026-01-03", 100)


CHANGES = [
    a_harvest,
    another_record,
    another_receipt,
    other_blocks,
    a_withdrawal,
    another_withdrawal,
    a_newer_description,
    a_later_state_of_anothers_record,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_target_that_went_on_by_itself_is_refused_and_left_alone(source: Store, target: Store, change: Any) -> None:
    copy(source, target)
    change(target)
    issue(source, 90)
    before = everything(target)
    with pytest.raises(TargetDiffers, match="is no copy of this store"):
        copy(source, target)
    assert everything(target) == before


def test_other_store_is_refused_and_left_alone(source: Store, target: Store) -> None:
    issue(target, 1, title="Of another store")
    before = everything(target)
    with pytest.raises(TargetDiffers, match="row 1 of its table records is another one in the source"):
        copy(source, target)
    assert everything(target) == before


@pytest.mark.parametrize(
    ("while_copying", "told"),
    [("earlier_blocks", "somebody else writes into receipts"), ("current", "the table records has 8 rows and 9")],
)
def test_writer_in_the_target_is_noticed(source: Store, target: Store, while_copying: str, told: str) -> None:
    run = Copy(source.engine, target.engine)
    with pytest.raises(TargetDiffers, match=told):  # noqa: PT012  # somebody else is quicker in the middle
        for step in run.run():
            if step.table == while_copying:
                issue(target, 80)


def test_store_is_not_copied_onto_itself(source: Store, store_url: str) -> None:
    before = everything(source)
    with pytest.raises(StoreFailed, match="is the store that is to be copied") as caught:
        copy(source, Store(store_url))
    assert caught.value.hint == "name another database"
    assert everything(source) == before


def test_copy_that_was_checked_in_between_is_brought_up_to_date(source: Store, target: Store) -> None:
    copy(source, target)
    a_check(target)
    issue(source, 90)
    copy(source, target)
    assert target.count() == source.count()


def test_store_under_another_name_is_itself(tmp_path: Path) -> None:
    source = Store(f"sqlite:///{tmp_path / 'pith.db'}")
    (tmp_path / "link.db").symlink_to("pith.db")
    with pytest.raises(StoreFailed, match="is the store that is to be copied"):
        copy(source, Store(f"sqlite:///{tmp_path / 'link.db'}"))


def test_two_databases_of_one_server_are_two_stores(postgresql: Server) -> None:
    urls = [postgresql.empty_database() for _ in range(2)]
    source, target = map(Store, urls)
    issue(source)
    copy(source, target)
    assert everything(target) == everything(source)
    for url in urls:
        postgresql.give_back(url)
