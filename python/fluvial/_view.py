"""The page that shows programs, trainings, memory and time."""

from __future__ import annotations

import os

from . import _core
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What a file of this ending is.
_PROGRAMS = (".fl", ".flb", ".onnx", ".py")


class View:
    """A page that is served until it is closed, or this is gone. Printed, it is the address."""

    def __init__(self, server: _core.ViewServer) -> None:
        self._server = server
        #: The address. Who knows it may look.
        self.url = server.url

    def close(self) -> None:
        """Ends it. A second time does nothing."""
        self._server.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"View({self.url!r})"

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank" rel="noopener">{self.url}</a>'


def view(
    *what: Any,
    names: list[str] | None = None,
    port: int = 0,
    source: str | os.PathLike[str] = ".",
    open: bool = False,
) -> View:
    """Shows runs, programs and profiles as a page in a browser.

    The page is served by this process, on this machine only, at an address that nobody can guess.

    Args:
        what: Folders of runs, as `fl.summary` writes them; programs, or files of them; traces that
            `fl.profile` has written (".json"). By default the folder "runs".
        names: What programs are called on the page, in order.
        port: The port; a free one by default.
        source: The folder below which the sources of programs are.
        open: Whether a browser is opened.

    Returns:
        The page: an object with its `url`, and with `close`.

    Example:
        >>> program = fl.build(lambda x: {"y": fl.tanh(x) * 2}, {"x": "f32[n]"})
        >>> with fl.view(program) as page:
        ...     page.url.startswith("http://127.0.0.1:")
        True
    """
    runs, programs, profiles = _sorted(what or ("runs",), names)
    if not isinstance(port, int) or not 0 <= port < 2**16:
        raise fault(ValueError, f"{port!r} is not a port", "leave it out, and a free one is taken")
    if not isinstance(source, (str, os.PathLike)) or not os.path.isdir(source):
        raise fault(ValueError, f"{source!r} is not a folder", "name the folder of the sources")
    try:
        server = _core.ViewServer(runs, programs, profiles, [os.fspath(source)], port)
    except OSError as error:
        raise fault(
            OSError, f"port {port} cannot be used: {error}", "leave it out, and a free one is taken"
        ) from None
    view = View(server)
    if open:
        import webbrowser

        webbrowser.open(view.url)
    return view


def export_view(path: str | os.PathLike[str], *what: Any, names: list[str] | None = None) -> None:
    """Writes the page of `fl.view` as one file, which needs no server, to be sent to somebody.

    Args:
        path: The file, such as "page.html".
        what: What it shows; see `fl.view`.
        names: What programs are called on the page, in order.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "page.html")
        >>> fl.export_view(path, fl.build(lambda x: {"y": x * 2}, {"x": "f32[n]"}))
        >>> os.path.getsize(path) > 100_000
        True
    """
    page = _core.view_page(*_sorted(what or ("runs",), names))
    with open(os.fspath(path), "w", encoding="utf-8") as file:
        file.write(page)


def _sorted(
    what: tuple[Any, ...], names: list[str] | None
) -> tuple[list[str], list[tuple[str, _core.Program]], list[str]]:
    """Folders, programs by name, and traces."""
    runs: list[str] = []
    programs: list[tuple[str, _core.Program]] = []
    profiles: list[str] = []
    for item in what:
        if isinstance(item, _core.Program):
            programs.append((f"program {len(programs) + 1}", item))
        elif isinstance(item, (str, os.PathLike)):
            path = os.fspath(item)
            if path.endswith(".json"):
                profiles.append(_there(path))
            elif path.endswith(_PROGRAMS):
                programs.append((path, _loaded(_there(path))))
            elif os.path.isdir(path) or not os.path.exists(path):
                runs.append(path)
            else:
                raise fault(
                    ValueError,
                    f"`{path}` cannot be shown",
                    "give a folder of runs, a program (.fl, .flb, .py, .onnx) or a trace (.json)",
                )
        else:
            raise fault(
                TypeError,
                f"an object of class `{type(item).__name__}` cannot be shown",
                "give a folder of runs, a program, or a trace of `fl.profile`",
            )
    if names is not None:
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise fault(TypeError, f"{names!r} are not names", "give a list of strings")
        if len(names) != len(programs):
            raise fault(
                ValueError,
                f"there are {len(programs)} programs and {len(names)} names",
                "give one name for each program",
            )
        programs = [(name, program) for name, (_, program) in zip(names, programs)]
    return runs, programs, profiles


def _there(path: str) -> str:
    if not os.path.exists(path):
        raise fault(FileNotFoundError, f"there is no file `{path}`", "check the path")
    return path


def _loaded(path: str) -> _core.Program:
    if path.endswith(".onnx"):
        from . import onnx

        return onnx.load(path)
    if path.endswith(".py"):
        from ._run import program_of

        return program_of(path)
    return _core.Program.load(path)
