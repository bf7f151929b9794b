"""From a function to its source, and from the rewritten source to a function."""

from __future__ import annotations

import ast
import threading
import functools
import os
import sys
import types
from typing import Any

from .emit import Emit, argument_names, emit_of, is_generator, local_names, noted_options
from .errors import Unconvertible, log
from .expressions import mark_tests
from .original import futures, located
from .regions import PACKAGE, Meta
from .selects import Selects
from .state import BUILD

#: Held while source becomes a tree.
PARSING = threading.Lock()


#: Converted code by file and code object, which may be equal in two files: the code, and its table of
#: control statements.
_CODES: dict[tuple[str, types.CodeType], tuple[types.CodeType, list[Meta]]] = {}
#: Why a function is traced as it is.
REASONS: dict[types.CodeType, str] = {}


_INNER = "_fl_inner"


def convert(function: types.FunctionType) -> types.FunctionType:
    """The function with its control flow converted; the function itself if that cannot be."""
    from .runtime import Runtime

    code = function.__code__
    if code in REASONS:
        return _as_it_is(function)
    if is_converted(function):
        return function
    key = (code.co_filename, code)
    if key not in _CODES:
        try:
            _CODES[key] = _compile(function)
        except Unconvertible as fault:
            _refuse(function, f"line {fault.line}: {fault}" if fault.line else str(fault))
            return _as_it_is(function)
    made, metas = _CODES[key]
    if BUILD.outer is not None and not _is_ours(code):
        BUILD.outer.defaults(function)
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells["__fl__"] = types.CellType(Runtime(metas, function.__globals__, dict(cells), _is_ours(code)))
    closure = tuple(cells[name] for name in made.co_freevars)
    copy = types.FunctionType(
        made, function.__globals__, function.__name__, function.__defaults__, closure
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__dict__.update(function.__dict__)
    return copy


def _as_it_is(function: types.FunctionType) -> types.FunctionType:
    """A function that is not converted: all that it may read is guarded."""
    if BUILD.outer is not None and not _is_ours(function.__code__):
        BUILD.outer.reads_of(function, wanted)
    return function


def is_converted(function: Any) -> bool:
    """Whether a function is one of converted code: it was defined in a function that is converted."""
    inner = getattr(function, "__func__", function)
    return isinstance(inner, types.FunctionType) and "__fl__" in inner.__code__.co_freevars


def _refuse(function: types.FunctionType, reason: str) -> bool:
    code = function.__code__
    REASONS[code] = reason
    place = f"{code.co_filename}:{code.co_firstlineno}"
    log("info", "%s: `%s` is traced as it is: %s", place, function.__qualname__, reason)
    return True


def _compile(function: types.FunctionType) -> tuple[types.CodeType, list[Meta]]:
    code = function.__code__
    node: Any
    node, class_name = _find(function)
    if isinstance(node, ast.AsyncFunctionDef) or isinstance(node, ast.Lambda) and is_generator(node):
        raise Unconvertible(node, "async functions and lambdas that yield are not converted")
    node = Selects().visit(node)
    mark_tests(node)
    metas: list[Meta] = []
    free = [name for name in code.co_freevars if name != "__class__"]
    if isinstance(node, ast.Lambda):
        emit = Emit(code.co_filename, local_names(node), metas)
        emit.outside = set(code.co_freevars) | set(code.co_names)
        node.body = emit.visit(node.body)
        inner: ast.stmt = ast.copy_location(ast.Expr(node), node)
    else:
        names = local_names(node)
        emit = emit_of(node)(code.co_filename, names, metas)
        emit.outside = set(code.co_freevars) | set(code.co_names)
        emit.arguments = argument_names(node)
        node.body = [*noted_options(node), *emit.body(node.body)]
        node.decorator_list, node.returns = [], None
        # The name of a global function must not become one of the factory.
        node.name = _INNER
        inner = node
    _bare(node.args)
    if class_name:
        inner = ast.copy_location(_new(ast.ClassDef, class_name, [], [], [inner], []), node)
    parameters = [ast.arg(name) for name in ["__fl__", *free]]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    factory = _new(ast.FunctionDef, "_fl_factory", arguments, [inner], [], None)
    ast.copy_location(factory, node)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    flags = code.co_flags & futures()
    compiled = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    inner_name = code.co_name if isinstance(node, ast.Lambda) else _INNER
    found = _inner_code(compiled, inner_name, depth=0)
    if found is None:
        raise Unconvertible(node, "the compiled function was not found")
    missing = set(found.co_freevars) - set(code.co_freevars) - {"__fl__"}
    if missing:
        raise Unconvertible(node, f"its source does not fit: {', '.join(sorted(missing))}")
    found = found.replace(co_name=code.co_name)
    if sys.version_info >= (3, 11):
        found = _renamed(found, found.co_qualname, code.co_qualname)
    return found, metas


def _new(kind: Any, *fields: Any) -> Any:
    """A definition; from Python 3.12 on it also has parameters for types."""
    made = kind(*fields)
    if sys.version_info >= (3, 12):
        made.type_params = []
    return made


def _renamed(code: types.CodeType, old: str, new: str) -> types.CodeType:
    """The code, and the code inside it, with the qualified names of the original."""
    if sys.version_info < (3, 11):
        return code
    inner = tuple(
        _renamed(part, old, new) if isinstance(part, types.CodeType) else part
        for part in code.co_consts
    )
    name = code.co_qualname
    return code.replace(co_qualname=new + name.removeprefix(old), co_consts=inner)


def _inner_code(code: types.CodeType, name: str, depth: int) -> types.CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if depth >= 1 and constant.co_name == name:
                return constant
            found = _inner_code(constant, name, depth + 1)
            if found is not None:
                return found
    return None


def _bare(arguments: ast.arguments) -> None:
    """Defaults are evaluated once, by the original; only their number matters here."""
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [part and ast.Constant(None) for part in arguments.kw_defaults]
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in [*every, arguments.vararg, arguments.kwarg]:
        if argument is not None:
            argument.annotation = None


def _copy(node):
    import copy

    return copy.deepcopy(node)


@functools.lru_cache(maxsize=64)
def _tree(file: str, lines: tuple[str, ...]) -> dict[tuple[str, int], list]:
    """The functions of a file by name and first line, each with the class it stands in."""
    found: dict[tuple[str, int], list] = {}
    # Python 3.11 cannot make trees in several threads at once.
    with PARSING:
        tree = ast.parse("".join(lines), file)
    _definitions(tree, None, found)
    return found


def _find(function: types.FunctionType) -> tuple[ast.AST, str | None]:
    """The definition of a function, and the class it stands in."""
    code = function.__code__
    lines, line = located(function)
    if not lines:
        raise Unconvertible(
            ast.Pass(),
            f"there is no source for it ({code.co_filename}); write it into a file, or type it in IPython or "
            "in Python 3.13, which keep what was typed",
        )
    try:
        tree = _tree(code.co_filename, lines)
    except SyntaxError as fault:
        raise Unconvertible(ast.Pass(), f"its source cannot be read: {fault}") from None
    found = tree.get((code.co_name, line), [])
    if len(found) > 1 and code.co_name == "<lambda>":
        found = [pair for pair in found if _same_lambda(pair[0], code)]
    if len(found) != 1:
        what = "its source is not where it should be" if not found else "several stand on its line"
        raise Unconvertible(ast.Pass(), what)
    # Rewriting changes the tree, which is kept for other functions of the file.
    node = _copy(found[0][0])
    return ast.increment_lineno(node, code.co_firstlineno - line), found[0][1]


def _definitions(node: ast.AST, class_name: str | None, found: dict) -> None:
    if isinstance(node, ast.Lambda):
        found.setdefault(("<lambda>", node.lineno), []).append((node, class_name))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
        found.setdefault((node.name, first), []).append((node, class_name))
    inner = node.name if isinstance(node, ast.ClassDef) else class_name
    for child in ast.iter_child_nodes(node):
        _definitions(child, inner, found)


def _same_lambda(node: ast.Lambda, code: types.CodeType) -> bool:
    made = compile(ast.fix_missing_locations(ast.Expression(_copy(node))), "", "eval")
    inner = next(part for part in made.co_consts if isinstance(part, types.CodeType))
    names = set(inner.co_names) | set(inner.co_varnames)
    return names == set(code.co_names) | set(code.co_varnames) | set(code.co_freevars) and [
        part for part in inner.co_consts if not isinstance(part, types.CodeType)
    ] == [part for part in code.co_consts if not isinstance(part, types.CodeType)]


@functools.cache
def _libraries() -> tuple[str, ...]:
    import sysconfig

    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(os.path.join(path, "") for path in paths if path)


#: Parts of this package that call the user's functions, and so are converted like the user's own.
_OPEN = tuple(os.path.join(PACKAGE, part) for part in ("nn", "layers", "imperative"))


def _is_ours(code: types.CodeType) -> bool:
    return code.co_filename.startswith(PACKAGE)


@functools.lru_cache(maxsize=4096)
def is_library(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to this one."""
    if file.startswith(PACKAGE):
        return not file.startswith(_OPEN)
    return file.startswith(_libraries()) or "site-packages" in file or file.startswith("<frozen")


def wanted(function: Any) -> bool:
    """Whether a Python function is to be converted when it is called."""
    return isinstance(function, types.FunctionType) and not is_library(
        function.__code__.co_filename
    )
