"""Made-up texts and values that follow from a name alone: the same on every machine and every Python."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_NOUNS = (
    *("anchor", "archive", "basis", "bound", "bundle", "catalogue", "chain", "cluster", "digest", "field", "graph"),
    *("hash", "index", "kernel", "lattice", "ledger", "limit", "manifold", "measure", "mirror", "module", "network"),
    *(
        "operator",
        "orbit",
        "paper",
        "phase",
        "proof",
        "record",
        "sample",
        "schema",
        "sequence",
        "signature",
        "spectrum",
    ),
)
_ADJECTIVES = (
    *("abelian", "bounded", "canonical", "compact", "convex", "discrete", "finite", "generic", "harmonic", "linear"),
    *("local", "minimal", "modular", "nested", "open", "periodic", "random", "sparse", "stable", "symmetric"),
)
_VERBS = ("bounds", "contains", "covers", "determines", "follows", "generates", "preserves", "refines", "resolves")
_FIRST = ("Ada", "Alan", "Charles", "Edsger", "Emmy", "Grace", "Kurt", "Leonhard", "Mary", "Sofia", "Srinivasa")
_LAST = (
    *("Babbage", "Dijkstra", "Euler", "Germain", "Goedel", "Hopper", "Kovalevskaya", "Lovelace", "Noether"),
    *("Ramanujan", "Somerville", "Turing"),
)


class Draw:
    """Values drawn for one made-up paper.

    Each is named by what it is for and comes from SHA-256 of that name, so that drawing one more changes no other.
    """

    def __init__(self, seed: int, kind: str, n: int) -> None:
        self.n = n
        self._name = f"pith-build TEST {seed} {kind} {n}"

    def number(self, what: str, below: int) -> int:
        """An integer from 0 to `below` - 1."""
        return int.from_bytes(hashlib.sha256(f"{self._name} {what}".encode()).digest()[:8]) % below

    def choice(self, what: str, options: Sequence[T]) -> T:
        return options[self.number(what, len(options))]

    def title(self) -> str:
        words = [self.choice(f"title {i}", w) for i, w in enumerate((_ADJECTIVES, _NOUNS, _ADJECTIVES, _NOUNS))]
        return f"TEST: On the {words[0].title()} {words[1].title()} of a {words[2].title()} {words[3].title()}"

    def sentence(self, what: str) -> str:
        parts = (_ADJECTIVES, _NOUNS, _VERBS, _ADJECTIVES, _NOUNS)
        one, two, three, four, five = (self.choice(f"{what} {i}", words) for i, words in enumerate(parts))
        return f"The {one} {two} {three} each {four} {five}."

    def text(self, what: str, length: int) -> str:
        """ASCII prose of exactly `length` characters on one line, without a blank at its ends."""
        sentences: list[str] = []
        while sum(map(len, sentences)) + len(sentences) < length + 1:
            sentences.append(self.sentence(f"{what} {len(sentences)}"))
        return " ".join(sentences)[: length - 1].rstrip().ljust(length, ".")

    def names(self, count: int) -> list[str]:
        """`count` different names."""
        start, step = self.number("names", len(_FIRST) * len(_LAST)), 17  # 17 has no factor in common with 11 * 12
        places = [(start + step * i) % (len(_FIRST) * len(_LAST)) for i in range(count)]
        return [f"{_FIRST[place % len(_FIRST)]} {_LAST[place // len(_FIRST)]}" for place in places]

    def paper(self, serial: int) -> dict[str, Any]:
        """Metadata of a paper that isn't there, in the form of a metadata file.

        `serial` gives the id, and with it the month: numbers from 90000 on have never been given out in any.
        """
        month, number = divmod(serial, 10_000)
        day, clock = 1 + self.number("day", 28), self.number("clock", 86_400)
        time = f"{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
        *others, last = self.names(2 + self.number("authors", 3))
        return {
            "arxiv_id": f"25{month + 1:02}.{90_000 + number}",
            "version": 1,
            "title": self.title(),
            "abstract": self.text("abstract", 150 + self.number("abstract", 200)),
            "authors": f"{', '.join(others)} and {last}",
            "categories": self.choice(
                "categories", ("cs.DL cs.CR", "math.CO math-ph", "hep-th gr-qc", "q-bio.QM cs.LG")
            ),
            "license": self.choice("license", _LICENSES),
            "submitted_at": f"2025-{month + 1:02}-{day:02}T{time}Z",
        }


_LICENSES = (
    "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
    "http://creativecommons.org/licenses/by/4.0/",
    "http://creativecommons.org/publicdomain/zero/1.0/",
)
