"""Files that programs read themselves: `open_files`, `shuffle`, `batch`, `Preprocessor`, and what writes them."""

import numpy as np
import pytest

import fluvial as fl
import fluvial.fluid.layers as layers
import fluvial.fluid.paddle as paddle

ROWS = np.arange(21, dtype=np.float32).reshape(7, 3)


@pytest.fixture
def files(fluid, tmp_path):
    """Record files of three batches each, with 3, 3 and 1 rows."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        feeder = fluid.DataFeeder([layers.data("x", [3]), layers.data("y", [1], dtype="int64")], fluid.CPUPlace())

    def samples():
        yield from ((row, [i]) for i, row in enumerate(ROWS))

    reader = paddle.batch(samples, 3)
    paths = [str(tmp_path / f"{name}.recordio") for name in "ab"]
    for path in paths:
        count = fluid.recordio_writer.convert_reader_to_recordio_file(path, reader, feeder, max_num_records=2)
        assert count == 3
    many = str(tmp_path / "many.recordio")
    assert fluid.recordio_writer.convert_reader_to_recordio_files(many, 2, reader, feeder) == 3
    assert sorted(path.name for path in tmp_path.glob("many-*")) == ["many-00000.recordio", "many-00001.recordio"]
    return paths


def everything(fluid, fetch):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    found = []
    while True:
        try:
            found.append(exe.run(fetch_list=fetch))
        except fluid.core.EOFException:
            return found


SHAPES = {"shapes": [(-1, 3), (-1, 1)], "lod_levels": [0, 0], "dtypes": ["float32", "int64"]}


def test_records_one_after_another(fluid, files):
    reader = layers.open_files(files, **SHAPES)
    x, y = layers.read_file(layers.double_buffer(reader))
    total = layers.reduce_sum(x)
    for _ in range(2):
        found = everything(fluid, [x, y, total])
        assert [len(row[0]) for row in found] == [3, 3, 1] * 2
        np.testing.assert_array_equal(np.concatenate([row[0] for row in found]), np.concatenate([ROWS, ROWS]))
        assert found[1][1].ravel().tolist() == [3, 4, 5] and found[0][2][0] == ROWS[:3].sum()
        reader.reset()


def test_several_passes_in_batches(fluid, files):
    reader = layers.batch(layers.open_recordio_file(files[0], pass_num=2, **SHAPES), 2)
    x, _ = layers.read_file(reader)
    # Two records each: 3 and 3 rows, 1 and 3, 3 and 1.
    assert [len(row[0]) for row in everything(fluid, [x])] == [6, 4, 4]


def test_samples_in_another_order(fluid, files):
    fluid.default_main_program().random_seed = 5
    raw = layers.open_files(files[0], [(3,), (1,)], [0, 0], ["float32", "int64"])
    reader = layers.batch(layers.shuffle(raw, 10), 2)
    x, y = layers.read_file(reader)
    orders = []
    for _ in range(2):
        found = everything(fluid, [x, y])
        assert [row[0].shape for row in found] == [(2, 3)] * 3
        numbers = np.concatenate([row[1] for row in found]).ravel().tolist()
        np.testing.assert_array_equal(np.concatenate([row[0] for row in found]), ROWS[numbers])
        orders.append(numbers)
        reader.reset()
    assert orders[0] != orders[1] and orders[0] != sorted(orders[0])


def test_what_is_made_of_records(fluid, files):
    maker = layers.Preprocessor(layers.open_files(files[0], **SHAPES))
    with maker.block():
        x, y = maker.inputs()
        maker.outputs(layers.reduce_sum(x / 2.0, dim=1, keep_dim=True), y + 1)
    x, y = layers.read_file(maker())
    found = everything(fluid, [x, y])
    np.testing.assert_allclose(np.concatenate([row[0] for row in found]).ravel(), ROWS.sum(1) / 2)
    assert np.concatenate([row[1] for row in found]).ravel().tolist() == list(range(1, 8))


def test_a_program_trains_from_files(fluid, files):
    x, y = layers.read_file(layers.open_files(files, pass_num=30, **SHAPES))
    loss = layers.mean(layers.square_error_cost(layers.fc(x / 20.0, 1), layers.cast(y, "float32")))
    fluid.optimizer.SGD(0.1).minimize(loss)
    losses = [row[0][0] for row in everything(fluid, [loss])]
    assert losses[-1] < 0.1 * losses[0]


def test_random_numbers(fluid):
    fluid.default_main_program().random_seed = 3
    reader = layers.random_data_generator(1.0, 2.0, [[4, 3], [2]], [0, 0])
    x, y = layers.read_file(reader)
    exe = fluid.Executor(fluid.CPUPlace())
    first, second = (exe.run(fetch_list=[x, y]) for _ in range(2))
    assert first[0].shape == (4, 3) and first[1].shape == (2,) and (first[0] >= 1).all() and (first[0] < 2).all()
    assert (first[0] != second[0]).any()
    reader.reset()
    np.testing.assert_array_equal(exe.run(fetch_list=[x])[0], first[0])


def test_files_of_our_own(fluid, tmp_path):
    path = str(tmp_path / "own.recordio")
    with fl.RecordWriter(path, {"x": "f32[3]", "y": "i64[1]"}) as writer:
        for i, row in enumerate(ROWS):
            writer.write(row, np.array([i]))
    x, _ = layers.read_file(layers.batch(layers.open_files(path, [[3], [1]], [0, 0], ["float32", "int64"]), 7))
    np.testing.assert_array_equal(everything(fluid, [x])[0][0], ROWS)


def test_what_does_not_fit(fluid, files):
    x, _ = layers.read_file(layers.open_files(files, [(-1, 4), (-1, 1)], [0, 0], ["float32", "int64"]))
    with pytest.raises(ValueError, match=r"field 0 of .* but the sizes .* are declared"):
        fluid.Executor(fluid.CPUPlace()).run(fetch_list=[x])
    with pytest.raises(NotImplementedError, match="sequences of different lengths are not read here"):
        layers.open_files(files, [(-1, 4)], [1], ["float32"])
    with pytest.raises(TypeError, match="does not read files"):
        layers.shuffle(lambda: iter(()), 3)
    maker = layers.Preprocessor(layers.open_files(files, **SHAPES))
    with pytest.raises(RuntimeError, match="no block is open"):
        maker.inputs()
    with pytest.raises(RuntimeError, match="what goes in or out is not said"), maker.block():
        maker.inputs()
    own = layers.data("own", [3])
    maker = layers.Preprocessor(layers.open_files(files, **SHAPES))
    with pytest.raises(NotImplementedError, match="the block uses `own` from outside"), maker.block():
        x, y = maker.inputs()
        maker.outputs(x + own, y)


def test_measures_in_programs(fluid):
    found, right = layers.data("found", [1], dtype="int64", lod_level=1), layers.data("right", [1], dtype="int64", lod_level=1)
    distance = fluid.evaluator.EditDistance(found, right)
    chunks = fluid.evaluator.ChunkEvaluator(found, right, "IOB", 2)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    lod = lambda rows, lengths: fluid.create_lod_tensor(np.array(rows).reshape(-1, 1), [lengths], fluid.CPUPlace())  # noqa: E731
    batches = [
        {"found": lod([0, 1, 2, 3], [2, 2]), "right": lod([0, 1, 2, 2], [2, 2])},
        {"found": lod([0, 0], [2]), "right": lod([2, 3], [2])},
    ]
    for _ in range(2):
        for batch in batches:
            exe.run(feed=batch, fetch_list=distance.metrics)
        mean, wrong = distance.eval(exe)
        # Distances 0, 1 and 2, as shares of their lengths.
        assert mean[0] == pytest.approx((0 + 0.5 + 1.0) / 3) and wrong[0] == pytest.approx(2 / 3)
        precision, recall, f1 = chunks.eval(exe)
        # Found are 1 + 1 and 2, right ones 1 + 2 and 1, of which one fits.
        assert precision[0] == pytest.approx(1 / 4) and recall[0] == pytest.approx(1 / 4) and f1[0] == pytest.approx(1 / 4)
        distance.reset(exe)
        chunks.reset(exe)
    with pytest.raises(RuntimeError, match="no sequences have been seen"):
        distance.eval(exe)
