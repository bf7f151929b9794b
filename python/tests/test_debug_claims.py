"""What `docs/debugger.md` says, where no other test says it."""

import os

import pytest
from debug_editor import TRAINING, Editor, Program, line_of

FILE = {"path": str(TRAINING)}
GUESS, ERROR, LOSS = map(line_of, ["guess = net", "error = guess", "loss = fl.mean"])

CALLS = """
import fluvial as fl

calls = []

def count(x):
    calls.append(float(x.sum()))
    return [x]

fl.register_host("count", count)

@fl.function
def f(x, steps):
    for step in range(steps):
        (x,) = fl.host_call("count", [x], [x])
        fl.print(x, message="at")
        x = x + 1.0
    return x

address = fl.debug.listen(0)
print(address.port, address.token, flush=True)
fl.debug.listen(address.port, wait=True)
print("result", f(fl.tensor(1.0), fl.tensor(5)).item(), len(calls), flush=True)
"""


@pytest.fixture
def start():
    programs = []

    def start(script=TRAINING, **env):
        program = Program(script, 0, **env) if script is TRAINING else Program(script, **env)
        programs.append(program)
        port, token = program.line().split()
        editor = Editor(int(port))
        editor.program = program
        editor.begin(token)
        return editor

    yield start
    for program in programs:
        program.close()


def test_expressions(start):
    editor = start()
    editor.ask("set_breakpoints", FILE, [{"line": LOSS, "condition": "step == 2"}])
    editor.ask("configuration_done")
    editor.stopped()
    assert editor.value("ndim(guess[0])") == "1" and editor.value("ndim(error[:, 0])") == "1"
    assert float(editor.value("mean(error)")) == pytest.approx(float(editor.value("sum(error) / 5")), rel=1e-5)
    assert editor.value("isnan(rest)") == "false" and float(editor.value("max(abs(guess))")) > 0
    assert editor.value("step % 100 == 2") == "true"


def test_what_was_printed_and_called_is_not_repeated(start, tmp_path):
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    editor = start(script)
    line = line_of("x = x + 1.0", script)
    editor.ask("set_breakpoints", {"path": str(script)}, [{"line": line, "condition": "step == 3"}])
    editor.ask("configuration_done")
    editor.stopped()
    editor.go("goto", 1, 1)
    assert editor.value("step") == "0"
    editor.go("continue_", 1)
    assert editor.value("step") == "3"
    editor.ask("disconnect")
    out, err, _ = editor.program.end()
    assert "result 6.0 5" in out and (out + err).count("at") == 5


def test_a_loss_spike(start):
    editor = start(EPOCHS="40", FAULT="1e9")
    editor.ask("set_breakpoints", FILE, [{"line": ERROR, "condition": "step == 200"}])
    editor.ask("configuration_done")
    assert editor.stopped().reason == "breakpoint"
    editor.ask("set_exception_breakpoints", ["loss-spike"], None, None)
    editor.ask("evaluate", "guess = guess * 0 + 1e12", context="repl")
    stop = editor.go("continue_", 1)
    assert stop.reason == "exception" and "loss" in editor.ask("exception_info", 1).description.lower()


def test_the_variable_is_taken_out_of_the_environment(tmp_path):
    script = tmp_path / "env.py"
    script.write_text(
        "import os, subprocess, sys\nimport fluvial as fl\n"
        "print('FLUVIAL_DEBUG' in os.environ, fl.debug.is_listening())\n"
        "code = 'import fluvial as fl; print(fl.debug.is_listening())'\n"
        "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout.strip())\n"
    )
    out, _, code = Program(script, FLUVIAL_DEBUG="0").end()
    assert (code, out.split()) == (0, ["False", "True", "False"])
    assert "FLUVIAL_DEBUG" not in os.environ
