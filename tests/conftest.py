"""What all tests share: where the real records are, and a command line that runs in this process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
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
from postgresql_server import MISSING, Server, running

ROOT = Path(__file__).parent.parent
REGISTRY = ROOT / "fixtures" / "registry"
SEEDS = ("2403.07648v2", "2407.14645v1")

settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")


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
    url = server.new_database()
    yield url
    server.drop(url)


@pytest.fixture
def sql(store_url: str) -> Callable[..., list[Any]]:
    """What an SQL statement gives, past the store: `sql("SELECT id FROM records WHERE suffix = :s", s="A")`."""

    def call(statement: str, **values: Any) -> list[Any]:
        url = sa.make_url(store_url)
        engine = sa.create_engine(
            url.set(drivername={"postgresql": "postgresql+psycopg"}.get(url.drivername, url.drivername)),
            poolclass=sa.NullPool,
        )
        with engine.begin() as connection:
            result = connection.execute(sa.text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    return call


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
