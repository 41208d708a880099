"""Mutation testing of what makes and checks a record (docs/mutation.md): `make mutants`, or with names of mutants.

mutmut finds the package in `src/` only, and leaves out every decorated function, which all checks are. So it runs in
a copy of the project where `builder/` is called `src/`, and here is taught that these decorators do no harm: a check is
entered in the list once, around the switch between the mutants of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from mutmut import __main__ as mutmut_run
from mutmut.mutation import file_mutation
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import change_cwd

ROOT = Path(__file__).parent.parent
COPY = ROOT / "build" / "mutation"
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
ARGUMENTS = CONFIGURATION["pytest_add_cli_args"]
TESTS = CONFIGURATION["pytest_add_cli_args_test_selection"]
HARMLESS = {"check", "check_with_metadata", "property", "cached_property"}
QUICK = 0.05  # seconds
NOT_RUN = "not checked"
KILLED = {"killed", "timeout", "segfault", "suspicious"}


def copy_project() -> None:
    """The project as it is now, beside what an earlier run left in `mutants/`."""
    for name in ("src", "tests", "docs", "fixtures", "keys", "schemas"):
        shutil.rmtree(COPY / name, ignore_errors=True)
        source = ROOT / ("builder" if name == "src" else name)
        shutil.copytree(source, COPY / name, ignore=shutil.ignore_patterns("__pycache__", "private"))
    shutil.copy(ROOT / "pyproject.toml", COPY)


def harmlessly_decorated(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.FunctionDef) or len(node.decorators) != 1:
        return False
    decorator = node.decorators[0].decorator
    return isinstance(decorator, cst.Name) and decorator.value in HARMLESS


def take_decorated_functions() -> None:
    skip, arrange = file_mutation.MutationVisitor._skip_node_and_children, file_mutation.function_trampoline_arrangement

    def skip_unless_harmless(self: file_mutation.MutationVisitor, node: cst.CSTNode) -> bool:
        return not harmlessly_decorated(node) and skip(self, node)

    def decorate_the_switch(function: cst.FunctionDef, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if not harmlessly_decorated(function):
            return arrange(function, *args, **kwargs)
        before, (switch, *functions), *rest = arrange(function.with_changes(decorators=[]), *args, **kwargs)
        switch = switch.with_changes(decorators=[*function.decorators, *switch.decorators])
        return before, [switch, *functions], *rest

    file_mutation.MutationVisitor._skip_node_and_children = skip_unless_harmless
    file_mutation.function_trampoline_arrangement = decorate_the_switch


class Chosen:
    """A pytest plugin that keeps the tests which are given."""

    def __init__(self, tests: Iterable[str]) -> None:
        self.tests = set(tests)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.tests]


def give_files_to_pytest() -> None:
    """Hundreds of test names as arguments cost pytest seconds a mutant; their files cost nothing.

    Slow tests are left to what survives the quick ones.
    """
    run_all = PytestRunner.run_tests

    def run_tests(self: PytestRunner, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        if not tests:
            return run_all(self, mutant_name=mutant_name, tests=tests)
        if mutant_name is not None:
            tests = [test for test in tests if state().duration_by_test[test] < QUICK]
        files = sorted({test.partition("::")[0] for test in tests})
        if not files:
            return 0
        with change_cwd("mutants"):
            return int(self.execute_pytest(["-x", "-q", *files], plugins=[Chosen(tests)]))

    PytestRunner.run_tests = run_tests


def shuffle() -> None:
    """Take the mutants in a random order, always the same: a run that is broken off is a sample of the whole."""
    mutmut_run.estimated_worst_case_time = lambda name: hashlib.sha256(name.encode()).digest()


def run_survivors_again() -> None:
    """In a process of their own: what runs when a module is imported ran before mutmut put the mutant in its place."""
    for module, ended in outcomes().items():
        path = COPY / "mutants" / "src" / "pith_builder" / f"{module}.py.meta"
        whole = json.loads(path.read_bytes())
        for name in [name for name, how in ended.items() if how == "survived"]:
            command = [sys.executable, "-m", "pytest", "-x", *ARGUMENTS, *TESTS]
            environment = {**os.environ, "PYTHONPATH": "src", "MUTANT_UNDER_TEST": name}
            result = subprocess.run(command, cwd=COPY / "mutants", env=environment, check=False, capture_output=True)
            whole["exit_code_by_key"][name] = 1 if result.returncode else 0
        path.write_text(json.dumps(whole, indent=4))


def outcomes() -> dict[str, dict[str, str]]:
    """Module -> mutant -> how it ended."""
    found = {}
    for path in sorted(COPY.glob("mutants/src/pith_builder/*.meta")):
        codes = json.loads(path.read_bytes())["exit_code_by_key"]
        found[path.name.removesuffix(".py.meta")] = {name: status_by_exit_code[code] for name, code in codes.items()}
    return found


def report() -> None:
    """The figures of the mutants that were run, and the names of those that nothing noticed."""
    ended = {module: {n: how for n, how in all_.items() if how != NOT_RUN} for module, all_ in outcomes().items()}
    print(f"\n{'module':<12}{'mutants':>9}{'killed':>8}{'survived':>10}{'share':>9}")
    total: Counter[str] = Counter()
    for module, of_module in ended.items():
        count = Counter("killed" if how in KILLED else "survived" for how in of_module.values())
        total += count
        print_row(module, count)
    print_row("all", total)
    for of_module in ended.values():
        for name, how in of_module.items():
            if how not in KILLED:
                print(f"{how}: {name}")


def print_row(module: str, count: Counter[str]) -> None:
    share = count["killed"] / count.total() if count else 0.0
    print(f"{module:<12}{count.total():>9}{count['killed']:>8}{count['survived']:>10}{share:>9.1%}")


if __name__ == "__main__":
    copy_project()
    take_decorated_functions()
    give_files_to_pytest()
    shuffle()
    os.chdir(COPY)
    sys.path.pop(0)  # tests/: the copy has its own
    try:
        mutmut_run.cli(["run", "--max-children", "1", *sys.argv[1:]], standalone_mode=False)
        run_survivors_again()
    finally:
        report()
