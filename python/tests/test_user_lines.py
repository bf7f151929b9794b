"""Errors of the package's own Python code: the user's line first, then what, then the remedy."""

import re

import numpy as np
import pytest

import fluvial as fl


def two_variables():
    return fl.compile([fl.Variable("A") + 1, fl.Variable("A") + 2])


def program_without_outputs():
    with fl.building() as b:
        x = b.input("x", "f32[2]")
        b.output("y", x)
        b.output("y", x)


def finished_program():
    program = fl.build(lambda x: {"y": x}, {"x": "f32[2]"})
    fl.Executor().run(program, {"x": np.ones(2, np.float32)}, [fl.tensor(1.0)])


def loop_without_update():
    loop = fl.layers.While(fl.tensor(True), [fl.tensor(1.0)])
    with loop.block():
        pass


def loop_with_other_values():
    loop = fl.layers.While(fl.tensor(True), [fl.tensor(1.0)])
    with loop.block():
        loop.update(fl.tensor(False))


def uneven_branches():
    branches = fl.layers.IfElse(fl.tensor([[True], [False]]))
    with branches.true_block():
        branches.output(branches.input(fl.tensor([[1.0], [2.0]])))
    with branches.false_block():
        pass
    return branches()


CASES = [
    (lambda: fl.set_mode("fast"), 'no mode "fast"', 'use "imperative"'),
    (lambda: fl.mode("fast"), 'no mode "fast"', 'use "imperative"'),
    (lambda: fl.data("x", (1,)), "`x` belongs to no program", "set_mode"),
    (lambda: bool(fl.Variable("A") > 0), "not known before it is fed", "fl.function"),
    (lambda: fl.Variable("A").save("x.fl"), "nothing is known of the variable `A`", "a shape"),
    (lambda: fl.compile(fl.Variable("A") + 1)(B=1), "`A` was not fed", "feed A"),
    (two_variables, "two variables are named `A`", "rename"),
    (program_without_outputs, "two outputs are named `y`", "rename"),
    (lambda: fl.compile("program"), "what is compiled is a program", "fl.build"),
    (finished_program, "outputs with names", "fetch by name: y"),
    (lambda: fl.layers.while_loop(None, None, []), "loop variables", "at least one"),
    (lambda: fl.layers.case([]), "needs a condition", "at least one pair"),
    (loop_without_update, "ends with `update`", "next condition"),
    (loop_with_other_values, "carries 1 values, not 0", "one value for each"),
    (lambda: fl.layers.While(fl.tensor(True)).output(), "no block yet", "loop.block"),
    (lambda: fl.layers.IfElse(fl.tensor([[True]])).output(), "no block of this", "true_block"),
    (uneven_branches, "one block gives 1 outputs and the other 0", "in both"),
    (lambda: fl.regularizer.Regularizer().add_to(None, None), "no `add_to`", "def add_to(self, "),
    (lambda: fl.clip.GradientClip(1.0)([]), "no `__call__`", "def __call__(self, gradients):"),
    (lambda: fl.initializer.Initializer()((1,), "f32"), "`Initializer` has no", "(self, shape, dt"),
    (lambda: fl.PyLayer.backward([]), "needs a `backward`", "static method"),
    (lambda: fl.layers.StaticRNN()(), "no step yet", "rnn.step"),
    (lambda: fl.layers.StaticRNN().update_memory(None, None), "not memory", "`memory`"),
]


@pytest.mark.parametrize("call, what, remedy", CASES, ids=[what for _, what, _ in CASES])
def test_user_line_first(call, what, remedy):
    with fl.mode("imperative"), pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        call()
    first, second = str(caught.value).split("\n")
    place, number, rest = re.fullmatch(r"(.*?):(\d+): (.*)", first).groups()
    assert place == __file__ and what in rest
    assert second.startswith("  remedy: ") and remedy in second
    first_line = call.__code__.co_firstlineno
    assert first_line <= int(number) <= first_line + 8


def test_where_takes_a_python_bool():
    x = fl.tensor([1.0, -1.0])
    for condition in (True, False):
        assert fl.where(condition, x, 2.0).tolist() == (x.tolist() if condition else [2.0, 2.0])
        program = fl.build(lambda x, c=condition: fl.where(c, x, 2.0), {"x": "f32[n]"})
        assert program(x).tolist() == fl.where(condition, x, 2.0).tolist()
    assert fl.where(condition=x > 0, a=x, b=0.0).tolist() == [1.0, 0.0]


def test_reversed():
    x = fl.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert [row.tolist() for row in reversed(x)] == x.tolist()[::-1]
    with pytest.raises(TypeError):
        reversed(fl.tensor(1.0))
    program = fl.build(lambda x: fl.stack(list(reversed(x)), 0), {"x": "f32[3, 2]"})
    assert program(x).tolist() == x.tolist()[::-1]
