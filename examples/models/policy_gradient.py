"""An agent learns to balance a pole: the world is Python, the training around it is a program.

A cart on a track carries a pole that falls over unless the cart is pushed the right way. The
physics, `cart_pole`, are plain NumPy, a stand-in for any simulator, game or robot. In
`--mode program` the episodes, the choices of the agent, the gradients and the updates are one
program, which calls the world in each trip of its loop (`fl.host_call`); line by line, the same
code calls it directly, to the same bits.

The method is REINFORCE with a baseline: actions that led to more than the critic had expected
become more likely.

Data: none but the first positions of the carts, which are random. The score is how long the pole
stays up, at most 200 steps, when the agent does what it thinks best.

    python examples/models/policy_gradient.py            # rises from 10 to nearly 200 in a minute

A program file cannot bring Python functions along, so `--export` is refused here.
"""

import datasets
import fluvial as fl
import numpy as np
import training
from fluvial import nn
from model import Model

LIMIT = 200
DISCOUNT = 0.98


def cart_pole(state, action):
    """A fiftieth of a second of many carts, with place, speed, angle and spin: `[carts, 4]`.

    `action` is 1 where a cart is pushed to the right, else 0. Returns the next state, and 1 where
    all is lost.
    """
    gravity, cart, pole, half, force, tick = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    x, v, angle, spin = state.numpy().astype(np.float64).T
    push = np.where(action.numpy() > 0, force, -force)
    sin, cos = np.sin(angle), np.cos(angle)
    swing = (push + pole * half * spin**2 * sin) / (cart + pole)
    turn = (gravity * sin - cos * swing) / (half * (4 / 3 - pole * cos**2 / (cart + pole)))
    speedup = swing - pole * half * turn * cos / (cart + pole)
    after = np.stack([x + tick * v, v + tick * speedup, angle + tick * spin, spin + tick * turn], 1)
    lost = (np.abs(after[:, 0]) > 2.4) | (np.abs(after[:, 2]) > np.radians(12))
    return after.astype(np.float32), lost.astype(np.float32)


fl.register_host("examples.cart_pole", cart_pole)


class Agent(Model):
    """An actor, who says how likely a push to the right is, and a critic, who expects a return."""

    def __init__(self, hidden=32):
        super().__init__("agent")
        self.actor = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.critic = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, state):
        """The logit of a push to the right, for each cart."""
        return self.actor(state).squeeze(-1)

    def play(self, state, random):
        """Episodes from these first states, until all are lost or `LIMIT` is reached.

        Returns the states, the actions, and 1 where a cart was not lost yet: `[steps, carts, …]`.
        """
        played = []
        up, steps = fl.ones_like(state[:, 0]), 0
        while steps < LIMIT and fl.sum(up) > 0:
            chance = fl.sigmoid(self(state))
            action = fl.bernoulli(chance) if random else fl.cast(chance > 0.5, "float32")
            played.append(fl.concat([state, action[:, None], up[:, None]], 1))
            state, lost = fl.host_call("examples.cart_pole", [state, action], [state, up])
            up = up * (1 - lost)
            steps += 1
        played = fl.stack(played)
        return played[:, :, :4], played[:, :, 4], played[:, :, 5]

    def step(self, optimizer, start):
        """Episodes, and one update from them."""
        with fl.no_grad():
            states, actions, alive = self.play(start, random=True)
        # The discounted sum of what comes after each step, by sums from the end.
        fade = fl.exp(np.log(DISCOUNT) * fl.cumsum(fl.ones_like(alive), 0))
        rest = fl.flip(fl.cumsum(fl.flip(alive * fade, 0), 0), 0) / fade
        count = fl.sum(alive)
        expected = self.critic(states).squeeze(-1)
        surprise = (rest - expected).detach()
        surprise = surprise / fl.sqrt(fl.sum(surprise**2 * alive) / count)
        logits = self(states)
        doubt = fl.softplus(logits) - actions * logits
        loss = fl.sum(doubt * surprise * alive) / count
        error = fl.sum((expected - rest) ** 2 * alive) / count
        optimizer.minimize(loss + 0.1 * error)
        return {"loss": loss, "length": count / start.shape[0]}


class Balance(training.Task):
    metric = "steps upright"
    exports = False

    def measure(self, start):
        _, _, alive = self.net.play(start, random=False)
        return fl.sum(alive), start.shape[0]


def starts(options):
    """First states of carts, `start: f32[carts, 4]`."""

    def make():
        rng, n = np.random.RandomState(options.seed), datasets.number(options, 400)
        return datasets.parted({"start": rng.uniform(-0.05, 0.05, (n, 4)).astype(np.float32)})

    name = f"carts-{datasets.number(options, 400)}-{options.seed}"
    folder = datasets.made(options, name, make)
    return datasets.opened(options, "carts that start at random", folder)


def main(arguments=None, **sizes):
    def task(options):
        net = Agent(**sizes)
        optimizer = fl.optimizer.Adam(net.parameters(), 1e-2)
        return Balance(net, optimizer, starts(options))

    return training.main(task, __doc__, arguments, epochs=6, batch_size=16)


if __name__ == "__main__":
    main()
