"""Issuing as a function from one Arrow batch to another: what any engine that moves Arrow batches can call.

It does nothing but compute and ask the signer: no files, no environment, no clock of its own. The steps are those of
the Issuer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pith_builder.corpus import table
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.corpus.table import pa
from pith_builder.errors import InvalidInput, InvalidMetadata, PithError, Refused, cleaned, cut
from pith_builder.issue import Issuer
from pith_builder.metadata import FIELDS, PaperMetadata
from pith_builder.published import DEFAULT_PROFILE, Profile
from pith_builder.signing import Signer
from pith_builder.sources.papers import read_paper
from pith_builder.sources.rows import read_metadata
from pith_builder.times import Clock

#: The columns that come out: those of a table of numbers, null where a row gave none, and then why.
SCHEMA: pa.Schema = table.SCHEMA.append(pa.field("error_code", pa.string())).append(
    pa.field("error_message", pa.string())
)

#: Columns of a snapshot row that a record is built from.
SNAPSHOT_COLUMNS = ("id", "title", "abstract", "authors", "categories", "license", "versions")

#: The column of rows that are still JSON.
LINE = "line"


def issue_batch(
    batch: pa.RecordBatch, *, signer: Signer, clock: Clock, profile: Profile = DEFAULT_PROFILE
) -> pa.RecordBatch:
    """Numbers and receipts of the papers in a batch, as a batch of `SCHEMA`: a row for each, in the same order.

    The columns that come in are told by their names, and others are ignored: our own form (`arxiv_id`, `version`, …; a
    null licence is unknown), a row of the metadata snapshot (`id`, `versions`, …; a null licence is none, and without
    the column it is unknown), or `line`, a row of either form as JSON that is still to be read.

    A row that gives no record has its `error_code` and `error_message`, and null elsewhere. Raises InvalidMetadata
    where the columns are of no form, and what the signer raises: without a fit key, no row is at fault.
    """
    columns, read = form_of(batch.schema)
    found: list[Any] = list(_rows(batch, columns))
    for step in (read, Issuer(signer, profile, clock).sign, NumberedReceipt.of):
        found = [_done(step, given) for given in found]  # for all rows before the next step, which saves a fifth
    errors = [one if isinstance(one, PithError) else None for one in found]
    arrays = table.columns([None if isinstance(one, PithError) else one for one in found])
    arrays.append(pa.array([error and error.code for error in errors], pa.string()))
    arrays.append(pa.array([error and _message(error) for error in errors], pa.string()))
    return pa.record_batch(arrays, schema=SCHEMA)


def _done(step: Callable[[Any], Any], given: Any) -> Any:
    """What a step makes of a row, or the error by which the row gives no record."""
    if isinstance(given, PithError):
        return given
    try:
        return step(given)
    except (InvalidInput, Refused) as error:
        return error


def _message(error: PithError) -> str:
    return cleaned(cut(": ".join(part for part in (error.field, error.message) if part), 500))


# --- the columns that come in -----------------------------------------------------------------------------------


class Form(NamedTuple):
    """What stands in a batch: the columns that are looked at, and what makes metadata of a row of them."""

    columns: list[str]
    read: Callable[[dict[str, Any]], PaperMetadata]


def form_of(schema: pa.Schema) -> Form:
    """The form of the rows of a batch. Raises InvalidMetadata where it is none that is known."""
    names = set(schema.names)
    for needed, known, read in (
        ({"arxiv_id"}, FIELDS, read_metadata),
        ({"id", "versions"}, SNAPSHOT_COLUMNS, read_metadata),
        ({LINE}, (LINE,), _read_line),
    ):
        if needed <= names:
            columns = [name for name in known if name in names]
            if twice := [name for name in columns if schema.names.count(name) > 1]:
                raise InvalidMetadata([(twice[0], "there are two columns of this name")])
            return Form(columns, read)
    raise InvalidMetadata(
        [("", f"no columns of metadata are among these: {cut(', '.join(map(cleaned, schema.names)))}")],
        hint="our own form has arxiv_id, version, …; a metadata snapshot has id, versions, …; JSON stands in line",
    )


def _read_line(row: dict[str, Any]) -> PaperMetadata:
    line = row[LINE]
    if line is None:
        raise InvalidMetadata([(LINE, "is null")])
    return read_paper(line).metadata


def _rows(batch: pa.RecordBatch, columns: list[str]) -> Iterator[dict[str, Any] | InvalidInput]:
    """The rows as dicts of plain values, or why one can't be read; JSON that is still to be read as bytes."""
    picked = batch.select(columns)
    if columns == [LINE]:
        picked = pa.record_batch([as_bytes(picked.column(0))], names=[LINE])
    try:
        rows: list[dict[str, Any]] = picked.to_pylist()
    except (ValueError, OverflowError):  # somewhere among them is text that is no UTF-8, or a time beyond all calendars
        return (_row(picked.slice(n, 1)) for n in range(picked.num_rows))
    return iter(rows)


def as_bytes(column: pa.Array) -> pa.Array:
    """Text as its bytes, so that it is read as strictly as a file."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    try:
        return column.cast(pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidMetadata([(LINE, f"is no column of text or bytes, but of {column.type}")]) from None


def _row(of_one: pa.RecordBatch) -> dict[str, Any] | InvalidInput:
    row = {}
    for name, column in zip(of_one.schema.names, of_one.columns, strict=True):
        try:
            [row[name]] = column.to_pylist()
        except UnicodeDecodeError as error:
            return InvalidMetadata([(name, f"invalid UTF-8 at byte {error.start}")])
        except (ValueError, OverflowError):
            return InvalidMetadata([(name, f"holds a {column.type} that can't be read")])
    return row
