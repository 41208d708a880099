"""`make bench-corpus`: a whole snapshot issued, exported and verified on two cores, as ratios to raw libsodium on both.

The rows are made up (`pith_builder.testing.corpus`) and stand in a file. One run tells everything. Each part stands
between two measurements of raw signing, and its ratio is to their mean, so that a machine that changes its speed is
seen. Memory is that of all processes of a part together, at its highest: PSS counts a page that they share once, RSS
once for each of them; the system's cache of files is in neither. A million rows need 10 GB in TMPDIR; `--scaling`,
which issues 0.3, 1 and 3 times so many into a store, needs 20.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import watched

from pith_builder.corpus.manifest import Manifest
from pith_builder.store import Store
from pith_builder.testing.corpus import rows

BOTH_CORES = [sys.executable, str(Path(__file__).parent / "both_cores.py")]
RAW_SECONDS = 4.0
MB = 10**6


class Bench:
    """A folder with a home and a snapshot, and the parts that ran in it: printed as they end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.snapshot = folder / "snapshot.jsonl"
        self.raw: list[float] = []
        self.ours: list[watched.Run] = []
        self.pith_build("keys", "generate", "--unencrypted")

    def make_rows(self, count: int) -> None:
        with open(self.snapshot, "wb") as file:
            file.writelines(rows(count))
        print(f"\n{count} rows, {self.snapshot.stat().st_size / count:.0f} bytes each")
        heads = ("", "seconds", "CPU s", "rows/s", "raw/s", "of raw", "PSS MB", "RSS MB", "bytes/row")
        print("{:26}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}{:>8}{:>11}".format(*heads), flush=True)

    def measure_raw(self) -> None:
        self.raw.append(float(watched.run([*BOTH_CORES, "raw", str(RAW_SECONDS)]).output))

    def pith_build(self, *arguments: str) -> watched.Run:
        command = [sys.executable, "-m", "pith_builder", "--home", str(self.home), *arguments]
        return watched.run(command, {"PITH_STORE": f"sqlite:///{self.store}"}, self.folder)

    @property
    def store(self) -> Path:
        return self.folder / "store" / "pith.db"

    def part(self, name: str, count: int, run: Callable[[], watched.Run], made: Path | None = None) -> float:
        """Run and print one part; what it gives is its rate as a share of raw signing just before and after it."""
        os.sync()  # what an earlier part wrote is not this part's work
        if not self.raw:
            self.measure_raw()
        done = run()
        self.measure_raw()
        raw, rate = statistics.mean(self.raw[-2:]), count / done.seconds
        size = f"{size_of(made) / count:11.0f}" if made else ""
        print(
            f"{name:26}{done.seconds:9.1f}{done.cpu:9.1f}{rate:9.0f}{raw:9.0f}{rate / raw:8.3f}"
            f"{done.pss / MB:8.0f}{done.rss / MB:8.0f}{size}",
            flush=True,
        )
        return rate / raw

    def part_of_ours(self, name: str, count: int, arguments: list[str], made: Path | None = None) -> float:
        def run() -> watched.Run:
            self.ours.append(self.pith_build("corpus", *arguments))
            return self.ours[-1]

        return self.part(name, count, run, made)

    def issue_into_store(self, count: int) -> float:
        """Issue the snapshot into a new store."""
        shutil.rmtree(self.store.parent, ignore_errors=True)
        self.store.parent.mkdir()
        arguments = ["issue", str(self.snapshot), "--workers", "2"]
        share = self.part_of_ours("issue, store, 2 workers", count, arguments, self.store.parent)
        stored = Store(f"sqlite:///{self.store}").count()
        if stored != count:
            raise SystemExit(f"{stored} records are in the store; there should be {count}")
        return share

    def end(self) -> None:
        print(f"raw signing, both cores: {min(self.raw):.0f} to {max(self.raw):.0f} a second,", end=" ")
        print(f"median {statistics.median(self.raw):.0f}, {len(self.raw)} measurements\n")
        peak = max(run.pss for run in self.ours)
        aim("peak memory of all processes of a job, PSS", peak / MB, 500, " MB", at_most=True)


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def aim(what: str, value: float, wanted: float, unit: str = "", *, at_most: bool = False) -> None:
    met = value <= wanted if at_most else value >= wanted
    bound = "at most" if at_most else "at least"
    print(f"{'met   ' if met else 'MISSED'}  {what}: {value:.3g}{unit}, aim {bound} {wanted:g}{unit}")


def check(folder: Path, count: int) -> None:
    records = Manifest.read(folder).records
    if records != count:
        raise SystemExit(f"{folder.name} holds {records} records; there should be {count}")


def all_parts(bench: Bench, count: int) -> None:
    """Everything, over one snapshot."""
    bench.make_rows(count)
    snapshot, plain = str(bench.snapshot), bench.folder / "plain"
    plain.mkdir()
    bench.part(
        "plain script, 2 processes", count, lambda: watched.run([*BOTH_CORES, "plain", snapshot, f"{plain}/out"])
    )
    shutil.rmtree(plain)
    shares = {}
    for workers in (1, 2):
        out = bench.folder / f"receipts{workers}"
        arguments = ["issue", snapshot, "--out", str(out), "--workers", str(workers)]
        shares[workers] = bench.part_of_ours(
            f"issue, files, {workers} worker{'s'[: workers - 1]}", count, arguments, out
        )
        check(out, count)
        shutil.rmtree(out)
    with_store = bench.issue_into_store(count)
    for form in ("records", "table"):
        out = bench.folder / form
        bench.part_of_ours(f"export of {form}", count, ["export", "--out", str(out), "--form", form], out)
        check(out, count)
        bench.part_of_ours(f"verify the {form}", count, ["verify", str(out)])
        shutil.rmtree(out)
    bench.end()
    aim("without a store, two workers, of raw signing", shares[2], 0.45)
    aim("two workers against one", shares[2] / shares[1], 1.8)
    aim("with the store, of raw signing", with_store, 0.25)


def scaling(bench: Bench, count: int) -> None:
    """Time for each record as a store grows, against raw signing at that time."""
    counts = (count * 3 // 10, count, 3 * count)
    shares, took = [], []
    for rows_now in counts:
        bench.make_rows(rows_now)
        shares.append(bench.issue_into_store(rows_now))
        took.append(bench.ours[-1].seconds / rows_now)
    bench.end()
    for less in (1, 0):
        what = f"time a record, {counts[2]} rows against {counts[less]}"
        aim(what, took[2] / took[less], 1.15, at_most=True)
        aim(f"{what}, both against raw signing", shares[less] / shares[2], 1.15, at_most=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--scaling", action="store_true", help="issue 0.3 N, N and 3 N rows into a store instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pith-corpus-") as folder:
        (scaling if options.scaling else all_parts)(Bench(Path(folder)), options.rows)


if __name__ == "__main__":
    main()
