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


def test_a_port_that_is_taken():
    with fl.view(program()) as page:
        port = int(page.url.split(":")[2].split("/")[0])
        with pytest.raises(OSError, match="cannot be used"):
            fl.view(program(), port=port)


def test_files_of_others(tmp_path):
    """Values as newer writers of TensorBoard give them: tensors, and which view they are for."""
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.plugins.histogram import summary_v2 as histogram
    from tensorboard.plugins.scalar import summary_v2 as scalar
    from tensorboard.plugins.text import summary_v2 as text
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path / "theirs"))
    for step in range(3):
        summaries = [
            scalar.scalar_pb("loss", 0.5 + step),
            histogram.histogram_pb("w", np.arange(100.0), buckets=10),
            text.text_pb("note", f"step {step}"),
        ]
        values = [value for summary in summaries for value in summary.value]
        for value in values if step else []:
            # Only the first value of a tag says what it is.
            value.ClearField("metadata")
        summary = summary_pb2.Summary(value=values)
        writer.add_event(event_pb2.Event(wall_time=100.0 + step, step=step, summary=summary))
    writer.close()
    with fl.view(tmp_path) as page:
        (run,) = ask(page, "index")["runs"]
        assert ask(page, "series?run=theirs&tag=loss&by=time") == {
            "n": 3, "step": [0, 1, 2], "time": [100.0, 101.0, 102.0], "x": [0.0, 1.0, 2.0], "y": [0.5, 1.5, 2.5],
        }
        rows = ask(page, "histograms?run=theirs&tag=w")["rows"]
        assert len(rows) == 3 and rows[0]["count"] == 100 and rows[0]["max"] == 99
        assert [text["text"] for text in run["texts"]] == ["step 0", "step 1", "step 2"]


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
        (lambda: fl.view(program(), names="p"), "are not names"),
        (lambda: fl.view(program(), port=70000), "70000 is not a port"),
        (lambda: fl.view(program(), source="nowhere"), "'nowhere' is not a folder"),
    ],
)
def test_refusals(call, said):
    with pytest.raises((TypeError, ValueError, OSError), match=said) as caught:
        call()
    assert str(caught.value).startswith(__file__)
