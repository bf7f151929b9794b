"""The optimizers. What they do is in `crates/fluvial/src/optim`."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Kind(Optimizer):
    """An optimizer that follows a rule of Rust's."""

    def __init_subclass__(cls) -> None:
        kind = cls.__dict__.get("_kind")
        if kind is not None:
            cls._name = kind
            cls.defaults, cls._weight_decay, cls._decay = _core.rule_defaults(kind)


class SGD(_Kind):
    """Plain gradient descent: `w - lr · g`. Args are those of `Optimizer`.

    With `momentum` it is `Momentum`, whose options it takes then.

    Example:
        >>> w = fl.parameter("w", (2,), init=1.0)
        >>> _ = fl.optimizer.SGD(["w"], 0.5).minimize(fl.sum(w * w))
        >>> fl.read_state("w").tolist()
        [0.0, 0.0]
    """

    _kind = "sgd"

    def __init__(self, *args: Any, **options: Any) -> None:
        of_momentum = [name for name in Momentum.defaults if options.get(name)]
        if options.get("momentum"):
            self._kind, self._name, self.defaults = Momentum._kind, Momentum._name, Momentum.defaults
        elif of_momentum:
            raise fault(
                ValueError,
                f"`{of_momentum[0]}` says nothing without `momentum`",
                "give `momentum`, too, or leave it out",
            )
        else:
            options = {name: v for name, v in options.items() if name not in Momentum.defaults}
        super().__init__(*args, **options)


class Momentum(_Kind):
    """Gradient descent with momentum; remembers `v`.

    Options: `momentum` 0.9, `dampening` 0, `nesterov` False.

    Example:
        >>> w = fl.parameter("w", (), init=1.0)
        >>> optimizer = fl.optimizer.Momentum(["w"], 0.1, momentum=0.5)
        >>> _ = optimizer.minimize(w * w)
        >>> fl.read_state("momentum.v.w").item()
        2.0
    """

    _kind = "momentum"
    _aliases = {**Optimizer._aliases, "use_nesterov": "nesterov"}


class Adam(_Kind):
    """Steps by the fading means of gradients and of their squares; remembers `m` and `v` (`v_max`).

    Options: `betas` (0.9, 0.999), `eps` 1e-8, `amsgrad` False.

    Example:
        >>> net = fl.nn.Linear(3, 1, name="net")
        >>> optimizer = fl.optimizer.Adam(net.parameters(), 1e-2)
        >>> def step(x, y):
        ...     loss = fl.mean(fl.square(net(x) - y))
        ...     optimizer.minimize(loss)
        ...     return loss
        >>> x, y = fl.full((4, 3), 0.5), fl.full((4, 1), 1.0)
        >>> first = step(x, y)                                             # line by line
        >>> program = fl.build(step, {"x": "f32[n, 3]", "y": "f32[n, 1]"})  # as a program
        >>> bool(program(x, y) < first), fl.read_state("adam.step").item()
        (True, 2)
    """

    _kind = "adam"


class AdamW(Adam):
    """`Adam` with decoupled weight decay, 0.01 unless said otherwise."""

    _kind = "adamw"


class Adamax(_Kind):
    """`Adam` by the largest gradient; remembers `m` and `u`.

    Options: `betas` (0.9, 0.999), `eps` 1e-8.
    """

    _kind = "adamax"


class NAdam(_Kind):
    """`Adam` with Nesterov's momentum; remembers `m` and `v`.

    Options: `betas` (0.9, 0.999), `eps` 1e-8, `momentum_decay` 0.004.
    """

    _kind = "nadam"


class RAdam(_Kind):
    """`Adam` that adapts rates only when it has seen enough; remembers `m` and `v`.

    Options: `betas` (0.9, 0.999), `eps` 1e-8.
    """

    _kind = "radam"


class Adagrad(_Kind):
    """Rates that fall with the sum of squared gradients; remembers `sum`.

    Options: `lr_decay` 0, `initial_accumulator` 0, `eps` 1e-10.
    """

    _kind = "adagrad"


class Adadelta(_Kind):
    """Steps in the unit of parameters; remembers `squares` and `steps`.

    Options: `rho` 0.9, `eps` 1e-6.
    """

    _kind = "adadelta"


class RMSProp(_Kind):
    """Rates that fall with the mean of squared gradients; remembers `squares` (`mean`, `v`).

    Options: `alpha` 0.99, `eps` 1e-8, `momentum` 0, `centered` False.
    """

    _kind = "rmsprop"
    _aliases = {**Optimizer._aliases, "rho": "alpha"}


class Ftrl(_Kind):
    """FTRL-Proximal, for sparse parameters; remembers `n` and `z`.

    Options: `l1` 0, `l2` 0, `beta` 1, `initial_accumulator` 0.
    """

    _kind = "ftrl"


class Lars(_Kind):
    """Rates in proportion to the norms of parameters; remembers `v`.

    Options: `momentum` 0.9, `trust` 0.001, `eps` 0.
    """

    _kind = "lars"
    _aliases = {**Optimizer._aliases, "lars_coeff": "trust", "lars_weight_decay": "weight_decay"}


class Lamb(_Kind):
    """`Adam` with steps in proportion to the norms of parameters; remembers `m` and `v`.

    Options: `betas` (0.9, 0.999), `eps` 1e-6.
    """

    _kind = "lamb"
    _aliases = {**Optimizer._aliases, "lamb_weight_decay": "weight_decay"}


class Lion(_Kind):
    """Steps by the sign of a fading mean; remembers `m`; weight decay is decoupled.

    Options: `betas` (0.9, 0.99).
    """

    _kind = "lion"
