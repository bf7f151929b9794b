"""The examples in docstrings of the package's Python modules and in the documents run."""

import doctest
import importlib
import pkgutil
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

sys.path.insert(0, str(Path(__file__).parent))
import guide_pages  # noqa: E402

ROOT = Path(__file__).parents[2]
GUIDE = sorted(path.name for path in (ROOT / "docs" / "guide").glob("*.md"))
PACKAGES = ["nn", "optimizer", "layers", "imperative", "summary", "testing", "_torch"]
MODULES = ["_attr", "_fault", "_grad", "_io", "_methods", "_reader", "_run", "clip", "initializer", "linalg"]
MODULES += ["regularizer"]


def modules():
    for name in MODULES:
        yield f"fluvial.{name}"
    for package in PACKAGES:
        if importlib.util.find_spec(f"fluvial.{package}"):
            yield f"fluvial.{package}"
            path = importlib.import_module(f"fluvial.{package}").__path__
            yield from (f"fluvial.{package}.{found.name}" for found in pkgutil.iter_modules(path))


@pytest.mark.parametrize("name", ["python.md", "data.md"])
def test_the_guide_runs(monkeypatch, name):
    # Examples name files of the repository.
    monkeypatch.chdir(Path(__file__).parents[2])
    guide = Path(__file__).parents[2] / "docs" / name
    names = {} if name == "python.md" else {"fl": fl, "np": np}
    with fl.State(), fl.layers.step():
        fl.seed(0)
        assert doctest.testfile(str(guide), module_relative=False, globs=names).failed == 0


@pytest.mark.parametrize("name", GUIDE)
def test_the_users_guide_runs(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    page = guide_pages.Page(ROOT / "docs" / "guide" / name, tmp_path)
    with fl.State(), fl.layers.step():
        fl.seed(0)
        faults = page.run()
    assert not faults, "\n".join(faults)
    assert page.n_run > 3 or name in ("README.md", "glossary.md", "rust.md")


def test_links_of_the_users_guide_lead_somewhere():
    for name in GUIDE:
        page = ROOT / "docs" / "guide" / name
        text = guide_pages.FENCE.sub("", page.read_text())
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{name}: {target}"


def test_the_pictures_are_what_the_script_makes(tmp_path):
    pictures = ROOT / "docs" / "guide" / "pictures"
    made = runpy.run_path(str(pictures / "make.py"))
    made["main"](str(tmp_path))
    for path in sorted(tmp_path.iterdir()):
        assert path.read_text() == (pictures / path.name).read_text(), f"run {pictures}/make.py"
        assert path.stat().st_size < 40_000


def test_a_page_that_is_wrong_is_found(tmp_path):
    page = tmp_path / "page.md"
    blocks = [
        "```python\n>>> 1 + 1\n3\n\n```",
        "```python\nprint(1)\n```\n\n```output\n2\n```",
        "```python\nprint(3)\n```",
        "```console\n$ fluvial --version\nnothing\n```",
        "```pyton\n```",
        "- item\n\n  ```python\n  1\n  ```",
    ]
    page.write_text("\n\n".join(blocks))
    # The end of the last one is indented, too.
    assert len(guide_pages.Page(page, tmp_path).run()) == len(blocks) + 1


def test_the_readme_runs(tmp_path):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    script = tmp_path / "readme.py"
    # A file, since functions are converted from their source.
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL)))
    with fl.State():
        runpy.run_path(str(script))


def test_the_code_that_type_checkers_see_runs():
    runpy.run_path(str(Path(__file__).parent / "typing_user_code.py"), run_name="__main__")


@pytest.mark.parametrize("name", sorted(modules()))
def test_docstrings_run(name, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, globs={"fl": fl, "np": np}):
        with fl.State():
            fl.seed(0)
            runner.run(test)
    assert runner.summarize().failed == 0


def test_the_page_of_refusals_is_fresh():
    import refusals_page

    fresh = refusals_page.page()
    assert fresh.count("\n| ") > 50
    assert refusals_page.PAGE.read_text() == fresh, "run `python python/tests/refusals_page.py`"
