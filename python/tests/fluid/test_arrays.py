"""Arrays of variables: elements with different numbers of rows, sequences, searches in a loop, and operators by name."""

import numpy as np
import pytest

import fluvial.fluid as fluid
import fluvial.fluid.layers as layers

PLACE = fluid.CPUPlace()


def run(main, feed, fetch, startup=None, **options):
    exe = fluid.Executor(PLACE)
    if startup is not None:
        exe.run(startup)
    return exe.run(main, feed=feed, fetch_list=fetch, **options)


@pytest.fixture
def programs():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        yield main, startup


def doubled(x, n):
    """An array whose element `i` has the rows of `x` twice as often as the one before."""
    i = layers.fill_constant([1], "int64", 0)
    array = layers.array_write(x, i)
    go_on = layers.less_than(i, n)
    loop = layers.While(go_on)
    with loop.block():
        before = layers.array_read(array, i)
        layers.increment(i)
        layers.array_write(layers.concat([before, before], axis=0), i, array)
        layers.less_than(i, n, cond=go_on)
    return array, i


def test_elements_have_different_numbers_of_rows(programs):
    main, _ = programs
    x = layers.data("x", [2])
    array, last = doubled(x, layers.fill_constant([1], "int64", 3))
    found = [layers.array_read(array, last), layers.array_read(array, layers.fill_constant([1], "int64", 1))]
    rows = np.arange(6, dtype="float32").reshape(3, 2)
    a, b, n = run(main, {"x": rows}, [*found, layers.array_length(array)])
    np.testing.assert_array_equal(a, np.concatenate([rows] * 8))
    np.testing.assert_array_equal(b, np.concatenate([rows] * 2))
    assert n.tolist() == [4]


def test_gradients_pass_through_elements(programs):
    """A recurrence over arrays in a loop, with a batch of any size: each state is read, changed and written."""
    main, startup = programs
    x = layers.data("x", [2])
    x.stop_gradient = False
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    states = layers.array_write(x * 3.0, i)
    total = layers.fill_constant_batch_size_like(x, [-1, 2], "float32", 0.0)
    total.stop_gradient = False
    go_on = layers.less_than(i, n)
    loop = layers.While(go_on)
    with loop.block():
        before = layers.array_read(states, i)
        state = layers.elementwise_mul(before, x)
        layers.increment(i)
        layers.array_write(state, i, states)
        layers.assign(total + state, total)
        layers.less_than(i, n, cond=go_on)
    (gradient,) = fluid.gradients(layers.reduce_sum(total), x)
    rows = np.arange(1, 7, dtype="float32").reshape(3, 2)
    found, value = run(main, {"x": rows}, [gradient, total])
    np.testing.assert_allclose(value, 3 * (rows**2 + rows**3 + rows**4), rtol=1e-6)
    np.testing.assert_allclose(found, 3 * (2 * rows + 3 * rows**2 + 4 * rows**3), rtol=1e-6)


def test_sequences_in_arrays(programs):
    """A loop that drops the last row of each sequence, which is written behind the others, and over one."""
    main, _ = programs
    x = layers.data("x", [1], lod_level=1)
    zero, one = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 1)
    array = layers.array_write(x, zero)
    layers.array_write(layers.sequence_reverse(x), one, array)
    layers.array_write(x * 2.0, zero, array)
    found = [layers.array_read(array, zero), layers.array_read(array, one)]
    feed = {"x": fluid.create_lod_tensor(np.array([[1], [2], [3]], "float32"), [[2, 1]], PLACE)}
    a, b = run(main, feed, found, return_numpy=False)
    assert np.array(a).ravel().tolist() == [2, 4, 6] and a.recursive_sequence_lengths() == [[2, 1]]
    assert np.array(b).ravel().tolist() == [2, 1, 3] and b.recursive_sequence_lengths() == [[2, 1]]


def test_what_arrays_refuse(programs):
    x, y = layers.data("x", [1], lod_level=1), layers.data("y", [1])
    array = layers.array_write(x, layers.fill_constant([1], "int64", 0))
    with pytest.raises(ValueError, match="holds sequences with 1 levels"):
        layers.array_write(y, layers.fill_constant([1], "int64", 1), array)
    plain = layers.array_write(layers.data("z", [3]), layers.fill_constant([1], "int64", 0))
    with pytest.raises(ValueError, match="has elements f32"):
        layers.array_write(layers.data("w", [4]), layers.fill_constant([1], "int64", 1), plain)
    with pytest.raises(ValueError, match="two levels"):
        layers.beam_search_decode(array, array, 2, 0)


def test_array_as_one_variable(programs):
    main, _ = programs
    x = layers.data("x", [2])
    array = layers.create_array("float32")
    for i in range(3):
        layers.array_write(x * float(i), layers.fill_constant([1], "int64", i), array)
    joined, sizes = layers.tensor_array_to_tensor(array, axis=1)
    stacked, _ = layers.tensor_array_to_tensor(array, axis=0, use_stack=True)
    rows = np.ones((2, 2), "float32")
    a, b, c = run(main, {"x": rows}, [joined, sizes, stacked])
    np.testing.assert_array_equal(a, [[0, 0, 1, 1, 2, 2]] * 2)
    assert b.tolist() == [2, 2, 2] and c.shape == (3, 2, 2)
    with fluid.dygraph.guard():
        one = fluid.dygraph.to_variable(rows)
        assert layers.tensor_array_to_tensor([one, one])[0].numpy().shape == (2, 4)


def test_beam_search_in_a_loop_finds_the_best_sentence(programs):
    """A table of scores that depend on the last word only; all sentences up to a length are tried beside it."""
    main, _ = programs
    words, steps, end, beam = 4, 3, 0, 16
    table = np.random.default_rng(3).dirichlet(np.ones(words), size=words).astype("float32")
    ids = layers.data("ids", [1], dtype="int64", lod_level=2)
    scores = layers.data("scores", [1], lod_level=2)
    counter, limit = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", steps)
    all_ids, all_scores = layers.array_write(ids, counter), layers.array_write(scores, counter)
    go_on = layers.less_than(counter, limit)
    loop = layers.While(go_on)
    with loop.block():
        last, score = layers.array_read(all_ids, counter), layers.array_read(all_scores, counter)
        chances = layers.gather(layers.assign(np.log(table)), layers.reshape(last, [-1]))
        chances = layers.lod_reset(chances, score)
        best, places = layers.topk(chances, k=words)
        total = layers.elementwise_add(best, layers.reshape(score, [-1]), axis=0)
        chosen, kept = layers.beam_search(last, score, places, total, beam, end_id=end)
        layers.increment(counter)
        layers.array_write(chosen, counter, all_ids)
        layers.array_write(kept, counter, all_scores)
        layers.logical_and(
            layers.less_than(counter, limit), layers.logical_not(layers.is_empty(chosen)), out=go_on
        )
    sentences, found = layers.beam_search_decode(all_ids, all_scores, beam, end)
    first = fluid.create_lod_tensor(np.array([[1], [2]]), [[1, 1], [1, 1]], PLACE)
    none = fluid.create_lod_tensor(np.zeros((2, 1), "float32"), [[1, 1], [1, 1]], PLACE)
    told, scored = run(main, {"ids": first, "scores": none}, [sentences, found], return_numpy=False)
    counts, lengths = told.recursive_sequence_lengths()
    assert len(counts) == 2
    rows, ends = np.array(told).ravel().tolist(), np.cumsum(lengths)
    for source, start in enumerate((1, 2)):
        expected = {}

        def follow(sentence, score):
            if len(sentence) > 1 and (sentence[-1] == end or len(sentence) == steps + 1):
                expected[tuple(sentence)] = score
                return
            for word in range(words):
                follow([*sentence, word], score + float(np.log(table[sentence[-1], word])))

        follow([start], 0.0)
        best = max(expected.items(), key=lambda item: item[1])
        at = sum(counts[:source])
        sentence = rows[ends[at] - lengths[at] : ends[at]]
        assert tuple(sentence) == best[0]
        assert np.array(scored).ravel()[ends[at] - 1] == pytest.approx(best[1], rel=1e-5)


class TestOperatorsByName:
    def test_a_layer_of_operators(self, programs):
        main, startup = programs
        x = layers.data("x", [3])
        helper = fluid.layer_helper.LayerHelper("mine", act="relu")
        w = layers.create_parameter([3, 2], "float32", default_initializer=fluid.initializer.Constant(-1.0))
        out = helper.create_variable_for_type_inference("float32")
        helper.append_op(
            type="mul", inputs={"X": x, "Y": w}, outputs={"Out": out}, attrs={"x_num_col_dims": 1, "y_num_col_dims": 1}
        )
        last = helper.append_activation(out)
        best, places = (helper.create_variable_for_type_inference() for _ in range(2))
        main.current_block().append_op(
            type="top_k", inputs={"X": [x]}, outputs={"Out": [best], "Indices": [places]}, attrs={"k": 1}
        )
        found = run(main, {"x": np.array([[1, 2, -9]], "float32")}, [out, last, places], startup)
        assert found[0].tolist() == [[6, 6]] and found[1].tolist() == [[6, 6]] and found[2].tolist() == [[1]]

    def test_at_once(self):
        with fluid.dygraph.guard():
            helper = fluid.layer_helper.LayerHelper("mine")
            x, out = fluid.dygraph.to_variable(np.ones((2, 2), "float32")), helper.create_variable_for_type_inference()
            helper.append_op(type="scale", inputs={"X": x}, outputs={"Out": out}, attrs={"scale": 3.0})
            assert out.numpy().tolist() == [[3, 3], [3, 3]]

    def test_refusals(self, programs):
        x = layers.data("x", [3])
        block = fluid.default_main_program().current_block()
        out = block.create_var(name="out")
        with pytest.raises(ValueError, match="needs the input `Y`"):
            block.append_op(type="mul", inputs={"X": x}, outputs={"Out": out})
        with pytest.raises(ValueError, match="`colour` of the operator `relu` means nothing here"):
            block.append_op(type="relu", inputs={"X": x}, outputs={"Out": out}, attrs={"colour": 1})
        with pytest.raises(NotImplementedError, match="does not know"):
            block.append_op(type="conv2d_fusion", inputs={}, outputs={})
