"""How far each list of changes was read: the checkpoints of `sync`, kept beside the records.

A harvest is one list (`from` a day, perhaps `until` one, perhaps of one set). After each page its resumption token is
kept, so that an interrupted harvest goes on where it was; once finished, the day up to which it covers the changes says
where the next one begins.
"""

from __future__ import annotations

from datetime import date, timedelta

import msgspec
import sqlalchemy as sa

from pith_builder import times
from pith_builder.store.database import reading, writing
from pith_builder.store.schema import harvests
from pith_builder.store.store import Store
from pith_builder.times import Clock


class Window(msgspec.Struct, frozen=True):
    """Which changes: days as `YYYY-MM-DD`, both included; an empty `until_day` or `set_name` doesn't limit."""

    source: str
    from_day: str
    until_day: str = ""
    set_name: str = ""

    def question(self) -> dict[str, str]:
        """The window as the arguments of an OAI-PMH list."""
        named = {"from": self.from_day, "until": self.until_day, "set": self.set_name}
        return {name: value for name, value in named.items() if value}


class Harvest(msgspec.Struct, frozen=True):
    """A harvest: `token` asks for its next page, None for the first; `id` is 0 before its first page is done."""

    window: Window
    id: int = 0
    token: str | None = None
    pages: int = 0
    records: int = 0


class Checkpoints:
    """How far a harvest is, kept nowhere: all that a dry run needs."""

    def page_done(self, harvest: Harvest, token: str | None, day: str, records: int) -> Harvest:
        """The harvest after a page that was given on `day`: `token` asks for the next, None ends the harvest."""
        del day
        return msgspec.structs.replace(harvest, token=token, pages=harvest.pages + 1, records=harvest.records + records)

    def restart(self, harvest: Harvest) -> Harvest:
        """From the first page again, since the source no longer knows the token."""
        return msgspec.structs.replace(harvest, token=None)


class Harvests(Checkpoints):
    """The harvests of a store, kept beside its records."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._engine, self._clock = store.engine, clock

    def due(self, source: str, set_name: str) -> list[Harvest]:
        """Those of a source and set that were interrupted, and the next one; nothing where there never was one.

        The next one begins a day before what is covered: the day that a source gives to a change need not be the day
        on which it is first listed.
        """
        found = self._interrupted(source, set_name)
        query = sa.select(sa.func.max(harvests.c.covers_to)).where(_of(source, set_name))
        with reading(self._engine) as connection:
            covered = connection.scalar(query)
        if covered is not None:
            found.append(Harvest(Window(source, str(date.fromisoformat(covered) - timedelta(days=1)), "", set_name)))
        return found

    def of(self, window: Window) -> Harvest:
        """The interrupted harvest of just this window, or one that hasn't begun."""
        interrupted = self._interrupted(window.source, window.set_name)
        return next((harvest for harvest in interrupted if harvest.window == window), Harvest(window))

    def page_done(self, harvest: Harvest, token: str | None, day: str, records: int) -> Harvest:
        done = super().page_done(harvest, token, day, records)
        now = times.seconds(self._clock())
        values = {"token": token, "pages": done.pages, "records": done.records, "finished_at": None if token else now}
        with writing(self._engine) as connection:
            if harvest.id:
                connection.execute(harvests.update().where(harvests.c.id == harvest.id).values(**values))
                return done
            # The list covers the changes up to the day of its first page; a clock that is ahead must skip nothing.
            covers_to = min(day, harvest.window.until_day or day, now[:10])
            values |= {**msgspec.structs.asdict(harvest.window), "covers_to": covers_to, "begun_at": now}
            row_id = connection.execute(harvests.insert().values(**values).returning(harvests.c.id)).scalar_one()
        return msgspec.structs.replace(done, id=row_id)

    def restart(self, harvest: Harvest) -> Harvest:
        with writing(self._engine) as connection:
            connection.execute(harvests.update().where(harvests.c.id == harvest.id).values(token=None))
        return super().restart(harvest)

    def _interrupted(self, source: str, set_name: str) -> list[Harvest]:
        query = sa.select(harvests).where(_of(source, set_name), harvests.c.finished_at.is_(None))
        with reading(self._engine) as connection:
            return [
                Harvest(
                    Window(row.source, row.from_day, row.until_day, row.set_name),
                    *(row.id, row.token, row.pages, row.records),
                )
                for row in connection.execute(query.order_by(harvests.c.id))
            ]


def _of(source: str, set_name: str) -> sa.ColumnElement[bool]:
    return (harvests.c.source == source) & (harvests.c.set_name == set_name)
