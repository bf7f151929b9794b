"""The server for editors, driven by a client that checks every answer against the types of the protocol."""

import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest
from dap import Client
from dap.base import ErrorResponse, Response
from dap.events import InitializedEvent, InvalidatedEvent, StoppedEvent
from dap.handler import Handler
from pydantic import ValidationError

ROOT = Path(__file__).parents[2]
# Prints `port N`, and ends with its input.
SERVE = os.environ.get(
    "FLUVIAL_DEBUG_SERVER", "cargo run -q -p fluvial-debug --example serve_mock"
)
FILE = {"path": "/mock/train.py"}


class Lenient(Handler):
    """Mends what this client has wrong: answers without a body, numbers as texts, the name of a field."""

    def handle_event(self, event):
        if event.event == "stopped":
            event.body["hitBreakpointIds"] = [str(one) for one in event.body["hitBreakpointIds"]]
        return super().handle_event(event)

    def handle_response(self, response):
        if response.command == "exceptionInfo" and response.success:
            response.body["exceptionID"] = response.body["exceptionId"]
        try:
            return super().handle_response(response)
        except ValidationError:
            if response.body and response.command != "setExceptionBreakpoints":
                raise
            return response


class Editor:
    """A client with its connection."""

    def __init__(self, port):
        self.client = Client("fluvial")
        self.client.handler = Lenient(self.client)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.seen = []
        self.read(lambda message: getattr(message, "supportsStepBack", None))

    def read(self, is_wanted):
        """The next message that is wanted; those before it are forgotten."""
        self.socket.sendall(self.client.send())
        while True:
            while self.seen:
                message = self.seen.pop(0)
                if is_wanted(message):
                    return message
            data = self.socket.recv(1 << 16)
            assert data, "the server has closed the connection"
            self.seen.extend(self.client.receive(data))

    def ask(self, request, *args, **kwargs):
        """The answer to a request, of which one is under way at a time."""
        before = set(self.client._pending_requests)
        getattr(self.client, request)(*args, **kwargs)
        (seq,) = set(self.client._pending_requests) - before
        answers = []

        def is_answer(message):
            # Events may come first, and are wanted later.
            if seq in self.client._pending_requests or type(message).__name__.endswith("Event"):
                answers.append(message)
                return False
            return True

        answer = self.read(is_answer)
        self.seen = answers + self.seen
        return answer

    def begin(self, token="secret"):
        answer = self.ask("send_request", "attach", {"token": token})
        assert isinstance(answer, Response) and answer.success, answer
        self.read(lambda message: isinstance(message, InitializedEvent))

    def stopped(self):
        return self.read(lambda message: isinstance(message, StoppedEvent))

    def variables(self, scope_name, **page):
        frame = self.ask("stack_trace", 1).stackFrames[0]
        scopes = self.ask("scopes", frame.id).scopes
        (scope,) = [scope for scope in scopes if scope.name == scope_name]
        return scope, self.ask("variables", scope.variablesReference, **page).variables


@pytest.fixture
def serve():
    """Starts a server; a client of it."""
    processes = []

    def start(**env):
        process = subprocess.Popen(
            shlex.split(SERVE),
            cwd=ROOT,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        word, port = process.stdout.readline().split()
        assert word == "port"
        return Editor(int(port))

    yield start
    for process in processes:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)


def test_a_breakpoint_on_a_line(serve):
    editor = serve()
    editor.begin()
    wanted = [{"line": 12, "condition": "step == 3"}, {"line": 99}]
    answer = editor.ask("set_breakpoints", FILE, wanted)
    assert [one.verified for one in answer.breakpoints] == [True, False]
    editor.ask("configuration_done")
    stop = editor.stopped()
    assert (stop.reason, stop.hitBreakpointIds) == ("breakpoint", [str(answer.breakpoints[0].id)])
    frames = editor.ask("stack_trace", 1).stackFrames
    assert [(frame.name, frame.line) for frame in frames][0] == ("%loss = mean(%a)", 12)
    assert frames[0].source.path == FILE["path"]


def test_nan_and_why(serve):
    editor = serve(FLUVIAL_MOCK_NAN="2")
    editor.begin()
    editor.ask("set_exception_breakpoints", ["nan"], [{"filterId": "inf"}], None)
    editor.ask("configuration_done")
    assert editor.stopped().reason == "exception"
    info = editor.ask("exception_info", 1)
    assert info.exceptionID == "nan" and "nan=1" in info.details.stackTrace


def test_steps_in_both_directions(serve):
    editor = serve()
    editor.begin()
    editor.ask("set_function_breakpoints", [{"name": "matmul"}])
    editor.ask("configuration_done")
    assert editor.stopped().reason == "function breakpoint"
    editor.ask("set_function_breakpoints", [])
    lines = []
    for step in ["next", "next", "step_back", "step_back", "step_in", "step_out"]:
        editor.ask(step, 1)
        assert editor.stopped().reason == "step"
        lines.append(editor.ask("stack_trace", 1).stackFrames[0].line)
    assert lines == [11, 12, 11, 10, 11, 12]
    editor.ask("evaluate", "goto 7", context="repl")
    assert editor.stopped().reason == "goto"
    assert editor.ask("evaluate", "step").result == "7"


def test_values_and_edits(serve):
    editor = serve()
    editor.begin()
    editor.ask("configuration_done")
    editor.ask("pause", 1)
    editor.stopped()
    scope, (w,) = editor.variables("Parameters")
    assert w.value.startswith("f32[4, 3] mean=")
    editor.ask("set_variable", scope.variablesReference, "w", "0.25")
    editor.read(lambda message: isinstance(message, InvalidatedEvent))
    page = {"filter": "indexed", "start": 2, "count": 1}
    (row,) = editor.ask("variables", w.variablesReference, **page).variables
    assert (row.name, row.value) == ("[2]", "[0.25, 0.25, 0.25]")
    memory = editor.ask("read_memory", w.memoryReference, count=4)
    assert memory.data == "AACAPg=="


def test_wrong_tokens_and_unknown_requests(serve):
    editor = serve()
    answer = editor.ask("send_request", "attach", {"token": "guess"})
    assert isinstance(answer, ErrorResponse) and "the token is wrong" in answer.message
    editor.begin()
    answer = editor.ask("modules")
    assert isinstance(answer, ErrorResponse) and "no such request" in answer.message
    editor.ask("disconnect")
    # A client that says farewell twice is answered twice.
    editor.ask("disconnect")
