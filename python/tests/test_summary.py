"""`fl.summary`: files that the real TensorBoard reads."""

import json
import os
import struct
import threading
import zlib

import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator

import fluvial as fl

SIZES = ["scalars", "histograms", "images", "tensors"]


def read(folder):
    """What TensorBoard finds in a folder."""
    found = event_accumulator.EventAccumulator(str(folder), size_guidance={name: 0 for name in SIZES})
    return found.Reload()


def pixels_of(png):
    """A reader of images without a filter, to see what was written."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        (length,), name = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        chunks[name] = png[at + 8 : at + 8 + length]
        (crc,) = struct.unpack(">I", png[at + 8 + length : at + 12 + length])
        assert crc == zlib.crc32(name + chunks[name])
        at += 12 + length
    width, height, bits, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert bits == 8 and rest == [0, 0, 0] and list(chunks)[-1] == b"IEND"
    channels = {0: 1, 2: 3, 6: 4}[kind]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


class TestReadBack:
    def test_scalars(self, tmp_path):
        with fl.summary.Writer(tmp_path / "run") as writer:
            writer.scalar("loss", 0.5, 1)
            writer.scalar("loss", fl.tensor([0.25], "bfloat16"), fl.tensor(2))
            writer.scalars({"loss": np.float64(0.125), "über/größe": 7}, 2**40)
            writer.scalar("odd", float("nan"), -1)
            writer.scalar("odd", 1e300, 0)
        found = read(tmp_path / "run")
        assert found.Tags()["scalars"] == ["loss", "über/größe", "odd"]
        points = [(point.step, point.value) for point in found.Scalars("loss")]
        assert points == [(1, 0.5), (2, 0.25), (2**40, 0.125)]
        assert found.Scalars("über/größe")[0].value == 7
        first, second = found.Scalars("odd")
        assert first.step == -1 and np.isnan(first.value) and second.value == np.inf
        assert abs(found.Scalars("loss")[0].wall_time - os.path.getmtime(writer.path)) < 100
        assert found.file_version == 2.0

    def test_histograms(self, tmp_path):
        values = np.random.default_rng(0).normal(size=(40, 25)).astype(np.float32)
        with fl.summary.Writer(tmp_path) as writer:
            writer.histogram("w", fl.tensor(values), 3, bins=30)
            writer.histogram("same", [2.0, 2.0, 2.0])
            writer.histogram("wide", [-1.7e308, 0.0, 1.7e308], bins=3)
            writer.histogram("holes", [float("nan"), float("inf"), 1.0, 2.0, 2.0], bins=2)
            writer.histogram("none", [])
            writer.histogram("bools", fl.tensor([True, False, True]), bins=2)
        found = read(tmp_path)
        (event,) = found.Histograms("w")
        histogram = event.histogram_value
        wide = values.astype(np.float64)
        counts, edges = np.histogram(wide, 30)
        assert event.step == 3 and histogram.num == 1000
        assert histogram.min == wide.min() and histogram.max == wide.max()
        assert histogram.sum == pytest.approx(wide.sum())
        assert histogram.sum_squares == pytest.approx((wide**2).sum())
        assert histogram.bucket == counts.tolist()
        np.testing.assert_allclose(histogram.bucket_limit, edges[1:], atol=1e-12)
        of = {tag: found.Histograms(tag)[0].histogram_value for tag in found.Tags()["histograms"]}
        assert of["same"].bucket_limit == [2.0] and of["same"].bucket == [3.0]
        assert of["wide"].bucket == [1.0, 1.0, 1.0] and of["wide"].max == 1.7e308
        assert of["holes"].bucket == [1.0, 2.0] and of["holes"].num == 3
        assert of["none"].num == 0
        assert of["bools"].bucket == [1.0, 2.0]

    def test_images(self, tmp_path):
        grey = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
        colours = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
        with fl.summary.Writer(tmp_path) as writer:
            writer.image("grey", fl.tensor(grey), 1)
            writer.image("colours", colours)
            writer.image("last", colours.transpose(1, 2, 0), layout="hwc")
            writer.image("clear", np.full((4, 1, 2), [[[-1.0, 2.0]]]))
            writer.image("mask", np.eye(2, dtype=bool))
        found = read(tmp_path)

        def image(tag):
            (event,) = found.Images(tag)
            pixels = pixels_of(event.encoded_image_string)
            assert pixels.shape[:2] == (event.height, event.width)
            return pixels

        assert np.array_equal(image("grey")[:, :, 0], np.rint(grey * 255))
        assert np.array_equal(image("colours"), colours.transpose(1, 2, 0))
        assert np.array_equal(image("last"), image("colours"))
        assert image("clear").tolist() == [[[0] * 4, [255] * 4]]
        assert image("mask")[:, :, 0].tolist() == [[255, 0], [0, 255]]

    def test_texts(self, tmp_path):
        with fl.summary.Writer(tmp_path) as writer:
            writer.text("note", "# A head\n\näöü", 4)
        found = read(tmp_path)
        (event,) = found.Tensors("note")
        assert event.step == 4
        assert [text.decode() for text in event.tensor_proto.string_val] == ["# A head\n\näöü"]
        assert event.tensor_proto.tensor_shape.dim[0].size == 1
        assert found.SummaryMetadata("note").plugin_data.plugin_name == "text"

    def test_the_views_take_them(self, tmp_path):
        """The newer loader, which the views use, migrates each kind of value."""
        with fl.summary.Writer(tmp_path) as writer:
            writer.scalar("s", 1.5)
            writer.histogram("h", [1.0, 2.0])
            writer.histogram("none", [])
            writer.image("i", np.zeros((2, 2)))
            writer.text("t", "text")
        found = plugin_event_accumulator.EventAccumulator(str(tmp_path)).Reload()
        plugins = {
            tag: found.SummaryMetadata(tag).plugin_data.plugin_name for tag in ["s", "h", "none", "i", "t"]
        }
        assert plugins == {
            "s": "scalars", "h": "histograms", "none": "histograms", "i": "images", "t": "text",
        }
        assert found.Tensors("s")[0].tensor_proto.float_val[:] == [1.5]


class TestFiles:
    def test_readable_while_being_written(self, tmp_path):
        writer = fl.summary.Writer(tmp_path)
        found = read(tmp_path)
        for step in range(3):
            writer.scalar("loss", step, step)
            found.Reload()
            assert [point.step for point in found.Scalars("loss")] == list(range(step + 1))
        writer.close()

    def test_one_file_for_each_writer(self, tmp_path):
        writers = [fl.summary.Writer(tmp_path) for _ in range(3)]
        for i, writer in enumerate(writers):
            writer.scalar(f"from {i}", i)
            writer.close()
        assert len({writer.path for writer in writers}) == len(os.listdir(tmp_path)) == 3
        assert sorted(read(tmp_path).Tags()["scalars"]) == ["from 0", "from 1", "from 2"]

    def test_threads_share_a_writer(self, tmp_path):
        def work(name):
            for step in range(50):
                writer.text(name, "x" * 5000, step)

        with fl.summary.Writer(tmp_path) as writer:
            threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        found = read(tmp_path)
        for i in range(4):
            assert [event.step for event in found.Tensors(f"t{i}")] == list(range(50))

    def test_closed(self, tmp_path):
        with fl.summary.Writer(tmp_path) as writer:
            writer.flush()
        writer.close()
        writer.flush()
        with pytest.raises(ValueError, match="test_summary.py:.*this writer is closed"):
            writer.scalar("loss", 1.0)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda w: w.scalar("x", [1.0, 2.0]), r"`x` has the shape \(2,\)"),
        (lambda w: w.scalar("x", "high"), "`x` is of class `str`"),
        (lambda w: w.scalar("", 1.0), "'' is not a tag"),
        (lambda w: w.scalar("x", 1.0, 1.5), "1.5 is not a step"),
        (lambda w: w.scalar("x", 1.0, 2**63), "is not a step"),
        (lambda w: w.histogram("x", [1.0], bins=0), "0 buckets"),
        (lambda w: w.image("x", np.zeros((2, 3, 4, 4))), "not a batch"),
        (lambda w: w.image("x", np.zeros((5, 4, 3))), 'say layout="hwc"'),
        (lambda w: w.image("x", np.zeros((4, 4, 3)), layout="xyz"), 'no layout "xyz"'),
        (lambda w: w.image("x", np.zeros((3, 0, 3))), "0 by 3"),
    ],
)
def test_refusals(tmp_path, call, said):
    with fl.summary.Writer(tmp_path) as writer:
        size = os.path.getsize(writer.path)
        with pytest.raises((TypeError, ValueError), match=said) as caught:
            call(writer)
        assert str(caught.value).startswith(__file__)
        assert os.path.getsize(writer.path) == size


def test_settings_and_events(tmp_path):
    with fl.summary.Writer(tmp_path) as writer:
        writer.config({"rate": 0.1, "data": {"batch": 64}})
        writer.event("checkpoint", "step-5 was written", 5)
        with pytest.raises(TypeError, match="settings cannot be written"):
            writer.config({"rate": float("nan")})
        with pytest.raises(TypeError, match="settings cannot be written"):
            writer.config({"model": object()})
    found = read(tmp_path)
    texts = {tag: found.Tensors(tag)[0].tensor_proto.string_val[0] for tag in found.Tags()["tensors"]}
    assert json.loads(texts["config"]) == {"rate": 0.1, "data": {"batch": 64}}
    assert json.loads(texts["machine"])["cores"] >= 1
    assert texts["events/checkpoint"] == b"step-5 was written"


def test_values_of_programs_have_no_elements(tmp_path):
    with fl.summary.Writer(tmp_path) as writer, fl.building() as b:
        x = b.input("x", "f32[1]")
        with pytest.raises(TypeError, match="value of a program"):
            writer.scalar("x", x)
        b.output("y", x)


def test_what_a_run_takes_of_the_machine(tmp_path):
    held = fl.arange(1_000_000.0)
    with fl.summary.Writer(tmp_path) as writer:
        for step in range(3):
            writer.machine(step)
    found = read(tmp_path)
    # The second and the third time come too early.
    [point] = found.Scalars("machine/tensors_gb")
    assert point.step == 0 and point.value >= held.nbytes / 1e9
    assert set(found.Tags()["scalars"]) <= {"machine/tensors_gb", "machine/memory_gb"}
