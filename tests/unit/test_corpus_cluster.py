"""Shards of a corpus, what a worker makes of them, and what a run puts together: all but Ray itself."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pith_builder import Issuer, Profile, canonical_record
from pith_builder.corpus import table
from pith_builder.corpus.checkpoint import CheckpointDiffers, Counts
from pith_builder.corpus.cluster import engine, extra, parts, rayed
from pith_builder.corpus.cluster.engine import issue_with_ray
from pith_builder.corpus.cluster.inputs import LARGEST, SMALLEST, Shard, cut, inputs, shard_size
from pith_builder.corpus.cluster.parts import Part
from pith_builder.corpus.cluster.worker import Job, Worker
from pith_builder.corpus.local import issue_locally
from pith_builder.corpus.manifest import ListedFile, Manifest
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.corpus.processes import WorkerLost
from pith_builder.corpus.progress import Progress
from pith_builder.corpus.run import Interrupted, TooManyRejects
from pith_builder.corpus.snapshot import InputChanged
from pith_builder.corpus.status import Status, of_folder
from pith_builder.corpus.verification import Failure, verify_folder
from pith_builder.errors import (
    FileFailed,
    InvalidMetadata,
    KeyLocked,
    KeyMissing,
    KeyUnfit,
    PithError,
    StorageFailed,
)
from pith_builder.signers import key_file
from pith_builder.signers.active import KeySource
from pith_builder.signing import fingerprint
from pith_builder.sources.papers import read_paper
from pith_builder.sources.rows import read_metadata
from pith_builder.testing import FrozenClock, make_keyring, make_seed, make_signer
from pith_builder.testing.corpus import FaultyRow, with_faults

EVERY, ROWS = 10, 300


@pytest.fixture(scope="module")
def made() -> list[FaultyRow]:
    """A small corpus, with faults."""
    return list(with_faults(ROWS, every=EVERY))


@pytest.fixture(scope="module")
def corpus(made: list[FaultyRow], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus as JSON Lines."""
    path = tmp_path_factory.mktemp("corpus") / "rows.jsonl"
    path.write_bytes(b"".join(row.line for row in made))
    return path


@pytest.fixture(scope="module")
def issued(made: list[FaultyRow]) -> list[dict[str, Any]]:
    """What the Issuer gives for the good rows, without the times."""
    issuer = Issuer(make_signer(), clock=FrozenClock())
    found = []
    for row in made:
        try:
            found.append(NumberedReceipt.of(issuer.sign(read_paper(row.line).metadata)))
        except PithError:
            continue
    return [timeless(row) for row in table.to_batch(found).to_pylist()]


@pytest.fixture(scope="module")
def wanted(issued: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a run gives: of rows with one number the last."""
    last = {row["pith_number"]: n for n, row in enumerate(issued)}
    return [row for n, row in enumerate(issued) if last[row["pith_number"]] == n]


def timeless(row: dict[str, Any]) -> dict[str, Any]:
    receipt = {name: value for name, value in row["receipt"].items() if not name.endswith("_at")}
    return {**row, "receipt": receipt, "created_at": None}


@pytest.fixture
def keys(home: Path) -> KeySource:
    """A home with the first TEST key, unencrypted."""
    (home / "keys" / "private").mkdir(parents=True)
    (home / "keys" / "keyring.json").write_bytes(make_keyring().to_json())
    signer = make_signer()
    key_file.write(home / "keys" / "private" / f"{signer.key_id}.key", signer, make_seed(), None)
    return KeySource(home / "keys" / "keyring.json", home)


def packed(path: Path, name: str) -> Path:
    """The same file, packed."""
    other = path.with_name(name)
    pack = gzip.compress if name.endswith(".gz") else zstandard.compress
    other.write_bytes(pack(path.read_bytes()))
    return other


def as_table(made: list[FaultyRow], path: Path, **options: Any) -> list[dict[str, Any]]:
    """Write the rows that are JSON as a Parquet table."""
    rows = [json.loads(row.line) for row in made if row.fault != "not-json"]
    pq.write_table(pa.Table.from_pylist([{**row, "license": row.get("license")} for row in rows]), path, **options)
    return rows


def job(out: Path, keys: KeySource, sources: list[Path], size: int) -> tuple[Job, list[Shard]]:
    given = inputs(sources, out)
    (out / parts.STATE).mkdir(parents=True, exist_ok=True)
    made = Job(str(out), "run", size, given, keys, fingerprint(make_signer().public_key), Profile())
    return made, cut(given, size)


def worked(out: Path, keys: KeySource, sources: list[Path], size: int) -> list[Part]:
    """What a single worker makes of all shards of these inputs, in their order."""
    told, shards = job(out, keys, sources, size)
    with closing(Worker(told)) as worker:
        return [worker.work(n, shard) for n, shard in enumerate(shards)]


def numbers(out: Path) -> list[dict[str, Any]]:
    return [timeless(row) for path in sorted(out.glob("part-*.parquet")) for row in pq.read_table(path).to_pylist()]


def rejects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# --- inputs and shards -------------------------------------------------------------------------------------------


def test_the_shards_of_lines_follow_each_other_and_are_not_larger_than_asked_for_but_for_a_line(
    corpus: Path, tmp_path: Path
) -> None:
    shards = cut(inputs([corpus], tmp_path / "out"), 20_000)
    assert [shard.begin for shard in shards] == [0, *[shard.end for shard in shards[:-1]]]
    assert shards[-1].end == corpus.stat().st_size
    longest = max(map(len, corpus.read_bytes().splitlines())) + 1
    assert all(shard.end - shard.begin < 20_000 + longest for shard in shards)
    data = corpus.read_bytes()
    assert [shard.lines for shard in shards] == [data[: shard.begin].count(b"\n") for shard in shards]


def test_packed_lines_are_cut_where_plain_ones_are(corpus: Path, tmp_path: Path) -> None:
    plain = cut(inputs([corpus], tmp_path / "out"), 20_000)
    for name in ("rows.jsonl.gz", "rows.jsonl.zst"):
        assert cut(inputs([packed(corpus, name)], tmp_path / "out"), 20_000) == plain


def test_small_row_groups_go_together_and_large_ones_are_cut(made: list[FaultyRow], tmp_path: Path) -> None:
    rows = len(as_table(made, tmp_path / "small.parquet", row_group_size=7))
    as_table(made, tmp_path / "large.parquet")
    for name, least, most in (("small", 3, 20), ("large", 5, 8)):
        shards = cut(inputs([tmp_path / f"{name}.parquet"], tmp_path / "out"), 40_000)
        assert least <= len(shards) <= most
        assert [shard.begin for shard in shards] == [0, *[shard.end for shard in shards[:-1]]]
        assert shards[-1].end == rows


def test_a_table_without_rows_has_no_shards(made: list[FaultyRow], tmp_path: Path) -> None:
    as_table(made, tmp_path / "a.parquet")
    pq.write_table(pq.read_table(tmp_path / "a.parquet").slice(0, 0), tmp_path / "a.parquet")
    assert cut(inputs([tmp_path / "a.parquet"], tmp_path / "out"), 40_000) == []


def test_a_small_job_is_cut_so_that_every_worker_has_something_to_do(corpus: Path, tmp_path: Path) -> None:
    given = inputs([corpus], tmp_path / "out")
    for workers in (1, 2, 5):
        assert len(cut(given, shard_size(given, workers))) >= 8 * workers


def test_shards_are_neither_tiny_nor_huge(corpus: Path, tmp_path: Path) -> None:
    given = inputs([corpus], tmp_path / "out")
    huge = [msgspec.structs.replace(given[0], identity=msgspec.structs.replace(given[0].identity, size=2**40))]
    assert (shard_size(given, 100_000), shard_size(huge, 2)) == (SMALLEST, LARGEST)


def test_the_files_of_a_folder_are_read_in_order_but_not_hidden_ones_nor_what_comes_out(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.jsonl", "a/.hidden", "_SUCCESS", ".x/y.jsonl", "out/part-00000.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}\n")
    found = [str(Path(file.path).relative_to(tmp_path)) for file in inputs([tmp_path], tmp_path / "out")]
    assert found == ["a/z.jsonl", "b.jsonl"]


def test_what_holds_no_file_that_workers_can_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing", "-"):
        with pytest.raises(FileFailed):
            inputs([tmp_path / name], tmp_path / "out")


def test_a_table_without_columns_of_metadata_is_an_error_of_the_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(InvalidMetadata, match=r"x\.parquet: no columns of metadata are among these: x"):
        cut(inputs([tmp_path / "x.parquet"], tmp_path / "out"), 1000)


def test_a_damaged_table_is_an_error_of_the_file(made: list[FaultyRow], tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    as_table(made, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFailed, match="can't read the file"):
        cut(inputs([path], tmp_path / "out"), 1000)


def test_lines_that_are_packed_and_cut_off_are_an_error_of_the_file(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(corpus.read_bytes())[:-1000])
    with pytest.raises(FileFailed):
        cut(inputs([path], tmp_path / "out"), 1000)


# --- a worker ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.jsonl.zst"])
def test_a_worker_gives_for_lines_what_the_issuer_gives_and_says_where_a_reject_stands(
    name: str, corpus: Path, made: list[FaultyRow], issued: list[dict[str, Any]], keys: KeySource, tmp_path: Path
) -> None:
    path = corpus if name == corpus.name else packed(corpus, name)
    done = worked(tmp_path / "out", keys, [path], 20_000)
    assert numbers(tmp_path / "out") == issued
    assert sum(part.rows for part in done) == len(made)
    found = [note for part in done for note in rejects(tmp_path / "out" / part.rejects.path)]
    codes = {"no-v1": "invalid_metadata", "not-json": "invalid_json", "no-license": "license_unknown"}
    bad = [(n, row.fault) for n, row in enumerate(made, 1) if row.fault in codes]
    assert [(note["line"], note["code"]) for note in found] == [(n, codes[fault or ""]) for n, fault in bad]
    data = path.read_bytes() if path == corpus else corpus.read_bytes()
    for note in found:
        line = made[note["line"] - 1].line
        assert data[note["offset"] :].startswith(line)
        assert note["file"] == str(path)
        assert note["id"] == (None if note["code"] == "invalid_json" else json.loads(line)["id"])


def test_a_worker_may_get_the_shards_of_a_packed_input_in_any_order(
    corpus: Path, issued: list[dict[str, Any]], keys: KeySource, tmp_path: Path
) -> None:
    told, shards = job(tmp_path / "out", keys, [packed(corpus, "rows.jsonl.gz"), corpus], 20_000)
    with closing(Worker(told)) as worker:
        for n in sorted(range(len(shards)), key=lambda n: n * 7 % len(shards)):
            worker.work(n, shards[n])
    assert numbers(tmp_path / "out") == issued * 2


@pytest.mark.parametrize("options", [{}, {"row_group_size": 7}, {"row_group_size": 100}], ids=str)
def test_a_worker_gives_for_a_table_what_the_issuer_gives(
    options: dict[str, Any], made: list[FaultyRow], keys: KeySource, tmp_path: Path
) -> None:
    rows = as_table(made, tmp_path / "rows.parquet", **options)
    done = worked(tmp_path / "out", keys, [tmp_path / "rows.parquet"], 40_000)
    assert len(done) > 2
    bad = [n for n, row in enumerate(rows, 1) if "v1" not in [version["version"] for version in row["versions"]]]
    found = [note for part in done for note in rejects(tmp_path / "out" / part.rejects.path)]
    assert [(note["line"], note["offset"], note["id"]) for note in found] == [(n, None, rows[n - 1]["id"]) for n in bad]
    good = [read_metadata({"license": None, **row}) for n, row in enumerate(rows, 1) if n not in bad]
    assert [number["pith_number"] for number in numbers(tmp_path / "out")] == [
        str(canonical_record(metadata).number()) for metadata in good
    ]


def test_blank_lines_and_a_byte_order_mark_are_no_rows(
    made: list[FaultyRow], issued: list[dict[str, Any]], keys: KeySource, tmp_path: Path
) -> None:
    path = tmp_path / "blank.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"".join(b"\n" + row.line + b"\r\n" for row in made) + b"\n")
    done = worked(tmp_path / "out", keys, [path], 20_000)
    assert numbers(tmp_path / "out") == issued
    assert sum(part.rows for part in done) == len(made)


def test_the_same_rows_give_the_same_table_but_for_its_times(corpus: Path, keys: KeySource, tmp_path: Path) -> None:
    for name in ("one", "other"):
        worked(tmp_path / name, keys, [corpus], 50_000)
    assert numbers(tmp_path / "one") == numbers(tmp_path / "other")
    groups = [pq.ParquetFile(path).num_row_groups for path in sorted((tmp_path / "one").glob("*.parquet"))]
    assert groups == [pq.ParquetFile(path).num_row_groups for path in sorted((tmp_path / "other").glob("*.parquet"))]


def test_a_note_tells_size_and_sha256_of_both_files_and_who_wrote_them(
    corpus: Path, keys: KeySource, tmp_path: Path
) -> None:
    [part, *_] = worked(tmp_path / "out", keys, [corpus], 50_000)
    assert parts.finished(tmp_path / "out", 0, "run") == part
    assert part.table == ListedFile.of(tmp_path / "out", "part-00000.parquet", part.rows - part.rejects.records)
    assert part.rejects == ListedFile.of(tmp_path / "out", "shards/rejects-00000.jsonl", part.rejects.records)
    assert parts.finished(tmp_path / "out", 0, "another run") is None
    assert not list(tmp_path.glob("out/.*"))


def test_a_worker_without_a_uri_takes_that_of_its_own_environment(
    corpus: Path, keys: KeySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = make_signer()
    elsewhere = tmp_path / "elsewhere.key"
    (keys.home / "keys" / "private" / f"{signer.key_id}.key").rename(elsewhere)
    told, shards = job(tmp_path / "out", keys, [corpus], 50_000)
    with pytest.raises(KeyMissing):
        Worker(told).work(0, shards[0])
    monkeypatch.setenv("PITH_KEY", f"file:{elsewhere}")
    assert Worker(told).work(0, shards[0]).rows > 0


def test_a_worker_has_the_passphrase_from_its_environment_alone(
    corpus: Path, keys: KeySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "encrypted.key"
    key_file.write(path, make_signer(), make_seed(), b"correct horse")
    told, shards = job(tmp_path / "out", msgspec.structs.replace(keys, uri=f"file:{path}"), [corpus], 50_000)
    with pytest.raises(KeyLocked, match="this worker's environment has none"):
        Worker(told).work(0, shards[0])
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "correct horse")
    assert Worker(told).work(0, shards[0]).rows > 0


def test_a_worker_opens_its_key_once(
    corpus: Path, keys: KeySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    open_signer = key_file.open_signer
    monkeypatch.setattr(
        key_file, "open_signer", lambda rest, opening: opened.append(rest) or open_signer(rest, opening)
    )
    assert len(worked(tmp_path / "out", keys, [corpus], 50_000)) > 2
    assert len(opened) == 1


def test_a_worker_whose_ring_has_another_key_than_the_run_signs_nothing(
    corpus: Path, keys: KeySource, tmp_path: Path
) -> None:
    told, shards = job(tmp_path / "out", keys, [corpus], 50_000)
    keys.keyring.write_bytes(make_keyring(make_signer(2)).to_json())
    with pytest.raises(KeyUnfit, match="another active key than the run"):
        Worker(told).work(0, shards[0])


def test_a_worker_notices_a_rotation_between_two_shards(corpus: Path, keys: KeySource, tmp_path: Path) -> None:
    told, shards = job(tmp_path / "out", keys, [corpus], 50_000)
    worker = Worker(told)
    worker.work(0, shards[0])
    keys.keyring.unlink()
    keys.keyring.write_bytes(make_keyring(make_signer(2)).to_json())
    with pytest.raises(KeyUnfit, match="no longer the active key"):
        worker.work(1, shards[1])


def test_a_worker_notices_that_its_input_is_another_one(
    corpus: Path, made: list[FaultyRow], keys: KeySource, tmp_path: Path
) -> None:
    lines, rows = tmp_path / "rows.jsonl", tmp_path / "rows.parquet"
    lines.write_bytes(corpus.read_bytes())
    as_table(made, rows)
    told, shards = job(tmp_path / "out", keys, [lines, rows], 50_000)
    lines.write_bytes(corpus.read_bytes() + b"\n")
    as_table(made[1:], rows)
    for n in (0, len(shards) - 1):
        with pytest.raises(InputChanged):
            Worker(told).work(n, shards[n])
    assert not list((tmp_path / "out").glob("*part-*"))


def test_lines_that_moved_between_unchanged_ends_of_a_file_are_noticed(
    corpus: Path, keys: KeySource, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    data = corpus.read_bytes()
    path.write_bytes(data)
    told, shards = job(tmp_path / "out", keys, [path], 20_000)
    n = next(n for n, shard in enumerate(shards) if shard.begin > 2**16 + 20_000)
    end = shards[n].end
    path.write_bytes(data[: end - 1] + b" \n" + data[end + 1 :])
    assert len(data) == path.stat().st_size
    with pytest.raises(InputChanged, match="not where they were"):
        Worker(told).work(n, shards[n])


def test_a_shard_at_which_workers_die_again_and_again_is_given_up(
    corpus: Path, keys: KeySource, tmp_path: Path
) -> None:
    told, shards = job(tmp_path / "out", keys, [corpus], 50_000)
    for _ in range(3):
        parts.begin_attempt(tmp_path / "out", 1)
    worker = Worker(told)
    with pytest.raises(WorkerLost, match=r"part-00001\.parquet"):
        worker.work(1, shards[1])
    assert worker.work(2, shards[2]).rows > 0
    parts.end_attempts(tmp_path / "out", 1)
    assert worker.work(1, shards[1]).rows > 0


def test_an_error_is_an_answer_and_not_a_traceback(corpus: Path, keys: KeySource, tmp_path: Path) -> None:
    told, shards = job(tmp_path / "out", msgspec.structs.replace(keys, uri="env:PITH_NO_SUCH"), [corpus], 50_000)
    [(n, answer)] = in_this_process(told, [(0, shards[0])])
    assert n == 0
    assert isinstance(answer, KeyMissing)
    assert "PITH_NO_SUCH" in answer.message


# --- a run -------------------------------------------------------------------------------------------------------


def in_this_process(told: Job, shards: list[tuple[int, Shard]]) -> Iterator[tuple[int, Part | PithError]]:
    """What a cluster answers, out of order, by way of the batches that Ray would move."""
    import pickle

    worker = Worker(told)
    for n, shard in reversed(shards):
        given = pa.table({"n": [n], "shard": [msgspec.json.encode(shard)]})
        [row] = worker(given).to_pylist()
        yield row["n"], pickle.loads(row["answer"])


class Cluster:
    """Stands in for Ray: works in this process, and remembers which shards it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    @contextmanager
    def answers(
        self, told: Job, shards: list[tuple[int, Shard]], workers: int | None
    ) -> Iterator[Iterator[tuple[int, Part | PithError]]]:
        assert workers == 2
        self.given = [n for n, _ in shards]
        yield in_this_process(told, shards)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    monkeypatch.setattr(rayed, "answers", found.answers)
    return found


@pytest.fixture
def issue(corpus: Path, keys: KeySource, tmp_path: Path, cluster: Cluster) -> Callable[..., Counts]:
    """Issue the corpus into the folder `out` with two workers, after some changes of how."""

    def call(*sources: Path, **changes: Any) -> Counts:
        return issue_with_ray(sources or [corpus], tmp_path / "out", **{"keys": keys, "workers": 2} | changes)

    return call


def state(out: Path) -> dict[str, int]:
    """When the files of all shards were written."""
    return {str(path): path.stat().st_mtime_ns for path in [*out.glob("part-*"), *out.glob("shards/*-*")]}


def test_a_run_gives_every_row_once_and_a_manifest_that_names_all(
    issue: Callable[..., Counts],
    made: list[FaultyRow],
    issued: list[dict[str, Any]],
    wanted: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    counts = issue()
    superseded = len(issued) - len(wanted)
    assert superseded > 1
    assert (counts.rows, counts.issued, counts.stored) == (len(made), len(wanted), superseded)
    assert counts.rejected == len(made) - len(issued)
    assert numbers(out) == wanted
    manifest = Manifest.read(out)
    assert (manifest.form, manifest.records, manifest.rejects) == ("shards", counts.issued, counts.rejected)
    assert [file.path for file in manifest.files] == sorted(path.name for path in out.glob("*.parquet"))
    assert [ListedFile.of(out, file.path, file.records) for file in manifest.files] == manifest.files
    found = rejects(out / "rejects.jsonl")
    assert len(found) == counts.rejected
    assert [note["line"] for note in found] == sorted(note["line"] for note in found)


def test_what_a_run_gives_verifies_and_a_file_that_is_not_listed_is_found(
    issue: Callable[..., Counts], tmp_path: Path
) -> None:
    counts, failures = issue(), list[Failure]()
    [*_, verified] = verify_folder(tmp_path / "out", make_keyring(), failures.append)
    assert failures == []
    assert (verified.records, verified.ok) == (counts.issued, True)
    (tmp_path / "out" / "part-99999.parquet").write_bytes(b"PAR1")
    list(verify_folder(tmp_path / "out", make_keyring(), failures.append))
    assert [(failure.file, failure.reason) for failure in failures] == [
        ("part-99999.parquet", "is not in the manifest")
    ]


def repeats_of(path: Path) -> list[dict[str, Any]]:
    """What a run lists, without the files."""
    listed = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [{name: value for name, value in row.items() if not name.endswith("file")} for row in listed]


def test_rows_that_repeat_others_are_told_as_a_run_on_one_machine_tells_them(
    issue: Callable[..., Counts], corpus: Path, keys: KeySource, tmp_path: Path
) -> None:
    counts = issue()
    alone = issue_locally(
        *(str(corpus), tmp_path / "alone"), keys=keys, passphrase=lambda _: b"", clock=FrozenClock(), workers=1
    )
    assert counts == alone.counts
    found = repeats_of(tmp_path / "out" / "repeats.jsonl")
    assert found == repeats_of(tmp_path / "alone" / "repeats.jsonl")
    assert {row["code"] for row in found} == {"repeated_row", "conflicting_metadata"}


def test_rows_that_repeat_others_in_another_file_are_told_and_the_last_stays(
    issue: Callable[..., Counts], made: list[FaultyRow], tmp_path: Path
) -> None:
    good = [row for row in made if row.fault is None]
    lines, rows = tmp_path / "lines.jsonl", tmp_path / "rows.parquet"
    lines.write_bytes(b"".join(row.line for row in good))
    as_table(good, rows)
    counts = issue(lines, rows)
    assert counts == Counts(rows=2 * len(good), issued=len(good), stored=len(good), repeated=len(good))
    ids = [read_paper(row.line).metadata.arxiv_id for row in good]
    assert [row["arxiv_id"] for row in numbers(tmp_path / "out")] == ids
    listed = [json.loads(line) for line in (tmp_path / "out" / "repeats.jsonl").read_bytes().splitlines()]
    places = [(row["file"], row["line"], row["offset"], row["first_file"], row["first_line"]) for row in listed]
    assert places == [(str(rows), n, None, str(lines), n) for n in range(1, len(good) + 1)]
    assert {row["code"] for row in listed} == {"repeated_row"}


def test_a_run_that_ends_while_it_takes_rows_out_is_put_right_by_the_next(
    issue: Callable[..., Counts],
    cluster: Cluster,
    wanted: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def disk_full(self: Part, folder: Path, n: int) -> None:
        if self.superseded:
            raise FileFailed("no space left")
        write(self, folder, n)

    write = Part.write
    with monkeypatch.context() as patch:
        patch.setattr(Part, "write", disk_full)
        with pytest.raises(FileFailed, match="no space left"):
            issue()
    assert not (tmp_path / "out" / "manifest.json").exists()
    cluster.given = []
    counts = issue()
    assert len(cluster.given) == 1  # the part whose table was written, and its note not
    assert numbers(tmp_path / "out") == wanted
    assert issue() == counts


def test_a_finished_run_is_not_done_again(issue: Callable[..., Counts], cluster: Cluster, tmp_path: Path) -> None:
    counts = issue()
    assert cluster.given
    before, cluster.given = state(tmp_path / "out"), []
    assert issue() == counts
    assert cluster.given == []
    assert state(tmp_path / "out") == before


@pytest.mark.parametrize(
    "name", ["part-00003.parquet", "shards/part-00003.json", "shards/rejects-00003.jsonl", "shards/entries-00003"]
)
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x")])
def test_a_shard_that_is_missing_or_damaged_is_done_again_and_no_other(
    name: str,
    damage: Callable[[Path], Any],
    issue: Callable[..., Counts],
    cluster: Cluster,
    wanted: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    counts = issue()
    before = state(tmp_path / "out")
    damage(tmp_path / "out" / name)
    assert issue() == counts
    assert cluster.given == [3]
    after = state(tmp_path / "out")
    assert {path for path in before if after[path] != before[path]} == {path for path in before if "-00003" in path}
    assert numbers(tmp_path / "out") == wanted
    Manifest.read(tmp_path / "out")


def test_a_run_that_was_stopped_goes_on_with_what_is_left(
    issue: Callable[..., Counts], cluster: Cluster, wanted: list[dict[str, Any]], tmp_path: Path
) -> None:
    shown: list[Progress] = []
    with pytest.raises(Interrupted):
        issue(progress=shown.append, stop=lambda: len(shown) == 3)
    total = len(cluster.given)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert [progress.percent for progress in shown] == [round(100 * n / total, 1) for n in (1, 2, 3)]
    issue()
    assert len(cluster.given) == total - 3
    assert numbers(tmp_path / "out") == wanted


def test_the_folder_tells_how_the_run_stands(issue: Callable[..., Counts], cluster: Cluster, tmp_path: Path) -> None:
    out, seen = tmp_path / "out", list[Status | None]()
    assert of_folder(out) is None
    with pytest.raises(Interrupted):
        issue(progress=lambda _: seen.append(of_folder(out)), stop=lambda: len(seen) == 3)
    total = len(cluster.given)
    assert [(told.state, told.since) for told in seen if told] == [
        ("running", f"{n} of {total} shards done") for n in (1, 2, 3)
    ]
    stopped = of_folder(out)
    assert stopped is not None
    assert (stopped.state, stopped.progress.percent) == ("stopped", round(300 / total, 1))
    counts = issue()
    finished = of_folder(out)
    assert finished is not None
    assert (finished.state, finished.counts, finished.key_id) == ("finished", counts, make_signer().key_id)
    assert finished.rest["shards_done"] == finished.rest["shards"] == total
    assert finished.rest["input_name"] == finished.input_name


def test_a_run_goes_on_with_another_number_of_workers_and_the_same_shards(
    issue: Callable[..., Counts], cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted):
        issue(stop=lambda: True)
    plan = (tmp_path / "out" / "shards" / "plan.json").read_bytes()
    total = len(cluster.given)
    monkeypatch.setattr(rayed, "answers", lambda told, shards, _: cluster.answers(told, shards, 2))
    issue(workers=7)
    assert len(cluster.given) == total - 1
    assert (tmp_path / "out" / "shards" / "plan.json").read_bytes() == plan


def test_an_input_may_be_elsewhere_when_the_run_goes_on(
    issue: Callable[..., Counts], cluster: Cluster, corpus: Path, tmp_path: Path
) -> None:
    counts = issue()
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(corpus.read_bytes())
    cluster.given = []
    assert issue(moved) == counts
    assert cluster.given == []


@pytest.fixture
def stopped(issue: Callable[..., Counts], tmp_path: Path, cluster: Cluster) -> Path:
    """The folder of a run that was stopped behind its first shard."""
    with pytest.raises(Interrupted):
        issue(stop=lambda: True)
    cluster.given = []
    return tmp_path / "out"


def test_another_input_key_or_profile_is_refused_with_the_way_out(
    issue: Callable[..., Counts], stopped: Path, corpus: Path, keys: KeySource, cluster: Cluster, tmp_path: Path
) -> None:
    before = state(stopped)
    other = tmp_path / "other.jsonl"
    other.write_bytes(corpus.read_bytes() + b"{}\n")

    def refused(reason: str, *sources: Path, **changes: Any) -> None:
        with pytest.raises(CheckpointDiffers, match=reason) as caught:
            issue(*sources, **changes)
        assert "--restart" in caught.value.hint

    refused("is another input", other)
    refused("is of 1 files, and 2 are given", corpus, other)
    refused("builder_version", profile=Profile(builder_version="other-v1"))
    refused("base_url", profile=Profile(base_url="https://registry.example.org"))
    keys.keyring.write_bytes(make_keyring(make_signer(2)).to_json())
    refused("key_id")
    assert cluster.given == []
    assert state(stopped) == before


def test_an_input_that_changed_under_its_name_is_refused(
    issue: Callable[..., Counts], corpus: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(corpus.read_bytes())
    with pytest.raises(Interrupted):
        issue(path, stop=lambda: True)
    path.write_bytes(corpus.read_bytes().replace(b'"license"', b'"Licence"', 1))
    with pytest.raises(CheckpointDiffers, match="changed since then"):
        issue(path)


def test_a_finished_folder_is_never_given_up(issue: Callable[..., Counts], tmp_path: Path) -> None:
    out, few = tmp_path / "out", tmp_path / "few.jsonl"
    issue()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    few.write_bytes(b"{}\n")
    for sources, restart in ((), True), ((few,), False), ((few,), True):
        with pytest.raises(FileFailed, match="it holds what came of a finished run") as caught:
            issue(*sources, restart=restart)
        assert caught.value.hint == "name another folder with --out"
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_restart_gives_up_what_was_there(
    issue: Callable[..., Counts], stopped: Path, tmp_path: Path, made: list[FaultyRow]
) -> None:
    few = tmp_path / "few.jsonl"
    few.write_bytes(b"".join(row.line for row in made[:30]))
    assert issue(few, restart=True).rows == 30
    manifest = Manifest.read(stopped)
    assert [file.path for file in manifest.files] == sorted(path.name for path in stopped.glob("*.parquet"))
    assert len(list((stopped / "shards").glob("part-*.json"))) == len(manifest.files)


def test_a_restart_that_is_killed_leaves_nothing_of_the_old_run_in_the_end(
    issue: Callable[..., Counts], made: list[FaultyRow], tmp_path: Path
) -> None:
    few, killed = tmp_path / "few.jsonl", 0
    few.write_bytes(b"".join(row.line for row in made[:3]))
    for at in range(30):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        seen: list[Progress] = []
        with pytest.raises(Interrupted):
            issue(progress=seen.append, stop=lambda seen=seen: len(seen) == 4)
        left = iter(range(at))

        def remove(path: Path, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt
            path.unlink(missing_ok=True)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "_remove", remove)
            try:
                issue(few, restart=True)
            except KeyboardInterrupt:
                killed += 1
        try:
            counts = issue(few)
        except CheckpointDiffers:  # the old run is still there, and is told
            counts = issue(few, restart=True)
        assert (counts.rows, counts.issued, len(numbers(tmp_path / "out"))) == (3, 3, 3)
    assert killed > 10


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"end":', b'"end":1'),
        (b'"begin":0', b'"begin":2'),
        (b'"lines":0', b'"lines":1'),
        (b'"input":0', b'"input":2'),
        (b'"size":', b'"size":1'),
        (b"[", b"{"),
        (b'"inputs":', b'"inputs":' + b"[" * 100_000),
        (b'"form"', b'"f\xff"'),
    ],
    ids=lambda found: found[:12].decode(errors="replace"),
)
def test_a_plan_that_was_altered_is_refused(
    issue: Callable[..., Counts], stopped: Path, cluster: Cluster, old: bytes, new: bytes
) -> None:
    plan = stopped / "shards" / "plan.json"
    assert old in plan.read_bytes()
    plan.write_bytes(plan.read_bytes().replace(old, new, 1))
    with pytest.raises(CheckpointDiffers, match="was altered, or can't be read"):
        issue()
    with pytest.raises(CheckpointDiffers, match="was altered, or can't be read"):
        of_folder(stopped)
    assert cluster.given == []
    assert issue(restart=True).rows > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"superseded":1', b'"superseded":0'),
        (b'"superseded"', b'"supersedef"'),
        (b'"rows":', b'"rows":1'),
        (b'"rows":', b'"rows":-'),
        (b"{", b'{"x":' + b"[" * 100_000),
    ],
    ids=lambda found: found[:16].decode(),
)
def test_a_note_that_was_altered_is_not_believed(
    issue: Callable[..., Counts], cluster: Cluster, made: list[FaultyRow], tmp_path: Path, old: bytes, new: bytes
) -> None:
    out, path = tmp_path / "out", tmp_path / "again.jsonl"
    good = [row.line for row in made if row.fault is None][:12]
    path.write_bytes(b"".join([*good, good[0]]))
    counts = issue(path)
    note = next(path for path in sorted(out.glob("shards/part-*.json")) if b'"superseded":1' in path.read_bytes())
    note.write_bytes(note.read_bytes().replace(old, new, 1))
    told = of_folder(out)
    assert told is not None
    assert told.state == "stopped"
    before, cluster.given = numbers(out), []
    assert issue(path) == counts
    assert cluster.given == [int(note.stem.removeprefix("part-"))]
    assert numbers(out) == before
    assert Manifest.read(out).records == len(before) == 12


def test_a_name_that_is_no_text_is_refused(issue: Callable[..., Counts], keys: KeySource, tmp_path: Path) -> None:
    path = tmp_path / "a\udcff.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises(FileFailed, match="is no UTF-8"):
        issue(path)
    with pytest.raises(FileFailed, match="is no UTF-8"):
        issue_with_ray([tmp_path], tmp_path / "o\udcff", keys=keys)


def test_rejects_name_the_input_where_it_is_now(
    issue: Callable[..., Counts], stopped: Path, corpus: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(corpus.read_bytes())
    issue(moved)
    assert {row["file"] for row in rejects(stopped / "rejects.jsonl")} == {str(moved)}


def test_rejects_of_a_table_of_lines_name_their_papers(issue: Callable[..., Counts], tmp_path: Path) -> None:
    lines = ['{"id":"1501.00001","title":"","versions":[]}', "{", None]
    pq.write_table(pa.table({"line": pa.array(lines).dictionary_encode()}), tmp_path / "lines.parquet")
    issue(tmp_path / "lines.parquet")
    assert [row["id"] for row in rejects(tmp_path / "out" / "rejects.jsonl")] == ["1501.00001", None, None]


def test_a_folder_with_other_files_is_left_alone(issue: Callable[..., Counts], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("")
    with pytest.raises(FileFailed, match=r"other files in it, such as thesis\.tex"):
        issue()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_folder_with_a_folder_of_the_same_name_is_left_alone(
    issue: Callable[..., Counts], tmp_path: Path, restart: bool
) -> None:
    (tmp_path / "out" / "shards").mkdir(parents=True)
    (tmp_path / "out" / "shards" / "x.json").write_text("{}")
    with pytest.raises(FileFailed, match=r"other files in it, such as shards/x\.json"):
        issue(restart=restart)


def test_one_run_at_a_time_writes_into_a_folder(issue: Callable[..., Counts], tmp_path: Path) -> None:
    met = []

    def progress(_: Progress) -> None:
        with pytest.raises(FileFailed, match="lock") as caught:
            issue()
        met.append(caught.value.hint)

    issue(progress=progress)
    assert met
    assert "another run" in met[0]


def test_an_error_of_a_worker_ends_the_run_and_what_is_finished_stays(
    issue: Callable[..., Counts], cluster: Cluster, keys: KeySource, corpus: Path, tmp_path: Path
) -> None:
    def lost(progress: Progress) -> None:
        if progress.percent and progress.percent > 30:
            keys.keyring.unlink(missing_ok=True)

    ring = keys.keyring.read_bytes()
    with pytest.raises(KeyUnfit, match="no longer the active key"):
        issue(progress=lost)
    total = len(cluster.given)
    keys.keyring.write_bytes(ring)
    issue()
    assert 0 < len(cluster.given) < total


def test_more_rejects_than_allowed_end_the_run_and_more_allowed_go_on(
    issue: Callable[..., Counts], cluster: Cluster, made: list[FaultyRow]
) -> None:
    with pytest.raises(TooManyRejects):
        issue(max_rejects=2)
    cluster.given = []
    with pytest.raises(TooManyRejects):
        issue(max_rejects=2)
    assert cluster.given == []
    assert issue(max_rejects=len(made)).rows == len(made)


def test_an_input_in_the_folder_of_the_run_is_refused(corpus: Path) -> None:
    with pytest.raises(FileFailed, match="the input is in the folder"):
        inputs([corpus], corpus.parent)


def test_an_input_without_a_row_is_an_error(issue: Callable[..., Counts], tmp_path: Path) -> None:
    (tmp_path / "blank.jsonl").write_bytes(b"\n\n")
    with pytest.raises(InvalidMetadata, match="no paper"):
        issue(tmp_path / "blank.jsonl")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_part_that_did_not_come_into_this_folder_is_noticed(
    issue: Callable[..., Counts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(told: Job, shards: list[tuple[int, Shard]], _: int | None) -> Any:
        (tmp_path / "elsewhere" / parts.STATE).mkdir(parents=True)
        return Cluster().answers(msgspec.structs.replace(told, folder=str(tmp_path / "elsewhere")), shards, 2)

    monkeypatch.setattr(rayed, "answers", elsewhere)
    with pytest.raises(FileFailed, match="not there as") as caught:
        issue()
    assert "share the folder" in caught.value.hint
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_what_a_killed_worker_left_is_cleared_away(issue: Callable[..., Counts], tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        issue(stop=lambda: True)
    out = tmp_path / "out"
    left = [out / ".part-00000.parquet.0123abcd.partial", out / "shards" / ".rejects-00000.jsonl.0123abcd.partial"]
    for path in left:
        path.write_bytes(b"PAR1")
    issue()
    assert not any(path.exists() for path in left)


def test_without_ray_the_error_says_what_to_install(
    issue: Callable[..., Counts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(StorageFailed, match="Ray") as caught:
        issue()
    assert caught.value.hint == "pip install 'pith-build[ray]'"


def test_neither_key_nor_passphrase_is_in_what_workers_are_told(
    corpus: Path, keys: KeySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pickle

    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "correct horse")
    told, _ = job(tmp_path / "out", keys, [corpus], 50_000)
    assert make_seed() not in pickle.dumps(told)
    assert b"correct horse" not in pickle.dumps(told)


def test_the_engine_names_its_rejects_as_the_local_engine_does() -> None:
    from pith_builder.corpus import into_folder

    assert into_folder.REJECTS == engine.REJECTS
