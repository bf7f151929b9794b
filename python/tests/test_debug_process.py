"""Processes that are debugged: from the command line, by their numbers, and by what is typed."""

import contextlib
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


NESTED = """
import fluvial as fl

@fl.function
def climb(n):
    total = fl.tensor(0.0)
    for i in range(n):
        for j in range(n):
            fl.debug.breakpoint()
            total = total + 1.0
    return total

print("total", climb(fl.tensor(4)).item(), flush=True)
"""


WHILE = """fluvial 1

main(%x: f64[], %w: f64[]) {
  %bound = constant{value=f64[](10.0)}() : f64[]
  %first = lt(%x, %bound) : bool[]
  %y = while{body=(%x: f64[], %w: f64[]) {
    %next = mul(%x, %w) : f64[]
    %bound = constant{value=f64[](10.0)}() : f64[]
    %goes_on = lt(%next, %bound) : bool[]
    return %goes_on, %next
  }, n_carried=1}(%first, %x, %w) : f64[]
  return %y
}
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


def command_line(*arguments, typed="", **more):
    """What the command `fluvial` answers to what is typed."""
    command = [sys.executable, "-m", "fluvial", *map(str, arguments)]
    done = subprocess.run(command, env=environment(), input=typed, capture_output=True, text=True, timeout=50, **more)
    return done.stdout, done.stderr, done.returncode


def write_nothing():
    """From now on, this process can write to no file."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


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

    @pytest.mark.parametrize("every", ["100", "0"])
    def test_loops_in_loops_backwards(self, start, script, every):
        script.write_text(NESTED)
        program = start(script, FLUVIAL_DEBUG="wait", FLUVIAL_DEBUG_EVERY=every)
        editor = attached(program)
        editor.stopped()

        def here():
            return [int(editor.value(name)) for name in ("step", "iteration", "total")]

        seen = [here()]
        for _ in range(11):
            editor.go("continue_", 1)
            seen.append(here())
        assert seen == [[i // 4, i % 4, i] for i in range(12)]
        for expected in reversed(seen[:-1]):
            editor.go("reverse_continue", 1)
            assert here() == expected
        editor.ask("disconnect")
        assert program.end()[0] == "total 16.0\n"

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
        # What the script and the debugger write goes to the same place.
        assert expected.splitlines()[-1] in out

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

    def test_nan_is_on_and_stops_again_after_going_back(self):
        typed = "continue\ngoto 0\ncontinue\nbreakpoints\ndelete nan\ngoto 0\ncontinue\n"
        command = [sys.executable, "-m", "fluvial", "debug", str(TRAINING)]
        run = dict(input=typed, capture_output=True, text=True, timeout=50)
        out = subprocess.run(command, env=environment(FAULT="5"), **run).stdout
        assert out.count("nan: `sqrt` gave NaN") == 2 and "loss nan" in out

    def test_ctrl_c_pauses_a_script(self):
        command = [sys.executable, "-m", "fluvial", "debug", str(TRAINING)]
        pipe = subprocess.PIPE
        env = environment(EPOCHS="1000000", FAULT="1e9")
        debug = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        os.set_blocking(debug.stdout.fileno(), False)

        def said(text):
            """What is written until this comes."""
            seen, deadline = "", time.monotonic() + 40
            while text not in seen:
                assert time.monotonic() < deadline, seen
                with contextlib.suppress(BlockingIOError):
                    seen += os.read(debug.stdout.fileno(), 1 << 16).decode()
                time.sleep(0.02)
            return seen

        def type_in(line):
            debug.stdin.write(line)
            debug.stdin.flush()

        try:
            said("(fluvial) ")
            type_in("continue\n")
            time.sleep(0.5)
            # As a terminal does it: to all that are in the foreground.
            os.killpg(debug.pid, signal.SIGINT)
            assert "pause: as you asked" in said("(fluvial) ")
            type_in("print step >= 0\n")
            assert "true" in said("(fluvial) ")
            type_in("kill\n")
            assert debug.wait(40) != 0
        finally:
            debug.kill()
            debug.communicate()

    def test_quit_leaves_a_job_that_was_attached_to(self, start):
        program = start(TRAINING, EPOCHS="1000000", FAULT="1e9")
        deadline = time.monotonic() + 30
        code = None
        while code != 0 and time.monotonic() < deadline:
            out, err, code = command_line("attach", program.process.pid, typed="quit\n")
        assert code == 0 and "goes on alone" in out and program.process.poll() is None
        # And once more: it listens already.
        out, err, code = command_line("attach", program.process.pid, typed="kill\n")
        assert code == 0, err
        assert "the run was ended by the debugger" in program.end()[1]

    def test_a_port_in_use(self, start, script):
        import socket

        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            out, err, code = start(script, FLUVIAL_DEBUG=str(port)).end()
        assert code != 0 and f"port {port} is in use" in err
        assert f"{script}:{line_of('import fluvial as fl', script)}" in err and "frozen" not in err.split("Error")[-1]

    def test_breakpoints_of_the_code_have_names(self, script):
        out, err, code = command_line("debug", script, typed="continue\nbreakpoints\ndetach\n")
        assert "breakpoint c1: at a breakpoint of your code" in out and "4294967295" not in out
        assert "c1 climb.py:" in out

    def test_a_recording(self, script, tmp_path):
        path = tmp_path / "climb.flr"
        typed = "continue\ncontinue\ncontinue\nset total = total + 8\n"
        typed += f"continue\nprint step\nprint total\nrecord {path}\ndetach\n"
        out, err, code = command_line("debug", script, typed=typed)
        assert code == 0 and "snapshots" in out, out + err
        total = re.search(r"print total\n([^\n]*)", out) or re.search(r"\(fluvial\) (\d+\.\d+)\n", out)
        typed = "print step\nprint total\nedits\ngoto 1\nprint step\nprint total\ngoto 3\nprint total\ncontinue\n"
        out, err, code = command_line("debug", path, typed=typed)
        assert code == 0, err
        assert "where the run was recorded [step 3]" in out and total[1] in out
        assert "edited at step 2: total = " in out and out.count(total[1]) == 2
        # Who looks at it need not be allowed to write where it lies.
        looked = command_line("debug", path, typed="print step\n", preexec_fn=write_nothing)
        assert looked[2] == 0 and "where the run was recorded [step 3]" in looked[0], looked
        # Nor need the script be there.
        script.unlink()
        looked = command_line("debug", path, typed="print total\nlist\n")
        assert total[1] in looked[0] and "total = total * 0.5" in looked[0], looked
        for at in (10, 100, 400, -20):
            damaged = bytearray(path.read_bytes())
            damaged[at] ^= 4
            path.with_name("damaged.flr").write_bytes(damaged)
            out, err, code = command_line("debug", path.with_name("damaged.flr"))
            assert code != 0 and "recording" in err, (at, out, err)

    def test_a_recording_in_an_editor(self, start, script, tmp_path):
        path = tmp_path / "climb.flr"
        typed = f"continue\ncontinue\nrecord {path}\ndetach\n"
        out, err, code = command_line("debug", script, typed=typed)
        assert code == 0 and path.exists(), out + err
        program = start("-m", "fluvial", "debug", path, "--port", 0)
        said = "".join(program.process.stderr.readline() for _ in range(3))
        port, token = address(said)
        editor = Editor(port)
        editor.begin(token)
        editor.ask("configuration_done")
        editor.stopped()
        assert editor.value("step") == "1"
        editor.go("reverse_continue", 1)
        assert editor.value("step") == "0"
        editor.ask("disconnect")
        assert program.end()[2] == 0

    @pytest.mark.parametrize("text, says", [("def (", "SyntaxError"), ("raise OSError('gone')", "OSError: gone")])
    def test_a_script_that_fails_before_it_listens(self, tmp_path, text, says):
        path = tmp_path / "slip.py"
        path.write_text(text)
        out, err, code = command_line("debug", path)
        assert code == 1 and says in err and "no debugger" not in err

    def test_a_script_without_a_program(self, tmp_path):
        path = tmp_path / "plain.py"
        path.write_text("print('alone')")
        assert command_line("debug", path) == ("alone\n", "", 0)

    def test_lines_of_a_text(self, tmp_path):
        path = tmp_path / "while.fl"
        path.write_text(WHILE)
        line = line_of("%next = mul", path)
        typed = f"break while.fl:{line}\ncontinue\nlisting\nprint x\ncontinue\nprint x\nwhere\ndetach\n"
        out, err, code = command_line("debug", path, "--set", "x=1", "--set", "w=2", typed=typed)
        assert code == 0, err
        assert out.count("breakpoint 1: at a breakpoint") == 2 and f"while.fl:{line}" in out
        assert re.search(r"^> +\d+ \| +%next, %goes_on = fused", out, re.MULTILINE), out
        assert re.search(r"print x\n1\.0$", out, re.MULTILINE) and re.search(r"print x\n2\.0$", out, re.MULTILINE)

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
        assert code != 0 and "there is no process" in err
        for pid in (0, 1):
            out, err, code = command_line("attach", pid)
            assert code != 0 and f"{pid} is the number of no process that can be debugged" in err
        out, err, code = command_line("attach", "127.0.0.1:1")
        assert code != 0 and "no debugger listens at 127.0.0.1:1" in err

    def test_patience_beyond_all_clocks(self, start, tmp_path):
        path = tmp_path / "idle.py"
        path.write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)")
        program = start(path)
        assert program.line() == "ready"
        command = [sys.executable, "-m", "fluvial", "attach", str(program.process.pid), "--patience", str(2**64 - 1)]
        attach = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            attach.wait(3)
        attach.kill()
        assert "panicked" not in attach.communicate()[1]


class TestLeaving:
    """A training runs to its normal end, with the same bits, however often somebody comes and goes."""

    EPOCHS = "80"

    @pytest.fixture(scope="class")
    def expected(self):
        return Program(TRAINING, EPOCHS=self.EPOCHS, FAULT="1e9").end()[0]

    @pytest.mark.parametrize("leave", ["disconnect", "terminate", "close", "kill", "quit"])
    def test_hundreds_of_times(self, start, expected, leave):
        program = start(TRAINING, 0, EPOCHS=self.EPOCHS, FAULT="1e9")
        port, token = program.line().split()
        n_times = 0
        while program.process.poll() is None and n_times < 300:
            try:
                ATTACHED[leave](int(port), token, n_times)
            except (OSError, AssertionError):
                # The training may have come to its end meanwhile.
                assert program.process.wait(10) == 0
                break
            n_times += 1
        out, err, code = program.end()
        assert (code, err) == (0, "")
        assert expected == out
        assert n_times > 0


def _editor(port, token, is_stopped):
    editor = Editor(port)
    editor.begin(token)
    editor.ask("configuration_done")
    if is_stopped:
        editor.go("pause", 1)
    return editor


def _disconnect(port, token, n):
    _editor(port, token, n % 2).ask("disconnect")


def _not_terminated(port, token, n):
    _editor(port, token, n % 2).ask("send_request", "disconnect", {"terminateDebuggee": False})


def _closed(port, token, n):
    _editor(port, token, n % 2).socket.close()


def _killed(port, token, n):
    """The connection breaks while a request is under way."""
    import socket
    import struct

    editor = _editor(port, token, n % 2)
    editor.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    editor.socket.sendall(b"Content-Length: 500\r\n\r\n{")
    editor.socket.close()


def _quit(port, token, n):
    import socket

    with socket.create_connection(("127.0.0.1", port), timeout=20) as terminal:
        terminal.sendall(f"fluvial terminal {token} 80\n".encode())
        terminal.sendall([b"quit\n", b"detach\n", b"where\nquit\n"][n % 3])
        text = b""
        while part := terminal.recv(1 << 16):
            text += part
        assert b"goes on alone" in text, text


ATTACHED = {
    "disconnect": _disconnect,
    "terminate": _not_terminated,
    "close": _closed,
    "kill": _killed,
    "quit": _quit,
}
