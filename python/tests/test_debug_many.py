"""Debugging what there is more than one of: threads, runs inside of runs, NaN that nothing depends on; and a person who types."""

import contextlib
import os
import re
import subprocess
import sys
import time

import pytest
from dap.events import StoppedEvent
from debug_editor import Editor, Program, environment, line_of

THREADS = """
import threading
import fluvial as fl

@fl.function
def climb(start, steps):
    total = start
    for step in range(steps):
        total = total + 1.5
        total = total * 0.5
    return total

address = fl.debug.listen(0)
print(address.port, address.token, flush=True)
fl.debug.listen(address.port, wait=True)
results = {}

def work(number):
    results[number] = climb(fl.tensor(float(number)), fl.tensor(4 + number)).item()

threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print([results[i] for i in range(3)], flush=True)
"""

INSIDE = """
import fluvial as fl

@fl.function
def inner(x):
    y = x * 3.0
    return y + 1.0

def bounce(x):
    return [inner(fl.tensor(x))]

fl.register_host("bounce", bounce)

@fl.function
def outer(x, steps):
    for step in range(steps):
        (x,) = fl.host_call("bounce", [x], [x])
        x = x * 0.5
    return x

address = fl.debug.listen(0)
print(address.port, address.token, flush=True)
fl.debug.listen(address.port, wait=True)
print(outer(fl.tensor(2.0), fl.tensor(3)).item(), flush=True)
"""

UNUSED = """
import fluvial as fl

@fl.function
def f(x, steps):
    total = x
    for step in range(steps):
        rest = total - 1.0
        root = fl.sqrt(rest)
        total = total - fl.where(rest > 100.0, root, 0.5)
    return total

address = fl.debug.listen(0)
print(address.port, address.token, flush=True)
fl.debug.listen(address.port, wait=True)
print(f(fl.tensor(2.0), fl.tensor(6)).item(), flush=True)
"""


@pytest.fixture
def attach(tmp_path):
    """Starts a script; an editor that is attached to it, and has not said yet that it may go on."""
    programs = []

    def attach(text):
        script = tmp_path / "script.py"
        script.write_text(text)
        program = Program(script)
        programs.append(program)
        port, token = program.line().split()
        editor = Editor(int(port))
        editor.program, editor.script = program, script
        editor.begin(token)
        return editor

    yield attach
    for program in programs:
        program.close()


def alone(text, tmp_path):
    """The last line of a script that nobody debugs."""
    script = tmp_path / "alone.py"
    script.write_text("\n".join(line for line in text.split("\n") if "address" not in line))
    return Program(script).end()[0].strip()


def line_in(editor, thread):
    return editor.ask("stack_trace", thread).stackFrames[0].line


class TestThreads:
    def test_each_stops_and_goes_on_by_itself(self, attach, tmp_path):
        editor = attach(THREADS)
        line = line_of("total = total * 0.5", editor.script)
        editor.ask("set_breakpoints", {"path": str(editor.script)}, [{"line": line}])
        editor.ask("configuration_done")
        stops = {}
        while len(stops) < 3:
            stop = editor.read(lambda message: isinstance(message, StoppedEvent))
            stops[stop.threadId] = stop
        known = {thread.id for thread in editor.ask("threads").threads}
        assert set(stops) <= known and {line_in(editor, thread) for thread in stops} == {line}
        first, *others = sorted(stops)
        # One goes on by one trip; the others stay where they are.
        editor.ask("continue_", first)
        stop = editor.read(lambda message: isinstance(message, StoppedEvent))
        assert stop.threadId == first
        steps = {}
        for thread in (first, *others):
            frames = [frame.name for frame in editor.ask("stack_trace", thread).stackFrames]
            steps[thread] = next(name for name in frames if name.startswith("step "))
        assert steps[first] == "step 1" and all(steps[thread] == "step 0" for thread in others)
        editor.ask("set_breakpoints", {"path": str(editor.script)}, [])
        for thread in (first, *others):
            editor.ask("continue_", thread)
        assert editor.program.end()[0].strip() == alone(THREADS, tmp_path)

    def test_one_goes_back_alone(self, attach, tmp_path):
        editor = attach(THREADS)
        line = line_of("total = total * 0.5", editor.script)
        condition = {"line": line, "condition": "step == 2"}
        editor.ask("set_breakpoints", {"path": str(editor.script)}, [condition])
        editor.ask("configuration_done")
        stopped = [editor.stopped().threadId for _ in range(3)]
        assert len(set(stopped)) == 3
        editor.ask("step_back", stopped[0])
        stop = editor.stopped()
        assert (stop.threadId, line_in(editor, stopped[0])) == (stopped[0], line - 1)
        assert [line_in(editor, thread) for thread in stopped[1:]] == [line, line]
        editor.ask("disconnect")
        assert editor.program.end()[0].strip() == alone(THREADS, tmp_path)


class TestInside:
    def test_a_run_inside_of_a_host_function_is_a_thread(self, attach, tmp_path):
        editor = attach(INSIDE)
        inside = line_of("return y + 1.0", editor.script)
        outside = line_of("x = x * 0.5", editor.script)
        file = {"path": str(editor.script)}
        editor.ask("set_breakpoints", file, [{"line": inside}, {"line": outside}])
        editor.ask("configuration_done")
        lines, threads = [], []
        while len(lines) < 6:
            stop = editor.stopped()
            line = line_in(editor, stop.threadId)
            if not lines and line == line_of("for step", editor.script):
                # The function inside is not built yet: its breakpoint is at the next line that has ops.
                editor.ask("continue_", stop.threadId)
                continue
            lines.append(line)
            threads.append(stop.threadId)
            known = {thread.id for thread in editor.ask("threads").threads}
            assert stop.threadId in known and len(known) >= 1 + (lines[-1] == inside)
            editor.ask("continue_", stop.threadId)
        assert lines == [inside, outside] * 3
        assert set(threads[0::2]).isdisjoint(threads[1::2])
        assert editor.program.end()[0].strip() == alone(INSIDE, tmp_path)


class TestWatchedNan:
    def test_nan_that_nothing_carries(self, attach, tmp_path):
        editor = attach(UNUSED)
        editor.ask("set_exception_breakpoints", ["nan"], None, None)
        editor.ask("configuration_done")
        # Nothing depends on it, so that it is not looked for.
        assert editor.program.end()[0].strip() == alone(UNUSED, tmp_path)

    def test_nan_anywhere(self, attach, tmp_path):
        editor = attach(UNUSED)
        editor.ask("set_exception_breakpoints", ["nan-anywhere"], None, None)
        editor.ask("configuration_done")
        stop = editor.stopped()
        assert (stop.reason, editor.line()) == ("exception", line_of("root = fl.sqrt", editor.script))
        assert [editor.value(name) for name in ("step", "rest", "root")] == ["3", "-0.5", "NaN"]
        editor.ask("set_exception_breakpoints", [], None, None)
        editor.ask("continue_", 1)
        assert editor.program.end()[0].strip() == alone(UNUSED, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
class TestTyping:
    """A person at a terminal: lines can be edited, completed and brought back."""

    @pytest.fixture
    def terminal(self, tmp_path):
        import pty

        script = tmp_path / "script.py"
        script.write_text("\n".join(line for line in THREADS.split("\n") if "address" not in line))
        started = []

        def terminal():
            own, its = pty.openpty()
            env = environment(TERM="xterm", XDG_STATE_HOME=str(tmp_path / "state"), FLUVIAL_PYTHON=sys.executable)
            command = [sys.executable, "-m", "fluvial", "debug", str(script)]
            process = subprocess.Popen(command, env=env, stdin=its, stdout=its, stderr=its, start_new_session=True)
            os.close(its)
            os.set_blocking(own, False)
            started.append((own, process))
            return Person(own, process)

        yield terminal
        for own, process in started:
            process.kill()
            process.wait()
            os.close(own)

    def test_lines_are_edited_completed_and_brought_back(self, terminal):
        person = terminal()
        person.sees("(fluvial)")
        # A letter too many is taken back.
        person.types("print 1 + 22\x7f\r")
        person.sees("\n3")
        # The tab key completes, the arrow key brings back.
        person.types("breakp\t\r")
        person.sees("nan")
        person.types("print 40 + 2\r")
        person.sees("\n42")
        person.types("\x1b[A\x1b[A\x1b[A\r")
        person.sees("\n3")
        person.types("kill\r")
        person.process.wait(40)
        # Lines are there the next time, too.
        person = terminal()
        person.sees("(fluvial)")
        person.types("\x1b[A\x1b[A\r")
        person.sees("\n3")
        person.types("kill\r")
        person.process.wait(40)


class Person:
    """Somebody who types and reads."""

    def __init__(self, own, process):
        self.own, self.process, self.seen = own, process, ""

    def types(self, keys):
        self.seen = ""
        os.write(self.own, keys.encode())

    def sees(self, text):
        """Waits for what the screen shows, without colours and moves of the cursor."""
        deadline = time.monotonic() + 40
        while text not in self.screen():
            assert time.monotonic() < deadline, self.screen()
            with contextlib.suppress(BlockingIOError, OSError):
                self.seen += os.read(self.own, 1 << 16).decode(errors="replace")
            time.sleep(0.02)

    def screen(self):
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen).replace("\r", "")
