"""Whether everything is in its place."""

from __future__ import annotations

__all__ = ["run_check"]


def run_check() -> None:
    """Trains a small network, as a program and at once, and says that it works."""
    import importlib
    from typing import Any

    import numpy as np

    from . import dygraph, optimizer, unique_name
    from .executor import Executor, Scope, scope_guard
    from .framework import Program, program_guard

    layers: Any = importlib.import_module(".layers", __package__)
    x = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
    main, startup = Program(), Program()
    with scope_guard(Scope()), program_guard(main, startup), unique_name.guard():
        loss = layers.mean(layers.fc(layers.data("inp", [2]), 3))
        optimizer.SGD(learning_rate=0.1).minimize(loss)
        executor = Executor()
        executor.run(startup)
        before, after = (float(executor.run(main, {"inp": x}, [loss])[0][0]) for _ in range(2))
    with dygraph.guard():
        layer = dygraph.Linear(2, 3)
        value = layers.mean(layer(dygraph.to_variable(x)))
        value.backward()
        found = layer.parameters()[0].gradient()
    if not after < before or found is None:
        raise RuntimeError(f"a step of training went from {before} to {after}")
    print("Your Fluvial works well: fluvial.fluid ran a program, and layers at once.")
