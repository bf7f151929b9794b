"""Processes that are debugged: from the command line, by their numbers, and by what is typed."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from dap.events import TerminatedEvent
from debug_editor import TRAINING, Editor, Program, environment, line_of

LOOP = """
import sys, threading, time
import fluvial as fl

@fl.function
def climb(steps):
    total = fl.tensor(0.0)
    for step in range(steps):
        fl.debug.breakpoint()
        total = total + 1.5
        total = total * 0.5
    return total

def beat():
    while True:
        print(time.monotonic(), flush=True)
        time.sleep(0.02)

if "beat" in sys.argv:
    threading.Thread(target=beat, daemon=True).start()
print("total", climb(fl.tensor(5)).item(), flush=True)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "climb.py"
    path.write_text(LOOP)
    return path


@pytest.fixture
def start():
    programs = []

    def start(*arguments, **env):
        programs.append(Program(*arguments, **env))
        return programs[-1]

    yield start
    for program in programs:
        program.close()


def address(text):
    """The port and the token that a text names."""
    port = int(re.search(r"127\.0\.0\.1:(\d+)", text)[1])
    token = re.search(r'"token": ?"(\w+)"', text)
    return port, token and token[1]


def attached(program):
    """An editor of a process that was started with `FLUVIAL_DEBUG=wait`, when it has let it go on."""
    said = "".join(program.process.stderr.readline() for _ in range(3))
    port, token = address(said)
    editor = Editor(port)
    editor.begin(token)
    editor.ask("configuration_done")
    return editor


def command_line(*arguments, typed=""):
    """What the command `fluvial` answers to what is typed."""
    command = [sys.executable, "-m", "fluvial", *map(str, arguments)]
    done = subprocess.run(command, env=environment(), input=typed, capture_output=True, text=True, timeout=50)
    return done.stdout, done.stderr, done.returncode


class TestStopped:
    def test_breakpoint_in_the_code(self, start, script):
        editor = attached(start(script, FLUVIAL_DEBUG="wait"))
        for step in range(5):
            assert editor.stopped().reason == "breakpoint"
            assert editor.line() == line_of("total = total + 1.5", script)
            assert editor.value("step") == str(step)
            editor.ask("continue_", 1)
        editor.read(lambda message: isinstance(message, TerminatedEvent))

    def test_breakpoint_does_nothing_if_nobody_debugs(self, start, script):
        out, err, code = start(script).end()
        assert (out, err, code) == ("total 1.453125\n", "", 0)

    def test_other_threads_run(self, start, script):
        program = start(script, "beat", FLUVIAL_DEBUG="wait")
        editor = attached(program)
        editor.stopped()
        stopped = time.monotonic()
        while float(program.line()) < stopped + 0.3:
            pass
        assert editor.value("total") == "0"
        editor.ask("disconnect")
        assert "total 1.453125" in program.end()[0]

    def test_ctrl_c_ends_the_script(self, start, script):
        program = start(script, FLUVIAL_DEBUG="wait")
        editor = attached(program)
        editor.stopped()
        program.interrupt()
        editor.read(lambda message: isinstance(message, TerminatedEvent))
        out, err, code = program.end()
        assert (out, code) == ("", -signal.SIGINT) and "KeyboardInterrupt" in err

    def test_ctrl_c_ends_the_wait_for_an_editor(self, start, script):
        program = start(script, FLUVIAL_DEBUG="wait")
        program.process.stderr.readline()
        program.interrupt()
        out, err, code = program.end()
        assert (out, code) == ("", -signal.SIGINT) and "KeyboardInterrupt" in err


class TestCommands:
    def test_a_script(self, start):
        expected = start(TRAINING).end()[0]
        typed = f"break debugged_training.py:{line_of('error = guess')} if step == 9\ncontinue\nprint epoch\nback\ncontinue\ndetach\n"
        out, err, code = command_line("debug", TRAINING, typed=typed)
        assert code == 0, err
        assert "error = sub(guess, y)" in out and "\n(fluvial) 1\n" in out
        assert out.endswith(expected)

    def test_the_lines_of_a_loop(self, script):
        script.write_text(LOOP.replace("fl.debug.breakpoint()", "pass"))
        typed = "next\nnext\nnext\nprint step\nback\nquit\n"
        out, err, code = command_line("debug", script, typed=typed)
        lines = re.findall(r"^ +(\d+) \|", out, re.MULTILINE)
        header, first, second = (
            line_of(text, script) for text in ("for step", "total + 1.5", "total * 0.5")
        )
        assert [int(line) for line in lines] == [header, first, second, header, second]
        assert "listens" not in out + err and "the run was ended by the debugger" in err

    def test_a_job_that_runs(self, start):
        program = start(TRAINING, EPOCHS="1000000", FAULT="1e9")
        pid = program.process.pid
        # It listens nowhere before, and Fluvial must be imported to be asked.
        typed = "where\nprint step >= 0\ndetach\n"
        deadline = time.monotonic() + 30
        code = None
        while code != 0 and time.monotonic() < deadline:
            out, err, code = command_line("attach", pid, typed=typed)
        assert code == 0, err
        assert " train  debugged_training.py:" in out and "(fluvial) true" in out
        assert "goes on alone" in out and program.process.poll() is None
        os.kill(pid, signal.SIGINT)
        assert "KeyboardInterrupt" in program.end()[1]

    def test_a_job_that_runs_in_an_editor(self, start):
        program = start(TRAINING, EPOCHS="1000000", FAULT="1e9")
        deadline = time.monotonic() + 30
        code = None
        while code != 0 and time.monotonic() < deadline:
            out, err, code = command_line("attach", program.process.pid, "--editor")
        assert code == 0, err
        port, token = address(out + err)
        editor = Editor(port)
        editor.begin(token)
        editor.ask("configuration_done")
        assert editor.go("pause", 1).reason == "pause"
        assert "train" in [frame.name for frame in editor.frames()]
        editor.ask("terminate")
        assert "the run was ended by the debugger" in program.end()[1]

    def test_what_is_no_process_of_fluvial(self):
        out, err, code = command_line("attach", 2**22 + 1)
        assert code != 0 and "cannot be asked" in err
        out, err, code = command_line("attach", "127.0.0.1:1")
        assert code != 0 and "no debugger listens at 127.0.0.1:1" in err
