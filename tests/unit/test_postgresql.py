"""How a store on PostgreSQL is named and reached, and what is said where that fails: never a password."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from pith_builder import Issuer, Provenance
from pith_builder.errors import NotFound, StoreFailed
from pith_builder.store import Store, database
from pith_builder.store.schema import current
from pith_builder.store.store import locked
from pith_builder.testing import FrozenClock, make_metadata, make_signer
from postgresql_server import GUARDED, PASSWORD, USER, Server

Sql = Callable[..., list[Any]]
pytestmark = pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)


@pytest.fixture
def name(store_url: str) -> str:
    """The name of the database."""
    return str(sa.make_url(store_url).database)


@pytest.fixture
def guarded(postgresql: Server, name: str, sql: Sql) -> Callable[..., str]:
    """The URL for somebody who needs a password and may make tables: `guarded(":secret", "&sslmode=disable")`."""
    sql(f"GRANT ALL ON SCHEMA public TO {GUARDED}")
    return lambda password="", query="": f"postgresql://{GUARDED}{password}@/{name}?host={postgresql.folder}{query}"


def issue(store: Store, n: int = 1) -> Any:
    metadata = make_metadata(arxiv_id=f"2601.{n:05}")
    return store.issue(metadata, Provenance("test"), Issuer(make_signer(), clock=FrozenClock()))


# --- names ------------------------------------------------------------------------------------------------------


def test_url_may_name_the_driver(store_url: str) -> None:
    issue(Store(store_url))
    assert Store(store_url.replace("postgresql:", "postgresql+psycopg:")).count() == 1


@pytest.mark.parametrize("form", ["postgresql://", "postgresql:///", "postgresql+psycopg://"])
def test_variables_of_libpq_count(
    postgresql: Server, name: str, monkeypatch: pytest.MonkeyPatch, store_url: str, form: str
) -> None:
    issue(Store(store_url))
    for variable, value in {"PGHOST": str(postgresql.folder), "PGUSER": USER, "PGDATABASE": name}.items():
        monkeypatch.setenv(variable, value)
    assert Store(form).count() == 1


def test_service_is_found(
    postgresql: Server, name: str, monkeypatch: pytest.MonkeyPatch, store_url: str, tmp_path: Path
) -> None:
    issue(Store(store_url))
    (tmp_path / "services").write_text(f"[papers]\nhost={postgresql.folder}\nuser={USER}\ndbname={name}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert Store("postgresql://?service=papers").count() == 1


@pytest.mark.parametrize(
    ("password", "query"),
    [(f":{quote(PASSWORD)}", ""), ("", f"&password={quote(PASSWORD)}"), ("", "")],
    ids=["in the URL", "as a parameter", "in the password file"],
)
def test_password_is_taken_and_shown_nowhere(
    guarded: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, password: str, query: str
) -> None:
    if not password + query:
        (tmp_path / "pass").write_text(f"*:*:*:{GUARDED}:{PASSWORD}\n")
        (tmp_path / "pass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    store = Store(guarded(password, query))
    assert store.count() == 0
    shown = f"{store.engine!r} {store.engine.url} {store.engine.url!r} {store.engine.pool!r} {store!r}"
    assert "sesame" not in shown


@pytest.mark.parametrize(
    ("password", "query"),
    [
        (":hush", ""),
        ("", "&password=hush"),
        (":hush", "&sslpassword=hush"),
        (":hush", "&connect_timeout=x"),
        (":hush", "&nonsense=hush"),
        (":hush", "&row_factory=hush"),
        (":a@hush", ""),
        (":a@hush/b@hush", ""),
        (":a@hush:1", ""),
        (":a@h?hush@", ""),
    ],
)
def test_password_is_in_no_error(guarded: Any, password: str, query: str) -> None:
    with pytest.raises(StoreFailed) as caught:
        Store(guarded(password, query))
    error = caught.value
    assert "hush" not in f"{error} {error!r} {error.hint} {error.to_dict()}"
    assert error.hint


def test_at_sign_in_a_password_is_named_as_the_reason(guarded: Any) -> None:
    with pytest.raises(StoreFailed) as caught:
        Store(guarded(":p@ss"))
    assert "%40" in caught.value.hint


# --- what can't be opened ---------------------------------------------------------------------------------------


def failure(url: str, **options: Any) -> StoreFailed:
    with pytest.raises(StoreFailed) as caught:
        Store(url, **options)
    return caught.value


def test_wrong_password_says_where_to_look(guarded: Any) -> None:
    error = failure(guarded(":wrong"))
    assert "password" in error.message
    assert ".pgpass" in error.hint


def test_server_that_is_not_there_is_told(store_url: str, tmp_path: Path) -> None:
    error = failure(f"postgresql://{USER}@/papers?host={tmp_path}")
    assert str(tmp_path) in error.message
    assert "is the server running" in error.hint


def test_database_that_is_not_there_comes_with_the_command_that_makes_it(postgresql: Server, store_url: str) -> None:
    error = failure(f"postgresql://{USER}@/nowhere?host={postgresql.folder}")
    assert "nowhere" in error.message
    assert "createdb" in error.hint


def test_message_is_one_line(postgresql: Server, store_url: str) -> None:
    assert "\n" not in failure(f"postgresql://{USER}@localhost:1/papers").message


def test_without_psycopg_the_extra_is_named(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "pith-build[postgres]" in failure(store_url).hint


def test_other_drivers_are_not_known(store_url: str) -> None:
    assert "postgresql://" in failure(store_url.replace("postgresql:", "postgresql+psycopg2:")).hint


def test_user_who_may_make_no_tables_is_told_the_command(guarded: Any, sql: Sql) -> None:
    sql(f"REVOKE ALL ON SCHEMA public FROM PUBLIC, {GUARDED}")
    sql(f"GRANT USAGE ON SCHEMA public TO {GUARDED}")
    error = failure(guarded(f":{quote(PASSWORD)}"))
    assert "permission denied" in error.message
    assert "createdb --owner" in error.hint


def test_store_that_only_reads_is_not_made(store_url: str, sql: Sql) -> None:
    with pytest.raises(NotFound, match="no store yet"):
        Store(store_url, create=False)
    assert sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


# --- what fails later -------------------------------------------------------------------------------------------


def test_server_that_takes_no_writes_is_read_and_told(store_url: str) -> None:
    issue(Store(store_url))
    store = Store(f"{store_url}&options={quote('-c default_transaction_read_only=on')}")
    assert store.count() == 1
    with pytest.raises(StoreFailed, match="read-only") as caught:
        issue(store, 2)
    assert "takes no writes" in caught.value.hint


def test_server_that_went_away_and_came_back_is_no_failure(postgresql: Server, store_url: str) -> None:
    store = Store(store_url)
    issue(store)
    postgresql.stop()
    postgresql.start()
    issue(store, 2)
    assert store.count() == 2


def test_server_that_goes_away_in_a_transaction_is_told(store_url: str, sql: Sql) -> None:
    store = Store(store_url)

    def lose() -> None:
        with database.writing(store.engine) as connection:
            pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
            sql("SELECT pg_terminate_backend(:pid, 10000)", pid=pid)
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(StoreFailed) as caught:
        lose()
    assert "run the same command again" in caught.value.hint
    assert store.count() == 0


def test_deadlock_is_told(postgresql: Server, store_url: str, sql: Sql) -> None:
    """Ours do not come to one, since all take locks in one order; an administrator's script might."""
    store = Store(store_url)
    for n in (1, 2):
        issue(store, n)
    other = sa.create_engine(store.engine.url, poolclass=sa.NullPool)
    with other.begin() as theirs:
        theirs.exec_driver_sql("SET LOCAL deadlock_timeout = '1h'")  # so that it is ours that finds it
        theirs.exec_driver_sql("UPDATE current SET updated_at = '' WHERE record_id = 2")

        def ours() -> None:
            with database.writing(store.engine) as connection:
                locked(connection, current.c.record_id == 1)
                blocked = threading.Thread(
                    target=theirs.exec_driver_sql, args=["UPDATE current SET updated_at = '' WHERE record_id = 1"]
                )
                blocked.start()
                try:
                    while not postgresql.waiting():
                        pass
                    locked(connection, current.c.record_id == 2)
                finally:
                    connection.rollback()
                    blocked.join()

        with pytest.raises(StoreFailed, match="deadlock") as caught:
            ours()
    assert "run the same command again" in caught.value.hint


# --- connections ------------------------------------------------------------------------------------------------


def backend(store: Store) -> int:
    with database.reading(store.engine) as connection:
        return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork in a process with threads
def test_child_process_has_a_connection_of_its_own_and_leaves_the_parents_alone(store_url: str) -> None:
    store = Store(store_url)
    of_parent = backend(store)
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            os.write(writing, str(backend(store)).encode())
            del store
            gc.collect()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 100)) != of_parent
    os.close(reading)
    os.close(writing)
    assert backend(store) == of_parent


def test_connections_end_with_the_store(store_url: str, sql: Sql) -> None:
    store = Store(store_url)
    pid = backend(store)
    del store
    gc.collect()
    while sql("SELECT 1 FROM pg_stat_activity WHERE pid = :pid", pid=pid):
        pass  # the server takes a moment to notice
