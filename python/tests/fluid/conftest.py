"""Programs, names and a scope of its own for each test of Fluid's front."""

import pytest

import fluvial as fl


@pytest.fixture
def fluid():
    """The front, with nothing left of other tests."""
    import fluvial.fluid as fluid

    with fl.State(), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            yield fluid
