"""The text of a made-up corpus: words, running text, titles, as they go into JSON.

Everything is the same on every machine and every Python, and written as `json.dumps` spells it within quotes.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from typing import NamedTuple


def numbers(name: str, count: int) -> Iterator[int]:
    """So many numbers from 0 to 65535, which follow from the name."""
    digest = hashlib.shake_128(f"pith-build TEST corpus {name}".encode()).digest(2 * count)
    return iter(struct.unpack(f"<{count}H", digest))


def listed(text: str, at: str = " ") -> tuple[str, ...]:
    """What stands in `text`, one after the other."""
    return tuple(text.split(at))


def inside(text: str) -> str:
    """What stands between the quotes of a JSON string."""
    return json.dumps(text)[1:-1]


# --- words ---------------------------------------------------------------------------------------------------

_COMMON = listed(
    "the of and a in to is we for that with on by are as this from an which be at it can our these show using "
    "between also results two model has have study not or its such how when then where both first more than"
)
_WORDS = listed(
    "algebra algorithm amplitude analysis approach asymptotic atom band baryon boundary bounded branching calculation "
    "charge classification cluster coherent collision compact conditions conformal constant coupling critical "
    "curvature dark data decay density detector determined dimension discrete disk distribution dynamics effective "
    "eigenvalue electron emission energy entropy equation estimate evidence evolution exact experiment explicit "
    "field finite flow fluctuations formation framework function galaxy gauge generalized geometry graph gravity "
    "ground group halo harmonic heavy high-redshift holomorphic hydrodynamic inequality inference infinite "
    "interaction invariant kernel kinetic lattice learning light-curve limit linear local low-temperature magnetic "
    "manifold mass matter measure measurement method metric minimal module momentum multi-scale network neural "
    "neutrino noise nonlinear numerical observations one-loop operator optimal orbit order parameter particle "
    "perturbation phase photon polynomial potential prediction problem process proof properties protocol quantum "
    "quark radiation random rate regime relation representation resonance sample scalar scaling scattering "
    "self-adjoint semigroup sequence simulation singular solution space sparse spectral spectrum spin stability star "
    "state statistical stochastic structure supersymmetric surface symmetry system temperature tensor theorem theory "
    "time topological training transition transport uniform vacuum variable variety vector velocity vortex wave "
    "weakly width zero"
)
_TEX = listed(
    r"$\alpha$|$N$|$p$-adic|$\mathbb{Z}/p\mathbb{Z}$|$\sim 10^{-3}$|$L^2$|$SU(3)_c$|$z\approx 1.4$|$e^+e^-$|$x<y$|"
    r"$\epsilon>0$|$O(n\log n)$|$\Lambda_{QCD}$|$H\to\tau^+\tau^-$|Schr\"odinger|Poincar\'e|Erd\H{o}s|K\"ahler|R&D|"
    r"{\it in situ}|{\bf Z}|\emph{exact}|5--10\%|``naive''|\cite{abc}|C^* algebra|phi^4|~500 km/s|\'etale|M\"obius",
    at="|",
)
#: Few, as in arXiv's own metadata; with letters whose lower case isn't simple.
_BEYOND_ASCII = ("Schrödinger", "5–10", "Gödel’s", "ΑΣ", "İstanbul", "e\u0301tale", "Å", "𝒩=4", "naïve")


def _words(name: str, count: int) -> list[str]:
    """Words of running text, without sentences."""
    found = []
    for kind, word in zip(*[numbers(name, 2 * count)] * 2, strict=True):
        if kind % 6000 == 0:
            found.append(_BEYOND_ASCII[word % len(_BEYOND_ASCII)])
        elif kind % 100 < 1:
            found.append(_TEX[word % len(_TEX)])
        else:
            words = _COMMON if kind % 100 < 45 else _WORDS
            found.append(words[word % len(words)])
    return found


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _prose(name: str, count: int) -> list[str]:
    """Words in sentences."""
    words, left = _words(name, count), 0
    for i, length in enumerate(numbers(f"{name}, sentences", count)):
        if left == 0:
            left = 8 + length % 20
            words[i] = _capital(words[i])
        left -= 1
        if left == 0:
            words[i] += "."
        elif length % 14 == 13:
            words[i] += ","
    return words


def _wrapped(words: list[str], width: int) -> list[str]:
    lines, line = [], words[0]
    for word in words[1:]:
        if len(line) + len(word) < width:
            line += f" {word}"
        else:
            lines.append(line)
            line = word
    return lines


class Prose(NamedTuple):
    """Running text in wrapped lines, each with its newline: line i is `text[offsets[i]:offsets[i + 1]]`."""

    text: str
    offsets: list[int]

    @classmethod
    def make(cls, words: int) -> Prose:
        lines = [inside(f"{line}\n") for line in _wrapped(_prose("prose", words), 79)]
        offsets = [0]
        for line in lines:
            offsets.append(offsets[-1] + len(line))
        return cls("".join(lines), offsets)


_STARTS = (
    "We study", "We show that", "We present", "In this paper we consider", "It is known that", "Let $X$ be", "Using",
    "This paper describes", "Recently,", "We prove that", "Motivated by", "A new", "The aim of this work is",
)  # fmt: skip


def _filled(name: str, count: int, starts: tuple[str, ...], width: int) -> list[str]:
    """Lines into which no further word goes."""
    words = iter(_words(name, 16 * count))
    found = []
    for start in numbers(f"{name}, starts", count):
        line = starts[start % len(starts)]
        while len(word := next(words)) + len(line) < width:
            line += f" {word}"
        found.append(inside(f"{line}\n"))
    return found


def openings(count: int) -> list[str]:
    """First lines of abstracts, each with its newline."""
    return _filled("openings", count, _STARTS, 77)


def closings(count: int) -> list[str]:
    """Last lines of abstracts, of 12 to 79 characters, with full stop and newline."""
    words = iter(_words("closings", 16 * count))
    found = []
    for length in numbers("closings, lengths", count):
        line = next(words)
        while len(line) < 11 + length % 66 and len(line) + len(word := next(words)) < 77:
            line += f" {word}"
        found.append(inside(f"{line}.\n"))
    return found


_HEADS = ("On the", "A note on", "Remarks on the", "Towards a", "The", "Measurement of the", "Search for", "Deep")
_LINKS = ("of", "in", "for", "with", "and", "from", "via", "of the", "on", "near", "without")


def _phrases(name: str, count: int, starts: tuple[str, ...]) -> list[str]:
    words = iter(_words(name, 8 * count))
    found = []
    for number in numbers(f"{name}, starts", count):
        more = (next(words) for _ in range(1 + number // 16 % 6))
        found.append(inside(" ".join((starts[number % len(starts)], *more))))
    return found


def title_heads(count: int) -> list[str]:
    """How titles begin, or what they are whole."""
    return _phrases("heads", count, _HEADS)


def title_lines(count: int) -> list[str]:
    """First lines of wrapped titles, each with its newline."""
    return _filled("title lines", count, _HEADS, 72)


def title_tails(count: int) -> list[str]:
    """How titles go on."""
    return _phrases("tails", count, _LINKS)
