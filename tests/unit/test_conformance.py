"""Whatever a command does in place of answering is counted and told, and never hangs (docs/vectors.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pith_builder.testing.conformance import RuleReport, check
from pith_builder.testing.conversation import CommandFailed
from pith_builder.testing.vectors.model import VectorFile, VectorTest

TESTS = [
    VectorTest(1, "doubled", {"n": 1}, {"n": 2}, "valid", ["Ours"]),
    VectorTest(2, "refused", {"n": -1}, None, "invalid", ["Ours"]),
    VectorTest(3, "doubled", {"n": 3}, {"n": 6}, "valid", ["Ours"]),
    VectorTest(4, "as you like", {"n": 4}, {"n": 8}, "implementation-defined", ["Ours"]),
]
FILE = VectorFile("pith-vectors/1", "a test", "double", "§0", "Doubling", TESTS)

HEAD = """
import json, os, sys, time
def questions():
    for line in sys.stdin:
        yield json.loads(line)
def say(**reply):
    print(json.dumps(reply), flush=True)
def answer(q):
    n = q["input"]["n"]
    if n < 0:
        say(id=q["id"], error="negative")
    else:
        say(id=q["id"], output={"n": 2 * n})
"""


def run(tmp_path: Path, body: str, *, timeout: float = 60) -> RuleReport:
    """The report of a command that is written in Python."""
    script = tmp_path / "command.py"
    script.write_text(HEAD + body)
    (report,) = check([FILE], [sys.executable, "-S", "-E", str(script)], timeout)
    assert report.passed + report.failed + report.unsupported == len(TESTS)
    return report


def faults(report: RuleReport) -> dict[int, str]:
    return {failure.id: failure.got for failure in report.failures}


def test_right_answers_pass(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): answer(q)")
    assert (report.passed, report.failed, report.unsupported) == (4, 0, 0)


def test_unsupported_is_neither_passed_nor_failed(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): say(id=q['id'], unsupported=True)")
    assert (report.passed, report.failed, report.unsupported) == (0, 0, 4)


def test_what_is_implementation_defined_may_be_refused(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): say(id=q['id'], error='no')")
    assert sorted(faults(report)) == [1, 3]


def test_a_wrong_output_fails_with_both_values(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): say(id=q['id'], output={'n': 2})")
    assert faults(report) == dict.fromkeys((2, 3, 4), '{"n":2}')
    assert [failure.expected for failure in report.failures] == ["refused", '{"n":6}', '{"n":8}']


@pytest.mark.parametrize("output", ["2.0", "true", "'2'", "None"])
def test_a_number_of_another_type_is_another_output(tmp_path: Path, output: str) -> None:
    report = run(tmp_path, f"for q in questions(): say(id=q['id'], output={{'n': {output}}})")
    assert 1 in faults(report)


def test_a_further_field_is_another_output(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): say(id=q['id'], output={'n': 2, 'm': 1})")
    assert 1 in faults(report)


def test_a_crash_costs_one_test(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): sys.exit(7) if q['id'] == 2 else answer(q)")
    assert faults(report) == {2: "the command ended with 7"}


def test_a_command_that_is_killed_is_told_so(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): os.kill(os.getpid(), 9) if q['id'] == 2 else answer(q)")
    assert faults(report) == {2: "the command ended with -9"}


def test_no_answer_costs_one_test_and_its_time(tmp_path: Path) -> None:
    silent = "for q in questions(): time.sleep(3600) if q['id'] == 3 else answer(q)"
    report = run(tmp_path, silent, timeout=3)
    assert faults(report) == {3: "no answer in 3 seconds"}


def test_a_command_that_never_answers_is_started_three_times(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    report = run(tmp_path, f"open({str(starts)!r}, 'a').write('x'); time.sleep(3600)", timeout=2)
    assert report.failed == 4
    assert starts.read_text() == "xxx"
    assert faults(report)[4].startswith("not asked")


def test_a_command_that_ends_at_once_fails_every_test(tmp_path: Path) -> None:
    report = run(tmp_path, "sys.exit(0)")
    assert report.failed == 4
    assert faults(report)[1] == "the command ended with 0"


def test_a_command_that_closes_its_output_does_not_hang(tmp_path: Path) -> None:
    report = run(tmp_path, "os.close(1); time.sleep(3600)")
    assert faults(report)[1] == "the command closed its output"


@pytest.mark.parametrize(
    "rubbish",
    [
        "print('debug', flush=True)",
        "print(flush=True)",
        "print('[1]', flush=True)",
        "print('[' * 100000, flush=True)",
        "sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()",
    ],
)
def test_rubbish_costs_one_test_and_the_next_is_asked_anew(tmp_path: Path, rubbish: str) -> None:
    body = f"for q in questions():\n if q['id'] == 2: {rubbish}\n answer(q)"
    report = run(tmp_path, body)
    assert list(faults(report)) == [2]
    assert faults(report)[2].startswith("rubbish")


@pytest.mark.parametrize("wrong", ["3", "'2'", "2.0", "None", "True"])
def test_an_answer_to_another_question_fails(tmp_path: Path, wrong: str) -> None:
    body = f"for q in questions(): say(id={wrong}, error='') if q['id'] == 2 else answer(q)"
    assert faults(run(tmp_path, body))[2].startswith("an answer to")


@pytest.mark.parametrize(
    "reply",
    ["say(id=2)", "say(id=2, output={}, error='')", "say(id=2, unsupported=False)", "say(id=2, error='', more=1)"],
)
def test_a_reply_of_another_form_fails(tmp_path: Path, reply: str) -> None:
    report = run(tmp_path, f"for q in questions(): {reply} if q['id'] == 2 else answer(q)")
    assert faults(report)[2].startswith("none of output, error and unsupported alone")


def test_answers_out_of_order_are_not_mixed_up(tmp_path: Path) -> None:
    body = "for q in questions():\n if q['id'] == 1: say(id=2, error='')\n answer(q)"
    assert list(faults(run(tmp_path, body))) == [1]


def test_a_child_that_holds_the_output_open_does_not_hang(tmp_path: Path) -> None:
    body = "import subprocess; subprocess.Popen(['sleep', '3600'], start_new_session=True); sys.exit(1)"
    report = run(tmp_path, f"{body}\n", timeout=1)
    assert report.failed == 4


def test_a_command_whose_input_ends_can_end_in_good_order(tmp_path: Path) -> None:
    done = tmp_path / "done"
    run(tmp_path, f"for q in questions(): answer(q)\nopen({str(done)!r}, 'w').write('x')")
    assert done.read_text() == "x"


def test_a_command_that_does_not_end_is_ended(tmp_path: Path) -> None:
    report = run(tmp_path, "for q in questions(): answer(q)\ntime.sleep(3600)")
    assert report.passed == 4


@pytest.mark.parametrize("command", [["/nowhere/at/all"], ["/"], ["a\0b"]])
def test_a_command_that_can_not_be_run_is_an_error(command: list[str]) -> None:
    with pytest.raises(CommandFailed):
        list(check([FILE], command, 1))
