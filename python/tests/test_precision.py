"""Mixed precision: `fl.autocast` and `fl.GradScaler`, in both modes and in files.

`golden/transforms.json` has the element types that PyTorch's autocast gives on a CPU.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

TYPES = json.loads((Path(__file__).parent / "golden" / "transforms.json").read_text())["types"]
RNG = np.random.default_rng(0)
X = fl.tensor(RNG.normal(size=(4, 4)).astype("float32"))
V = fl.tensor(RNG.normal(size=(4, 4)).astype("float32"))
LABELS = fl.tensor([0, 1, 2, 3])


def _normal(*shape):
    return fl.tensor(np.random.default_rng(1).normal(size=shape).astype("float32"))


CASES = {
    "matmul": lambda y: X @ V,
    "linear": lambda y: fl.linear(X, V, fl.full((4,), 0.0)),
    "add": lambda y: X + V,
    "softmax": lambda y: fl.softmax(y, -1),
    "mse_loss": lambda y: fl.mse_loss(y, X),
    "cross_entropy": lambda y: fl.cross_entropy(y, LABELS),
    "conv2d": lambda y: fl.conv2d(_normal(1, 2, 5, 5), _normal(3, 2, 3, 3)),
    "cat": lambda y: fl.concat([y, X], 0),
    "layer_norm": lambda y: fl.layer_norm(y, 1),
    "gelu": lambda y: fl.gelu(y),
    "prod": lambda y: fl.prod(y),
    "l1_loss": lambda y: fl.l1_loss(y, X),
    "bce": lambda y: fl.binary_cross_entropy_with_logits(y, fl.sigmoid(X)),
    "einsum": lambda y: fl.einsum("ij,jk->ik", [X, V]),
    "sdpa": lambda y: fl.scaled_dot_product_attention(*[fl.unsqueeze(X, 0)] * 3),
    "sum": lambda y: fl.sum(y),
    "prelu": lambda y: fl.prelu(X, fl.tensor([0.25])),
    "inverse": lambda y: fl.linalg.inv(y + X * 0.01),
    "double": lambda y: X.astype("float64") @ V.astype("float64"),
    "kl_div": lambda y: fl.kl_div(y, fl.abs(X)),
    "conv_transpose2d": lambda y: fl.conv_transpose2d(_normal(1, 3, 5, 5), _normal(3, 2, 3, 3)),
    "exp": lambda y: fl.exp(y),
    "max_pool2d": lambda y: fl.max_pool2d(_normal(1, 2, 4, 4).astype("bfloat16"), 2),
    "mul_scalar": lambda y: y * 2.0,
    "bmm": lambda y: fl.matmul(fl.unsqueeze(X, 0), fl.unsqueeze(V, 0)),
    "nll_loss": lambda y: fl.nll_loss(y, LABELS),
    "smooth_l1": lambda y: fl.smooth_l1_loss(y, X),
    "huber": lambda y: fl.huber_loss(y, X),
    "trace": lambda y: fl.trace(y),
    "norm": lambda y: fl.norm(y),
    "dot": lambda y: fl.dot(X[0], X[1]),
    "vecdot": lambda y: fl.vecdot(X, V),
    "mv": lambda y: X @ X[0],
    "cumsum": lambda y: fl.cumsum(y, 0),
    "outer": lambda y: fl.outer(X[0], X[1]),
    "tensordot": lambda y: fl.tensordot(X, V, 1),
    "lstm": lambda y: fl.nn.LSTM(4, 4)(fl.unsqueeze(X, 0))[0],
    "embedding": lambda y: fl.embedding(fl.tensor([0, 1]), X),
}


def test_all_types_are_compared():
    assert set(CASES) == set(TYPES)


@pytest.mark.parametrize("name", CASES)
def test_types_are_pytorchs(name):
    with fl.autocast("bf16"):
        found = CASES[name](X @ V)
    assert found.dtype.name == TYPES[name]


def _step(net, x, target):
    with fl.autocast("bf16"):
        y = net(x)
        loss = fl.mse_loss(y, target)
    return loss, y, fl.grad(loss, net.parameters())


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_both_modes_have_the_same_bits(where):
    fl.seed(0)
    net = fl.nn.Sequential(fl.nn.Linear(4, 8), fl.nn.LayerNorm(8), fl.nn.GELU(), fl.nn.Linear(8, 2))
    target = _normal(4, 2)
    lines = _step(net, X, target)
    if where == "inside":
        program = fl.function(lambda x, t: _step(net, x, t))(X, target)
    else:

        @fl.function
        def built(x, t):
            y = net(x)
            loss = fl.mse_loss(y, t)
            return loss, y, fl.grad(loss, net.parameters())

        assert built(X, target)[1].dtype == fl.float32
        with fl.autocast("bf16"):
            program = built(X, target)
        assert built(X, target)[1].dtype == fl.float32
        assert len(built.programs) == 2
    assert lines[1].dtype == program[1].dtype == fl.bfloat16
    assert lines[0].item() == program[0].item()
    for a, b in zip(lines[2], program[2]):
        assert a.dtype == fl.float32 and (a.numpy() == b.numpy()).all()


def test_files_have_the_casts(tmp_path):
    net = fl.nn.Linear(4, 2)
    with fl.autocast("bf16"):
        program = fl.build(net, {"x": "f32[n, 4]"})
        expected = net(X)
    assert "cast" in program.text() and "bf16" in program.text()
    program.save(tmp_path / "net.flb")
    found = fl.Program.load(tmp_path / "net.flb")(X)
    assert found.dtype == fl.bfloat16
    assert found.astype("float32").tolist() == expected.astype("float32").tolist()


def test_scopes_nest():
    with fl.autocast("f16"):
        assert (X @ V).dtype == fl.float16
        with fl.autocast(enabled=False):
            assert (X @ V).dtype == fl.float32
            with fl.autocast("bf16"):
                assert (X @ V).dtype == fl.bfloat16
        assert (X @ V).dtype == fl.float16
    assert (X @ V).dtype == fl.float32
    with pytest.raises(ZeroDivisionError), fl.autocast():
        1 / 0
    assert (X @ V).dtype == fl.float32
    with fl.autocast("cpu", dtype=fl.bfloat16):
        assert (X @ V).dtype == fl.bfloat16


def test_decorator_and_refusals():
    @fl.autocast("bf16")
    def product(x):
        return x @ x

    assert product(X).dtype == fl.function(product)(X).dtype == fl.bfloat16
    with pytest.raises(TypeError, match="saves nothing"), fl.autocast("float32"):
        pass
    with pytest.raises(ValueError, match="two types"):
        fl.autocast("bf16", "f16")


def test_gradients_in_and_out_of_the_scope_are_the_same():
    net = fl.nn.Linear(4, 3)
    with fl.autocast("bf16"):
        inside = fl.grad(fl.mse_loss(net(X), _normal(4, 3)), net.parameters())
        loss = fl.mse_loss(net(X), _normal(4, 3))
    outside = fl.grad(loss, net.parameters())
    for a, b in zip(inside, outside):
        assert (a.numpy() == b.numpy()).all()


def test_a_parameter_is_cast_once_and_gradients_add_up_in_its_type():
    weight = fl.nn.Parameter((4, 4), init=fl.initializer.Constant(0.3))

    def run(x):
        with fl.autocast("bf16"):
            for _ in range(3):
                x = x @ weight
            return fl.sum(x.astype("float32"))

    casts = [row for row in fl.debug.trace(run, X).rows if row.op == "cast" and row.inputs == ("f32[4, 4]",)]
    # The input and the weight, and not the weight once more for each use; the result is cast back.
    assert len(casts) == 2
    lines = fl.grad(run(X), weight)
    program = fl.function(lambda x: fl.grad(run(x), weight))(X)
    assert (lines.numpy() == program.numpy()).all()
    with fl.no_grad(), fl.autocast("bf16"):
        _ = X @ weight
        with fl.enable_grad():
            assert fl.sum((X @ weight).astype("float32")).is_tracked
    weight.set(weight.detach() * 2)
    with fl.autocast("bf16"):
        assert (X @ weight).astype("float32").tolist() == (X.astype("bfloat16") @ weight.astype("bfloat16")).astype("float32").tolist()


def test_with_transforms():
    net = fl.nn.Linear(4, 2)
    params = {name: value.detach() for name, value in net.named_parameters()}

    def loss(p, x):
        with fl.autocast("bf16"):
            return fl.mse_loss(fl.functional_call(net, p, x), fl.full((2,), 1.0))

    found = fl.vmap(fl.grad(loss), (None, 0))(params, X)
    assert found["weight"].dtype == fl.float32 and found["weight"].shape == (4, 2, 4)
    for i in range(4):
        np.testing.assert_allclose(found["weight"].numpy()[i], fl.grad(loss)(params, X[i])["weight"].numpy(), rtol=1e-2)

    def again(x):
        with fl.autocast("bf16"):
            return fl.sum(fl.checkpoint(net, x).astype("float32"))

    def plain(x):
        with fl.autocast("bf16"):
            return fl.sum(net(x).astype("float32"))

    for make in (lambda f: f, fl.function):
        a, b = make(fl.grad(again))(X), make(fl.grad(plain))(X)
        assert (a.numpy() == b.numpy()).all()


# GradScaler.


def _train(mode, steps, spoiled=(), **options):
    fl.seed(3)
    net = fl.nn.Linear(4, 1)
    optimizer = fl.optimizer.Adam(net.parameters(), 0.1)
    scaler = fl.GradScaler(**options)

    def step(x, target):
        optimizer.zero_grad()
        with fl.autocast("f16"):
            loss = fl.mse_loss(net(x), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    run = fl.function(step) if mode == "function" else step
    seen = []
    for i in range(steps):
        x = X * 1e30 if i in spoiled else X
        run(x, fl.full((4, 1), 1.0))
        seen.append((scaler.get_scale(), net.weight.tolist()))
    return seen, scaler, optimizer


@pytest.mark.parametrize("mode", ["lines", "function"])
def test_steps_with_infinite_gradients_are_left_out(mode):
    seen, scaler, optimizer = _train(mode, 6, spoiled=(2,), init_scale=256.0, growth_interval=2)
    assert [scale for scale, _ in seen] == [256.0, 512.0, 256.0, 256.0, 512.0, 512.0]
    weights = [weight for _, weight in seen]
    assert weights[2] == weights[1] and weights[3] != weights[2]
    assert optimizer.state_dict()["adam.step"].item() == 5
    assert scaler.state_dict()["_growth_tracker"] == 1


def test_a_step_in_a_program_and_the_update_outside():
    net = fl.nn.Linear(4, 1)
    optimizer, scaler = fl.optimizer.SGD(net.parameters(), 0.1), fl.GradScaler(growth_interval=2, init_scale=8.0)

    @fl.function
    def step(x):
        optimizer.zero_grad()
        scaler.scale(fl.sum(net(x))).backward()
        scaler.step(optimizer)

    for _ in range(4):
        step(X)
        scaler.update()
    assert scaler.get_scale() == 32.0
    with pytest.raises(RuntimeError, match="no gradients were looked at"):
        scaler.update()


def test_both_modes_of_a_scaler_have_the_same_bits():
    assert _train("lines", 5, (1,))[0] == _train("function", 5, (1,))[0]


def test_a_scaler_is_saved_and_loaded():
    _, scaler, _ = _train("lines", 3, init_scale=128.0, growth_interval=2)
    other = fl.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(KeyError, match="lacks"):
        other.load_state_dict({"scale": 1.0})


def test_unscaled_gradients_can_be_clipped():
    net = fl.nn.Linear(4, 1)
    optimizer, scaler = fl.optimizer.SGD(net.parameters(), 1.0), fl.GradScaler(init_scale=1024.0)
    scaler.scale(fl.sum(net(X))).backward()
    scaler.unscale_(optimizer)
    np.testing.assert_allclose(net.weight.grad.numpy(), X.numpy().sum(0, keepdims=True), rtol=1e-5)
    with pytest.raises(RuntimeError, match="divided already"):
        scaler.unscale_(optimizer)
    net.weight.grad = net.weight.grad * 0.0
    before = net.weight.tolist()
    scaler.step(optimizer)
    scaler.update()
    assert net.weight.tolist() == before
    with pytest.raises(RuntimeError, match="no gradients were looked at"):
        scaler.update()


def test_a_scaler_that_is_off():
    net = fl.nn.Linear(4, 1)
    optimizer, scaler = fl.optimizer.SGD(net.parameters(), 1.0), fl.GradScaler(enabled=False)
    loss = fl.sum(net(X))
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    loss.backward()
    before = net.weight.tolist()
    scaler.step(optimizer)
    scaler.update()
    assert net.weight.tolist() != before
    with pytest.raises(ValueError, match="backs off"):
        fl.GradScaler(backoff_factor=2.0)
