"""An editor that debugs: a client that checks every answer against the types of the protocol."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from dap import Client
from dap.base import Response
from dap.events import InitializedEvent, OutputEvent, StoppedEvent
from dap.handler import Handler
from pydantic import ValidationError

import fluvial as fl

HERE = Path(__file__).parent
TRAINING = HERE / "debugged_training.py"
# Where the package is that is tested, for processes that are started elsewhere.
PACKAGE = Path(fl.__file__).resolve().parents[1]


def line_of(text, script=TRAINING):
    """The number of the line of a script that has this text."""
    (line,) = [n for n, line in enumerate(script.read_text().split("\n"), 1) if text in line]
    return line


def environment(**more):
    """The variables of a process that finds the package."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": "1", **more}


class Program:
    """A script that runs in a process of its own."""

    def __init__(self, *arguments, **env):
        command = [sys.executable, *map(str, arguments)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment(**env), stdout=pipe, stderr=pipe, text=True)

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        """What it writes until it ends, and how it ends."""
        out, err = self.process.communicate(timeout=30)
        return out, err, self.process.returncode

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Lenient(Handler):
    """Mends what this client has wrong: answers without a body, numbers as texts, the name of a field, a list."""

    def handle_event(self, event):
        if event.event == "stopped":
            event.body["hitBreakpointIds"] = [str(one) for one in event.body["hitBreakpointIds"]]
        return super().handle_event(event)

    def handle_response(self, response):
        if response.command == "exceptionInfo" and response.success:
            response.body["exceptionID"] = response.body["exceptionId"]
        if response.command == "initialize":
            for mode in response.body["breakpointModes"]:
                (mode["appliesTo"],) = mode["appliesTo"]
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
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.seen = []
        self.output = []
        self.read(lambda message: getattr(message, "supportsStepBack", None))

    def read(self, is_wanted):
        """The next message that is wanted; those before it are forgotten."""
        self.socket.sendall(self.client.send())
        while True:
            while self.seen:
                message = self.seen.pop(0)
                if isinstance(message, OutputEvent):
                    self.output.append(message.output)
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
        events = []

        def is_answer(message):
            # Events may come first, and are wanted later.
            if type(message).__name__.endswith("Event"):
                events.append(message)
                return False
            return seq not in self.client._pending_requests

        answer = self.read(is_answer)
        self.seen = events + self.seen
        return answer

    def begin(self, token):
        answer = self.ask("send_request", "attach", {"token": token})
        assert isinstance(answer, Response) and answer.success, answer
        self.read(lambda message: isinstance(message, InitializedEvent))

    def stopped(self):
        return self.read(lambda message: isinstance(message, StoppedEvent))

    def go(self, request, *args, **kwargs):
        """Lets the program go on; where it stops."""
        self.ask(request, *args, **kwargs)
        return self.stopped()

    def frames(self):
        return self.ask("stack_trace", 1).stackFrames

    def line(self):
        return self.frames()[0].line

    def value(self, expression, context="watch"):
        """An expression as the editor shows it."""
        return self.ask("evaluate", expression, context=context).result

    def scopes(self):
        scopes = self.ask("scopes", self.frames()[0].id).scopes
        return {scope.name: scope.variablesReference for scope in scopes}

    def variables(self, scope, **page):
        found = self.ask("variables", self.scopes()[scope], **page).variables
        return {variable.name: variable for variable in found}
