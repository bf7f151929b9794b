"""Writes `docs/reference/`: every public function, method, layer and optimizer of Python.

Signatures and meanings are those of the package: its stubs and docstrings, which codegen makes from the Rust sources for
ops, layers and optimizers. Examples are those of docstrings, else those of `reference_examples.txt`, else one that is found by
trying arguments; what they give is computed here. Whether there is a gradient is found by running the example on
tracked tensors. `python python/tests/reference_pages.py` writes the pages; a test checks that they are fresh and runs them.
"""

import ast
import functools
import inspect
import os
import re
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np

import fluvial as fl
from reference_calls import has_gradient, shown, source_of, statements, table, tried, tried_class

#: Before `fluvial.torch` is loaded, which gives the class methods that files have that import it.
TENSOR_MEMBERS = [name for name in dir(fl.Tensor) if not name.startswith("_")]

import fluvial.torch  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"
STUBS = ast.parse((ROOT / "python" / "fluvial" / "_core.pyi").read_text())

#: Pages of functions, by the family of the op or the Python module that a function is in.
FAMILIES = {
    "elementwise": "structural binary unary elementwise special gamma logic complex",
    "reductions": "reduce scans statistics reductions sets sort",
    "shapes": "shape shapes",
    "indexing": "index indexing",
    "making": "create random making dtypes",
    "products": "linalg products fourier signal",
    "losses": "loss",
    "networks": "net norm conv pool image",
    "sequences": "sequence lists ragged",
}
TITLES = {
    "elementwise": "Functions of each element",
    "reductions": "Sums, statistics, order and sets",
    "shapes": "Shapes",
    "indexing": "Elements at positions",
    "making": "Making tensors, random numbers, element types",
    "products": "Products of vectors and matrices, signals",
    "losses": "Losses",
    "networks": "Functions of networks",
    "sequences": "Sequences and lists",
    "programs": "Programs, gradients, states, files",
    "tensor": "`fl.Tensor`",
}
#: Modules that have a page of their own.
MODULES = {
    "linalg": "Matrices", "fft": "Fourier transforms", "nn": "Layers", "optimizer": "Optimizers and rates", "initializer": "Initial values",
    "distributions": "Distributions", "metrics": "Metrics", "clip": "Clipping of gradients", "regularizer": "Regularizers",
    "layers": "Functions that own their parameters, as Fluid's",
}  # fmt: skip
#: What PyTorch and NumPy call functions that have other names here.
PYTORCH = {
    "floor_div": "torch.floor_divide", "left_shift": "torch.bitwise_left_shift", "right_shift": "torch.bitwise_right_shift",
    "cast": "Tensor.to", "hard_shrink": "F.hardshrink", "hard_sigmoid": "F.hardsigmoid", "hard_swish": "F.hardswish",
    "hard_tanh": "F.hardtanh", "log_sigmoid": "F.logsigmoid", "soft_shrink": "F.softshrink", "tanh_shrink": "F.tanhshrink",
    "stop_gradient": "Tensor.detach", "take_along_axis": "torch.take_along_dim", "mode_of": "torch.mode", "unfold_axis": "Tensor.unfold",
    "permutation": "torch.randperm", "expand_dims": "torch.unsqueeze", "permute_dims": "torch.permute", "astype": "Tensor.to",
    "cumulative_sum": "torch.cumsum", "cumulative_prod": "torch.cumprod", "matrix_transpose": "Tensor.mT", "seed": "torch.manual_seed",
    "repeat": "torch.repeat_interleave", "unstack": "torch.unbind", "function": "torch.compile", "grad": "torch.autograd.grad",
    "broadcast_arrays": "torch.broadcast_tensors", "bitwise_invert": "torch.bitwise_not", "inverse": "torch.linalg.inv",
}  # fmt: skip
NUMPY = {
    "bitwise_not": "numpy.bitwise_not", "cast": "ndarray.astype", "mul": "numpy.multiply", "sub": "numpy.subtract", "div": "numpy.divide", "neg": "numpy.negative",
    "eq": "numpy.equal", "ne": "numpy.not_equal", "lt": "numpy.less", "le": "numpy.less_equal", "gt": "numpy.greater", "ge": "numpy.greater_equal",
    "floor_div": "numpy.floor_divide", "concat": "numpy.concatenate", "cat": "numpy.concatenate", "index_add": "numpy.add.at", "unsqueeze": "numpy.expand_dims",
    "permute": "numpy.transpose", "amax": "numpy.max", "amin": "numpy.min", "clamp": "numpy.clip", "square": "numpy.square", "inverse": "numpy.linalg.inv",
    "tensor": "numpy.array", "numel": "numpy.size", "mm": "numpy.matmul", "cumulative_sum": "numpy.cumsum", "cumulative_prod": "numpy.cumprod",
}  # fmt: skip


# Signatures and meanings.


@functools.cache
def stub_functions(owner=None):
    """The first form of each function, or of each method of a class, in the stubs."""
    body = STUBS.body if owner is None else next(node for node in STUBS.body if isinstance(node, ast.ClassDef) and node.name == owner).body
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node)
    return found


def plain(text):
    """A type as people read it."""
    text = text.replace("builtins.", "").replace("typing.", "").replace("collections.abc.", "").replace("fluvial._core.", "").replace("fluvial.", "")
    return re.sub(r"'([^']*)'", r"\1", text)


def params_of_stub(node, method=False):
    args = node.args
    places = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(places) - len(args.defaults)) + list(args.defaults)
    pairs = list(zip(places, defaults))[1 if method else 0 :]
    found = [(arg.arg, None if default is None else ast.unparse(default)) for arg, default in pairs]
    if args.vararg:
        found.append((f"*{args.vararg.arg}", None))
    elif args.kwonlyargs:
        found.append(("*", None))
    found += [(arg.arg, None if default is None else ast.unparse(default)) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
    return [pair for pair in found if pair[0] != "wrong"]


def params_of(value, method=False):
    """Pairs of the names of parameters and their defaults as source."""
    found, star = [], False
    for param in inspect.signature(value).parameters.values():
        if param.kind is param.VAR_KEYWORD:
            if param.name not in ("wrong", "named"):
                found.append((f"**{param.name}", None))
            continue
        if param.kind is param.VAR_POSITIONAL:
            found.append((f"*{param.name}", None))
            star = True
            continue
        if param.kind is param.KEYWORD_ONLY and not star:
            found.append(("*", None))
            star = True
        default = None if param.default is param.empty else "…" if param.default is ... else plain(repr(param.default)) if not isinstance(param.default, str) else repr(param.default)
        found.append((param.name, re.sub(r"<(?:function |class )?([\w.]+).*>", r"\1", default) if default else default))
    return found[1:] if method and found and found[0][0] in ("self", "x", "a", "input") else found


def signature(name, value, stub=None, method=False):
    """How something is called, and its parameters."""
    try:
        params = params_of_stub(stub, method) if stub is not None else params_of(value, method)
    except (ValueError, TypeError):
        return name, []
    shown = ", ".join(one if default is None else f"{one}={default}" for one, default in params)
    return f"{name}({shown})", [pair for pair in params if pair[0] != "*"]


def parts(doc):
    """Meaning, arguments, what is returned, and the example of a docstring."""
    doc = inspect.cleandoc(doc or "")
    doc = re.sub(r"\[(`[^`]*`)\]\([^)]*\)", r"\1", doc)
    doc = re.sub(r"\[(`[^`]*`)\](?!\()", r"\1", doc)
    sections = re.split(r"^(Args|Returns|Raises|Example|Examples|Attributes):\n", doc, flags=re.M)
    found = dict(zip(sections[1::2], sections[2::2]))
    example = textwrap.dedent(found.get("Example", found.get("Examples", ""))).strip()
    return sections[0].strip(), found.get("Args", ""), found.get("Returns", "").strip(), example


def arguments(text):
    """The arguments of a docstring as a list."""
    lines = []
    for line in textwrap.dedent(text).strip().splitlines():
        match = re.match(r"(\*{0,2}\w+): (.*)", line)
        if match:
            lines.append(f"- `{match[1]}`: {match[2]}")
        elif line.strip():
            lines.append(f"  {line.strip()}")
    return "\n".join(lines)


def others(name, is_method=False):
    """What PyTorch and NumPy call it."""
    found = []
    torch = fl.torch
    if name in PYTORCH:
        found.append(f"PyTorch: `{PYTORCH[name]}`")
    elif is_method:
        found.append(f"PyTorch: `Tensor.{name}`" if name in TENSOR else "")
    elif callable(vars(torch).get(name)) and name not in ("grad",):
        found.append(f"PyTorch: `torch.{name}`")
    elif callable(vars(torch.nn.functional).get(name)):
        found.append(f"PyTorch: `F.{name}`")
    if name in NUMPY:
        found.append(f"NumPy: `{NUMPY[name]}`")
    elif is_method:
        found.append(f"NumPy: `ndarray.{name}`" if hasattr(np.ndarray, name) else "")
    elif callable(getattr(np, name, None)) and not isinstance(getattr(np, name), type):
        found.append(f"NumPy: `numpy.{name}`")
    return [one for one in found if one]


#: Methods of PyTorch's tensors that are ours, too.
TENSOR = set((Path(__file__).with_name("torch_members.txt")).read_text().split("# Tensor\n")[1].split("\n# ")[0].split())


class Entries:
    """Makes the entries of pages, and knows what was left without an example."""

    def __init__(self):
        self.examples, self.lacking, self.gradients = table(), [], {}

    def entry(self, path, value, *, stub=None, level="###", owner="fl"):
        """A function or class as a piece of a page.

        Args:
            path: Its name behind `fl.`.
            value: It.
            stub: Its stub, if there is one.
            level: The marks of its headline.
            owner: What stands before its name in calls.
        """
        name = path.rpartition(".")[2]
        call, params = signature(f"{owner}.{path}", value, stub)
        meaning, args, returned, example = parts(value.__doc__ or (ast.get_docstring(stub) if stub else ""))
        code = self.examples.get(path)
        if code is not None:
            example = shown(code)
        elif ">>>" in example:
            code = source_of(example)
        else:
            code = ("." in path and tried_class(path)) or tried(path, params)
            example = shown(code) if code else ""
        if not example:
            self.lacking.append(path)
        facts = []
        if not inspect.isclass(value) and code:
            gradient = has_gradient(path, code)
            self.gradients[path] = gradient
            if gradient is not None:
                facts.append(f"Gradient: {'yes' if gradient else 'none'}")
        facts += others(name) if "." not in path else self.of_module(path)
        lines = [f"{level} `{path}`", "", "```python", call, "```", "", meaning, ""]
        if args.strip():
            lines += [arguments(args), ""]
        if returned:
            lines += [f"Returns: {' '.join(returned.split())}", ""]
        if facts:
            lines += [". ".join(facts) + ".", ""]
        if example:
            lines += ["```pycon", example, "```", ""]
        return "\n".join(lines)

    def of_module(self, path):
        """Names of others for what is in a module."""
        module, _, name = path.rpartition(".")
        torch = fl.torch
        found = []
        if module == "nn" and name in NN:
            found.append(f"PyTorch: `torch.nn.{name}`")
        elif module == "optimizer" and name in OPTIM:
            found.append(f"PyTorch: `torch.optim.{OPTIM[name]}`")
        elif module in ("linalg", "fft"):
            found += [f"PyTorch: `torch.{path}`"] if name in vars(getattr(torch, module)) else []
            found += [f"NumPy: `numpy.{path}`"] if hasattr(getattr(np, module), name) else []
        elif module == "distributions" and name in DISTRIBUTIONS:
            found.append(f"PyTorch: `torch.distributions.{name}`")
        return found

    def method(self, name):
        """A method of tensors as a piece of a page."""
        value = inspect.getattr_static(fl.Tensor, name)
        doc = value.__doc__ or ""
        if isinstance(value, property) or inspect.isdatadescriptor(value):
            call = f"x.{name}"
        else:
            call, _ = signature(f"x.{name}", value, stub_functions("Tensor").get(name), method=True)
        meaning, args, returned, example = parts(doc)
        code = self.examples.get(f"Tensor.{name}")
        function = name.rstrip("_")
        if code is None and ">>>" not in example:
            code = self.by_function(name)
        if code is not None:
            example = shown(code)
        if not example:
            self.lacking.append(f"Tensor.{name}")
        same = callable(getattr(fl, function, None)) and self.gradients.get(function)
        facts = (["Gradient: yes"] if same else ["Gradient: none"] if self.gradients.get(function) is False else []) + others(name, True)
        lines = [f"### `Tensor.{name}`", "", "```python", call, "```", "", meaning.split("\n\n")[0], ""]
        if args.strip() and not callable(getattr(fl, name, None)):
            lines += [arguments(re.sub(r"^ *(self|x): .*\n", "", args)), ""]
        if facts:
            lines += [". ".join(facts) + ".", ""]
        if example:
            lines += ["```pycon", example, "```", ""]
        return "\n".join(lines)

    def by_function(self, name):
        """The example of a function as one of the method of that name, or None."""
        function = name.rstrip("_")
        code = self.examples.get(function) or (tried(function, self.params(function)) if callable(getattr(fl, function, None)) else None)
        if code is None:
            *_, example = parts(getattr(fl, function, None).__doc__ if hasattr(fl, function) else "")
            code = source_of(example)
        for node in ast.walk(ast.parse(code or "")):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"fl.{function}" and node.args:
                first, *rest = [ast.unparse(arg) for arg in node.args]
                rest += [f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords]
                before = [part for part in statements(code) if isinstance(ast.parse(part).body[0], (ast.Assign, ast.Import))]
                call = f"x = {first}\nx.{name}({', '.join(rest)})"
                if name.endswith("_"):
                    call += "\nx"
                tries = "\n".join([*before, call])
                try:
                    shown(tries)
                    return tries
                except Exception:  # noqa: BLE001
                    continue
        return None

    @staticmethod
    def params(name):
        value = getattr(fl, name)
        return signature(name, value, None if inspect.isfunction(value) else stub_functions().get(name))[1]


def section(name):
    return (Path(__file__).with_name("torch_members.txt")).read_text().split(f"# {name}\n")[1].split("\n# ")[0].split()


NN, DISTRIBUTIONS = set(section("nn")), set(section("distributions"))
OPTIM = {name: name for name in section("optim")} | {name: f"lr_scheduler.{name}" for name in section("lr_scheduler")}


def families():
    """The family of each function of an op."""
    text = (ROOT / "docs" / "ops.md").read_text()
    found = {}
    for family, names in re.findall(r"^- \*\*\[(\w+)\]\(#\w+\)\*\*: (.*)$", text, re.M):
        found |= dict.fromkeys(names.split(", "), family)
    return found


def page_of(name, value, of_op):
    module = (getattr(value, "__module__", "") or "").rpartition(".")[2].lstrip("_")
    family = of_op.get(name, module) if not inspect.isfunction(value) or module not in {word for words in FAMILIES.values() for word in words.split()} else module
    return next((page for page, words in FAMILIES.items() if family in words.split()), "programs")


def public(module):
    # Of the package also what is loaded at its first use.
    names = dir(fl) if module is fl else getattr(module, "__all__", None) or vars(module)
    return sorted({name for name in names if not name.startswith("_") and callable(getattr(module, name)) and not inspect.ismodule(getattr(module, name))})


def lowered(title):
    """A title within a line; names of people stay."""
    return title if title.startswith("Fourier") else title[0].lower() + title[1:]


def head(title, text):
    return f"# {title}\n\n{text}\n"


def pages():
    """All pages by name, and what lacks an example. Files of the examples are written to a folder that goes."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return made_pages()
        finally:
            os.chdir(before)


def made_pages():
    entries, of_op = Entries(), families()
    found, lists = {}, {}
    grouped = {page: [] for page in [*FAMILIES, "programs"]}
    for name in public(fl):
        value = getattr(fl, name)
        if isinstance(value, fl.DType) or name == "Tensor":
            continue
        grouped[page_of(name, value, of_op)].append(name)
    for page, names in grouped.items():
        body = []
        for name in names:
            value = getattr(fl, name)
            body.append(entries.entry(name, value, stub=None if inspect.isfunction(value) or inspect.isclass(value) else stub_functions().get(name), level="##"))
        found[page] = head(TITLES[page], NOTE) + "\n" + "\n".join(body)
        lists[page] = names
    for module, title in MODULES.items():
        names = public(getattr(fl, module))
        body = [entries.entry(f"{module}.{name}", getattr(getattr(fl, module), name), level="##") for name in names]
        found[module] = head(f"`fl.{module}`: {lowered(title)}", NOTE) + "\n" + "\n".join(body)
        lists[module] = names
    methods = TENSOR_MEMBERS
    found["tensor"] = head(TITLES["tensor"], METHODS) + "\n" + "\n".join(entries.method(name).replace("### ", "## ", 1) for name in methods)
    lists["tensor"] = methods
    found["README"] = index(lists)
    return {name: re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n" for name, text in found.items()}, entries.lacking


NOTE = "Made by `python python/tests/reference_pages.py`; the examples are run. [All pages](README.md)."
METHODS = (
    "Methods and attributes. A method that has the name of a function is that function, with the tensor as its first argument: its page says "
    "more. Methods that end in `_` change the tensor and return it; see [in-place methods](../guide/differences.md). "
) + NOTE


def index(lists):
    """The first page."""
    lines = [
        "# Reference of the Python API", "",
        "Every function, method, layer and optimizer: how it is called, what it means, an example, whether it has a gradient, and what "
        "PyTorch and NumPy call it. These pages are made from the package by `python python/tests/reference_pages.py`, whose stubs and docstrings of "
        "ops, layers and optimizers are made from the Rust sources. `import fluvial as fl` stands before all examples. "
        "`fluvial.torch` has PyTorch's names and meanings: [differences](../guide/differences.md).", "",
    ]  # fmt: skip
    for page, names in lists.items():
        title = TITLES.get(page) or f"`fl.{page}`: {lowered(MODULES[page])}"
        prefix = "Tensor." if page == "tensor" else f"{page}." if page in MODULES else ""
        links = ", ".join(f"[{name}]({page}.md#{re.sub(r'[^a-z0-9_]', '', (prefix + name).lower())})" for name in names)
        lines += [f"## [{title}]({page}.md)", "", links, ""]
    return "\n".join(lines)


def main():
    found, lacking = pages()
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        if old.stem not in found:
            old.unlink()
    for name, text in found.items():
        (FOLDER / f"{name}.md").write_text(text)
    print(len(found), "pages;", "without an example:", len(lacking), *lacking)


if __name__ == "__main__":
    sys.exit(main())
