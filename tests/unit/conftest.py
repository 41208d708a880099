"""What lives outside of the process: a server that plays arXiv, an ssh-agent, a PKCS#11 token."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import stamina

from arxiv_server import ArxivServer
from pith_builder.keyring import RingKey
from pith_builder.public_keys import read
from pith_builder.signers.pkcs11 import ED25519_PARAMETERS
from pith_builder.signing import PUBLIC_KEY_BYTES

AGENT_PROGRAMS = ("ssh-agent", "ssh-add", "ssh-keygen")
SOFTHSM_PLACES = ("/usr/lib/softhsm", "/usr/lib/*/softhsm", "/usr/local/lib/softhsm", "/opt/homebrew/lib/softhsm")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ArxivServer]:
    """A server that plays arXiv; what fails there is tried once more, at once."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ArxivServer() as server, stamina.set_testing(True, attempts=2):
        yield server


class Agent:
    """A running ssh-agent that holds one Ed25519 key."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address = folder, address
        self._run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "agent-v1-2026-01", "-f", self.key_file)
        self._run("ssh-add", "-q", self.key_file)
        public_key, key_id = read(Path(f"{self.key_file}.pub").read_bytes())
        self.entry = RingKey.of(key_id or "", public_key, "active", "receipts")

    @property
    def key_file(self) -> str:
        return str(self.folder / "key")

    def remove_keys(self) -> None:
        self._run("ssh-add", "-q", "-D")

    def lock(self) -> None:
        ask = self.folder / "ask"
        ask.write_text("#!/bin/sh\necho password\n")
        ask.chmod(0o700)
        self._run("ssh-add", "-q", "-x", SSH_ASKPASS=str(ask), SSH_ASKPASS_REQUIRE="force", DISPLAY=":0")

    def _run(self, *command: str, **environment: str) -> None:
        environment = {**os.environ, "SSH_AUTH_SOCK": self.address, **environment}
        subprocess.run(
            command, env=environment, check=True, capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True
        )


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """A real ssh-agent of this test alone, named by SSH_AUTH_SOCK."""
    if missing := [name for name in AGENT_PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"OpenSSH is not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:  # the name of a socket may not be long
        address = f"{folder}/agent"
        with subprocess.Popen(["ssh-agent", "-D", "-a", address], stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith(b"SSH_AUTH_SOCK="), "ssh-agent did not start"
                monkeypatch.setenv("SSH_AUTH_SOCK", address)
                yield Agent(Path(folder), address)
            finally:
                process.kill()


class Token(NamedTuple):
    """A PKCS#11 token with one Ed25519 key, in a software module."""

    module: str
    label: str
    pin: str
    entry: RingKey

    @property
    def uri(self) -> str:
        return f"pkcs11:{self.module}?token={self.label}&object={self.entry.key_id}"

    def log_out(self) -> None:
        """Close the sessions of earlier tests; while one is logged in, the module asks for no PIN."""
        import PyKCS11

        library = PyKCS11.PyKCS11Lib()
        library.load(self.module)
        for slot in library.getSlotList(tokenPresent=True):
            library.closeAllSessions(slot)


@pytest.fixture(scope="session")
def token() -> Iterator[Token]:
    """A token of SoftHSM2 in a temporary folder."""
    pkcs11 = pytest.importorskip("PyKCS11", reason="PyKCS11 is not installed (extra hsm)")
    places = [path for place in SOFTHSM_PLACES for path in sorted(Path("/").glob(f"{place[1:]}/libsofthsm2.so"))]
    if not places or shutil.which("softhsm2-util") is None:
        pytest.skip("SoftHSM2 is not installed (Debian: softhsm2)")
    label, pin, key_id = "pith", "1234-not-for-the-world", "hsm-v1-2026-01"
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        (Path(folder) / "tokens").mkdir()
        (Path(folder) / "softhsm2.conf").write_text(f"directories.tokendir = {folder}/tokens\n")
        patch.setenv("SOFTHSM2_CONF", f"{folder}/softhsm2.conf")
        command = ["softhsm2-util", "--init-token", "--free", "--label", label, "--pin", pin, "--so-pin", "5678"]
        subprocess.run(command, check=True, capture_output=True)
        public_key = _generated(pkcs11, str(places[0]), pin, key_id)
        yield Token(str(places[0]), label, pin, RingKey.of(key_id, public_key, "active", "receipts"))


def _generated(pkcs11: Any, module: str, pin: str, key_id: str) -> bytes:
    """The raw public key of a new key on the only token."""
    library = pkcs11.PyKCS11Lib()
    library.load(module)
    [slot] = [slot for slot in library.getSlotList(tokenPresent=True) if library.getTokenInfo(slot).label.strip()]
    session = library.openSession(slot, pkcs11.CKF_SERIAL_SESSION | pkcs11.CKF_RW_SESSION)
    session.login(pin)
    shared = [(pkcs11.CKA_TOKEN, pkcs11.CK_TRUE), (pkcs11.CKA_LABEL, key_id), (pkcs11.CKA_ID, (1,))]
    public, _ = session.generateKeyPair(
        [*shared, (pkcs11.CKA_EC_PARAMS, tuple(ED25519_PARAMETERS)), (pkcs11.CKA_VERIFY, pkcs11.CK_TRUE)],
        [*shared, (pkcs11.CKA_PRIVATE, pkcs11.CK_TRUE), (pkcs11.CKA_SIGN, pkcs11.CK_TRUE)],
        mecha=pkcs11.Mechanism(pkcs11.CKM_EC_EDWARDS_KEY_PAIR_GEN, None),
    )
    [point] = session.getAttributeValue(public, [pkcs11.CKA_EC_POINT])
    session.logout()
    session.closeSession()
    return bytes(point)[-PUBLIC_KEY_BYTES:]
