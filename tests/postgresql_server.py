"""A PostgreSQL server for tests: in a temporary folder, on a Unix socket alone, and without regard for power cuts."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

MISSING = "PostgreSQL's server is not installed (Debian: postgresql)"
DEBIANS_PLACES = "/usr/lib/postgresql/*/bin"
USER = "pith"
#: Somebody who must give a password, and may do nothing that nobody has granted.
GUARDED, PASSWORD = "guarded", "open sesame"


def programs() -> Path | None:
    """The folder of the newest server programs, in Debian's places or on PATH; None where there are none."""
    folders = sorted(map(Path, glob.glob(DEBIANS_PLACES)), key=lambda path: float(path.parent.name))
    folders = [folder for folder in folders if (folder / "postgres").exists()]
    if not folders and (on_path := shutil.which("postgres")):
        folders = [Path(on_path).resolve().parent]
    return folders[-1] if folders else None


class Server:
    """A running server."""

    def __init__(self, bin_folder: Path, folder: Path) -> None:
        self._bin, self.folder = bin_folder, folder
        self._names = (f"test{n}" for n in count(1))
        self._empty: list[str] = []
        self._account: dict[str, Any] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = _someone_else()
            self._account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(folder, account.pw_uid, account.pw_gid)
        self._run("initdb", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--no-locale", "--no-sync")
        (folder / "data" / "pg_hba.conf").write_text(f"local all {GUARDED} scram-sha-256\nlocal all all trust\n")
        self.start()
        with self._connect("postgres") as connection:
            connection.execute(f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{PASSWORD}'")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = ("fsync=off", "listen_addresses=", f"unix_socket_directories={self.folder}", "max_connections=60")
        options = [word for setting in settings for word in ("-c", setting)]
        self._process = self._popen("postgres", *options)
        deadline = time.monotonic() + 60
        while True:
            try:
                return self._connect("postgres").close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is a crash, after which it recovers from its log."""
        self._run("pg_ctl", "stop", "-m", mode)
        self._process.wait(timeout=60)

    def new_database(self, options: str = "") -> str:
        """The URL of a new database; `options` are those of CREATE DATABASE."""
        name = next(self._names)
        with self._connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name} {options}")
        return f"postgresql://{USER}@/{name}?host={self.folder}"

    def copy(self, url: str) -> str:
        """The URL of a copy of a database that nobody is connected to."""
        return self.new_database(f"TEMPLATE {make_url(url).database}")

    def drop(self, url: str) -> None:
        """Drop a database, whoever is connected to it."""
        with self._connect("postgres") as connection:
            connection.execute(f"DROP DATABASE {make_url(url).database} WITH (FORCE)")

    def empty_database(self) -> str:
        """The URL of a database with nothing in it, which `give_back` makes empty again."""
        return self._empty.pop() if self._empty else self.new_database()

    def give_back(self, url: str) -> None:
        """Empty a database, whoever is connected to it: several times as fast as dropping it and making another."""
        with self._connect(make_url(url).database) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        self._empty.append(url)

    def waiting(self) -> int:
        """How many transactions wait for a lock just now."""
        with self._connect("postgres") as connection:
            [(waiting,)] = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchall()
        return int(waiting)

    def _connect(self, database: str | None) -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(self.folder), user=USER, dbname=database, autocommit=True)

    def _run(self, program: str, *arguments: str) -> None:
        process = self._popen(program, *arguments)
        if process.wait(timeout=120):
            raise RuntimeError(f"{program}: {(self.folder / 'log').read_text()}")

    def _popen(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(
                [self._bin / program, "-D", self.folder / "data", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._account,
                start_new_session=True,  # an interrupt of the tests is not for the server
            )


def _someone_else() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("there is no user but root to run PostgreSQL as")


@contextlib.contextmanager
def running() -> Iterator[Server | None]:
    """A server while the context lasts; None where no program is found."""
    if (bin_folder := programs()) is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="pith") as folder:  # the name of a socket may not be long
        server = Server(bin_folder, Path(folder))
        try:
            yield server
        finally:
            server.stop("immediate")
