"""The reference of the Python API is fresh, has an example for everything, and its examples run."""

import doctest
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))


def test_the_pages_are_fresh_and_everything_has_an_example():
    # In a process of its own: the pages show the package as it is before anything else was loaded.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import reference_pages as r; found, lacking = r.pages(); "
        "stale = [n for n, text in found.items() if not (r.FOLDER / f'{n}.md').exists() or (r.FOLDER / f'{n}.md').read_text() != text]; "
        "print('stale', stale, 'without an example', lacking, 'left over', sorted({p.stem for p in r.FOLDER.glob('*.md')} - set(found)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()[-1]
    assert said == "stale [] without an example [] left over []", f"{said}: run python python/tests/reference_pages.py"


def test_no_links_of_rust():
    for page in PAGES:
        text = (FOLDER / f"{page}.md").read_text()
        assert not re.search(r"crate::|ops::|\[`[^`\]]*`\](?!\()", text), page


@pytest.mark.parametrize("page", [page for page in PAGES if page != "README"])
def test_examples_run(page, tmp_path, monkeypatch):
    # Examples name files of the repository, and write others.
    (tmp_path / "python").symlink_to(FOLDER.parents[1] / "python")
    monkeypatch.chdir(tmp_path)
    text = (FOLDER / f"{page}.md").read_text()
    blocks = [(text[: match.start()].count("\n") + 2, match[1]) for match in re.finditer(r"^```pycon\n(.*?)^```$", text, re.M | re.S)]
    assert blocks
    # In a thread of its own: examples choose the mode of their thread.
    with ThreadPoolExecutor(1) as threads:
        said = threads.submit(faults, page, blocks).result()
    assert not said, "".join(said)[-3000:]


def faults(page, blocks):
    """What is not as the examples say."""
    runner, said = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS), []
    for line, block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {"fl": fl, "np": np}, f"{page}.md", page, line)
        with fl.State(), fl.layers.step():
            fl.seed(0)
            runner.run(test, out=said.append)
    return said


def test_links_of_the_first_page_lead_somewhere():
    text = (FOLDER / "README.md").read_text()
    for page, anchor in re.findall(r"\]\((\w+)\.md#(\w+)\)", text):
        names = {re.sub(r"[^a-z0-9_]", "", found.lower()) for found in headlines(page)}
        assert anchor in names, (page, anchor)


_HEADLINES: dict[str, list[str]] = {}


def headlines(page):
    if page not in _HEADLINES:
        _HEADLINES[page] = re.findall(r"^## `(.*)`$", (FOLDER / f"{page}.md").read_text(), re.M)
    return _HEADLINES[page]
