"""Run a command and tell how long it and all its processes took, and how much memory they had at most."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

INTERVAL = 0.15  # seconds between two looks at the memory


class Run(NamedTuple):
    """Seconds by the clock and of CPU time, and the peak of all processes of the run together, in bytes.

    `pss` counts a page that several processes share once, `rss` once for each; neither counts the cache of files.
    """

    seconds: float
    cpu: float
    pss: int
    rss: int
    output: str


def run(command: list[str], environment: dict[str, str] | None = None, folder: Path | None = None) -> Run:
    """Run a command in a session of its own, in this folder. Where it fails, the program ends with what it said."""
    cpu, begin, peak = _cpu(), time.perf_counter(), [0, 0]
    with tempfile.TemporaryFile() as told:
        job = subprocess.Popen(
            command,
            env=os.environ | (environment or {}),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=told,
            start_new_session=True,
        )
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(job.pid, ended, peak))
        watcher.start()
        output, _ = job.communicate()
        seconds = time.perf_counter() - begin
        ended.set()
        watcher.join()
        if job.returncode:
            told.seek(0)
            raise SystemExit(
                f"{' '.join(command)}: exit {job.returncode}\n{told.read().decode(errors='replace')[-4000:]}"
            )
    return Run(seconds, _cpu() - cpu, peak[0], peak[1], output.decode())


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watch(session: int, ended: threading.Event, peak: list[int]) -> None:
    while not ended.wait(INTERVAL):
        found = [_memory(process) for process in _processes(session)]
        for i in range(2):
            peak[i] = max(peak[i], sum(memory[i] for memory in found))


def _processes(session: int) -> list[Path]:
    """All processes of a session: the command's own, and those that it started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            of_session = (process / "stat").read_text().rpartition(")")[2].split()[3]
        except OSError:  # it is gone
            continue
        if int(of_session) == session:
            found.append(process)
    return found


def _memory(process: Path) -> tuple[int, int]:
    """PSS and RSS of a process, in bytes."""
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {name: int(size.split()[0]) * 1024 for name, _, size in (line.partition(":") for line in lines[1:])}
    return sizes.get("Pss", 0), sizes.get("Rss", 0)
