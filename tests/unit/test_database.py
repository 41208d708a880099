"""The schema as the migrations make it, and the settings of each connection."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from pith_builder.errors import StoreFailed
from pith_builder.store import database, schema


@pytest.fixture
def engine(tmp_path: Path) -> sa.Engine:
    return database.open_engine(f"sqlite:///{tmp_path / 'pith.db'}")


def test_newest_is_the_head_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [database.NEWEST]


def test_migrations_make_the_tables_that_the_code_names(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 60_000)]
)
def test_each_connection_is_safe(engine: sa.Engine, pragma: str, value: object) -> None:
    with database.reading(engine) as connection:
        assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


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

    with pytest.raises(StoreFailed, match="FOREIGN KEY"):
        write()


def test_error_names_the_store_and_no_password() -> None:
    def fail() -> None:
        with database.failing(sa.make_url("postgresql://me:secret@host/db")):
            raise sa.exc.OperationalError("statement", {}, psycopg.errors.LockNotAvailable("there is a lock"))

    with pytest.raises(StoreFailed, match="there is a lock") as caught:
        fail()
    assert "secret" not in str(caught.value)
    assert caught.value.hint == "another process holds it; try again when it is done"
