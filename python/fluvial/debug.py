"""Debugging of programs while they run, and tables of what they compute.

`fl.debug.listen(4711)` lets an editor attach; `fl.debug.trace(f, x)` needs none. Loaded when it is first used: nothing listens
unless it is asked to.
"""

from __future__ import annotations

import os
import secrets
import sys

from . import _core
from ._fault import fault
from ._trace import Output, Row, Trace, trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Address:
    """Where the debugger listens. Printed, it says how to connect."""

    def __init__(self, port: int, token: str | None) -> None:
        #: The port, on this machine.
        self.port = port
        #: What an editor has to say to be let in, if anything.
        self.token = token

    #: Always this machine.
    host = "127.0.0.1"

    @property
    def configuration(self) -> dict[str, object]:
        """What VS Code wants to see in `launch.json`."""
        configuration: dict[str, object] = {
            "name": "Fluvial: attach",
            "type": "fluvial",
            "request": "attach",
            "debugServer": self.port,
        }
        if self.token:
            configuration["token"] = self.token
        return configuration

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Address):
            return NotImplemented
        return (self.port, self.token) == (other.port, other.token)

    def __hash__(self) -> int:
        return hash((self.port, self.token))

    def __repr__(self) -> str:
        token = f", token {self.token}" if self.token else ""
        return f"<debugger at {self.host}:{self.port}{token}>"

    def __str__(self) -> str:
        import json

        token = f", token {self.token}" if self.token else ""
        return (
            f"fluvial: the debugger listens at {self.host}:{self.port}\n"
            f"  in a terminal: fluvial attach {self.host}:{self.port}{token}\n"
            f"  in VS Code, launch.json: {json.dumps(self.configuration)}"
        )


def listen(port: int = 0, *, wait: bool = False, token: str | None = None) -> Address:
    """Lets an editor debug the programs of this process, from now on.

    Only this machine can connect. If it listens already, the answer is where.

    Args:
        port: The port; 0 chooses a free one.
        wait: Whether to wait here until an editor is attached and has set its breakpoints.
        token: What an editor has to say to be let in; "" means nothing. By default that is a random word if the port is
            chosen, and nothing if it is yours.

    Returns:
        Where it listens. Printed, it says how to connect.
    """
    if not 0 <= port < 65536:
        raise fault(ValueError, f"{port} is not a port", "take one from 1024 to 65535, or 0 for any that is free")
    known = _core.debug_address()
    if known is not None:
        address = Address(*known)
        if port not in (0, address.port):
            remedy = "use that, or call `fl.debug.stop()` before"
            raise fault(RuntimeError, f"the debugger listens at port {address.port} already", remedy)
        if wait:
            _core.debug_listen(address.port, True, address.token)
        return address
    if token is None:
        token = "" if port else secrets.token_hex(8)
    port, said = _core.debug_listen(port, wait, token or None)
    return Address(port, said)


def is_listening() -> bool:
    """Whether an editor can attach now."""
    return _core.debug_address() is not None


def stop() -> None:
    """Ends what `listen` began: an editor that is attached is told to go, and what is stopped goes on."""
    _core.debug_stop()


def breakpoint() -> None:
    """Makes this line a stop of programs, if somebody debugs: it is where the next op after it was made.

    It is not an op, so a program is the same with and without. Line by line it does nothing: Python's own `breakpoint()` is
    for that.
    """
    if _core.is_building():
        _core.debug_breakpoint()


def listen_as_asked(wish: str) -> None:
    """Does what the variable `FLUVIAL_DEBUG` wants: `PORT`, `wait` or `wait:PORT`, with `:TOKEN` behind if there is to be one.

    The package calls it when it is imported. Where it listens goes to standard error, unless `FLUVIAL_DEBUG_QUIET` is set.

    Args:
        wish: The value of the variable.
    """
    first, *rest = wish.strip().split(":")
    wait = first == "wait"
    if wait:
        first, *rest = rest or ["0"]
    if not first.isdecimal() or int(first) > 65535 or len(rest) > 1:
        _refuse(wish)
    token = rest[0] if rest else None
    address = listen(int(first), token=token)
    if not os.environ.pop("FLUVIAL_DEBUG_QUIET", ""):
        print(address, file=sys.stderr, flush=True)
    if wait:
        listen(address.port, wait=True, token=address.token)


def _refuse(wish: str) -> NoReturn:
    raise fault(
        ValueError,
        f'FLUVIAL_DEBUG is "{wish}", which says nothing',
        "set it to a port (4711; 0 for any), or to wait:4711 if the script is to wait for the editor",
    )


__all__ = [
    "Address",
    "Output",
    "Row",
    "Trace",
    "breakpoint",
    "is_listening",
    "listen",
    "stop",
    "trace",
]
