"""Runs pages of `docs`: all code of a page, from top to bottom, in one folder that is empty but for `python`,
the folder of that name.

- ```python with prompts: examples with what they print, as in docstrings; `...` stands for anything.
- ```python without prompts: code, run as a whole. If its first line is a comment that is the name of a
  file, it is that file instead, and is not run by itself.
- ```output: what the code before it prints, if it prints anything.
- ```console: commands (`fluvial` and `python`) with what they write; `..` stands for what differs.

The code of others, which cannot run here, is in ```py; ```text is for what is not code. ```rust is run by `cargo test --doc`
(`crates/fluvial/src/lib.rs` lists its pages). Commands in ```sh are compared with the Makefile and the help of `fluvial`
(`page_links.py`). A line of the page is called `example.py:<line in its example>` in errors.
"""

import contextlib
import doctest
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import fluvial as fl

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KINDS = {"python", "output", "console", "py", "rust", "text", "sh"}
#: Settings of editors and clusters, and C, whose names are compared with the header.
KINDS |= {"json", "lua", "toml", "elisp", "c", "cpp", "yaml"}
FLAGS = doctest.ELLIPSIS
#: Beyond it a command hangs.
SECONDS = 60


class Native:
    """Keeps what the process itself writes to standard output, as programs do."""

    def __enter__(self):
        sys.stdout.flush()
        self.file, self.former, self.at = tempfile.TemporaryFile(), os.dup(1), 0
        os.dup2(self.file.fileno(), 1)
        return self

    def __exit__(self, *exception):
        os.dup2(self.former, 1)
        os.close(self.former)
        self.file.close()

    def text(self):
        """What was written since this was asked last."""
        found = os.pread(self.file.fileno(), 1 << 20, self.at)
        self.at += len(found)
        return found.decode()


class Checker(doctest.OutputChecker):
    """Compares what was printed, with the names that examples have in errors made short."""

    def __init__(self, native=None):
        self.native, self.before = native, ""

    def check_output(self, want, got, flags):
        self.before = self.native.text() if self.native else ""
        return super().check_output(want, shortened(self.before + got), flags)

    def output_difference(self, example, got, flags):
        return super().output_difference(example, shortened(self.before + got), flags)


def shortened(text):
    return re.sub(r"<(?:doctest|guide) [^>]*>", "example.py", text)


class Page:
    """A page and what its code has made so far."""

    def __init__(self, path, folder):
        self.path, self.folder = Path(path), Path(folder)
        self.names = {"__name__": "__main__"}
        self.faults = []
        self.n_run = 0
        #: What the code before printed, and was not compared yet.
        self.printed = ""

    def run(self):
        """Runs all code of the page; gives what is not as the page says."""
        text = self.path.read_text()
        for found in re.finditer(r"^[ \t]+```", text, re.MULTILINE):
            line = text.count("\n", 0, found.start()) + 1
            self.fault(line, "a block that is indented is not run")
        for found in FENCE.finditer(text):
            kind, body = found.groups()
            line = text.count("\n", 0, found.start()) + 1
            if kind not in KINDS:
                self.fault(line, f"there is no kind of block `{kind}`: what would run it?")
            elif kind == "output":
                self.compare(line, body, self.printed)
                self.printed = ""
            elif kind in ("python", "console"):
                self.all_compared(line)
                self.n_run += 1
                if kind == "console":
                    self.commands(line, body)
                elif re.search(r"^>>> ", body, re.MULTILINE):
                    self.examples(line, body)
                elif re.match(r"# [\w/]+\.py\n", body):
                    self.write_file(body)
                else:
                    self.code(line, body)
        self.all_compared("the end")
        return self.faults

    def fault(self, line, text):
        self.faults.append(f"{self.path.name}:{line}: {text}")

    def all_compared(self, line):
        if self.printed:
            self.fault(line, f"the page does not show what was printed before:\n{self.printed}")
            self.printed = ""

    def examples(self, line, body):
        parser = doctest.DocTestParser()
        test = parser.get_doctest(body, self.names, f"{self.path.name}:{line}", None, line)
        report = io.StringIO()
        with Native() as native:
            runner = doctest.DocTestRunner(Checker(native), False, FLAGS)
            runner.run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        if runner.failures:
            self.fault(line, shortened(report.getvalue()))

    def code(self, line, body):
        name = f"<guide {self.path.name}:{line}>"
        linecache.cache[name] = (len(body), None, body.splitlines(True), name)
        with Native() as native, contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(body, name, "exec"), self.names)
            self.printed = shortened(native.text() + printed.getvalue())

    def write_file(self, body):
        path = self.folder / body.splitlines()[0][2:]
        path.parent.mkdir(exist_ok=True)
        path.write_text(body)

    def compare(self, line, want, got):
        checker, example = Checker(), doctest.Example("", want)
        if not checker.check_output(want, got, FLAGS):
            self.fault(line, checker.output_difference(example, got, FLAGS))

    def commands(self, line, body):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, want = part.partition("\n")
            words = shlex.split(command)
            start = {"fluvial": [sys.executable, "-m", "fluvial"], "python": [sys.executable]}[words[0]]
            done = subprocess.run(
                [*start, *words[1:]],
                cwd=self.folder,
                env={**os.environ, "FLUVIAL_PYTHON": sys.executable, "PYTHONPATH": PACKAGE},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=SECONDS,
            )
            pattern = ".*?".join(map(re.escape, want.split("..")))
            if not re.fullmatch(pattern, done.stdout, re.DOTALL):
                self.fault(line, f"`{command}` writes\n{done.stdout}")


#: Where the package is, for the processes of commands.
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(fl.__file__)))


if __name__ == "__main__":
    for path in list(map(os.path.abspath, sys.argv[1:])):
        with tempfile.TemporaryDirectory() as folder, fl.State(), fl.layers.step():
            os.chdir(folder)
            fl.seed(0)
            page = Page(path, folder)
            for found in page.run():
                print(found)
            print(f"{os.path.basename(path)}: {page.n_run} blocks, {len(page.faults)} faults")
            os.chdir("/")
