"""`pkcs11:MODULE?token=LABEL&object=LABEL`: an Ed25519 key in a hardware module (extra `hsm`).

MODULE is the path of the PKCS#11 library; the PIN is asked for as a passphrase, or comes from the same variables.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, unquote

from pith_builder.errors import KeyLocked, KeyMissing, KeyUnfit
from pith_builder.keyring import RingKey
from pith_builder.signers import Opening
from pith_builder.signing import PUBLIC_KEY_BYTES, SIGNATURE_BYTES

#: DER of the curve Ed25519 (OID 1.3.101.112), and the header of an OCTET STRING of 32 bytes.
ED25519_PARAMETERS = bytes.fromhex("06032b6570")
_OCTET_STRING = bytes.fromhex("0420")


class Pkcs11Signer:
    """A signer whose private key never leaves its module."""

    def __init__(self, entry: RingKey, session: Any, private_key: Any, mechanism: Any) -> None:
        self.key_id, self.public_key = entry.key_id, entry.public_key
        self._session, self._private_key, self._mechanism = session, private_key, mechanism

    def sign(self, message: bytes) -> bytes:
        """The raw signature, 64 bytes. Raises KeyUnfit."""
        import PyKCS11

        try:
            signature = bytes(self._session.sign(self._private_key, message, self._mechanism))
        except PyKCS11.PyKCS11Error as error:
            raise KeyUnfit(f"the module does not sign with {self.key_id}: {error}") from None
        if len(signature) != SIGNATURE_BYTES:
            raise KeyUnfit(f"the module gave no Ed25519 signature of {self.key_id}")
        return signature


def open_signer(rest: str, opening: Opening) -> Pkcs11Signer:
    """The key of a token. Raises KeyMissing, KeyLocked (PIN) or KeyUnfit."""
    try:
        import PyKCS11
    except ImportError:
        raise KeyMissing("PKCS#11 needs the extra hsm", hint="pip install 'pith-build[hsm]'") from None
    path, _, query = rest.partition("?")
    wanted = {name: values[0] for name, values in parse_qs(query).items()}
    library = PyKCS11.PyKCS11Lib()
    try:
        library.load(unquote(path))
        session = library.openSession(_slot(library, wanted.get("token")))
        entry, public = _public_key(session, wanted.get("object"), opening)
        _log_in(PyKCS11, session, opening.passphrase(entry.key_id))
        same = [(PyKCS11.CKA_CLASS, PyKCS11.CKO_PRIVATE_KEY), (PyKCS11.CKA_ID, public)]
        private_keys = session.findObjects(same)
    except PyKCS11.PyKCS11Error as error:
        raise KeyMissing(f"the module {path}: {error}", hint="check module, token and object of --key") from None
    if len(private_keys) != 1:
        raise KeyMissing(f"the token holds {len(private_keys)} private keys of {entry.key_id}")
    mechanism = PyKCS11.Mechanism(PyKCS11.CKM_EDDSA, None)
    return Pkcs11Signer(entry, session, private_keys[0], mechanism)


def _slot(library: Any, token: str | None) -> Any:
    slots = library.getSlotList(tokenPresent=True)
    found = [s for s in slots if token in (None, library.getTokenInfo(s).label.strip().rstrip("\0"))]
    if len(found) != 1:
        raise KeyMissing(f"{len(found)} tokens fit", hint="name one: pkcs11:MODULE?token=LABEL&object=LABEL")
    return found[0]


def _public_key(session: Any, label: str | None, opening: Opening) -> tuple[RingKey, Any]:
    """The ring's entry of a public key on the token, and the id that its private half shares with it."""
    import PyKCS11

    template = [(PyKCS11.CKA_CLASS, PyKCS11.CKO_PUBLIC_KEY)]
    if label is not None:
        template.append((PyKCS11.CKA_LABEL, label))
    for found in session.findObjects(template):
        point, identity = session.getAttributeValue(found, [PyKCS11.CKA_EC_POINT, PyKCS11.CKA_ID])
        raw = bytes(point).removeprefix(_OCTET_STRING)
        if len(raw) == PUBLIC_KEY_BYTES and (entry := opening.keyring.by_public_key(raw)):
            return entry, identity
    raise KeyMissing("no key of the key ring is on the token", hint="pith-build keys import takes its public half")


def _log_in(pkcs11: Any, session: Any, pin: bytes) -> None:
    try:
        session.login(pin.decode(errors="surrogateescape"))
    except pkcs11.PyKCS11Error as error:
        if error.value == pkcs11.CKR_USER_ALREADY_LOGGED_IN:
            return
        raise KeyLocked(f"the PIN does not open the token: {error}") from None
