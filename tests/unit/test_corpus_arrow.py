"""Issuing from one Arrow batch to another gives for each row what the Issuer gives, or the reason why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from pith_builder import Issuer, Profile
from pith_builder.corpus import arrow, table
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.errors import InvalidInput, InvalidMetadata, InvalidRecord, KeyMissing, LicenseUnknown
from pith_builder.metadata import FIELDS
from pith_builder.signing import SIGNATURE_BYTES
from pith_builder.sources.rows import read_metadata
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_signer
from pith_builder.testing.corpus import with_faults

STEP = timedelta(microseconds=1)


def clock() -> FrozenClock:
    return FrozenClock(step=STEP)


def issued(batch: pa.RecordBatch, **options: Any) -> pa.RecordBatch:
    found = arrow.issue_batch(batch, **{"signer": make_signer(), "clock": clock()} | options)
    found.validate(full=True)
    return found


def errors(batch: pa.RecordBatch) -> list[tuple[str | None, str | None]]:
    """Code and message of each row, after a check that a row has these or a number, and never parts of both."""
    rows = issued(batch).to_pylist()
    assert len(rows) == batch.num_rows
    for row in rows:
        of_table = [row[name] is not None for name in table.SCHEMA.names]
        of_error = [row[name] is not None for name in ("error_code", "error_message")]
        assert (all(of_table) and not any(of_error)) or (all(of_error) and not any(of_table))
    return [(row["error_code"], row["error_message"]) for row in rows]


def line_batch(*lines: bytes) -> pa.RecordBatch:
    return pa.record_batch([pa.array(lines, pa.binary())], names=["line"])


def own_form(**changes: Any) -> dict[str, Any]:
    return {**msgspec.structs.asdict(make_metadata()), **changes}


@pytest.fixture(scope="module")
def lines(registry: Path) -> list[bytes]:
    """Real rows of the metadata snapshot."""
    return (registry / "snapshot_rows.jsonl").read_bytes().splitlines()


@pytest.fixture(scope="module")
def rows(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def wanted(rows: list[dict[str, Any]]) -> list[NumberedReceipt]:
    """What the Issuer gives for the rows."""
    issuer = Issuer(make_signer(), clock=clock())
    return [NumberedReceipt.of(issuer.sign(read_metadata(row))) for row in rows]


# --- what comes out --------------------------------------------------------------------------------------------


def test_real_rows_give_what_the_issuer_gives(rows: list[dict[str, Any]], wanted: list[NumberedReceipt]) -> None:
    found = issued(pa.RecordBatch.from_pylist(rows))
    assert found.schema == arrow.SCHEMA
    assert found["error_code"].null_count == found["error_message"].null_count == len(rows)
    assert found.select(table.SCHEMA.names).equals(table.to_batch(wanted))


def test_rows_of_the_table_read_back_as_they_were_and_their_signatures_hold(wanted: list[NumberedReceipt]) -> None:
    batch = table.to_batch(wanted)
    assert batch.schema == table.SCHEMA
    key = make_keyring().keys[0].public_key
    read = [table.from_row(row) for row in batch.to_pylist()]
    assert read == wanted
    for row, number in zip(batch.to_pylist(), read, strict=True):
        digest = number.canonical_record.digest()
        assert row["canonical_sha256"] == digest.hex()
        assert row["canonical_record"].encode() == number.canonical_record.to_bytes()
        assert row["pith_number"] == str(number.canonical_record.number())
        assert number.receipt.is_signed_by(key, digest)


def test_our_own_form_gives_the_same_as_the_snapshot_row(
    rows: list[dict[str, Any]], wanted: list[NumberedReceipt]
) -> None:
    own = [msgspec.structs.asdict(read_metadata(row)) for row in rows]
    assert issued(pa.RecordBatch.from_pylist(own)).select(table.SCHEMA.names).equals(table.to_batch(wanted))


def test_the_profile_is_the_one_that_is_given() -> None:
    [row] = issued(pa.RecordBatch.from_pylist([own_form()]), profile=Profile(builder_version="other-v1")).to_pylist()
    assert row["receipt"]["builder_version"] == "other-v1"


def test_a_batch_of_no_rows_gives_one_of_no_rows(rows: list[dict[str, Any]]) -> None:
    for batch in (pa.RecordBatch.from_pylist(rows).slice(0, 0), line_batch()):
        found = issued(batch)
        assert found.num_rows == 0
        assert found.schema == arrow.SCHEMA


def test_a_slice_of_a_batch_gives_its_rows_alone(rows: list[dict[str, Any]]) -> None:
    found = issued(pa.RecordBatch.from_pylist(rows).slice(7, 3))
    assert found["arxiv_id"].to_pylist() == [row["id"] for row in rows[7:10]]


def test_a_bad_row_between_good_ones_leaves_them_and_their_order_alone() -> None:
    batch = pa.RecordBatch.from_pylist(
        [own_form(), own_form(title=" "), own_form(arxiv_id="2601.00003"), own_form(license=None)]
    )
    assert errors(batch) == [
        (None, None),
        ("invalid_metadata", "title: is empty"),
        (None, None),
        ("license_unknown", "license: the licence of 2601.00001v1 is not known, and a record holds it"),
    ]


def test_several_faults_of_a_row_stand_in_one_message() -> None:
    [(code, message)] = errors(pa.RecordBatch.from_pylist([own_form(version=0, categories="")]))
    assert code == "invalid_metadata"
    assert message is not None
    assert "version: 0 is no integer" in message
    assert "categories: there is none" in message


def test_a_message_shows_no_control_characters_and_is_not_longer_than_it_needs_to_be() -> None:
    [(_, message)] = errors(line_batch(json.dumps(own_form(license="\x1b[2J" + "x" * 5000)).encode()))
    assert message is not None
    assert message.isprintable()
    assert len(message) < 600


def test_a_repeated_row_stays_a_row() -> None:
    found = issued(pa.RecordBatch.from_pylist([own_form(), own_form()]))
    assert len(set(found["pith_number"].to_pylist())) == 1
    assert found["error_code"].null_count == found.num_rows == 2


# --- the columns that come in ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encode",
    [
        lambda lines: pa.array(lines, pa.binary()),
        lambda lines: pa.array(lines, pa.large_binary()),
        lambda lines: pa.array([line.decode() for line in lines], pa.string()),
        lambda lines: pa.array([line.decode() for line in lines], pa.large_string()),
        lambda lines: pa.array([line.decode() for line in lines], pa.string_view()),
        lambda lines: pa.array([line.decode() for line in lines]).dictionary_encode(),
    ],
    ids=["binary", "large_binary", "string", "large_string", "string_view", "dictionary"],
)
def test_lines_of_json_give_the_same_whatever_type_of_text_they_are(
    encode: Callable[[list[bytes]], pa.Array], lines: list[bytes], wanted: list[NumberedReceipt]
) -> None:
    found = issued(pa.record_batch([encode(lines)], names=["line"]))
    assert found.select(table.SCHEMA.names).equals(table.to_batch(wanted))


def test_lines_of_both_forms_may_stand_beside_each_other(lines: list[bytes]) -> None:
    assert errors(line_batch(lines[0], json.dumps(own_form()).encode())) == [(None, None)] * 2


def test_large_and_dictionary_encoded_columns_give_the_same(
    rows: list[dict[str, Any]], wanted: list[NumberedReceipt]
) -> None:
    batch = pa.RecordBatch.from_pylist(rows)
    for name in ("id", "categories", "license"):
        at = batch.schema.get_field_index(name)
        batch = batch.set_column(at, name, batch.column(at).dictionary_encode())
    for name in ("title", "abstract", "authors"):
        at = batch.schema.get_field_index(name)
        batch = batch.set_column(at, name, batch.column(at).cast(pa.large_string()))
    version = pa.struct([("created", pa.large_string()), ("version", pa.string()), ("size", pa.int64())])
    at = batch.schema.get_field_index("versions")
    batch = batch.set_column(at, "versions", pa.array([row["versions"] for row in rows], pa.large_list(version)))
    assert issued(batch).select(table.SCHEMA.names).equals(table.to_batch(wanted))


def test_columns_that_nobody_knows_are_not_looked_at(rows: list[dict[str, Any]], wanted: list[NumberedReceipt]) -> None:
    batch = pa.RecordBatch.from_pylist(rows)
    beyond_calendars = pa.array([2**62] * len(rows), pa.timestamp("us"))
    batch = batch.append_column("fetched", beyond_calendars).append_column("line", pa.nulls(len(rows)))
    assert issued(batch).select(table.SCHEMA.names).equals(table.to_batch(wanted))


@pytest.mark.parametrize("names", [[], ["id"], ["versions"], ["title", "abstract"], ["LINE"]])
def test_columns_of_no_form_are_an_error_of_the_batch_and_not_of_its_rows(names: list[str]) -> None:
    batch = pa.record_batch([pa.array(["x"]) for _ in names], names=names)
    with pytest.raises(InvalidMetadata, match="no columns of metadata"):
        issued(batch)


def test_two_columns_of_one_name_are_an_error_of_the_batch() -> None:
    batch = pa.RecordBatch.from_pylist([own_form()])
    with pytest.raises(InvalidMetadata, match="two columns"):
        issued(batch.append_column("title", pa.array(["Another"])))


def test_a_column_of_lines_that_is_no_text_is_an_error_of_the_batch() -> None:
    with pytest.raises(InvalidMetadata, match="no column of text or bytes, but of list"):
        issued(pa.record_batch([pa.array([["{}"]])], names=["line"]))


# --- rows that give no record ------------------------------------------------------------------------------------


def test_a_null_licence_of_the_snapshot_is_none_and_without_the_column_it_is_unknown(
    rows: list[dict[str, Any]],
) -> None:
    nulls = pa.RecordBatch.from_pylist([{**row, "license": None} for row in rows[:3]])
    assert nulls.schema.field("license").type == pa.null()
    canonical = [json.loads(text) for text in issued(nulls)["canonical_record"].to_pylist()]
    assert [record["metadata"]["license"] for record in canonical] == [""] * 3
    without = nulls.drop_columns("license")
    assert [code for code, _ in errors(without)] == [LicenseUnknown.code] * 3


def test_a_null_or_absent_licence_of_our_own_form_is_unknown_and_an_empty_one_is_none() -> None:
    batch = pa.RecordBatch.from_pylist([own_form(license=None), own_form(license="")])
    assert [code for code, _ in errors(batch)] == [LicenseUnknown.code, None]
    assert [code for code, _ in errors(batch.drop_columns("license"))] == [LicenseUnknown.code] * 2


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"license"}))
def test_a_null_in_our_own_form_is_said_of_its_field(name: str) -> None:
    [good, (code, message)] = errors(pa.RecordBatch.from_pylist([own_form(), own_form(**{name: None})]))
    assert good == (None, None)
    assert code == "invalid_metadata"
    assert message is not None
    assert message.startswith(f"{name}: None")


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"license", "arxiv_id"}))
def test_a_column_of_our_own_form_that_is_missing_is_named_in_each_row(name: str) -> None:
    batch = pa.RecordBatch.from_pylist([own_form()] * 2).drop_columns(name)
    assert errors(batch) == [("invalid_metadata", f"{name}: is missing")] * 2


@pytest.mark.parametrize("name", ["title", "abstract", "authors", "categories"])
def test_a_column_of_the_snapshot_that_is_missing_is_named_in_each_row(rows: list[dict[str, Any]], name: str) -> None:
    batch = pa.RecordBatch.from_pylist(rows[:2]).drop_columns(name)
    assert errors(batch) == [("invalid_metadata", f"{name}: is missing")] * 2


@pytest.mark.parametrize("name", ["id", "title", "abstract", "authors", "categories", "versions"])
def test_a_null_in_a_snapshot_row_is_an_error_of_that_row(rows: list[dict[str, Any]], name: str) -> None:
    batch = pa.RecordBatch.from_pylist([rows[0], {**rows[0], name: None}])
    [good, (code, message)] = errors(batch)
    assert (good, code) == ((None, None), "invalid_metadata")
    assert message is not None
    assert message.startswith({"id": "arxiv_id"}.get(name, name))


@pytest.mark.parametrize(
    ("versions", "reason"),
    [
        ([], "no v1"),
        ([None], "not a list of objects"),
        ([{"version": None, "created": "Mon, 2 Apr 2007 19:18:42 GMT"}], "None is no version"),
        ([{"version": "v1", "created": None}], "None is no time"),
        ([{"version": "v2", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}], "no v1"),
        ([{"version": "v1", "created": "Tue, 2 Apr 2007 19:18:42 GMT"}], "that day was a Mon"),
    ],
)
def test_versions_that_cant_be_read_are_an_error_of_their_row(
    rows: list[dict[str, Any]], versions: list[Any], reason: str
) -> None:
    batch = pa.RecordBatch.from_pylist([rows[0], {**rows[0], "versions": versions}])
    [good, (code, message)] = errors(batch)
    assert (good, code) == ((None, None), "invalid_metadata")
    assert message is not None
    assert reason in message


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("version", pa.array([1.0])),
        ("version", pa.array([True])),
        ("version", pa.array(["1"])),
        ("title", pa.array([b"A Made-Up Paper"])),
        ("submitted_at", pa.array([1], pa.timestamp("s", "UTC"))),
        ("authors", pa.array([["Ada Lovelace"]])),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_not_taken_for_what_it_may_mean(name: str, values: pa.Array) -> None:
    batch = pa.RecordBatch.from_pylist([own_form()])
    [(code, message)] = errors(batch.set_column(batch.schema.get_field_index(name), name, values))
    assert code == "invalid_metadata"
    assert message is not None
    assert message.startswith(f"{name}: ")


@pytest.mark.parametrize("type_", [pa.int8(), pa.uint16(), pa.int64()], ids=str)
def test_any_integer_type_holds_a_version(type_: pa.DataType) -> None:
    batch = pa.RecordBatch.from_pylist([own_form()])
    at = batch.schema.get_field_index("version")
    assert errors(batch.set_column(at, "version", batch.column(at).cast(type_))) == [(None, None)]


def test_text_that_is_no_utf_8_is_an_error_of_its_row_alone() -> None:
    batch = pa.RecordBatch.from_pylist([own_form(), own_form(), own_form()])
    damaged = pa.Array.from_buffers(pa.string(), 3, pa.array([b"one", b"tw\xff", b"three"]).buffers())
    batch = batch.set_column(batch.schema.get_field_index("title"), "title", damaged)
    assert errors(batch) == [(None, None), ("invalid_metadata", "title: invalid UTF-8 at byte 2"), (None, None)]


def test_a_time_beyond_all_calendars_is_an_error_of_its_row_alone() -> None:
    batch = pa.RecordBatch.from_pylist([own_form(), own_form()])
    times = pa.array([0, 2**62], pa.timestamp("us"))
    batch = batch.set_column(batch.schema.get_field_index("submitted_at"), "submitted_at", times)
    [(_, is_a_datetime), (_, unread)] = errors(batch)
    assert is_a_datetime is not None
    assert is_a_datetime.startswith("submitted_at: datetime")
    assert unread == "submitted_at: holds a timestamp[us] that can't be read"


@pytest.mark.parametrize(
    ("line", "code", "reason"),
    [
        (b'{"arxiv_id": "2601.00001", "arxiv_id": "2601.00002"}', "invalid_json", "stands twice"),
        (b'{"arxiv_id": NaN}', "invalid_json", "NaN is not JSON"),
        (b'{"arxiv_id": "\\ud800"}', "invalid_json", "lone surrogate"),
        (b'{"arxiv_id": "\xff"}', "invalid_json", "invalid UTF-8"),
        (b'{"arxiv_id": "2601.00001"', "invalid_json", ""),
        (b"{} {}", "invalid_json", "Extra data"),
        (b"", "invalid_json", ""),
        (b"[" * 100 + b"]" * 100, "invalid_json", "nested"),
        (b"[]", "invalid_metadata", "no JSON object"),
        (b"null", "invalid_metadata", "no JSON object"),
        (b"{}", "invalid_metadata", "neither our own form"),
        (None, "invalid_metadata", "line: is null"),
    ],
    ids=str,
)
def test_a_line_is_read_as_strictly_as_a_file(line: bytes, code: str, reason: str) -> None:
    good = json.dumps(own_form()).encode()
    [first, (found, message), last] = errors(line_batch(good, line, good))
    assert first == last == (None, None)
    assert found == code
    assert message is not None
    assert reason in message


def test_every_fault_of_a_made_up_corpus_is_found_and_nothing_else() -> None:
    made = list(with_faults(120))
    found = errors(line_batch(*[row.line for row in made]))
    codes = {"no-v1": "invalid_metadata", "not-json": "invalid_json", "no-license": "license_unknown"}
    assert [code for code, _ in found] == [codes.get(row.fault or "") for row in made]


# --- what is no fault of a row -----------------------------------------------------------------------------------


class Gone:
    """A signer whose key is not there any more."""

    key_id, public_key = make_signer().key_id, make_signer().public_key

    def sign(self, message: bytes) -> bytes:
        raise KeyMissing(f"the agent has no key, and was to sign {len(message)} bytes")


def test_a_signer_that_fails_fails_the_batch() -> None:
    with pytest.raises(KeyMissing):
        issued(pa.RecordBatch.from_pylist([own_form()]), signer=Gone())


def test_a_signer_is_asked_for_good_rows_alone() -> None:
    batch = pa.RecordBatch.from_pylist([own_form(title=""), own_form(license=None)])
    assert issued(batch, signer=Gone())["error_code"].to_pylist() == ["invalid_metadata", "license_unknown"]


# --- reading a table again ---------------------------------------------------------------------------------------


def test_the_table_survives_parquet(tmp_path: Path, wanted: list[NumberedReceipt]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_batches([table.to_batch(wanted)]), tmp_path / "x.parquet")
    read = pq.read_table(tmp_path / "x.parquet")
    assert read.schema == table.SCHEMA
    assert [table.from_row(row) for row in read.to_pylist()] == wanted


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"canonical_sha256": "00" * 32}, "canonical_sha256"),
        ({"canonical_sha256": None}, "canonical_sha256"),
        ({"canonical_record": None}, ""),
        ({"canonical_record": "{}"}, ""),
        ({"receipt": None}, "receipt"),
        ({"version": None}, "version"),
        ({"pith_number": None}, "pith_number"),
    ],
    ids=str,
)
def test_a_row_of_the_table_that_is_damaged_is_refused(
    wanted: list[NumberedReceipt], change: dict[str, Any], field: str
) -> None:
    [row] = table.to_batch(wanted[:1]).to_pylist()
    with pytest.raises(InvalidRecord) as caught:
        table.from_row({**row, **change})
    assert caught.value.field == field


def test_a_canonical_record_in_another_order_is_no_canonical_record(wanted: list[NumberedReceipt]) -> None:
    [row] = table.to_batch(wanted[:1]).to_pylist()
    other = json.dumps(dict(reversed(json.loads(row["canonical_record"]).items())), separators=(",", ":"))
    with pytest.raises(InvalidInput, match="not in canonical form"):
        table.from_row({**row, "canonical_record": other})


def test_the_columns_of_the_receipt_are_the_fields_of_the_receipt(wanted: list[NumberedReceipt]) -> None:
    receipt = wanted[0].receipt
    assert [field.name for field in table.SCHEMA.field("receipt").type] == list(msgspec.structs.asdict(receipt))
    assert len(receipt.signature() or b"") == SIGNATURE_BYTES
