"""What goes wrong before an op is reached is told with the user's line, the arguments and a remedy."""

import copy
import pickle

import pytest

import fluvial as fl

X = fl.tensor([1.0, 2.0])
MODES = ["imperative", "program"]


def told(f, kind, match, mode):
    """Runs a function of `X`; checks the error's text and attributes."""
    with fl.mode(mode), pytest.raises(kind, match=match) as caught:
        fl.function(f)(X)
    error = caught.value
    assert str(error).startswith(error.line + ": ") and "test_argument_errors.py:" in error.line
    assert error.remedy and f"\n  remedy: {error.remedy}" in str(error)
    return error


CASES = [
    (lambda x: x.sum(dims=0), "`sum` has no argument `dims`\n  remedy: "),
    (lambda x: x.sum(axis=0, dim=0), "`dim` is another name of `axis`, which is given, too\n  remedy: give `sum` one"),
    (lambda x: fl.sum(x, 0, dim=0), "`dim` is another name of `axis`, which is given, too\n  remedy: give `sum` one"),
    (lambda x: fl.mean(x, keepdim=True, keepdims=True), "`keepdim` is another name of `keepdims`"),
    (lambda x: fl.softmax(x, dim=0, axis=0), "`dim` is another name of `axis`, which is given, too"),
    (lambda x: fl.softmax(x, 0, dim=0), "`axis` is given twice, by place and by name"),
    (lambda x: fl.concat([x, x], axis=-1, dim=0), "`dim` is another name of `axis`"),
    (lambda x: fl.leaky_relu(x, sloppe=0.1), "`leaky_relu` has no argument `sloppe`\n  remedy: write `slope`"),
    (lambda x: fl.permute(x, 0), r"`axes` of `permute` is the int 0, not Sequence\[int\]"),
    (lambda x: fl.adaptive_avg_pool1d(x, "ab"), "`sizes` of `adaptive_avg_pool1d` is the str 'ab'"),
    (lambda x: fl.cumsum(x, axis="x"), "`axis` of `cumsum` is the str 'x', not int"),
    (lambda x: fl.sum(x, axis="x"), "`axis` of `sum` is the str 'x'"),
    (lambda x: fl.exp("one"), "`x` of `exp` is the str 'one', .*\n  remedy: make a tensor of it with `fl.tensor`"),
    (lambda x: fl.exp(), "`exp` needs the argument `x`"),
    (lambda x: fl.matmul(x), "`matmul` needs the argument `b`"),
    (lambda x: fl.exp(x, 1, 2), "`exp` takes 1 arguments by place, not 3"),
    (lambda x: fl.relu(x, x=x), "`x` is given twice"),
    (lambda x: fl.cast(x, "flaot"), 'there is no element type "flaot"'),
    (lambda x: x.astype(3), "3 is not an element type"),
    (lambda x: x[object()], "an index of a tensor cannot be of type `object`"),
    (lambda x: fl.dropout(x, "much"), "`p` of `dropout` is the str 'much', not float"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f, match", CASES)
def test_arguments(f, match, mode):
    told(f, TypeError, match, mode)


ATTRIBUTES = [
    (lambda x: x.summ(), "`Tensor` has no attribute `summ`\n  remedy: is it `sum`?"),
    (lambda x: x.cuda(), r"`Tensor` has no attribute `cuda`\n  remedy: write `x: there is one device"),
    (lambda x: fl.nn.Linear(2, 1).wieght, "`Linear` has no attribute `wieght`\n  remedy: is it `weight`?"),
    (lambda x: fl.nn.Linear(2, 1).cuda(), "`Linear` has no attribute `cuda`\n  remedy: write `the layer itself"),
    (lambda x: fl.optimizer.SGD().stepp(), "`SGD` has no attribute `stepp`\n  remedy: is it `step`?"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f, match", ATTRIBUTES)
def test_attributes(f, match, mode):
    told(f, AttributeError, match, mode)


def test_names_that_remedies_speak_of_are_there():
    assert hasattr(fl.Tensor, "reshape") and hasattr(fl.Tensor, "astype") and hasattr(fl.Tensor, "clip")
    assert callable(fl.nn.Layer.sublayers) and callable(fl.nn.Layer.named_sublayers)
    assert callable(fl.optimizer.SGD().learning_rate) and callable(fl.expand_dims)


def test_arguments_of_functions():
    with pytest.raises(TypeError, match=r"test_argument_errors.py:\d+: .*too many positional arguments\n  remedy: its arg"):
        fl.function(lambda x: x)(X, X)


def test_the_op_is_named():
    error = told(lambda x: fl.exp("one"), TypeError, "exp", "imperative")
    assert error.op == "exp" and error.kind == "argument"


def test_what_a_function_of_the_users_raises_stays_as_it_is():
    def broken(*_):
        raise TypeError("mine")

    with pytest.raises(TypeError, match="^mine$"):
        fl.while_loop(broken, broken, X)


@pytest.mark.parametrize("are_variables_used", [False, True])
def test_functions_are_what_they_were(are_variables_used):
    if are_variables_used:
        fl.Variable("v")
    assert pickle.loads(pickle.dumps(fl.exp)) is fl.exp and copy.deepcopy(fl.exp) is fl.exp
    assert fl.exp.__name__ == "exp" and fl.exp.__text_signature__ == "(x)" and fl.exp.__doc__
    assert fl.leaky_relu.__text_signature__ == "(x, slope=0.01)"
    assert not hasattr(X, "_no_such_protocol") and getattr(X, "no_such", 3) == 3


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: fl.bincount(fl.tensor([1]), minlength=-1), "`minlength` of `bincount` is the int -1, and must not be negative"),
        (lambda: fl.chunk(fl.ones(3), 2**70, 0), "`count` of `chunk` is the int 1180591620717411303424, and is beyond 64 bits"),
    ],
)
def test_ints_that_are_no_sizes(call, says):
    with pytest.raises(OverflowError) as caught:
        call()
    assert says in str(caught.value) and "remedy: " in str(caught.value)
