"""Examples of the reference: those that are written by hand, those that are found by trying, and what they give."""

import ast
import contextlib
import io
from pathlib import Path

import numpy as np

import fluvial as fl



def table():
    """The hand-written examples by name: statements, the last of which is an expression."""
    found = {}
    for line in Path(__file__).with_name("reference_examples.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, code = line.partition(": ")
            found[name] = code
    return found


#: Arguments that are tried in turn, where a function takes nothing but tensors.
TRIED = (
    ("fl.tensor([-1.0, 0.5, 2.0])", "fl.tensor([2.0, 1.0, 3.0])", "fl.tensor([0.5, 0.5, 1.0])"),
    ("fl.tensor([6, 4, 1])", "fl.tensor([2, 3, 1])", "fl.tensor([1, 1, 2])"),
    ("fl.tensor([True, False])", "fl.tensor([True, True])", "fl.tensor([False, True])"),
    ("fl.tensor([[1.0, 2.0], [3.0, 5.0]])", "fl.tensor([[1.0, 0.0], [2.0, 1.0]])", "fl.tensor([[0.5, 1.0], [1.0, 2.0]])"),
    ("[fl.tensor([1.0, 2.0]), fl.tensor([3.0, 4.0])]",),
)


#: What is tried for classes, by their module.
TRIED_CLASSES = {
    "nn": (
        "fl.nn.{0}()(fl.tensor([-1.0, 0.5, 2.0]))",
        "fl.nn.{0}()(fl.tensor([0.5, 0.25]), fl.tensor([1.0, 0.0]))",
        "fl.nn.{0}()(fl.tensor([[0.5, 0.25]]), fl.tensor([1]))",
        "fl.nn.{0}()(fl.tensor([0.5, 0.25]), fl.tensor([1.0, 0.0]), fl.tensor([1.0, 1.0]))",
        "fl.nn.{0}()(fl.tensor([[0.5, 0.25]]), fl.tensor([[1.0, 0.0]]), fl.tensor([1.0]))",
        "fl.nn.{0}()(fl.tensor([[0.5, 0.25]]), fl.tensor([[1.0, 0.0]]), fl.tensor([[1.0, 1.0]]))",
        "fl.nn.{0}()(fl.ones((1, 2, 4))).shape",
        "fl.nn.{0}(2)(fl.ones((3, 2))).shape",
        "fl.nn.{0}(2)(fl.ones((3, 2, 4))).shape",
        "fl.nn.{0}(2)(fl.ones((1, 2, 4, 4))).shape",
        "fl.nn.{0}(2)(fl.ones((1, 2, 4, 4, 4))).shape",
        "fl.nn.{0}(1, 0.5)(fl.ones((1, 2, 4, 4))).shape",
        "fl.nn.{0}(1, 0.5)(fl.ones((1, 2, 4, 4, 4))).shape",
        "fl.nn.{0}(2, 2)(fl.ones((1, 2, 4))).shape",
        "fl.nn.{0}(2, 2)(fl.ones((1, 2, 4, 4))).shape",
        "fl.nn.{0}(2, 2)(fl.ones((1, 2, 4, 4, 4))).shape",
        "fl.nn.{0}(2, 1)(fl.ones((1, 2, 4, 4, 4))).shape",
        "fl.nn.{0}(scale_factor=2)(fl.ones((1, 2, 4, 4))).shape",
    ),
    "optimizer": (
        "net = fl.nn.Linear(2, 2, name='net')\nbefore = net.weight.numpy().copy()\noptimizer = fl.optimizer.{0}(net.parameters(), 0.1)\n"
        "fl.mean(fl.square(net(fl.ones((1, 2))))).backward()\noptimizer.step()\nbool((net.weight.numpy() != before).any())",
        "net = fl.nn.Linear(2, 2, bias=False, name='net')\nbefore = net.weight.numpy().copy()\noptimizer = fl.optimizer.{0}(net.parameters(), 0.1)\n"
        "fl.mean(fl.square(net(fl.ones((1, 2))))).backward()\noptimizer.step()\nbool((net.weight.numpy() != before).any())",
    ),
    "initializer": (
        "fl.nn.Linear(3, 2, weight_attr=fl.initializer.{0}()).weight.shape",
        "fl.nn.Conv2d(1, 1, 3, weight_attr=fl.initializer.{0}()).weight.shape",
    ),
    "distributions": (
        "fl.distributions.{0}()(fl.tensor([0.5]))",
        "fl.distributions.{0}(fl.tensor([0.5, 0.5])).mean",
        "fl.distributions.{0}(fl.tensor([0.5]), fl.tensor([1.0])).mean",
        "fl.distributions.{0}(fl.tensor([0.5]), fl.tensor([1.0])).log_prob(fl.tensor([0.5]))",
        "fl.distributions.{0}(fl.tensor([3.0])).mean",
    ),
    "metrics": (
        "metric = fl.metrics.{0}()\nmetric.update(fl.tensor([1.0, 0.0, 1.0]), fl.tensor([1.0, 1.0, 1.0]))\nmetric.compute()",
        "metric = fl.metrics.{0}()\nmetric.update(fl.tensor([1, 0, 1]), fl.tensor([1, 1, 1]))\nmetric.compute()",
    ),
    "clip": (
        "net = fl.nn.Linear(2, 1)\noptimizer = fl.optimizer.SGD(net.parameters(), 0.1, grad_clip=fl.clip.{0}(1.0))\n"
        "fl.mean(net(fl.ones((1, 2)))).backward()\noptimizer.step()",
    ),
}


def tried_class(path):
    """An example of a class or a function of a module, or None."""
    module, _, name = path.rpartition(".")
    for form in TRIED_CLASSES.get(module, ()):
        code = form.format(name)
        try:
            shown(code)
        except Exception:  # noqa: BLE001
            continue
        return code
    return None


class Recording:
    """The package with tensors that are tracked, which notes whether what a function gives is, too."""

    def __init__(self, name):
        self.name, self.seen = name, []

    def __getattr__(self, name):
        value = getattr(fl, name)
        if self.name.startswith(f"{name}."):
            return Part(self, value)
        if name == "tensor":
            return self.tensor
        if name == self.name:
            return self.called(value)
        return value

    @staticmethod
    def tensor(*args, **options):
        made = fl.tensor(*args, **options)
        return made.track() if made.is_floating_point() else made

    def called(self, function):
        def call(*args, **options):
            found = function(*args, **options)
            parts = found if isinstance(found, (list, tuple)) else [found]
            self.seen += [part.is_tracked for part in parts if isinstance(part, fl.Tensor)]
            return found

        return call


class Part:
    """A module of the package, of which one function is noted."""

    def __init__(self, recording, module):
        self.recording, self.module = recording, module

    def __getattr__(self, name):
        value = getattr(self.module, name)
        return self.recording.called(value) if self.recording.name.endswith(f".{name}") else value


def statements(code):
    """The sources of the statements of an example."""
    return [ast.get_source_segment(code, node) for node in ast.parse(code).body]


def shown(code):
    """An example as it stands on a page, with what it gives."""
    lines, names = [], {"fl": fl, "np": np}
    with fl.State():
        fl.seed(0)
        for statement in statements(code):
            first, *rest = statement.splitlines()
            lines += [f">>> {first}", *(f"... {line}" for line in rest)]
            printed, value = io.StringIO(), None
            with contextlib.redirect_stdout(printed):
                try:
                    value = eval(compile(statement, "<example>", "eval"), names)
                except SyntaxError:
                    exec(compile(statement, "<example>", "exec"), names)
            lines += printed.getvalue().splitlines()
            lines += [] if value is None else repr(value).splitlines()
    return "\n".join(lines)


def source_of(block):
    """The code of an example of a docstring."""
    lines = [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... ")) or line in (">>>", "...")]
    return "\n".join(lines)


def has_gradient(name, code):
    """Whether results of a function are tracked where its inputs are; None if that cannot be told."""
    proxy = Recording(name)
    if f"fl.{name}(" not in code:
        return None
    try:
        with fl.State(), contextlib.redirect_stdout(io.StringIO()):
            fl.seed(0)
            exec(compile(code, "<example>", "exec"), {"fl": proxy, "np": np})
    except Exception:  # noqa: BLE001
        return None
    return any(proxy.seen) if proxy.seen else None


def tried(name, params):
    """A call with arguments that a function takes, or None."""
    needed = [param for param in params if param[1] is None and not param[0].startswith("*")]
    for values in TRIED:
        if len(needed) > len(values) or not needed:
            continue
        code = f"fl.{name}({', '.join(values[: len(needed)])})"
        try:
            with fl.State(), contextlib.redirect_stdout(io.StringIO()):
                value = eval(code, {"fl": fl})
        except Exception:  # noqa: BLE001
            continue
        if "nan" not in repr(value):
            return code
    return None
