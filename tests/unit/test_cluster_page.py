"""What docs/cluster.md shows works: with stand-ins for the engines, which are not installed here."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pith_builder.corpus import arrow
from pith_builder.corpus.cluster import engine
from pith_builder.signers import key_file
from pith_builder.testing import make_keyring, make_seed, make_signer


@pytest.fixture
def shown(root: Path, home: Path) -> Callable[[str], str]:
    """The Python below a heading of the page, where the key is the first TEST key."""
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "keyring.json").write_bytes(make_keyring().to_json())
    key_file.write(home / "registry.key", make_signer(), make_seed(), None)
    page = (root / "docs" / "cluster.md").read_text()

    def call(heading: str) -> str:
        below = page.partition(f"# {heading}\n")[2]
        [code, *_] = re.findall(r"```python\n(.*?)```", below, re.DOTALL)
        return str(code.replace("/srv/pith", str(home)).replace("/etc/pith", str(home)))

    return call


@pytest.fixture
def lines(registry: Path) -> pa.Array:
    return pa.array((registry / "snapshot_rows.jsonl").read_text().splitlines()[:20])


def module(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    made = ModuleType(name)
    vars(made).update(members)
    monkeypatch.setitem(sys.modules, name, made)


def check(issued: pa.RecordBatch, lines: pa.Array) -> None:
    assert issued.schema == arrow.SCHEMA
    assert issued["error_code"].null_count == issued.num_rows == len(lines)
    assert {row["key_id"] for row in issued["receipt"].to_pylist()} == {make_signer().key_id}


def test_the_function_for_spark_gives_numbers(
    shown: Callable[[str], str], lines: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[pa.RecordBatch] = []

    class Frame:
        """A data frame of these lines in two batches, which is computed when it is written."""

        def withColumnRenamed(self, old: str, new: str) -> Frame:  # noqa: N802
            self.names = [{"value": "value", old: new}["value"]]
            return self

        def mapInArrow(self, function: Any, schema: pa.Schema) -> SimpleNamespace:  # noqa: N802
            assert schema == arrow.SCHEMA
            batches = [pa.record_batch([part], names=self.names) for part in (lines[:9], lines[9:])]
            return SimpleNamespace(write=SimpleNamespace(parquet=lambda name: found.extend(function(iter(batches)))))

    spark = SimpleNamespace(read=SimpleNamespace(text=lambda name: Frame()))
    builder = SimpleNamespace(builder=SimpleNamespace(getOrCreate=lambda: spark))
    for package in ("pyspark", "pyspark.sql.pandas"):
        module(monkeypatch, package)
    module(monkeypatch, "pyspark.sql", SparkSession=builder)
    module(monkeypatch, "pyspark.sql.pandas.types", from_arrow_schema=lambda schema: schema)
    exec(shown("With Spark"), {})
    assert [batch.num_rows for batch in found] == [9, 11]
    for batch, part in zip(found, (lines[:9], lines[9:]), strict=True):
        check(batch, part)


def test_the_class_for_daft_gives_numbers(
    shown: Callable[[str], str], lines: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[pa.StructArray] = []
    frame = {"text": SimpleNamespace(to_arrow=lambda: lines)}

    class Frame(dict[str, Any]):
        def select(self, column: pa.StructArray) -> SimpleNamespace:
            return SimpleNamespace(write_parquet=lambda name: found.append(column))

    def batch(*, return_dtype: pa.DataType, unnest: bool) -> Callable[[Any], Any]:
        assert (return_dtype, unnest) == (pa.struct(list(arrow.SCHEMA)), True)
        return lambda function: function

    module(
        monkeypatch,
        "daft",
        cls=lambda made: made,
        method=SimpleNamespace(batch=batch),
        DataType=SimpleNamespace(from_arrow_type=lambda type_: type_),
        read_text=lambda name: Frame(frame),
    )
    exec(shown("With Daft"), {})
    [column] = found
    check(pa.RecordBatch.from_struct_array(column), lines)


def test_the_call_for_ray_is_the_one_that_there_is(
    shown: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect import signature

    called = []
    real = signature(engine.issue_with_ray)
    monkeypatch.setattr(engine, "issue_with_ray", lambda *given, **named: called.append(real.bind(*given, **named)))
    exec(shown("In Python"), {})
    assert called[0].arguments["keys"].uri.startswith("file:")
