"""What was fetched is kept as it came, and is never needed for more than explanations and work offline."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from lxml import etree

from pith_builder import ArxivId, PaperMetadata, Provenance
from pith_builder.errors import FileFailed, NotFound, SourceMalformed, SourceThrottled, SourceUnreachable
from pith_builder.sources.arxiv import Offline, Online
from pith_builder.sources.fetched import Fetched
from pith_builder.sources.papers import FoundPaper
from pith_builder.sources.transport import Answer
from pith_builder.testing import make_metadata


@pytest.fixture
def fetched(tmp_path: Path) -> Fetched:
    return Fetched(tmp_path / "cache")


def answer(body: bytes = b"<a/>", fetched_at: str = "2026-01-02T03:04:05Z") -> Answer:
    return Answer(
        "https://example.org/oai", body, hashlib.sha256(body).hexdigest(), etree.fromstring(b"<a/>"), fetched_at
    )


def found(metadata: PaperMetadata | None = None, kind: str = "oai") -> FoundPaper:
    return FoundPaper(metadata or make_metadata(), Provenance(f"{kind}:https://example.org/oai", raw_sha256="0" * 64))


def test_answer_comes_back_as_it_was(fetched: Fetched) -> None:
    kept = answer(b"<a>\x00\xff" * 1000)
    fetched.keep(kept, [found()])
    assert fetched.raw(kept.sha256) == kept.body
    assert fetched.find(ArxivId("2601.00001"), "oai") == found()


def test_what_was_never_fetched_is_not_there(fetched: Fetched) -> None:
    assert fetched.find(ArxivId("2601.00001"), "oai") is None
    with pytest.raises(NotFound, match="is not kept"):
        fetched.raw("0" * 64)
    assert not fetched.path.exists()
    fetched.keep(answer(), [])
    with pytest.raises(NotFound, match="is not kept"):
        fetched.raw("0" * 64)


def test_paper_is_the_highest_version_or_the_one_asked_for(fetched: Fetched) -> None:
    fetched.keep(answer(), [found(make_metadata(version=version)) for version in (2, 10, 9)])
    versions = [fetched.find(ArxivId("2601.00001", version), "oai") for version in (None, 9, 3)]
    assert [paper and paper.metadata.version for paper in versions] == [10, 9, None]


def test_newer_word_on_a_version_takes_the_place_of_the_older(fetched: Fetched) -> None:
    fetched.keep(answer(b"<a>1</a>"), [found()])
    newer = found(make_metadata(title="Another"))
    fetched.keep(answer(b"<a>2</a>"), [newer])
    assert fetched.find(ArxivId("2601.00001"), "oai") == newer


def test_sources_are_kept_apart(fetched: Fetched) -> None:
    unlicensed = found(make_metadata(license=None), "atom")
    fetched.keep(answer(), [found(), unlicensed])
    assert fetched.find(ArxivId("2601.00001"), "atom") == unlicensed
    assert fetched.find(ArxivId("2601.00001"), "oai") == found()


def test_same_answer_twice_is_kept_once(fetched: Fetched) -> None:
    for _ in range(2):
        fetched.keep(answer(), [found()])
    assert fetched.raw(answer().sha256) == b"<a/>"


def damage(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"this is no database, and long enough to be seen as none" * 20)


def test_cache_that_can_not_be_used_says_that_it_may_be_taken_away(fetched: Fetched) -> None:
    damage(fetched.path)
    for use in (lambda: fetched.keep(answer(), []), lambda: fetched.raw("0" * 64)):
        with pytest.raises(FileFailed, match="can't be used") as caught:
            use()
        assert "taken away" in caught.value.hint
        assert caught.value.file == str(fetched.path)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE papers SET found = substr(found, 1, 40)",
        "UPDATE papers SET found = NULL",
        "UPDATE papers SET found = CAST('{}' AS BLOB)",
        "UPDATE papers SET found = CAST(replace(CAST(found AS TEXT), 'cs.DL', '1 2') AS BLOB)",
        "UPDATE papers SET found = CAST(replace(CAST(found AS TEXT), '2601.00001', '2601.00009') AS BLOB)",
        "UPDATE answers SET body = x'0011'",
        "UPDATE answers SET body = x'789c4b040000620062'",
        "UPDATE answers SET body = NULL",
        "DROP TABLE papers",
        "DROP TABLE answers",
    ],
)
def test_cache_that_was_damaged_never_gives_another_paper_or_answer(fetched: Fetched, change: str) -> None:
    fetched.keep(answer(), [found()])
    with closing(sqlite3.connect(fetched.path)) as connection, connection:
        connection.execute(change)
    with pytest.raises(FileFailed) as caught:  # noqa: PT012  # one of the two
        assert fetched.find(ArxivId("2601.00001"), "oai") == found()
        fetched.raw(answer().sha256)
    assert "taken away" in caught.value.hint


# --- asking ---------------------------------------------------------------------------------------------------------


class Interface:
    """An interface that answers, or fails as it is told, and counts the questions."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[ArxivId] = []

    def find(self, asked: ArxivId) -> tuple[FoundPaper, Answer]:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        return found(), answer()


@pytest.fixture
def online(fetched: Fetched) -> Callable[..., tuple[Online, Interface, list[FileFailed]]]:
    def call(error: Exception | None = None) -> tuple[Online, Interface, list[FileFailed]]:
        interface, told = Interface(error), list[FileFailed]()
        return Online(interface, fetched, told.append), interface, told

    return call


def test_what_is_fetched_can_be_had_offline_afterwards(
    fetched: Fetched, online: Callable[..., tuple[Online, Interface, list[FileFailed]]]
) -> None:
    arxiv, _, told = online()
    assert arxiv.find(ArxivId("2601.00001")) == Offline("oai", fetched).find(ArxivId("2601.00001")) == found()
    assert told == []


def test_offline_without_the_paper_says_so(fetched: Fetched) -> None:
    with pytest.raises(NotFound, match="never fetched") as caught:
        Offline("oai", fetched).find(ArxivId("2601.00001"))
    assert "--offline" in caught.value.message


def test_answer_that_can_not_be_kept_is_still_an_answer(
    fetched: Fetched, online: Callable[..., tuple[Online, Interface, list[FileFailed]]]
) -> None:
    damage(fetched.path)
    arxiv, _, told = online()
    assert arxiv.find(ArxivId("2601.00001")) == found()
    assert len(told) == 1


@pytest.mark.parametrize(
    ("error", "questions"),
    [(SourceUnreachable("down"), 1), (SourceThrottled("busy"), 1), (NotFound("no"), 2), (SourceMalformed("odd"), 2)],
)
def test_source_is_asked_no_more_once_it_could_not_be_reached_but_after_the_failure_of_one_paper(
    online: Callable[..., tuple[Online, Interface, list[FileFailed]]], error: Exception, questions: int
) -> None:
    arxiv, interface, _ = online(error)
    for n in (1, 2):
        with pytest.raises(type(error)):
            arxiv.find(ArxivId(f"2601.0000{n}"))
    assert len(interface.asked) == questions
