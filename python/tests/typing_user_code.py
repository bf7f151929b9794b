"""Code as users write it, which mypy (strict) and pyright check; the tests run it, too."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import fluvial as fl
from fluvial import nn


def tensors() -> fl.Tensor:
    x = fl.tensor([[1.0, 2.0], [3.0, 4.0]])
    y: fl.Tensor = 2 * x @ x.T + fl.ones((2, 2)) / np.float32(3) - 1
    y = fl.where(y > 0, y, 0.0)
    y = y[:, None, 0].reshape(-1).squeeze()
    total: float = fl.sum(y).item()
    rows: int = len(x)
    array: npt.NDArray[np.float32] = x.numpy()
    back = fl.from_numpy(array).astype("float64").cast(fl.float32)
    doubled = fl.concat([back, fl.from_dlpack(array)], axis=0)
    kind: fl.DType = doubled.dtype
    assert (kind.name, rows, doubled.ndim) == ("float32", 2, 2) and total > 0
    return y


def array_functions(x: fl.Tensor) -> tuple[fl.Tensor, ...]:
    first = fl.argmax(x)
    ordered = fl.sort(x, axis=-1)
    spread = fl.linspace(0.0, 1.0, 5)
    steps = fl.arange(5, dtype=fl.int64)
    joined = fl.stack([x, x])
    clipped = fl.clip(x, 0.0, 1.0)
    classes = fl.one_hot(steps, steps.shape[0])
    turned = fl.permute_dims(joined, (1, 0, 2))
    return first, ordered, spread, classes, clipped, turned, fl.zeros_like(x), fl.flip(x)


class Scale(nn.Layer):
    """A layer with a parameter and a buffer of its own."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.factor = nn.Parameter((size,), init=1.0)
        # What is assigned again says what it is: a tensor.
        self.calls: fl.Tensor = nn.Buffer((), "int64")

    def forward(self, x: fl.Tensor) -> fl.Tensor:
        self.calls = self.calls + 1
        return x * self.factor + fl.mean(self.factor)


class Net(nn.Layer):
    def __init__(self) -> None:
        super().__init__("net")
        self.features = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1))
        self.scale = Scale(8)
        self.head = nn.Linear(8, 3, weight_attr=fl.ParamAttr(initializer=fl.initializer.Normal()))

    def forward(self, x: fl.Tensor) -> fl.Tensor:
        hidden: fl.Tensor = self.scale(self.features(x))
        logits: fl.Tensor = self.head(hidden)
        return logits


@fl.function
def halved(x: fl.Tensor, limit: float = 1.0) -> tuple[fl.Tensor, int]:
    steps = 0
    while fl.sum(x) > limit:
        x = x / 2
        steps += 1
    return x, steps


@fl.function(log=False)
def positive(x: fl.Tensor) -> fl.Tensor:
    return x if fl.sum(x) > 0 else -x


class Trainer:
    def __init__(self, net: Net) -> None:
        self.net = net
        schedule = fl.optimizer.lr.cosine(100)
        self.optimizer = fl.optimizer.AdamW(
            [{"params": net.features, "weight_decay": 0.1}, {"params": net.head.parameters()}],
            1e-3,
            schedule=schedule,
            grad_clip=fl.clip.GradientClipByGlobalNorm(1.0),
        )

    @fl.function
    def step(self, x: fl.Tensor, y: fl.Tensor) -> fl.Tensor:
        loss = fl.cross_entropy(self.net(x), y)
        self.optimizer.minimize(loss)
        return loss


def training() -> list[float]:
    fl.seed(0)
    net = Net()
    trainer = Trainer(net)
    x, y = fl.normal("f32[6, 4]"), fl.tensor([0, 1, 2, 0, 1, 2])
    losses: list[float] = []
    with fl.mode("program"):
        losses.append(trainer.step(x, y).item())
    with fl.mode("imperative"):
        losses.append(trainer.step(x, y).item())
    state: dict[str, fl.Tensor] = net.state_dict()
    net.load_state_dict(state, strict=True)
    names = [parameter.name for parameter in net.parameters() if parameter.is_trainable]
    assert len(names) == 5
    with fl.no_grad():
        net.eval()(x)
    return losses


def gradients() -> fl.Tensor:
    x = fl.tensor([1.0, 2.0]).track()
    (first,) = fl.grad(fl.sum(x * x), [x], create_graph=True)
    fl.sum(first * x).backward()
    gradient: fl.Tensor = x.grad
    return gradient


@fl.no_grad()
def evaluated(net: Callable[[fl.Tensor], fl.Tensor], x: fl.Tensor) -> fl.Tensor:
    return net(x)


def programs() -> npt.NDArray[np.float32]:
    program: fl.Program = fl.build(lambda x: {"y": x * 2}, {"x": "f32[n]"})
    outputs: dict[str, fl.Tensor] = program.run(x=fl.tensor([1.0]))
    main, startup = fl.Program(), fl.Program()
    with fl.program_guard(main, startup):
        image = fl.data("image", (None, 4))
        out = fl.layers.fc(image, size=2, act="relu")
    executor = fl.Executor()
    executor.run(startup)
    (found,) = executor.run(main, feed={"image": np.ones((1, 4), np.float32)}, fetch_list=[out])
    A, B = fl.Variable("A"), fl.Variable("B")
    assert fl.compile(A * B + 1)(A=np.ones(2), B=np.ones(2)).shape == (2,)
    assert fl.cond(outputs["y"][0] > 0, lambda: outputs["y"], lambda: -outputs["y"]).shape == (1,)
    result: npt.NDArray[np.float32] = found
    return result


class Tanh(fl.PyLayer):
    @staticmethod
    def forward(inputs: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        return np.tanh(inputs[0])

    @staticmethod
    def backward(inputs: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        _, y, dy = inputs
        gradient: npt.NDArray[np.float32] = dy * (1 - np.square(y))
        return gradient


class Fluid(fl.imperative.Layer):
    def __init__(self) -> None:
        super().__init__()
        self._fc = fl.imperative.FC(3, fl.ParamAttr(initializer=fl.initializer.Constant(0.1)))

    def forward(self, x: fl.Tensor) -> fl.Tensor:
        return fl.layers.reduce_sum(self._fc(x))


def helpers() -> None:
    fl.testing.assert_close(fl.tensor([1.0]), [1.0], rtol=1e-3, atol=0.0)
    fl.testing.gradcheck(lambda x: fl.sin(x), fl.tensor([1.0]))
    with fl.summary.Writer(tempfile.mkdtemp()) as writer:
        writer.scalar("loss", 0.5, step=1)
    with fl.imperative.guard():
        assert Fluid()(fl.imperative.to_variable(np.ones((1, 2), np.float32))).item() > 0
    assert Tanh()(fl.tensor([0.0]))[0].item() == 0


def weights(path: str) -> nn.Layer:
    net = nn.Sequential(nn.Linear(4, 2), nn.Tanh())
    net.load_state_dict(fl.load_torch(path))
    return net


def names_of_others(x: fl.Tensor) -> fl.Tensor:
    """What PyTorch calls arguments and methods."""
    y = fl.softmax(x.view(-1, x.size(0)), dim=1).sum(dim=0, keepdim=True).clamp(min=0.0)
    y = fl.sum(fl.cat([y, y], dim=0), dim=0) + fl.mean(input=y, dim=0, keepdim=True).float()
    y.add_(1.0, alpha=2.0).mul_(3.0)
    return fl.relu(y, inplace=True).to(fl.float64).requires_grad_()


def mistakes(x: fl.Tensor) -> None:
    """Never called: each line is wrong, and the checkers say so."""
    x + "text"  # type: ignore[operator]
    fl.exp(x, 3)  # type: ignore[call-overload]
    fl.sum(x, axes=0)  # type: ignore[call-arg]
    halved("text")  # type: ignore[arg-type]
    Trainer(Net()).step(x)  # type: ignore[call-arg]
    nn.Linear("four", 3)  # type: ignore[call-overload]
    fl.no_such_function(x)  # type: ignore[attr-defined]
    fl.optimizer.SGD(x, momentum=0.9).minimise(x)  # type: ignore[attr-defined]


def main() -> None:
    with fl.State():
        assert tensors().shape == (2,)
        assert len(array_functions(fl.tensor([[3.0, 1.0]]))) == 8
        with fl.mode("program"):
            shrunk, steps = halved(fl.tensor([3.0]), limit=0.5)
        assert int(steps) == 3 and len(halved.programs) == 1
        assert positive(fl.tensor([-1.0])).item() == 1.0
        assert len(training()) == 2
        assert gradients().tolist() == [4.0, 8.0]
        assert evaluated(fl.exp, shrunk).shape == (1,)
        assert programs().shape == (1, 2)
        helpers()


if __name__ == "__main__":
    main()
