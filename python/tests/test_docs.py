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
import page_links  # noqa: E402

ROOT = Path(__file__).parents[2]
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


def pages(folder, left_out=()):
    """Pages of a folder that people write."""
    for path in sorted((ROOT / folder).glob("*.md")):
        if path.name not in left_out and "generated" not in path.read_text()[:60]:
            yield str(path.relative_to(ROOT))


#: Their code is run, or compared with the files that it stands in, by tests in Rust.
IN_RUST = {"command_line.md", "fl_language.md", "ADD_AN_OP.md", "ADD_A_LAYER.md", "ADD_AN_OPTIMIZER.md"}


@pytest.mark.parametrize("name", [*pages("docs/guide"), *pages("docs", IN_RUST), *pages("docs/internals")])
def test_pages_run(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    # Examples name files of the repository.
    (tmp_path / "python").symlink_to(ROOT / "python")
    page = guide_pages.Page(ROOT / name, tmp_path)
    # Names of Fluid's variables count from zero, whatever ran before.
    import fluvial.fluid as fluid

    with fl.State(), fl.layers.step(), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            fl.seed(0)
            faults = page.run()
    assert not faults, "\n".join(faults)
    if name.startswith("docs/guide/") and "rust" not in name and "README" not in name and "glossary" not in name:
        assert page.n_run > 3


def test_pages_with_rust_are_run_as_documents():
    listed = (ROOT / "crates" / "fluvial" / "src" / "lib.rs").read_text()
    for name in ["README.md", *pages("docs"), *pages("docs/guide"), *pages("docs/internals")]:
        if re.search(r"^```rust$", (ROOT / name).read_text(), re.MULTILINE):
            assert f'include_str!("../../../{name}")' in listed, name


def test_c_on_pages_is_of_the_header():
    header = (ROOT / "crates" / "capi" / "include" / "fluvial.h").read_text()
    n_names = 0
    for name in pages("docs"):
        for block in re.findall(r"^```c\n(.*?)^```$", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE):
            for word in re.findall(r"\b(?:fluvial|FLUVIAL)_\w+", block):
                assert re.search(rf"\b{word}\b", header), f"{name}: {word}"
                n_names += 1
    assert n_names > 3


def test_the_map_has_every_crate_in_the_order_of_the_layers():
    table = (ROOT / "docs" / "ARCHITECTURE.md").read_text().split("## The crates")[1].split("## ")[0]
    named = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    layers = (ROOT / "crates" / "xtask" / "src" / "tidy" / "layers.rs").read_text()
    rows = re.search(r"const LAYERS.*?= \[(.*?)^\];", layers, re.DOTALL | re.MULTILINE)[1]
    assert named == re.findall(r'"(\w+)"', rows)


def test_links_titles_and_commands_of_pages():
    assert page_links.faults() == []


def test_what_is_wrong_on_a_page_is_found(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "Makefile").write_text("test:\n")
    (tmp_path / "docs" / "command_options.md").write_text("# Options\n\n## fluvial run\n\n--fast\n")
    (tmp_path / "docs" / "a.md").write_text(
        "# One\n\n[b](b.md) [c](c.md) [d](#one) [e](#two) `make test` `make tset` `fluvial run --fast` `fluvial run --slow`\n"
    )
    (tmp_path / "docs" / "b.md").write_text("# One\n\n```text\n[x](nowhere.md)\n```\n\n```sh\nfluvial rnu x\n```\n")
    monkeypatch.setattr(page_links, "ROOT", tmp_path)
    monkeypatch.setattr(page_links, "DOCS", tmp_path / "docs")
    assert page_links.faults() == [
        "docs/a.md: c.md leads nowhere",
        "docs/a.md: #two: there is no such heading",
        "docs/a.md and docs/b.md have one title",
        "docs/b.md and docs/a.md have one title",
        "docs/a.md: there is no `make tset`",
        "docs/a.md: there is no `fluvial run --slow`",
        "docs/b.md: there is no `fluvial rnu`",
    ]


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
