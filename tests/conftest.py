"""What all tests share: where the real records are, and a command line that runs in this process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest
import sqlalchemy as sa
import stamina
from hypothesis import settings

from arxiv_server import ArxivServer
from pith_builder import KeyRing, PaperMetadata
from pith_builder.cli import main
from pith_builder.sources import pacing
from pith_builder.store import postgresql as postgresql_
from pith_builder.store import sqlite
from postgresql_server import MISSING, Server, running

ROOT = Path(__file__).parent.parent
REGISTRY = ROOT / "fixtures" / "registry"
SEEDS = ("2403.07648v2", "2407.14645v1")

settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test by its argument where that is data: what is packed, for one, differs with the time of the packing."""
    is_data = isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable())
    return argname if is_data else None


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root."""
    return ROOT


@pytest.fixture(scope="session")
def registry() -> Path:
    """The folder of real published records."""
    return REGISTRY


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> tuple[PaperMetadata, bytes]:
    """Each of the two complete published records, with the paper's metadata."""
    folder = REGISTRY / "seeds"
    metadata = PaperMetadata(**json.loads((folder / f"{request.param}.metadata.json").read_bytes()))
    return metadata, (folder / f"{request.param}.record.json").read_bytes().rstrip(b"\n")


@pytest.fixture(scope="session")
def registry_ring() -> KeyRing:
    """The built-in ring: the registry's key."""
    return KeyRing.registry()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, no setting from this machine, and no network."""
    for name in [name for name in os.environ if name.startswith("PITH_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("PITH_HOME", str(folder))
    monkeypatch.setenv("PITH_OFFLINE", "1")
    return folder


@pytest.fixture
def arxiv(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ArxivServer]:
    """A server that plays arXiv, which the settings name; nothing waits between its requests."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))  # of processes; this one has made up its mind already
    monkeypatch.setattr(pacing, "tempfile", SimpleNamespace(gettempdir=lambda: str(tmp_path / "tmp")))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PITH_OFFLINE")
    with ArxivServer() as server, stamina.set_testing(True, attempts=4):
        monkeypatch.setenv("PITH_OAI_URL", server.oai_url)
        monkeypatch.setenv("PITH_ATOM_URL", server.atom_url)
        monkeypatch.setenv("PITH_OAI_INTERVAL", "0")
        yield server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A running PostgreSQL server, one a test process; no setting of this machine's clients counts."""
    with pytest.MonkeyPatch.context() as patch, running() as server:
        for name in [name for name in os.environ if name.startswith("PG")]:
            patch.delenv(name)
        if server is None:
            pytest.skip(MISSING)
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a store that is not made yet, on each database in turn."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'pith.db'}"
        return
    server = request.getfixturevalue("postgresql")
    url = server.empty_database()
    yield url
    server.give_back(url)


@pytest.fixture
def sql(store_url: str) -> Callable[..., list[Any]]:
    """What an SQL statement gives, past the store: `sql("SELECT id FROM records WHERE suffix = :s", s="A")`."""

    def call(statement: str, **values: Any) -> list[Any]:
        with _past(store_url).begin() as connection:
            result = connection.execute(sa.text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    return call


def _past(store_url: str) -> sa.Engine:
    """An engine that nothing of the builder's has a part in."""
    return sa.create_engine(store_url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)


@pytest.fixture
def unguarded(store_url: str, sql: Callable[..., list[Any]]) -> Callable[[str], None]:
    """Take away what makes a table append-only: `unguarded("receipts")`."""

    def call(table: str) -> None:
        for change in ("update", "delete"):
            sql(f"DROP TRIGGER {table}_no_{change}{f' ON {table}' if store_url.startswith('postgresql') else ''}")

    return call


@pytest.fixture
def no_room(store_url: str, sql: Callable[..., list[Any]]) -> Callable[[int], AbstractContextManager[None]]:
    """While it lasts, the disk is full whenever `current` of a record is written: `with no_room(record_id): ...`."""

    @contextmanager
    def call(record_id: int) -> Iterator[None]:
        if store_url.startswith("postgresql"):
            sql(
                "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'disk is full' USING ERRCODE = 'disk_full'; END $$"
            )
            when, then, end = "FOR EACH ROW WHEN", "EXECUTE FUNCTION no_room()", "DROP FUNCTION no_room CASCADE"
        else:
            when, then, end = "WHEN", "BEGIN SELECT RAISE(ABORT, 'disk is full'); END", "DROP TRIGGER no_room"
        sql(f"CREATE TRIGGER no_room BEFORE UPDATE ON current {when} (OLD.record_id = {record_id}) {then}")
        yield
        sql(end)

    return call


@pytest.fixture
def locked_store(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """While it lasts, another process holds what a writer needs, and nobody waits for long."""
    monkeypatch.setattr(sqlite, "_BUSY_TIMEOUT_MS", 50)
    monkeypatch.setattr(postgresql_, "_LOCK_TIMEOUT_MS", 50)

    @contextmanager
    def call() -> Iterator[None]:
        with _past(store_url).connect() as connection:
            if store_url.startswith("sqlite"):
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.exec_driver_sql("LOCK TABLE current IN EXCLUSIVE MODE")
            yield

    return call


@pytest.fixture
def at_store(home: Path, store_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """`store_url`, which is the store of all commands of the test."""
    monkeypatch.setenv("PITH_STORE", store_url)
    return store_url


class Result(NamedTuple):
    """What a command line did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `pith-build` in this process: `run("compute", "--json", stdin=b"...")`."""
    from pith_builder.cli import log

    def call(*arguments: str | Path, stdin: bytes = b"") -> Result:
        out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        log.logger.cache_clear()
        code = main([str(argument) for argument in arguments])
        out.flush()
        err.flush()
        return Result(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]

    return call


@pytest.fixture
def with_key(run: Callable[..., Result]) -> Callable[..., Result]:
    """`run` in a home that has an unencrypted signing key."""
    assert run("keys", "generate", "--unencrypted").code == 0
    return run


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `pith-build` as a process of its own: `start("issue", env={"LC_ALL": "C"})`; none outlives the test.

    It has no controlling terminal, whatever the tests were started from.
    """
    started: list[subprocess.Popen[bytes]] = []

    def call(*arguments: str | Path, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        streams |= {"start_new_session": True}
        command = [sys.executable, "-m", "pith_builder", *map(str, arguments)]
        process = subprocess.Popen(command, env={**os.environ, **(env or {})}, **streams | options)
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run_process(start: Callable[..., subprocess.Popen[bytes]]) -> Callable[..., Result]:
    """Like `run`, in a process of its own."""

    def call(*arguments: str | Path, stdin: bytes = b"", **options: Any) -> Result:
        process = start(*arguments, **{"stdin": subprocess.PIPE} | options)
        out, err = process.communicate(stdin if process.stdin else None, timeout=120)
        return Result(process.returncode, (out or b"").decode(), (err or b"").decode())

    return call


@pytest.fixture
def papers(tmp_path: Path) -> Callable[..., Path]:
    """Write metadata or rows as JSON Lines: `papers(make_metadata(), {"id": ...}, name="more.jsonl")`."""

    def call(*rows: Any, name: str = "papers.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        return path

    return call
