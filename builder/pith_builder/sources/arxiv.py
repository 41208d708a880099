"""arXiv as a place where papers are looked up: over the network, or among what was fetched before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import FileFailed, NotFound, SourceThrottled, SourceUnreachable
from pith_builder.sources.fetched import Fetched
from pith_builder.sources.papers import FoundPaper

if TYPE_CHECKING:  # work offline does without the network's libraries
    from pith_builder.sources.transport import Answer


class Interface(Protocol):
    """One of arXiv's interfaces: `Oai` or `Atom`."""

    def find(self, asked: ArxivId) -> tuple[FoundPaper, Answer]: ...


def keep(fetched: Fetched, answer: Answer, papers: list[FoundPaper], not_kept: Callable[[FileFailed], None]) -> None:
    """Keep an answer; `not_kept` is told where that can't be done, which stops nothing."""
    try:
        fetched.keep(answer, papers)
    except FileFailed as error:
        not_kept(error)


class Online:
    """Asks arXiv, and keeps what it answers."""

    def __init__(self, interface: Interface, fetched: Fetched, not_kept: Callable[[FileFailed], None]) -> None:
        """`not_kept` is told where an answer could not be kept, which stops nothing."""
        self._interface, self._fetched, self._not_kept = interface, fetched, not_kept
        self._down: SourceUnreachable | SourceThrottled | None = None

    def find(self, asked: ArxivId) -> FoundPaper:
        """The paper as arXiv describes it now. Raises NotFound, VersionMismatch or SourceFailed.

        Once it could not be reached, it isn't asked again.
        """
        if self._down is not None:
            raise self._down
        try:
            found, answer = self._interface.find(asked)
        except (SourceUnreachable, SourceThrottled) as error:
            self._down = error
            raise
        keep(self._fetched, answer, [found], self._not_kept)
        return found


class Offline:
    """What was fetched before, from one kind of source."""

    def __init__(self, kind: str, fetched: Fetched) -> None:
        self._kind, self._fetched = kind, fetched

    def find(self, asked: ArxivId) -> FoundPaper:
        """The paper as it was when it was last fetched. Raises NotFound or FileFailed."""
        if (found := self._fetched.find(asked, self._kind)) is None:
            raise NotFound(
                f"{asked} was never fetched (into {self._fetched.path}), and --offline forbids to ask arXiv",
                hint="run again without --offline, give them with --metadata FILE, or a catalogue with --catalog; "
                "what came from the other interface needs --source",
            )
        return found
