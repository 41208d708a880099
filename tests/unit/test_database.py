"""The schema as the migrations make it, and the settings of each connection."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import IntegrityError

from pith_builder import Issuer, Provenance
from pith_builder.errors import StoreFailed
from pith_builder.store import Store, database, schema
from pith_builder.testing import FrozenClock, make_metadata, make_signer

ISSUER = Issuer(make_signer(), clock=FrozenClock())


@pytest.fixture
def engine(store_url: str) -> sa.Engine:
    return database.open_engine(store_url)


def test_newest_is_the_head_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [database.NEWEST]


def test_migrations_make_the_tables_that_the_code_names(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []


@pytest.fixture
def first(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store as the first migration made it, with a record."""
    with monkeypatch.context() as patch:
        patch.setattr(database, "NEWEST", "0001")
        store = Store(store_url)
        store.issue(make_metadata(), Provenance("test"), ISSUER)
    return store


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_schema_of_sqlite_is_that_of_the_stores_that_exist(first: Store) -> None:
    """A migration that says something else today would make two kinds of stores with one version."""
    with database.reading(first.engine) as connection:
        made = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        text = "".join(f"{sql};\n" for sql in made.scalars())
    assert text == (Path(__file__).parent / "schema_0001_sqlite.sql").read_text()


def test_store_of_an_earlier_schema_is_migrated_with_all_that_it_holds(first: Store, store_url: str) -> None:
    before = first.get("2601.00001")
    assert database.revision(store_url) == "0001"
    store = Store(store_url)
    assert database.revision(store_url) == database.NEWEST
    assert store.get("2601.00001") == before
    assert store.issue(make_metadata(authors="Grace Hopper"), Provenance("test"), ISSUER).action == "updated"


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_text_is_compared_by_code_point_and_ids_are_given_by_the_insert(engine: sa.Engine) -> None:
    with database.reading(engine) as connection:
        columns = connection.exec_driver_sql(
            "SELECT column_name, data_type, collation_name, identity_generation FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name <> 'alembic_version'"
        ).all()
    assert {row.collation_name for row in columns if row.data_type == "character varying"} == {"C"}
    assert {row.identity_generation for row in columns if row.column_name == "id"} == {"ALWAYS"}
    assert {row.data_type for row in columns} == {"bigint", "bytea", "character varying", "integer"}
    assert {row.column_name for row in columns if row.data_type == "integer"} == {"version", "pages", "records"}


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_receipts_can_not_be_emptied_at_once_either(engine: sa.Engine, sql: Callable[..., Any]) -> None:
    for table in ("receipts", "earlier_blocks"):
        with pytest.raises(IntegrityError, match="append-only"):
            sql(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 60_000)]
)
def test_each_connection_to_sqlite_is_safe(engine: sa.Engine, pragma: str, value: object) -> None:
    with database.reading(engine) as connection:
        assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("transaction", "setting", "value"),
    [
        (database.reading, "transaction_isolation", "repeatable read"),
        (database.writing, "transaction_isolation", "read committed"),
        (database.writing, "synchronous_commit", "on"),
        (database.writing, "lock_timeout", "1min"),
        (database.writing, "client_encoding", "UTF8"),
    ],
)
@pytest.mark.parametrize("weak", ["", "-c default_transaction_isolation=serializable -c synchronous_commit=off"])
def test_each_transaction_on_postgresql_is_safe(
    store_url: str, monkeypatch: pytest.MonkeyPatch, transaction: Any, setting: str, value: str, weak: str
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    engine = database.open_engine(f"{store_url}&options={quote(weak)}")
    for _ in range(2):  # the second time it is the same connection again
        with transaction(engine) as connection:
            assert connection.exec_driver_sql(f"SHOW {setting}").scalar() == value


@pytest.mark.parametrize("options", ["", f"&options={quote('-c default_transaction_isolation=serializable')}"])
def test_store_is_made_once_by_all_who_open_it_at_once(store_url: str, sql: Callable[..., Any], options: str) -> None:
    url = store_url + (options if "?" in store_url else "")
    with ThreadPoolExecutor(8) as threads:
        engines = list(threads.map(database.open_engine, [url] * 8))
    assert len(engines) == 8
    assert sql("SELECT version_num FROM alembic_version") == [(database.NEWEST,)]


def test_writing_that_fails_is_undone(engine: sa.Engine) -> None:
    def write() -> None:
        with database.writing(engine) as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'x'")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    with database.reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == database.NEWEST


def test_reading_sees_one_state_while_another_writes(engine: sa.Engine) -> None:
    statement = "SELECT version_num FROM alembic_version"
    with database.reading(engine) as reader:
        before = reader.exec_driver_sql(statement).scalar()
        with database.writing(engine) as writer:
            writer.exec_driver_sql("UPDATE alembic_version SET version_num = 'x'")
        assert reader.exec_driver_sql(statement).scalar() == before


def test_receipt_of_no_record_is_refused(engine: sa.Engine) -> None:
    def write() -> None:
        with database.writing(engine) as connection:
            connection.execute(schema.receipts.insert().values(record_id=7, receipt=b"", recorded_at=""))

    with pytest.raises(StoreFailed, match=r"(?i)foreign key"):
        write()


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_error_that_has_nothing_to_do_with_the_server_has_no_hint_of_it(engine: sa.Engine) -> None:
    def write() -> None:
        with database.writing(engine) as connection:
            connection.execute(schema.checks.insert().values(checked_at="\0", last_receipt_id=0, records=0, failed=0))

    with pytest.raises(StoreFailed, match="NUL") as caught:
        write()
    assert caught.value.hint == ""


def test_error_names_the_store_and_no_password() -> None:
    def fail() -> None:
        with database.failing(sa.make_url("postgresql://me:secret@host/db")):
            raise sa.exc.OperationalError("statement", {}, psycopg.errors.LockNotAvailable("there is a lock"))

    with pytest.raises(StoreFailed, match="there is a lock") as caught:
        fail()
    assert "secret" not in str(caught.value)
    assert caught.value.hint == "another process holds it; try again when it is done"
