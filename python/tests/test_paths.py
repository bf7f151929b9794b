"""Functions that cannot be one program for all their paths get a program for each path."""

import pytest

import fluvial as fl


def shown(value):
    """A result with lists in the place of tensors."""
    if isinstance(value, fl.Tensor):
        return value.type_text, value.tolist()
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    return [shown(part) for part in value] if isinstance(value, (list, tuple)) else value


def paths_of(function, calls, **options):
    """What calls give in both modes, and the function of the program."""
    found = []
    for mode in ("imperative", "program"):
        with fl.mode(mode):
            f = fl.function(function, **options)
            found.append([shown(f(*(fl.tensor(x) for x in given))) for given in calls])
    assert found[0] == found[1]
    return f


def test_each_path_is_built_once_and_the_reasons_are_told(caplog):
    def f(x):
        found = {}
        if fl.sum(x) > 0:
            found["sum"] = fl.sum(x)
        for row in x:
            if row > 1:
                found[len(found)] = row
        return found

    calls = [[[1.0, 2.0]], [[-1.0, -2.0]], [[3.0, -9.0]], [[1.0, 2.0]], [[-1.0, -2.0]], [[3.0, -9.0]]]
    function = paths_of(f, calls)
    assert len(function.builds) == 3 and all("came out otherwise" in why for why in function.builds[1:])
    assert "a program for each path" in caplog.text
    with pytest.raises(TypeError, match="only the run knows whether"):
        paths_of(f, calls[:1], whole=True)


def test_statements_that_need_not_be_decided_stay_in_the_program():
    def f(x):
        found = {}
        if fl.sum(x) > 0:
            found["sum"] = fl.sum(x)
        while fl.sum(x) < 100.0:
            x = x + 1.0
        return found, x

    function = paths_of(f, [[[float(k)]] for k in range(-20, 30)])
    assert len(function.builds) == 2


def test_a_path_that_reads_states_and_random_numbers_changes_nothing_before_it_runs():
    def outcome(mode):
        with fl.State() as state, fl.mode(mode):
            fl.seed(3)
            counter = fl.nn.Parameter(fl.tensor(0.0))
            said = []

            @fl.function
            def f(x):
                counter.set(counter + 1.0)
                noise = fl.uniform("f32[2]")
                print("once")
                if counter > 2.0:
                    said.append("late")
                if fl.sum(noise) > 1.0:
                    said.append(len(said))
                return x + noise

            results = [f(fl.tensor([1.0, 2.0])).tolist() for _ in range(6)]
            return results, said, counter.item(), [state[name].tolist() for name in sorted(state.names())]

    assert outcome("program") == outcome("imperative")


def test_a_test_that_fails_inside_of_try_is_no_path():
    def f(x, i):
        found = {}
        try:
            if x[i] > 0:
                found["a"] = x
        except IndexError:
            found["b"] = x
        return found

    function = fl.function(f)
    near, far, x = fl.tensor(0), fl.tensor(7), fl.tensor([1.0, 2.0])
    assert list(function(x, near)) == ["a"]
    for _ in range(2):
        try:
            assert list(function(x, far)) == ["b"]
        except TypeError as error:
            assert "only the run knows" in str(error) or "`try`" in str(error)
        assert list(function(x, near)) == ["a"]
    assert list(function(-x, near)) == []
