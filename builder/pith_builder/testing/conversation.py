"""A command that answers questions, one line of JSON each: started, asked, and stopped whatever it does.

A fault (no answer in time, rubbish, another id, its end) costs the test that was asked for. The command is then ended
and started anew for the next one, so that questions and answers are in step.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from typing import IO, Any, Self, cast

from pith_builder.errors import StorageFailed, shown

#: The longest line that is read as an answer.
MAX_ANSWER = 32 * 2**20

#: Starts on end without one answer, at most.
MAX_STARTS = 3

#: How long a command may take to end when all is asked, in seconds.
FAREWELL = 2

_FIELDS = ("output", "error", "unsupported")


class CommandFailed(StorageFailed):
    """The command can't be run."""

    code = "command_failed"


class Fault(Exception):
    """What a command did in place of answering."""


class _Running:
    """One process of the command. Lines go in and come out through threads, so that no pipe can block us."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)  # noqa: S603  # theirs
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise CommandFailed(f"{shown(command[0])} can't be run: {why}", hint="see --with") from None
        self.questions: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=_write, args=(cast(IO[bytes], self.process.stdin), self.questions), daemon=True),
            threading.Thread(target=_read, args=(cast(IO[bytes], self.process.stdout), self.answers), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Close the process's input, which tells it to end, and give it a moment before it is ended."""
        self.questions.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(FAREWELL)
        self.stop()

    def stop(self) -> None:
        """End the process and all that it started, however busy they are."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.questions.put(None)
        for thread in self._threads:
            thread.join(1)  # one whose pipe another process still holds is left alone: it is a daemon


def _write(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while (line := lines.get()) is not None:
            stream.write(line)
            stream.flush()
    with contextlib.suppress(OSError):
        stream.close()


def _read(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while line := stream.readline(MAX_ANSWER):
            lines.put(line)
    lines.put(None)
    stream.close()


class Conversation:
    """Asks a command; `timeout` is in seconds, for each answer. A context manager, which ends the command.

    Entering it raises CommandFailed where the command can't be run.
    """

    def __init__(self, command: list[str], timeout: float) -> None:
        self._command = command
        self._timeout = timeout
        self._running: _Running | None = None
        self._starts = 0

    def __enter__(self) -> Self:
        self._started()
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._running is not None and failure is None:
            self._running.finish()
        self._stop()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The reply: an object with `output`, `error` or `unsupported`. Raises Fault."""
        running = self._running or self._started()
        try:
            reply = self._reply(running, question)
        except Fault:
            self._stop()
            raise
        self._starts = 0
        return reply

    def _reply(self, running: _Running, question: dict[str, Any]) -> dict[str, Any]:
        running.questions.put(json.dumps(question).encode() + b"\n")
        try:
            line = running.answers.get(timeout=self._timeout)
        except queue.Empty:
            raise Fault(f"no answer in {self._timeout:g} seconds") from None
        if line is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.process.wait(1)
            code = running.process.poll()
            raise Fault("the command closed its output" if code is None else f"the command ended with {code}")
        return _read_reply(line, question["id"])

    def _started(self) -> _Running:
        if self._starts >= MAX_STARTS:
            raise Fault(f"not asked: the command gave no answer after {MAX_STARTS} starts")
        self._starts += 1
        self._running = _Running(self._command)
        return self._running

    def _stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None


def _read_reply(line: bytes, wanted: int) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        raise Fault(f"rubbish: {shown(line, 200)}")
    if type(reply.get("id")) is not int or reply["id"] != wanted:
        raise Fault(f"an answer to {shown(reply.get('id'))} in the place of {wanted}")
    given = [name for name in _FIELDS if name in reply]
    if (
        len(given) != 1
        or reply.keys() != {"id", *given}
        or ("unsupported" in reply and reply["unsupported"] is not True)
    ):
        raise Fault(f"none of output, error and unsupported alone: {shown(line, 200)}")
    return reply
