"""The pytest plugin of pith-build: fixtures for tests of what handles pith records.

Whoever has pith-build installed loads this module in every run of pytest. So it stands beside the package, whose import
would load all of it, and each fixture imports what it needs when a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pith_builder import Issuer, KeyRing, PithRecord


@pytest.fixture
def pith_issuer() -> Issuer:
    """An issuer under the first TEST key and a clock that stands still: `pith_issuer.issue(metadata)`."""
    from pith_builder import Issuer
    from pith_builder.testing import FrozenClock, make_signer

    return Issuer(make_signer(), clock=FrozenClock())


@pytest.fixture
def pith_record() -> PithRecord:
    """A complete record of a made-up paper, which verifies under `pith_keyring`; each test has its own.

    For other records call `pith_issuer.issue`, or `pith_builder.testing.make_record`.
    """
    from pith_builder.testing import make_record

    return make_record()


@pytest.fixture
def pith_keyring() -> KeyRing:
    """The public ring of `pith_issuer`: the first TEST key, active."""
    from pith_builder.testing import make_keyring

    return make_keyring()


@pytest.fixture(scope="session")
def pith_vectors() -> dict[str, dict[str, Any]]:
    """The conformance vectors by their rule, read once: `pith_vectors["number"]["tests"]`. Not to be changed."""
    from pith_builder.testing.vectors.files import load_vectors

    return load_vectors()
