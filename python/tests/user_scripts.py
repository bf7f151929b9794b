"""Scripts that everybody writes, as a PyTorch user writes them; each gives its losses.

`T` is PyTorch or Fluvial: `T.Module`, `T.nn`, `T.optim`, `T.compiled` (a decorator), `T.clip_grad_norm_`, `T.load`
(a file of PyTorch), `T.load_file` (one of safetensors), and the functions.
`bench/peers/scripts_golden.py` runs them with PyTorch and writes `golden/scripts.json`; `test_scripts.py`
runs them here, line by line and compiled, and compares.
"""

import copy
import math
from pathlib import Path

import numpy as np

FILES = Path(__file__).parent / "torch_files"


def numbers(*shape, at=0.0):
    """Numbers without a pattern that would make anything zero."""
    n = math.prod(shape)
    return np.sin(np.arange(n) * 0.73 + at).astype(np.float32).reshape(shape)


def fill(T, net, at=0.0):
    for i, p in enumerate(net.parameters()):
        p.data = T.tensor(0.4 * numbers(*p.shape, at=i + at))
    return net


def mlp(T, *widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [T.nn.Linear(inputs, outputs), T.nn.Tanh()]
    return T.nn.Sequential(*layers[:-1])


def mse(a, b):
    return ((a - b) ** 2).mean()


def tied_gpt(T):
    """A decoder with tied weights, groups of parameters, clipping, and a falling rate."""

    class Block(T.Module):
        def __init__(self, width):
            super().__init__()
            self.norm1, self.norm2 = T.nn.LayerNorm(width), T.nn.LayerNorm(width)
            self.qkv, self.out = T.nn.Linear(width, 3 * width), T.nn.Linear(width, width)
            self.up, self.down = T.nn.Linear(width, 2 * width), T.nn.Linear(2 * width, width)

        def forward(self, x):
            width, length = x.shape[-1], x.shape[-2]
            qkv = self.qkv(self.norm1(x))
            q, k, v = qkv[..., :width], qkv[..., width : 2 * width], qkv[..., 2 * width :]
            mask = T.tensor(np.triu(np.full((length, length), -1e9, np.float32), 1))
            weights = T.softmax(T.matmul(q, k.mT) / math.sqrt(width) + mask, -1)
            x = x + self.out(T.matmul(weights, v))
            return x + self.down(T.relu(self.up(self.norm2(x))))

    class GPT(T.Module):
        def __init__(self, words, width, length):
            super().__init__()
            self.tokens = T.nn.Embedding(words, width)
            self.places = T.nn.Parameter(T.tensor(np.zeros((length, width), np.float32)))
            self.blocks = T.nn.Sequential(Block(width), Block(width))
            self.head = T.nn.Linear(width, words, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, ids):
            return self.head(self.blocks(self.tokens(ids) + self.places))

    net = fill(T, GPT(11, 8, 6))
    decayed = [p for p in net.parameters() if len(p.shape) > 1]
    others = [p for p in net.parameters() if len(p.shape) < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = T.optim.AdamW(groups, lr=0.01)
    ids = T.tensor(np.arange(24).reshape(4, 6) * 5 % 11)
    targets = T.tensor(np.arange(24).reshape(24) * 7 % 11)

    @T.compiled
    def step(ids, targets):
        optimizer.zero_grad()
        loss = T.nn.CrossEntropyLoss()(net(ids).reshape(24, 11), targets)
        loss.backward()
        T.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss

    losses = []
    for _ in range(6):
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0.9
        losses.append(step(ids, targets).item())
    assert len(list(net.parameters())) == len({id(p) for p in net.parameters()})
    return losses


def new_head(T):
    """A network whose first part stays as it is, and whose head is another one."""
    net = T.nn.Sequential(
        T.nn.Conv2d(1, 4, 3, padding=1), T.nn.BatchNorm2d(4), T.nn.ReLU(), T.nn.MaxPool2d(2),
        T.nn.Flatten(), T.nn.Linear(16, 10),
    )  # fmt: skip
    fill(T, net)
    saved = net.state_dict()
    again = copy.deepcopy(fill(T, net, 9.0))
    again.load_state_dict(saved)
    net.load_state_dict(saved)
    for p in net.parameters():
        p.requires_grad = False
    net[5] = fill(T, T.nn.Linear(16, 3), 2.0)
    optimizer = T.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    x, y = T.tensor(numbers(5, 1, 4, 4)), T.tensor(np.arange(5) % 3)
    before = net[0].weight.detach().numpy().copy()

    @T.compiled
    def step(x, y):
        loss = T.nn.CrossEntropyLoss()(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(x, y).item() for _ in range(5)]
    assert np.array_equal(net[0].weight.detach().numpy(), before)
    net[0].weight.requires_grad = True
    optimizer.add_param_group({"params": [net[0].weight], "lr": 0.05})
    losses += [step(x, y).item() for _ in range(4)]
    assert not np.array_equal(net[0].weight.detach().numpy(), before)
    return losses + [float(net[1].running_mean.detach().numpy().sum())]


def fine_tuning(T):
    """Weights from a file of PyTorch and from one of safetensors under a new head; first the head is trained, then all."""

    class Net(T.Module):
        def __init__(self):
            super().__init__()
            self.body = T.nn.Sequential(T.nn.Linear(4, 2), T.nn.Tanh())
            self.head = T.nn.Linear(2, 3)

        def forward(self, x):
            return self.head(self.body(x))

    x, y = T.tensor(numbers(6, 4)), T.tensor(np.arange(6) % 3)
    losses = []
    for weights in (T.load(FILES / "linear.pt"), T.load_file(FILES / "linear.safetensors")):
        net = fill(T, Net())
        weights = {f"body.{key}": value for key, value in weights.items()}
        missing, unexpected = net.load_state_dict(weights, strict=False)
        assert list(missing) == ["head.weight", "head.bias"] and not list(unexpected)
        for p in net.body.parameters():
            p.requires_grad = False
        optimizer = T.optim.SGD(net.head.parameters(), lr=0.2, momentum=0.9)
        criterion = T.nn.CrossEntropyLoss()

        @T.compiled
        def step(x, y):
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        losses += [step(x, y).item() for _ in range(4)]
        kept = net.body[0].weight.detach().numpy().copy()
        assert np.array_equal(kept, weights["body.0.weight"].numpy())
        for p in net.body.parameters():
            p.requires_grad = True
        optimizer.add_param_group({"params": net.body.parameters(), "lr": 0.05})
        losses += [step(x, y).item() for _ in range(4)]
        assert not np.array_equal(net.body[0].weight.detach().numpy(), kept)
    return losses


def dqn(T):
    """A value network, and a target that follows it every third step."""
    online = fill(T, mlp(T, 4, 8, 3))
    target = copy.deepcopy(online)
    optimizer = T.optim.Adam(online.parameters(), lr=0.05)
    states, following = T.tensor(numbers(6, 4)), T.tensor(numbers(6, 4, at=1.0))
    chosen = T.tensor(np.eye(3, dtype=np.float32)[np.arange(6) % 3])
    rewards = T.tensor(numbers(6, at=2.0))

    @T.compiled
    def step(states, following, chosen, rewards):
        with T.no_grad():
            best = T.amax(target(following), 1)
            wanted = rewards + 0.9 * best
        loss = mse((online(states) * chosen).sum(1), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for i in range(9):
        losses.append(step(states, following, chosen, rewards).item())
        if i % 3 == 2:
            target.load_state_dict(online.state_dict())
    return losses


def ensemble(T):
    """Several models of one class, each with its optimizer, and their mean."""
    nets = [fill(T, mlp(T, 3, 5, 1), at=k) for k in range(3)]
    optimizers = [T.optim.Adam(net.parameters(), lr=rate) for net, rate in zip(nets, (0.1, 0.01, 0.001))]
    x, y = T.tensor(numbers(7, 3)), T.tensor(numbers(7, 1, at=3.0))
    losses = []
    for net, optimizer in zip(nets, optimizers):

        @T.compiled
        def step(x, y):
            loss = mse(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        losses += [step(x, y).item() for _ in range(3)]
    mean = T.compiled(lambda x: sum(net(x) for net in nets) / 3)
    return losses + [mse(mean(x), y).item()]


def distillation(T):
    """A student learns from a teacher that does not."""
    teacher, student = fill(T, mlp(T, 3, 9, 4)), fill(T, mlp(T, 3, 4, 4), at=5.0)
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = T.optim.Adam(student.parameters(), lr=0.05)
    x, y = T.tensor(numbers(8, 3)), T.tensor(np.arange(8) % 4)

    @T.compiled
    def step(x, y):
        with T.no_grad():
            soft = T.softmax(teacher(x) / 2.0, -1)
        guess = student(x)
        loss = -(soft * T.log_softmax(guess / 2.0, -1)).sum(1).mean()
        loss = loss + 0.5 * T.nn.CrossEntropyLoss()(guess, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    before = [p.detach().numpy().copy() for p in teacher.parameters()]
    losses = [step(x, y).item() for _ in range(6)]
    assert all(np.array_equal(a, p.detach().numpy()) for a, p in zip(before, teacher.parameters()))
    return losses


def cross_validation(T):
    """The same training again and again in one process, on other parts of the data."""
    x, y = numbers(12, 3), numbers(12, 1, at=4.0)
    losses = []
    for fold in range(3):
        held_out = np.arange(12) % 3 == fold
        net = fill(T, mlp(T, 3, 6, 1))
        optimizer = T.optim.Adam(net.parameters(), lr=0.1)

        @T.compiled
        def step(x, y):
            loss = mse(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(4):
            step(T.tensor(x[~held_out]), T.tensor(y[~held_out]))
        losses.append(mse(net(T.tensor(x[held_out])), T.tensor(y[held_out])).item())
    return losses


def twice(T):
    """A training that is run twice gives the same numbers; then other rates."""
    start = fill(T, mlp(T, 3, 6, 1))
    x, y = T.tensor(numbers(5, 3)), T.tensor(numbers(5, 1, at=1.0))
    losses = []
    for lr in (0.1, 0.1, 0.001):
        net = copy.deepcopy(start)
        optimizer = T.optim.Adam(net.parameters(), lr)

        @T.compiled
        def step(x, y):
            loss = mse(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        losses.append([step(x, y).item() for _ in range(3)])
    assert losses[0] == losses[1] != losses[2]
    return sum(losses, [])


def maml(T):
    """Gradients through a step of gradient descent."""
    w = T.nn.Parameter(T.tensor(0.5 * numbers(3, 1)))
    b = T.nn.Parameter(T.tensor(np.zeros(1, np.float32)))
    optimizer = T.optim.Adam([w, b], lr=0.05)
    losses = []
    for task in range(4):
        x, y = T.tensor(numbers(6, 3, at=task)), T.tensor(numbers(6, 1, at=2 * task))

        @T.compiled
        def step(x, y):
            inner = mse(T.matmul(x, w) + b, y)
            dw, db = T.grad(inner, [w, b], create_graph=True)
            outer = mse(T.matmul(x, w - 0.1 * dw) + (b - 0.1 * db), y * 0.5)
            optimizer.zero_grad()
            outer.backward()
            optimizer.step()
            return outer

        losses.append(step(x, y).item())
    return losses


def averages(T):
    """A copy whose parameters are fading means of the trained ones."""
    net = fill(T, mlp(T, 3, 5, 1))
    shadow = copy.deepcopy(net)
    optimizer = T.optim.SGD(net.parameters(), lr=0.2)
    x, y = T.tensor(numbers(6, 3)), T.tensor(numbers(6, 1, at=1.0))

    @T.compiled
    def step(x, y):
        loss = mse(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with T.no_grad():
            for mean, p in zip(shadow.parameters(), net.parameters()):
                mean *= 0.5
                mean += 0.5 * p
        return loss

    losses = []
    for _ in range(4):
        losses.append(step(x, y).item())
        losses.append(mse(shadow(x), y).item())
    return losses


def gan(T):
    """Two networks, two optimizers, one plays against the other."""
    maker, judge = fill(T, mlp(T, 2, 6, 3)), fill(T, mlp(T, 3, 6, 1), at=3.0)
    of_maker = T.optim.Adam(maker.parameters(), lr=0.02, betas=(0.5, 0.999))
    of_judge = T.optim.Adam(judge.parameters(), lr=0.01, betas=(0.5, 0.999))
    noise, real = T.tensor(numbers(5, 2)), T.tensor(numbers(5, 3, at=6.0))

    def entropy(logits, real):
        return T.nn.BCEWithLogitsLoss()(logits, T.tensor(np.full((5, 1), float(real), np.float32)))

    @T.compiled
    def step(noise, real):
        made = maker(noise)
        loss = entropy(judge(real), 1) + entropy(judge(made.detach()), 0)
        of_judge.zero_grad()
        loss.backward()
        of_judge.step()
        fooled = entropy(judge(made), 1)
        of_maker.zero_grad()
        fooled.backward()
        of_maker.step()
        return loss, fooled

    return [part.item() for _ in range(4) for part in step(noise, real)]


def schedules(T):
    """A rate that a scheduler changes from epoch to epoch."""
    net = fill(T, mlp(T, 3, 5, 1))
    optimizer = T.optim.SGD(net.parameters(), lr=0.4, momentum=0.5)
    scheduler = T.StepLR(optimizer, step_size=2, gamma=0.5)
    x, y = T.tensor(numbers(6, 3)), T.tensor(numbers(6, 1, at=1.0))

    @T.compiled
    def step(x, y):
        loss = mse(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for _ in range(5):
        losses.append(step(x, y).item())
        scheduler.step()
        losses.append(optimizer.param_groups[0]["lr"])
    return losses


def accumulation(T):
    """Gradients of two batches, one update; a penalty on all parameters."""
    net = fill(T, mlp(T, 3, 5, 1))
    optimizer = T.optim.RMSprop(net.parameters(), lr=0.02)
    batches = [(T.tensor(numbers(4, 3, at=k)), T.tensor(numbers(4, 1, at=k + 1))) for k in range(4)]

    @T.compiled
    def loss_of(x, y):
        return mse(net(x), y) + 0.01 * sum((p**2).sum() for p in net.parameters())

    losses = []
    for i, (x, y) in enumerate(batches * 2):
        loss = loss_of(x, y)
        (loss / 2).backward()
        losses.append(loss.item())
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
    return losses


def siamese(T):
    """One layer used twice, and a free parameter."""
    tower, scale = fill(T, mlp(T, 3, 4)), T.nn.Parameter(T.tensor(np.float32([2.0])))
    optimizer = T.optim.SGD([*tower.parameters(), scale], lr=0.1)
    a, b, y = T.tensor(numbers(5, 3)), T.tensor(numbers(5, 3, at=1.0)), T.tensor(numbers(5, at=2.0))

    @T.compiled
    def step(a, b, y):
        loss = mse((tower(a) * tower(b)).sum(1) * scale, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return [step(a, b, y).item() for _ in range(5)] + [float(scale.detach().numpy()[0])]


def actor_critic(T):
    """Two heads on one trunk, two losses, one optimizer."""

    class Both(T.Module):
        def __init__(self):
            super().__init__()
            self.trunk = T.nn.Linear(4, 6)
            self.actor, self.critic = T.nn.Linear(6, 2), T.nn.Linear(6, 1)

        def forward(self, x):
            h = T.tanh(self.trunk(x))
            return self.actor(h), self.critic(h)[:, 0]

    net = fill(T, Both())
    optimizer = T.optim.Adam(net.parameters(), lr=0.05)
    x, returns = T.tensor(numbers(6, 4)), T.tensor(numbers(6, at=1.0))
    chosen = T.tensor(np.eye(2, dtype=np.float32)[np.arange(6) % 2])

    @T.compiled
    def step(x, returns, chosen):
        logits, values = net(x)
        advantage = (returns - values).detach()
        policy = -((T.log_softmax(logits, -1) * chosen).sum(1) * advantage).mean()
        loss = policy + 0.5 * mse(values, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return [step(x, returns, chosen).item() for _ in range(5)]


SCRIPTS = [
    tied_gpt, new_head, fine_tuning, dqn, ensemble, distillation, cross_validation, twice, maml, averages, gan, schedules,
    accumulation, siamese, actor_critic,
]  # fmt: skip
