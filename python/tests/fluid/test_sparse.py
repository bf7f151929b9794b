"""Tables with `is_sparse`: rows that a batch has not used stay as they are."""

import numpy as np
import pytest

import fluvial.fluid.layers as layers

ROWS, WIDTH = 6, 3


def trained(fluid, make, batches, is_sparse=True, build=None, **said):
    """The table after some steps, and the program."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard(), fluid.program_guard(main, startup):
        ids = layers.data("ids", shape=[1], dtype="int64")
        found = layers.embedding(ids, [ROWS, WIDTH], is_sparse=is_sparse, param_attr=fluid.ParamAttr("table", **said))
        loss = layers.mean(layers.square(found) + found) if build is None else build(found)
        make().minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        first = np.array(fluid.global_scope().find_var("table").get_tensor())
        for batch in batches:
            exe.run(main, feed={"ids": np.array(batch, "int64").reshape(-1, 1)})
        return first, np.array(fluid.global_scope().find_var("table").get_tensor()), main


def lazy_adam(table, batches, lr, b1=0.9, b2=0.999, eps=1e-8):
    table = table.astype("float64")
    m, v = np.zeros_like(table), np.zeros_like(table)
    for t, batch in enumerate(batches, 1):
        grad = np.zeros_like(table)
        for i in batch:
            grad[i] += (2 * table[i] + 1) / (len(batch) * WIDTH)
        used = sorted(set(batch))
        m[used] = b1 * m[used] + (1 - b1) * grad[used]
        v[used] = b2 * v[used] + (1 - b2) * grad[used] ** 2
        rate = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
        table[used] -= rate * m[used] / (np.sqrt(v[used]) + eps)
    return table


BATCHES = [[0, 2, 2], [4, 0], [2, 5, 5, 0]]


def test_lazy_adam(fluid):
    first, last, _ = trained(fluid, lambda: fluid.optimizer.Adam(0.1, lazy_mode=True), BATCHES)
    np.testing.assert_allclose(last, lazy_adam(first, BATCHES, 0.1), rtol=2e-5)
    assert (last[[1, 3]] == first[[1, 3]]).all()
    # Without it, moments of all rows fade, and rows that were used before go on.
    _, eager, _ = trained(fluid, lambda: fluid.optimizer.Adam(0.1), BATCHES)
    assert (abs(eager - last) > 1e-3).any()


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "Adam", "Adamax"])
def test_the_same_numbers_as_with_dense_gradients(fluid, name):
    runs = [trained(fluid, lambda: getattr(fluid.optimizer, name)(0.1), BATCHES, is_sparse) for is_sparse in (True, False)]
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-6)


def test_no_gradient_of_the_whole_table_is_made(fluid):
    listings = [
        trained(fluid, lambda: fluid.optimizer.SGD(0.1), [], is_sparse)[2].global_block()._core.snapshot({}).compile().text()
        for is_sparse in (True, False)
    ]
    whole = f"index_add{{axis=0, size={ROWS}}}"
    assert whole not in listings[0] and whole in listings[1]


def test_cut_down_and_penalties(fluid):
    clip = fluid.clip.GradientClipByGlobalNorm(0.01)
    both = [trained(fluid, lambda: fluid.optimizer.SGD(0.5, grad_clip=clip), BATCHES, s)[1] for s in (True, False)]
    np.testing.assert_allclose(*both, rtol=1e-6)
    first, last, _ = trained(
        fluid, lambda: fluid.optimizer.SGD(1.0, regularization=fluid.regularizer.L2Decay(0.5)), [[1, 1]]
    )
    grad = (2 * first[1] + 1) / WIDTH + 0.5 * first[1]
    np.testing.assert_allclose(last[1], first[1] - grad, rtol=1e-5)
    # As in Fluid 1.5 to 1.8, the penalty is that of all rows.
    np.testing.assert_allclose(last[[0, 2, 3, 4, 5]], 0.5 * first[[0, 2, 3, 4, 5]], rtol=1e-6)
    for optimizer in ("SGD", "Adagrad", "Adam"):
        make = getattr(fluid.optimizer, optimizer)
        both = [
            trained(fluid, lambda make=make: make(0.1, regularization=fluid.regularizer.L2Decay(0.5)), BATCHES, s)[1]
            for s in (True, False)
        ]
        np.testing.assert_allclose(*both, rtol=1e-5, err_msg=optimizer)


def test_gradients_can_be_fetched_and_changed(fluid):
    with fluid.scope_guard(fluid.Scope()):
        ids = layers.data("ids", shape=[1], dtype="int64")
        found = layers.embedding(ids, [ROWS, WIDTH], is_sparse=True, param_attr="table")
        optimizer = fluid.optimizer.Adam(0.1, lazy_mode=True)
        pairs = optimizer.backward(layers.reduce_sum(found))
        doubled = [(var, layers.scale(grad, 2.0)) for var, grad in pairs]
        with pytest.raises(NotImplementedError, match="lazy_mode"):
            optimizer.apply_gradients(doubled)
        fluid.optimizer.SGD(1.0).apply_gradients(doubled)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        before = np.array(fluid.global_scope().find_var("table").get_tensor())
        (grad,) = exe.run(feed={"ids": np.array([[1], [1], [4]])}, fetch_list=["table@GRAD"])
        np.testing.assert_array_equal(grad[:, 0], [0, 2, 0, 0, 1, 0])
        after = np.array(fluid.global_scope().find_var("table").get_tensor())
        np.testing.assert_allclose(before - after, 2 * grad, rtol=1e-5)


def test_a_table_that_is_used_as_a_whole_too(fluid):
    def tied(found):
        table = fluid.default_main_program().global_block().var("table")
        return layers.mean(layers.matmul(found, table, transpose_y=True))

    both = [trained(fluid, lambda: fluid.optimizer.SGD(0.1), BATCHES, s, tied)[1] for s in (True, False)]
    np.testing.assert_allclose(*both, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="used as a whole"):
        trained(fluid, lambda: fluid.optimizer.Adam(0.1, lazy_mode=True), BATCHES, True, tied)


def test_lazy_mode_of_copies_is_refused(fluid):
    ids = layers.data("ids", shape=[1], dtype="int64")
    loss = layers.mean(layers.embedding(ids, [ROWS, WIDTH], is_sparse=True, param_attr="table"))
    copy = fluid.default_main_program().clone()
    with fluid.program_guard(copy), pytest.raises(NotImplementedError, match="is a copy"):
        fluid.optimizer.Adam(0.1, lazy_mode=True).minimize(copy.global_block().var(loss.name))


def test_line_by_line(fluid):
    with fluid.dygraph.guard():
        table = fluid.dygraph.Embedding([ROWS, WIDTH], is_sparse=True)
        adam = fluid.optimizer.Adam(0.1, lazy_mode=True, parameter_list=table.parameters())
        first = table.weight.numpy().copy()
        for batch in BATCHES:
            found = table(fluid.dygraph.to_variable(np.array(batch, "int64").reshape(-1, 1)))
            layers.mean(layers.square(found) + found).backward()
            adam.minimize(layers.mean(found))
            table.clear_gradients()
        np.testing.assert_allclose(table.weight.numpy(), lazy_adam(first, BATCHES, 0.1), rtol=2e-5)


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_several_lookups_of_one_table(fluid, name):
    def last(is_sparse):
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = 7
        with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard(), fluid.program_guard(main, startup):
            one, many = layers.data("one", shape=[1], dtype="int64"), fluid.data("many", [None, 2], "int64")
            words = layers.data("words", shape=[1], dtype="int64", lod_level=1)
            first = layers.embedding(one, [ROWS, WIDTH], is_sparse, padding_idx=-1, param_attr="table")
            second = fluid.embedding(many, [ROWS, WIDTH], is_sparse, param_attr="table")
            third = layers.sequence_pool(layers.embedding(words, [ROWS, WIDTH], is_sparse, param_attr="table"), "sum")
            loss = layers.mean(layers.square(first + layers.reduce_sum(second, dim=1) + third))
            getattr(fluid.optimizer, name)(0.1).minimize(loss)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            rows = fluid.create_lod_tensor(np.array([[0], [3], [3]]), [[2, 1]], fluid.CPUPlace())
            feed = {"one": np.array([[5], [1]]), "many": np.array([[0, 1], [1, 1]]), "words": rows}
            for _ in range(3):
                exe.run(main, feed=feed)
            return np.array(fluid.global_scope().find_var("table").get_tensor())

    rows, whole = last(True), last(False)
    np.testing.assert_allclose(rows, whole, rtol=1e-5)


def test_a_table_inside_of_a_block(fluid):
    """There its gradient is that of the whole table, with the same numbers."""

    def last(is_sparse, make):
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = 7
        with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard(), fluid.program_guard(main, startup):
            ids = layers.data("ids", shape=[4, 2], dtype="int64", append_batch_size=False)
            rnn = layers.StaticRNN()
            with rnn.step():
                now = rnn.step_input(ids)
                word = layers.embedding(layers.unsqueeze(now, [1]), [ROWS, WIDTH], is_sparse, param_attr="table")
                state = rnn.memory(shape=[-1, WIDTH], batch_ref=now)
                rnn.update_memory(state, layers.tanh(state + word))
                rnn.step_output(state)
            make().minimize(layers.mean(rnn()))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            exe.run(main, feed={"ids": np.array([[0, 1], [1, 1], [3, 0], [2, 2]])})
            return np.array(fluid.global_scope().find_var("table").get_tensor())

    both = [last(is_sparse, lambda: fluid.optimizer.SGD(0.5)) for is_sparse in (True, False)]
    np.testing.assert_array_equal(*both)
    with pytest.raises(NotImplementedError, match="inside of a block"):
        last(True, lambda: fluid.optimizer.Adam(0.5, lazy_mode=True))
