"""Arguments whose memory a compiled function may use for its results."""

import numpy as np
import pytest

import fluvial as fl

N = 4096


def address(tensor):
    return tensor.numpy().__array_interface__["data"][0]


def made(number):
    return fl.tensor(np.full(N, number, np.float32))


@fl.function(donate=["x"])
def step(x, y):
    return x * y + 1


def test_the_memory_of_the_argument_is_the_results():
    x, y = made(2.0), made(3.0)
    place = address(x)
    z = step(x, y)
    assert z.numpy()[0] == 7.0 and address(z) == place
    # Called again, by the short way, and in a chain.
    for _ in range(3):
        z = step(z, y)
    assert address(z) == place and y.numpy()[0] == 3.0


def test_the_argument_has_no_value_afterwards():
    x, y = made(2.0), made(3.0)
    step(x, y)
    for use in (lambda: x + 1, x.numpy, lambda: step(x, y), lambda: fl.sum(x)):
        with pytest.raises(ValueError, match="given away"):
            use()
    assert y.numpy()[0] == 3.0


def test_what_others_hold_is_left_alone():
    x, y = made(2.0), made(3.0)
    other, view, array = x + 0, x[1:], x.numpy()
    z = step(x, y)
    assert z.numpy()[0] == 7.0
    assert other.numpy()[0] == view.numpy()[0] == array[0] == 2.0
    same = made(2.0)
    assert step(same, same).numpy()[0] == 5.0
    with fl.State() as state:
        state.insert("w", made(5.0))
        step(state["w"], y)
        assert state["w"].numpy()[0] == 5.0


def test_only_the_named_arguments():
    second = fl.function(lambda x, y: x * y + 1, donate="y")
    x, y = made(2.0), made(3.0)
    place = address(y)
    z = second(x, y)
    assert address(z) == place and x.numpy()[0] == 2.0
    with pytest.raises(ValueError, match="given away"):
        y + 1


def test_arguments_with_structure():
    @fl.function(donate=["state"])
    def advance(x, state, scale=2.0):
        return {name: value * scale + x for name, value in state.items()}

    state = {"a": made(1.0), "b": made(2.0)}
    places = {name: address(value) for name, value in state.items()}
    x = made(1.0)
    found = advance(x, state)
    assert {name: address(value) for name, value in found.items()} == places
    assert found["b"].numpy()[0] == 5.0 and x.numpy()[0] == 1.0
    with pytest.raises(ValueError, match="given away"):
        state["a"] + 1


def test_nothing_is_taken_where_gradients_are_recorded_or_line_by_line():
    x, y = made(2.0).track(), made(3.0)
    fl.sum(step(x, y)).backward()
    assert x.grad.numpy()[0] == 3.0 and x.numpy()[0] == 2.0
    plain = made(2.0)
    with fl.mode("imperative"):
        step(plain, y)
    assert plain.numpy()[0] == 2.0


def test_parameters_keep_their_gradients():
    @fl.function(donate=["x"])
    def scaled(x):
        return fl.sum(x * fl.parameter("w", (N,), init=2.0))

    with fl.State() as state:
        scaled(made(3.0)).backward()
        assert state["w"].grad.numpy()[0] == 3.0


def test_unknown_names():
    with pytest.raises(TypeError, match="no argument `z` to donate"):
        fl.function(lambda x: x, donate=["z"])(made(1.0))
    program = fl.build(lambda x: x * 2, {"x": "f32[n]"})
    with pytest.raises(ValueError, match="its inputs are: x"):
        fl.compile(program, donate=["z"])


def test_compiled_programs():
    program = fl.build(lambda x, y: x * y + 1, {"x": "f32[n]", "y": "f32[n]"})
    compiled = fl.compile(program, donate=["y"])
    x, y = made(2.0), made(3.0)
    place = address(y)
    assert address(compiled(y=y, x=x)) == place
    assert x.numpy()[0] == 2.0
    with pytest.raises(ValueError, match="given away"):
        y + 1
    everything = fl.compile(program, donate=True)
    everything(x, made(3.0))
    with pytest.raises(ValueError, match="given away"):
        x + 1
