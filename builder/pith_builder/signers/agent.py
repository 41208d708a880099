"""`agent:KEY`: an Ed25519 key in ssh-agent, which signs without leaving it; KEY is its id in the key ring.

The agent's protocol (draft-miller-ssh-agent) needs two messages for this: list the keys, sign with one of them.
"""

from __future__ import annotations

import os
import socket
import struct
import time

from pith_builder.errors import KeyLocked, KeyMissing
from pith_builder.keyring import RingKey
from pith_builder.signers import Opening
from pith_builder.signing import SIGNATURE_BYTES

_LIST, _KEYS, _SIGN, _SIGNED = 11, 12, 13, 14
_LARGEST_ANSWER = 2**18
_TIMEOUT_SECONDS = 60
_KEY_TYPE = b"ssh-ed25519"


class AgentSigner:
    """A signer whose private key is held by the agent behind SSH_AUTH_SOCK."""

    def __init__(self, entry: RingKey, address: str) -> None:
        self.key_id, self.public_key = entry.key_id, entry.public_key
        self._address = address
        self._blob = public_blob(entry.public_key)

    def sign(self, message: bytes) -> bytes:
        """The raw signature, 64 bytes. Raises KeyLocked where the agent refuses, KeyMissing where it is gone."""
        answer = _ask(self._address, _SIGN, _string(self._blob) + _string(message) + struct.pack(">I", 0))
        if answer[:1] != bytes([_SIGNED]):
            raise KeyLocked(f"ssh-agent does not sign with {self.key_id}", hint="unlock it, or confirm when it asks")
        try:
            signature, _ = _take(answer[1:])
            kind, rest = _take(signature)
            raw, rest = _take(rest)
        except struct.error:
            kind, raw, rest = b"", b"", b""
        if kind != _KEY_TYPE or rest or len(raw) != SIGNATURE_BYTES:
            raise KeyLocked(f"ssh-agent gave no Ed25519 signature of {self.key_id}")
        return raw


def open_signer(name: str, opening: Opening) -> AgentSigner:
    """The agent's key with this id in the ring. Raises KeyMissing where ring or agent don't have it."""
    entry = opening.keyring.by_id(name)
    if entry is None:
        raise KeyMissing(f"the key ring has no key {name}", hint="pith-build keys import takes its public half")
    address = os.environ.get("SSH_AUTH_SOCK")
    if not address:
        raise KeyMissing("there is no ssh-agent: SSH_AUTH_SOCK is not set", hint="start one, and ssh-add the key")
    if public_blob(entry.public_key) not in _listed(address):
        raise KeyMissing(f"ssh-agent does not hold {name}", hint="ssh-add the key; ssh-add -l lists what it holds")
    return AgentSigner(entry, address)


def public_blob(public_key: bytes) -> bytes:
    """A raw public key (32 bytes) as SSH writes it."""
    return _string(_KEY_TYPE) + _string(public_key)


def _listed(address: str) -> list[bytes]:
    answer = _ask(address, _LIST, b"")
    blobs: list[bytes] = []
    try:
        if answer[0] != _KEYS:
            return []
        (count,) = struct.unpack(">I", answer[1:5])
        rest = answer[5:]
        for _ in range(count):
            blob, rest = _take(rest)
            _, rest = _take(rest)  # its comment
            blobs.append(blob)
    except (struct.error, IndexError):
        raise KeyMissing("ssh-agent gave an answer that can't be read") from None
    return blobs


def _ask(address: str, kind: int, payload: bytes) -> bytes:
    message = bytes([kind]) + payload
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_SECONDS)
            connection.connect(address)
            connection.sendall(struct.pack(">I", len(message)) + message)
            (length,) = struct.unpack(">I", _receive(connection, 4, deadline))
            if not 0 < length <= _LARGEST_ANSWER:
                raise KeyMissing("ssh-agent gave an answer that can't be read")
            return _receive(connection, length, deadline)
    except OSError as error:
        raise KeyMissing(f"ssh-agent can't be reached: {error.strerror or error}") from None


def _receive(connection: socket.socket, length: int, deadline: float) -> bytes:
    data = b""
    while len(data) < length:
        if (left := deadline - time.monotonic()) <= 0:
            raise TimeoutError("it takes too long")
        connection.settimeout(left)
        if not (part := connection.recv(length - len(data))):
            raise ConnectionError("it hung up")
        data += part
    return data


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _take(data: bytes) -> tuple[bytes, bytes]:
    """The string at the start of `data`, and what follows it. Raises struct.error where it is cut."""
    (length,) = struct.unpack(">I", data[:4])
    if len(data) < 4 + length:
        raise struct.error("cut")
    return data[4 : 4 + length], data[4 + length :]
