"""Programs that people write by hand, in the short form: from Python and from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from debug_editor import environment

import fluvial as fl

PROGRAMS = Path(__file__).parents[2] / "programs" / "short"


def command_line(*arguments):
    command = [sys.executable, "-m", "fluvial", *map(str, arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize("name", ["mlp.fl", "layers.fl"])
def test_a_network_in_thirty_lines_learns(name, tmp_path):
    path = PROGRAMS / name
    assert len(path.read_text().splitlines()) <= 30
    program = fl.Program.load(str(path))
    assert program.run({})["loss"].item() < 0.05
    assert fl.Program.parse(program.text()).text() == program.text()
    out, err, code = command_line("run", path)
    assert (code, err) == (0, "") and float(out.split("loss")[1].split()[1]) < 0.05
    binary, text = tmp_path / "mlp.flb", tmp_path / "mlp.fl"
    for before, after in ((path, binary), (binary, text)):
        assert command_line("convert", before, after)[2] == 0
    assert text.read_text().startswith("fluvial 1\n") and command_line("diff", binary, text)[2] == 0


def test_a_layer_is_the_one_of_python():
    text = "fluvial 1 short main(%x: f32[n, 3]) { %fc = Linear{outputs=5}(%x) return %fc }"
    x = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    fl.seed(0)
    found = fl.Program.parse(text).run({"x": x})["fc"]
    fl.seed(0)
    layer = fl.nn.Linear(3, 5, name="fc")
    assert np.array_equal(found.numpy(), layer(fl.tensor(x)).numpy())


def test_a_slip_is_told_at_its_line(tmp_path):
    path = tmp_path / "slip.fl"
    path.write_text("fluvial 1 short\n\nmain(%x: f32[n, 3]) {\n  %y = Linear{output=4}(%x)\n  return %y\n}\n")
    out, err, code = command_line("check", path)
    assert code != 0 and f"{path}:4:3: `Linear` has no option `output`" in out + err
    with pytest.raises(Exception, match="4:3: `Linear` has no option `output`"):
        fl.Program.load(str(path))


def test_progress_has_names(tmp_path):
    path = tmp_path / "long.fl"
    path.write_text((PROGRAMS / "mlp.fl").read_text().replace("times=400", "times=20000"))
    out, err, code = command_line("run", path, "--json")
    events = [json.loads(line) for line in (out + err).splitlines() if line.startswith("{")]
    values = [event["values"] for event in events if event["event"] == "progress"]
    assert code == 0 and values and all("loss" in each for each in values)
    assert not any(name.startswith(("#", "value ", "adam.m.")) for each in values for name in each)


def test_files_are_written_whole(tmp_path):
    program = fl.Program.parse("fluvial 1 short main(%x: f32[]) { return %x }")
    for name in ("program.fl", "program.flb", "program"):
        path = tmp_path / name
        path.write_text("before")
        path.chmod(0o600)
        link = tmp_path / f"link-{name}"
        link.symlink_to(path)
        program.save(str(link) if "." in name else str(path))
        assert path.stat().st_mode & 0o777 == 0o600 and path.read_bytes() != b"before"
        assert fl.Program.load(str(path)).inputs == program.inputs
    left = [file.name for file in tmp_path.iterdir()]
    assert not any(name.startswith(".fluvial-") for name in left)
