"""The server for editors, on a training that runs: see `debugged_training.py`."""

import time

import pytest
from dap.base import ErrorResponse
from dap.events import BreakpointEvent, ContinuedEvent, InvalidatedEvent, StoppedEvent, TerminatedEvent
from debug_editor import TRAINING, Editor, Program, line_of

FILE = {"path": str(TRAINING)}
GUESS, ERROR, SCALE, LOSS = map(line_of, ["guess = net", "error = guess", "scale = fl", "loss = fl.mean"])


@pytest.fixture
def start():
    """Starts the training; an editor that is attached to it, and has not said yet that it may go on."""
    programs = []

    def start(**env):
        program = Program(TRAINING, 0, **env)
        programs.append(program)
        port, token = program.line().split()
        editor = Editor(int(port))
        editor.program, editor.port, editor.token = program, int(port), token
        editor.begin(token)
        return editor

    yield start
    for program in programs:
        program.close()


@pytest.fixture(scope="module")
def undebugged():
    """What the training prints when nobody debugs it."""
    return Program(TRAINING).end()[0]


class TestStops:
    def test_a_line_moves_to_the_next_that_has_ops(self, start):
        editor = start()
        answer = editor.ask("set_breakpoints", FILE, [{"line": ERROR - 1}, {"line": 9999}])
        assert [one.verified for one in answer.breakpoints] == [False, False]
        editor.ask("configuration_done")
        moved = editor.read(lambda message: isinstance(message, BreakpointEvent))
        assert (moved.breakpoint.verified, moved.breakpoint.line) == (True, ERROR)
        stop = editor.stopped()
        assert (stop.reason, stop.hitBreakpointIds) == ("breakpoint", [str(answer.breakpoints[0].id)])
        assert editor.line() == ERROR
        places = editor.ask("breakpoint_locations", FILE, ERROR - 2, end_line=ERROR).breakpoints
        assert [place.line for place in places] == [GUESS, ERROR]
        # Now that the program is known, answers are right at once.
        again = editor.ask("set_breakpoints", FILE, [{"line": ERROR - 1}, {"line": 9999}])
        assert [(one.verified, one.line) for one in again.breakpoints] == [(True, ERROR), (False, 9999)]

    def test_conditions_counts_and_logs(self, start):
        editor = start()
        wanted = [
            {"line": ERROR, "condition": "step == 5 or max(abs(guess)) > 1e6"},
            {"line": SCALE, "hitCondition": "4"},
            {"line": LOSS, "logMessage": "step {step}: {ndim(error)}", "hitCondition": "% 2"},
        ]
        editor.ask("set_breakpoints", FILE, wanted)
        editor.ask("configuration_done")
        editor.stopped()
        assert (editor.line(), editor.value("step")) == (SCALE, "3")
        editor.go("continue_", 1)
        assert (editor.line(), editor.value("step")) == (ERROR, "5")
        assert editor.output == ["step 1: 2\n", "step 3: 2\n"]

    def test_a_layer(self, start):
        editor = start()
        editor.ask("set_function_breakpoints", [{"name": "net.3"}, {"name": "backward:net.0"}])
        editor.ask("configuration_done")
        for layer, phase, point in [("net.3", "forward", "1"), ("net.3", "backward", "1"), ("net.0", "backward", "2")]:
            stop = editor.stopped()
            names = [frame.name for frame in editor.frames()]
            assert (stop.reason, stop.hitBreakpointIds) == ("function breakpoint", [point])
            assert layer in names and phase in names and "step 0" in names
            editor.ask("continue_", 1)

    def test_a_parameter_that_changes(self, start):
        editor = start()
        editor.ask("set_function_breakpoints", [{"name": "net.3"}])
        editor.ask("configuration_done")
        editor.stopped()
        editor.ask("set_function_breakpoints", [])
        before = editor.value("hash(net.3.bias)")
        info = editor.ask("data_breakpoint_info", "net.3.bias", variables_reference=editor.scopes()["Parameters"])
        editor.ask("set_data_breakpoints", [{"dataId": info.dataId}])
        assert editor.go("continue_", 1).reason == "data breakpoint"
        assert "optimizer" in [frame.name for frame in editor.frames()]
        assert (editor.value("step"), editor.value("hash(net.3.bias)") == before) == ("0", False)
        editor.go("continue_", 1)
        assert editor.value("step") == "1"

    @pytest.mark.parametrize("filters", [["nan"], ["nan", "inf"]])
    def test_the_op_that_makes_nan(self, start, filters):
        editor = start(FAULT="5")
        editor.ask("set_exception_breakpoints", filters, None, None)
        editor.ask("configuration_done")
        assert editor.stopped().reason == "exception"
        frame = editor.frames()[0]
        assert (frame.line, frame.name) == (SCALE, "scale = sqrt(rest)")
        info = editor.ask("exception_info", 1)
        assert info.exceptionID == "nan" and "`sqrt` gave NaN" in info.description
        assert "Inputs: rest = -0.5" in info.details.stackTrace
        assert "Output: scale = NaN" in info.details.stackTrace
        assert [editor.value(name) for name in ("step", "rest", "scale")] == ["5", "-0.5", "NaN"]
        # It is told once; the rest of the training is what it would have been.
        editor.ask("continue_", 1)
        assert editor.program.end()[0] == Program(TRAINING, FAULT="5").end()[0]

    @pytest.mark.parametrize("fault", ["nan", "inf"])
    def test_a_fault_under_a_condition(self, start, fault):
        editor = start(FAULT="5")
        options = [{"filterId": fault, "condition": "step > 100"}]
        editor.ask("set_exception_breakpoints", [], options, None)
        editor.ask("configuration_done")
        editor.read(lambda message: isinstance(message, (StoppedEvent, TerminatedEvent)))
        assert editor.program.end()[0] == Program(TRAINING, FAULT="5").end()[0]

    def test_pause(self, start):
        editor = start(EPOCHS="1000000", FAULT="1e9")
        editor.ask("configuration_done")
        assert editor.go("pause", 1).reason == "pause"
        step = int(editor.value("step"))
        editor.ask("continue_", 1)
        time.sleep(0.2)
        editor.go("pause", 1)
        assert int(editor.value("step")) > step


class TestLooks:
    @pytest.fixture
    def editor(self, start):
        """Stopped in the second epoch, at the line `error = ...` of step 9."""
        editor = start()
        editor.ask("set_breakpoints", FILE, [{"line": ERROR, "condition": "step == 9"}])
        editor.ask("configuration_done")
        editor.stopped()
        return editor

    def test_frames(self, editor):
        frames = editor.frames()
        assert frames[0].name == "error = sub(guess, y)"
        assert [frame.name for frame in frames if "fused" not in frame.name][1:] == [
            "forward",
            "step 9",
            "epoch 1",
            "train",
            "called from",
        ]
        assert all(frame.source.path == FILE["path"] for frame in frames)
        assert frames[-1].line == line_of("loss = train")

    def test_scopes_and_pages(self, editor):
        inputs = editor.variables("Inputs")
        assert list(inputs) == ["guess", "y"] and inputs["y"].value.startswith("f32[5, 1] [[")
        parameters = editor.variables("Parameters")
        assert list(parameters) == ["net.0.bias", "net.0.weight", "net.3.bias", "net.3.weight"]
        weight = parameters["net.0.weight"]
        assert weight.value.startswith("f32[8, 4] mean=") and " nan=0 inf=0 #" in weight.value
        assert (weight.indexedVariables, weight.type) == (8, "f32[8, 4]")
        page = {"filter": "indexed", "start": 6, "count": 2}
        rows = editor.ask("variables", weight.variablesReference, **page).variables
        assert [row.name for row in rows] == ["[6]", "[7]"]
        (row,) = editor.ask("variables", rows[1].variablesReference, start=2, count=1).variables
        assert row.value == editor.value("net.0.weight[7, 2]")
        assert {"adam.lr", "adam.step", "adam.m.net.0.weight"} <= set(editor.variables("Optimizer"))
        loop = editor.variables("Loop")
        assert (loop["step"].value, loop["epoch"].value) == ("9", "1")
        alive = editor.variables("All live tensors")
        assert {"x", "y", "guess", "loss", "rest"} <= set(alive)
        assert alive["rest"].value.startswith("90.5")

    def test_expressions_and_completions(self, editor):
        assert editor.value("shape(guess)") == "i64[2] [5, 1]"
        assert editor.value("rest + 0.5", "hover") == "91"
        assert editor.value("epoch * 8 + 1 == step") == "true"
        answer = editor.ask("evaluate", "guess = 0", context="hover")
        assert isinstance(answer, ErrorResponse) and "type it into the console" in answer.message
        answer = editor.ask("evaluate", "gues", context="watch")
        assert isinstance(answer, ErrorResponse) and "did you mean `guess`?" in answer.message
        found = editor.ask("completions", "mean(net.0", 11, line=1).targets
        assert [one.label for one in found] == ["net.0.bias", "net.0.weight"]

    def test_listings(self, editor):
        written, compiled = editor.ask("loaded_sources").sources
        for source in (written, compiled):
            text = editor.ask("source", source.sourceReference).content
            assert "for_each" in text and "state @net.0.weight" in text

    def test_an_edit_changes_what_follows(self, editor):
        editor.ask("set_variable", editor.scopes()["Inputs"], "guess", "y + 2")
        editor.read(lambda message: isinstance(message, InvalidatedEvent))
        guess = editor.variables("Inputs")["guess"]
        editor.ask("set_variable", guess.variablesReference, "[3]", "y[3] + 4")
        editor.go("next", 1)
        assert editor.value("round(error[:, 0] * 100) / 100") == "f32[5] [2, 2, 2, 4, 2]"
        assert "guess = " in editor.value("edits", "repl")
        editor.ask("evaluate", "net.3.bias = 0.25", context="repl")
        assert "0.25" in editor.value("net.3.bias")


class TestSteps:
    @pytest.fixture(params=[(ERROR, "100"), (ERROR, "0")])
    def editor(self, request, start):
        line, every = request.param
        editor = start(FLUVIAL_DEBUG_EVERY=every)
        editor.ask("set_breakpoints", FILE, [{"line": line}])
        editor.ask("configuration_done")
        editor.stopped()
        return editor

    @pytest.mark.parametrize("editor", [(GUESS, "100")], indirect=True)
    def test_lines_ops_and_layers(self, editor):
        def here():
            frame, layer, *_ = editor.frames()
            return frame.line, layer.name

        assert here() == (GUESS, "net.0")
        editor.ask("set_breakpoints", FILE, [])
        editor.go("step_out", 1)
        assert here() == (GUESS, "net.1")
        ops = [editor.frames()[0].name]
        while here()[0] == GUESS:
            editor.go("step_in", 1)
            ops.append(editor.frames()[0].name)
        assert ops[-1] == "error = sub(guess, y)" and any("dropout" in op for op in ops)
        editor.go("next", 1)
        assert editor.line() == LOSS
        editor.go("step_back", 1)
        assert editor.line() == ERROR
        editor.go("step_back", 1)
        assert here() == (GUESS, "net.3")

    def test_back_over_steps_is_exact(self, editor):
        seen = "hash(net.0.weight)", "hash(adam.v.net.0.weight)", "hash(y)", "hash(rng)", "rest"

        def state():
            return [editor.value(one) for one in ("step", "epoch", *seen)]

        states = [state()]
        for _ in range(10):
            editor.go("continue_", 1)
            states.append(state())
        assert [one[:2] for one in states] == [[str(i), str(i // 8)] for i in range(11)]
        assert len({tuple(one[2:]) for one in states}) == 11
        for expected in reversed(states[:-1]):
            editor.go("reverse_continue", 1)
            assert state() == expected
        for step in (7, 2, 10, 9):
            assert editor.go("goto", 1, step + 1).reason == "goto"
            assert state() == states[step]

    def test_the_beginning(self, editor):
        editor.ask("evaluate", "goto 4", context="repl")
        editor.read(lambda message: isinstance(message, ContinuedEvent))
        assert editor.stopped().reason == "goto" and editor.value("step") == "4"
        editor.go("restart")
        assert editor.value("step") == "0"


class TestEnds:
    @pytest.mark.parametrize("every", ["100", "0"])
    def test_what_was_debugged_learns_the_same(self, start, undebugged, every):
        editor = start(FLUVIAL_DEBUG_EVERY=every)
        editor.ask("set_breakpoints", FILE, [{"line": ERROR, "condition": "step >= 3"}])
        editor.ask("configuration_done")
        editor.stopped()
        for request in ["next", "step_in", "continue_", "step_back", "continue_", "reverse_continue", "step_out"]:
            editor.go(request, 1)
        editor.ask("disconnect")
        assert editor.program.end() == (undebugged, "", 0)

    def test_without_a_stop_it_learns_the_same(self, start, undebugged):
        editor = start()
        editor.ask("configuration_done")
        editor.read(lambda message: isinstance(message, TerminatedEvent))
        assert editor.program.end()[0] == undebugged

    def test_a_connection_that_breaks_lets_it_go_on(self, start, undebugged):
        editor = start()
        editor.ask("set_breakpoints", FILE, [{"line": ERROR}])
        editor.ask("configuration_done")
        editor.stopped()
        editor.socket.close()
        assert editor.program.end()[0] == undebugged

    def test_terminate_ends_the_run_with_an_error(self, start):
        editor = start()
        editor.ask("set_breakpoints", FILE, [{"line": ERROR}])
        editor.ask("configuration_done")
        editor.stopped()
        editor.ask("terminate")
        out, err, code = editor.program.end()
        assert (out, code) == ("", -2) and "KeyboardInterrupt" in err and "the run was ended by the debugger" in err

    def test_wrong_tokens_and_unknown_requests(self, start):
        editor = start()
        other = Editor(editor.port)
        answer = other.ask("send_request", "attach", {"token": "guess"})
        assert isinstance(answer, ErrorResponse) and "the token is wrong" in answer.message
        answer = other.ask("send_request", "attach", {"token": editor.token})
        assert isinstance(answer, ErrorResponse) and "another client" in answer.message
        answer = editor.ask("modules")
        assert isinstance(answer, ErrorResponse) and "no such request" in answer.message
        editor.ask("disconnect")
        # A client that says farewell twice is answered twice.
        editor.ask("disconnect")


class TestSharpEdges:
    """What has gone wrong before."""

    @pytest.mark.parametrize("back", ["goto", "reverse_continue", "restart"])
    def test_nan_stops_again_after_going_back(self, start, back):
        editor = start(FAULT="5")
        editor.ask("set_exception_breakpoints", ["nan"], None, None)
        editor.ask("configuration_done")
        for _ in range(3):
            stop = editor.stopped()
            assert (stop.reason, editor.value("step"), editor.line()) == ("exception", "5", SCALE)
            editor.go(back, *{"goto": (1, 1), "restart": ()}.get(back, (1,)))
            assert editor.value("step") == "0"
            editor.ask("continue_", 1)
        editor.stopped()
        editor.ask("disconnect")
        assert editor.program.end()[0] == Program(TRAINING, FAULT="5").end()[0]

    def test_going_back_behind_a_nan_does_not_tell_it_twice(self, start):
        editor = start(FAULT="5")
        editor.ask("set_exception_breakpoints", ["nan"], None, None)
        editor.ask("set_breakpoints", FILE, [{"line": ERROR, "condition": "step == 9"}])
        editor.ask("configuration_done")
        assert editor.stopped().reason == "exception"
        assert editor.go("continue_", 1).reason == "breakpoint"
        editor.go("goto", 1, 8)
        assert editor.value("step") == "7"
        assert editor.go("continue_", 1).reason == "breakpoint"

    def test_an_element_is_answered_with_the_element(self, start):
        editor = start()
        editor.ask("set_breakpoints", FILE, [{"line": ERROR}])
        editor.ask("configuration_done")
        editor.stopped()
        guess = editor.variables("Inputs")["guess"]
        rows = editor.ask("variables", guess.variablesReference, filter="indexed").variables
        answer = editor.ask("set_variable", rows[3].variablesReference, "[0]", "7.5")
        assert (answer.value, answer.variablesReference or 0) == ("7.5", 0)
        answer = editor.ask("set_expression", "guess[1, 0]", "2.5")
        assert answer.value == "2.5"
        assert editor.value("guess[3, 0] + guess[1, 0]") == "10"

    def test_function_breakpoints_become_verified(self, start):
        editor = start()
        editor.ask("set_function_breakpoints", [{"name": "net.3"}, {"name": "no_such_op"}])
        editor.ask("configuration_done")
        changed = editor.read(lambda message: isinstance(message, BreakpointEvent))
        assert (changed.breakpoint.id, changed.breakpoint.verified) == (1, True)
        stop = editor.stopped()
        assert (stop.reason, stop.hitBreakpointIds) == ("function breakpoint", ["1"])

    @pytest.mark.parametrize("mode, names", [("forward", ["forward"]), ("backward", ["backward"]), (None, ["forward"])])
    def test_a_line_has_two_passes(self, start, mode, names):
        editor = start()
        editor.ask("set_breakpoints", FILE, [{"line": LOSS, **({"mode": mode} if mode else {})}])
        editor.ask("configuration_done")
        steps = []
        for _ in range(4):
            stop = editor.stopped()
            found = [frame.name for frame in editor.frames() if frame.name in ("forward", "backward", "optimizer")]
            assert found == names and ("backward" in stop.text) == (mode == "backward")
            steps.append(int(editor.value("step")))
            editor.ask("continue_", 1)
        # Going back, ops of a line may stand apart.
        assert steps == sorted(steps) and (mode == "backward" or steps == [0, 1, 2, 3])

    @pytest.mark.parametrize("leave", ["disconnect", "close"])
    def test_an_edit_is_kept_when_one_goes_back_and_leaves(self, start, leave):
        results = []
        for goes_back in (False, True):
            editor = start()
            editor.ask("set_breakpoints", FILE, [{"line": ERROR, "condition": "step == 7"}])
            editor.ask("configuration_done")
            editor.stopped()
            editor.ask("evaluate", "net.0.weight = net.0.weight * 0.5", context="repl")
            editor.ask("evaluate", "guess[0, 0] = 100", context="repl")
            if goes_back:
                editor.go("goto", 1, 3)
                assert editor.value("step") == "2"
            editor.ask("disconnect") if leave == "disconnect" else editor.socket.close()
            results.append(editor.program.end()[0])
        assert results[0] == results[1]

    def test_an_edit_inside_of_a_fused_op_and_restart(self, start, undebugged):
        editor = start()
        editor.ask("set_breakpoints", FILE, [{"line": LOSS, "condition": "step == 2"}])
        editor.ask("configuration_done")
        editor.stopped()
        assert any("in the fused op" in frame.name for frame in editor.frames())
        editor.ask("evaluate", "error = error * 2", context="repl")
        editor.go("restart")
        assert editor.value("step") == "0"
        editor.go("continue_", 1)
        assert editor.value("step") == "2"
        editor.ask("disconnect")
        out, err, code = editor.program.end()
        assert (err, code) == ("", 0) and out != undebugged

    def test_idle_connections_keep_nobody_out(self, start):
        import socket

        # The job must not be over before the second client comes, and the server with it.
        editor = start(EPOCHS="1000000", FAULT="1e9")
        editor.ask("set_breakpoints", FILE, [{"line": ERROR}])
        editor.ask("configuration_done")
        editor.stopped()
        idle = [socket.create_connection(("127.0.0.1", editor.port)) for _ in range(80)]
        editor.ask("disconnect")
        other = Editor(editor.port)
        other.begin(editor.token)
        other.ask("disconnect")
        assert len(idle) == 80

    def test_a_wrong_token_is_refused_and_the_right_one_taken(self, start):
        editor = start()
        other = Editor(editor.port)
        answer = other.ask("send_request", "attach", {"token": "guess"})
        assert isinstance(answer, ErrorResponse)
        editor.ask("disconnect")
