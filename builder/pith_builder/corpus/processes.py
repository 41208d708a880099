"""Work that is done in several processes: tasks go out, their results come back in the order of the tasks.

The processes are started anew, not forked, since a fork would share the connections and locks of its parent. Each knows
nothing of the others and has one pipe to its parent, so that it ends when the parent does, even by kill -9.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from pith_builder.errors import StorageFailed

#: What a process does with a task, while its context lasts.
Setup = Callable[..., AbstractContextManager[Callable[[Any], Any]]]
Team = Callable[[Iterable[Any]], Iterator[Any]]

#: Results that may wait for that of an earlier task, for each process.
_AHEAD = 4


class WorkerLost(StorageFailed):
    """A process ended in the middle of its work, as by a kill."""

    code = "worker_lost"


class _Failed:
    """What was raised in a process."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def usual_count() -> int:
    """As many processes as there are processors for this one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def started(target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A new process that runs `target` of a module with its end of a pipe and the arguments, and our end of the pipe.

    Nobody else holds these ends, so the death of either process is seen by the other one.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    try:
        with _interrupts_held_back():
            process.start()
    finally:
        theirs.close()
    return process, ours


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """While a process is started: an interrupt is for its parent alone, to which it comes at the end.

    The process keeps this mask from its first moment.
    """
    resource_tracker.ensure_running()  # which would let interrupts through again, were it started meanwhile
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def team(count: int, setup: Setup, *arguments: Any) -> Iterator[Team]:
    """So many processes, all of which have entered `setup(*arguments)`; one is this process itself.

    `setup` is a function of a module, and arguments, tasks and results can be pickled. Gives what maps tasks to their
    results; it raises what a process raises, or WorkerLost.
    """
    if count == 1:
        with setup(*arguments) as do:
            yield lambda tasks: map(do, tasks)
        return
    with ExitStack() as stack:
        pipes = [stack.enter_context(_process(setup, arguments)) for _ in range(count)]
        for pipe in pipes:
            _received(pipe)
        yield lambda tasks: _mapped(pipes, tasks)


@contextmanager
def _process(setup: Setup, arguments: tuple[Any, ...]) -> Iterator[Connection]:
    """The pipe to a new process, which ends when the context does: at once where something is raised in it."""
    process, pipe = started(_work, setup, arguments)
    try:
        yield pipe
    except BaseException:
        process.kill()
        raise
    finally:
        pipe.close()
        process.join()


def _work(pipe: Connection, setup: Setup, arguments: tuple[Any, ...]) -> None:
    try:
        with setup(*arguments) as do:
            pipe.send(None)
            while True:
                try:
                    task = pipe.recv()
                except EOFError:  # the parent needs no more, or is no more
                    return
                pipe.send(do(task))
    except BaseException as error:
        with contextlib.suppress(OSError):
            pipe.send(_Failed(error))


def _mapped(pipes: list[Connection], tasks: Iterable[Any]) -> Iterator[Any]:
    waiting = enumerate(tasks)
    idle, busy = list(pipes), dict[Connection, int]()
    done, next_ = dict[int, Any](), 0
    while True:
        while idle and len(busy) + len(done) < _AHEAD * len(pipes) and (task := next(waiting, None)):
            pipe = idle.pop()
            _send(pipe, task[1])
            busy[pipe] = task[0]
        if not busy:
            return
        ready = wait(list(busy))
        for pipe in [pipe for pipe in busy if pipe in ready]:
            done[busy.pop(pipe)] = _received(pipe)
            idle.append(pipe)
        while next_ in done:
            yield done.pop(next_)
            next_ += 1


def _send(pipe: Connection, task: Any) -> None:
    try:
        pipe.send(task)
    except OSError:
        raise _lost() from None


def _received(pipe: Connection) -> Any:
    try:
        result = pipe.recv()
    except (EOFError, OSError):
        raise _lost() from None
    if isinstance(result, _Failed):
        raise result.error
    return result


def _lost() -> WorkerLost:
    return WorkerLost("a process was ended in the middle of its work", hint="was there memory for all? --workers N")
