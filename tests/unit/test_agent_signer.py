"""`agent:KEY`: a real ssh-agent, and agents that answer nonsense."""

from __future__ import annotations

import base64
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from pith_builder import KeyRing
from pith_builder.errors import KeyLocked, KeyMissing, KeyUnfit, KeyUnusable
from pith_builder.keyring import RingKey
from pith_builder.public_keys import to_ssh
from pith_builder.signers import Opening, open_signer
from pith_builder.signers import agent as module
from pith_builder.signers.agent import public_blob
from pith_builder.signing import Signer, signature_fits
from pith_builder.testing import make_keyring, make_signer

from .conftest import Agent

SIGNER = make_signer()
RING = make_keyring(SIGNER)


def opened(entry: RingKey) -> Signer:
    """The signer of a key that the ring lists; no passphrase is asked for."""

    def ask(_: str) -> bytes:
        raise AssertionError("the agent holds the key")

    return open_signer(f"agent:{entry.key_id}", Opening(KeyRing.empty().with_key(entry), ask))


# --- a real agent -----------------------------------------------------------------------------------------------


def test_key_of_the_agent_signs(agent: Agent) -> None:
    signature = opened(agent.entry).sign(b"message")
    assert signature_fits(agent.entry.public_key, b"message", signature)


def test_key_is_known_by_the_id_of_the_ring(agent: Agent) -> None:
    renamed = RingKey.of("local-v7-2026-01", agent.entry.public_key, "active", "receipts")
    assert opened(renamed).key_id == "local-v7-2026-01"


def test_key_that_the_ring_does_not_list_is_missing(agent: Agent) -> None:
    with pytest.raises(KeyMissing) as caught:
        open_signer(f"agent:{agent.entry.key_id}", Opening(KeyRing.empty(), lambda _: b""))
    assert "keys import" in caught.value.hint


def test_key_that_the_agent_does_not_hold_is_missing(agent: Agent) -> None:
    with pytest.raises(KeyMissing, match="does not hold") as caught:
        opened(RING.keys[0])
    assert "ssh-add" in caught.value.hint


def test_key_that_was_removed_is_missing(agent: Agent) -> None:
    agent.remove_keys()
    with pytest.raises(KeyMissing, match="does not hold"):
        opened(agent.entry)


def test_key_that_is_removed_while_we_sign_is_locked(agent: Agent) -> None:
    signer = opened(agent.entry)
    agent.remove_keys()
    with pytest.raises(KeyLocked, match="does not sign"):
        signer.sign(b"message")


def test_agent_that_is_locked_is_unusable(agent: Agent) -> None:
    """It then says that it holds nothing."""
    agent.lock()
    with pytest.raises(KeyUnusable, match="does not hold"):
        opened(agent.entry)


def test_agent_that_is_locked_while_we_sign_says_how_to_go_on(agent: Agent) -> None:
    signer = opened(agent.entry)
    agent.lock()
    with pytest.raises(KeyLocked) as caught:
        signer.sign(b"message")
    assert "unlock it" in caught.value.hint


@pytest.mark.parametrize("address", [None, ""])
def test_no_agent_is_missing(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    if address is not None:
        monkeypatch.setenv("SSH_AUTH_SOCK", address)
    with pytest.raises(KeyMissing, match="SSH_AUTH_SOCK"):
        opened(RING.keys[0])


@pytest.mark.parametrize("what", ["nothing", "a file", "a socket that no one listens at", "a name too long"])
def test_agent_that_is_gone_is_missing(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(socket.socket(socket.AF_UNIX)) as unheard:
        address = Path(folder) / ("x" * 200 if what == "a name too long" else "agent")
        if what == "a file":
            address.touch()
        elif what.startswith("a socket"):
            unheard.bind(str(address))
        monkeypatch.setenv("SSH_AUTH_SOCK", str(address))
        with pytest.raises(KeyMissing, match="can't be reached"):
            opened(RING.keys[0])


def test_blob_of_a_key_is_what_openssh_writes() -> None:
    assert public_blob(SIGNER.public_key) == base64.b64decode(to_ssh(SIGNER.public_key, "").split()[1])


# --- agents that answer nonsense --------------------------------------------------------------------------------

Answer = Callable[[bytes], bytes]


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


LISTED = b"\x0c" + struct.pack(">I", 1) + string(public_blob(SIGNER.public_key)) + string(b"comment")
FAILURE = b"\x05"


def signed(request: bytes) -> bytes:
    """The answer of an agent that works."""
    rest = request[1:]
    (length,) = struct.unpack(">I", rest[:4])
    rest = rest[4 + length :]
    (length,) = struct.unpack(">I", rest[:4])
    signature = SIGNER.sign(rest[4 : 4 + length])
    return b"\x0e" + string(string(b"ssh-ed25519") + string(signature))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer, Answer], None]]:
    """Start an agent that gives these bytes, length and all, when it is asked to list its keys and to sign."""
    with tempfile.TemporaryDirectory() as folder, closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(f"{folder}/agent")
        server.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", f"{folder}/agent")
        threads: list[threading.Thread] = []

        def serve(listing: Answer, signing: Answer) -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:  # the test is over
                    return
                with connection, suppress(OSError):
                    request = connection.recv(2**20)[4:]
                    connection.sendall((listing if request[0] == 11 else signing)(request))

        def start(listing: Answer, signing: Answer) -> None:
            threads.append(threading.Thread(target=serve, args=(listing, signing)))
            threads[0].start()

        yield start
        server.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def lists(_: bytes) -> bytes:
    return string(LISTED)


def test_agent_that_works_is_believed(fake: Callable[..., None]) -> None:
    fake(lists, lambda request: string(signed(request)))
    assert opened(RING.keys[0]).sign(b"message") == SIGNER.sign(b"message")


BAD_LISTS = {
    "hangs up": b"",
    "cut length": b"\0\0",
    "no bytes": struct.pack(">I", 0),
    "too many bytes": struct.pack(">I", 2**31) + b"\x0c",
    "cut answer": string(LISTED)[:-1],
    "cut count": string(b"\x0c\0\0"),
    "count without keys": string(b"\x0c" + struct.pack(">I", 3)),
    "count too large": string(b"\x0c\xff\xff\xff\xff" + LISTED[5:]),
    "key that is too long": string(b"\x0c" + struct.pack(">I", 1) + b"\xff\xff\xff\xff" + b"x" * 40),
    "no comment": string(LISTED[: -len(string(b"comment"))]),
    "failure": string(FAILURE),
    "other kind of answer": string(b"\x06" + LISTED[1:]),
    "no keys": string(b"\x0c" + struct.pack(">I", 0)),
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_LISTS)
def test_list_that_makes_no_sense_is_a_missing_key(fake: Callable[..., None], name: str) -> None:
    fake(lambda _: BAD_LISTS[name], lambda request: string(signed(request)))
    with pytest.raises(KeyMissing):
        opened(RING.keys[0])


def answer(kind: bytes, raw: bytes, end: bytes = b"") -> bytes:
    return string(b"\x0e" + string(string(kind) + string(raw) + end))


BAD_SIGNATURES: dict[str, bytes] = {
    "hangs up": b"",
    "no bytes": struct.pack(">I", 0),
    "too many bytes": struct.pack(">I", 2**31) + b"\x0e",
    "failure": string(FAILURE),
    "empty signature": string(b"\x0e"),
    "cut length": string(b"\x0e\0\0"),
    "cut signature": string(b"\x0e" + struct.pack(">I", 83) + string(b"ssh-ed25519")),
    "other algorithm": answer(b"rsa-sha2-512", bytes(64)),
    "63 bytes": answer(b"ssh-ed25519", bytes(63)),
    "65 bytes": answer(b"ssh-ed25519", bytes(65)),
    "something behind it": answer(b"ssh-ed25519", bytes(64), b"\0"),
    "other kind of answer": string(b"\x0c" + string(string(b"ssh-ed25519") + string(bytes(64)))),
}


@pytest.mark.parametrize("name", BAD_SIGNATURES)
def test_answer_that_is_no_signature_is_unusable(fake: Callable[..., None], name: str) -> None:
    fake(lists, lambda _: BAD_SIGNATURES[name])
    with pytest.raises(KeyUnusable):
        opened(RING.keys[0])


def test_signature_that_does_not_fit_is_unfit(fake: Callable[..., None]) -> None:
    fake(lists, lambda _: answer(b"ssh-ed25519", bytes(64)))
    with pytest.raises(KeyUnfit, match="does not fit"):
        opened(RING.keys[0])


def test_agent_that_never_answers_is_missing(fake: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIMEOUT_SECONDS", 0.01)
    released = threading.Event()

    def wait(_: bytes) -> bytes:
        released.wait()
        return b""

    fake(wait, wait)
    try:
        with pytest.raises(KeyMissing, match="can't be reached"):
            opened(RING.keys[0])
    finally:
        released.set()
