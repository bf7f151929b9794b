"""Training by several processes: one process for now."""

from __future__ import annotations

import os
from typing import Any

from ..._fault import fault
from .layers import Layer

__all__ = ["prepare_context", "ParallelEnv", "Env", "DataParallel", "ParallelStrategy"]


class ParallelEnv:
    """What Fluid's launcher has said of this process."""

    @property
    def nranks(self) -> int:
        """The number of processes."""
        return int(os.getenv("PADDLE_TRAINERS_NUM", "1"))

    @property
    def local_rank(self) -> int:
        """The number of this process."""
        return int(os.getenv("PADDLE_TRAINER_ID", "0"))

    @property
    def dev_id(self) -> int:
        """The number of the device."""
        return 0

    @property
    def current_endpoint(self) -> str:
        """The address of this process."""
        return os.getenv("PADDLE_CURRENT_ENDPOINT", "")

    @property
    def trainer_endpoints(self) -> list[str]:
        """The addresses of all processes."""
        return os.getenv("PADDLE_TRAINER_ENDPOINTS", "").split(",")


Env = ParallelEnv


class ParallelStrategy:
    """How processes work together."""

    nranks = 1
    local_rank = 0
    trainer_endpoints: list[str] = []
    current_endpoint = ""


def prepare_context(strategy: Any = None) -> Any:
    """How processes work together: one process.

    Args:
        strategy: What is known of it.
    """
    made = strategy or ParallelStrategy()
    if ParallelEnv().nranks > 1 or made.nranks > 1:
        raise fault(
            NotImplementedError,
            "training by several processes is not in this front yet",
            "start one process; it uses all cores",
        )
    return made


class DataParallel(Layer):
    """A layer whose gradients are those of all processes: of this one.

    Args:
        layers: The layer.
        strategy: What `prepare_context` gave.
    """

    def __init__(self, layers: Layer, strategy: Any = None) -> None:
        super().__init__(layers.full_name() + "_data_parallel")
        prepare_context(strategy)
        self._layers = layers

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self._layers(*inputs, **kwargs)

    def scale_loss(self, loss: Any) -> Any:
        """The loss, divided by the number of processes: by one."""
        return loss

    def apply_collective_grads(self) -> None:
        """Adds up the gradients of all processes: of this one."""

    def state_dict(self, *args: Any, **named: Any) -> Any:
        """That of the layer."""
        return self._layers.state_dict(*args, **named)

    def set_dict(self, *args: Any, **named: Any) -> None:
        """That of the layer."""
        self._layers.set_dict(*args, **named)

    load_dict = set_dict
