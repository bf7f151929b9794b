"""`fl.view`: the page is there, for those who have its address."""

import json
import re
import urllib.error
import urllib.request

import numpy as np
import pytest

import fluvial as fl


def program():
    return fl.build(lambda x: {"y": fl.tanh(x) * 2 + x}, {"x": "f32[n, 4]"})


def ask(page, question):
    with urllib.request.urlopen(f"{page.url}api/{question}", timeout=20) as answer:
        return json.load(answer)


def test_programs_runs_and_profiles(tmp_path):
    with fl.summary.Writer(tmp_path / "runs" / "first") as writer:
        writer.config({"rate": 0.1})
        for step in range(5):
            writer.scalar("loss", 1 / (1 + step), step)
        writer.histogram("w", np.arange(10.0), 2)
    compiled = fl.compile(program())
    with fl.profile(tmp_path / "trace.json"):
        compiled(np.ones((3, 4), np.float32))
    program().save(tmp_path / "p.flb")
    shown = [program(), tmp_path / "p.flb", tmp_path / "runs", tmp_path / "trace.json"]
    with fl.view(*shown, names=["mine", "file"]) as page:
        index = ask(page, "index")
        assert index["programs"] == ["mine", "file"]
        (run,) = index["runs"]
        assert run["name"] == "first" and run["config"] == {"rate": 0.1}
        assert ask(page, "series?run=first&tag=loss")["y"] == [1.0, 0.5, np.float32(1 / 3), 0.25, np.float32(0.2)]
        stage = ask(page, "stage?program=mine&stage=0")
        assert {"tanh", "mul", "add"} <= {call["op"] for call in stage["blocks"][stage["main"]]["calls"]}
        assert any(place["file"].endswith("test_view.py") for place in stage["places"])
        assert ask(page, f"profile?profile={index['profiles'][0]}")["n"] > 0
        wrong = re.sub(r"[0-9a-f]{32}", "0" * 32, page.url)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(wrong, timeout=20)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(page.url, timeout=20)
    page.close()


def test_a_run_is_seen_while_it_is_written(tmp_path):
    with fl.summary.Writer(tmp_path / "a") as writer, fl.view(tmp_path) as page:
        for step in range(3):
            writer.scalar("loss", step, step)
            assert ask(page, "index")["runs"][0]["scalars"][0]["n"] == step + 1


def test_a_page_as_one_file(tmp_path):
    path = tmp_path / "page.html"
    fl.export_view(path, program())
    page = path.read_text()
    assert page.startswith("<!doctype html>") and '"program 1"' in page
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", page.split("*/", 1)[1])


def test_notebooks_show_programs():
    html = program()._repr_html_()
    assert html.startswith("<iframe") and "allow-scripts" in html and html.count("<iframe") == 1


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: fl.view(3), "class `int` cannot be shown"),
        (lambda: fl.view("nowhere.flb"), "there is no file `nowhere.flb`"),
        (lambda: fl.view(__file__ + ".txt", __file__[:-3] + ".json"), "there is no file"),
        (lambda: fl.view(program(), names=[]), "1 programs and 0 names"),
    ],
)
def test_refusals(call, said):
    with pytest.raises((TypeError, ValueError, OSError), match=said) as caught:
        call()
    assert str(caught.value).startswith(__file__)
