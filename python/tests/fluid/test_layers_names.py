"""Every name of Fluid's `layers` is there, or says what to use."""

import sys
from pathlib import Path

import pytest

import fluvial as fl
import fluvial.fluid as fluid
from fluvial.fluid._names import LAYERS, LAYERS_LATER, LAYERS_REFUSED


@pytest.mark.parametrize("name", [*LAYERS, *LAYERS_LATER])
def test_a_name_is_there_or_refused(name):
    if name in LAYERS_REFUSED:
        with pytest.raises(AttributeError, match=f"`{name}`: Fluid has it, and this front does not\n  remedy: "):
            getattr(fluid.layers, name)
    else:
        assert callable(getattr(fluid.layers, name)), name
        assert name in fluid.layers.__all__


def test_nothing_is_refused_that_fluid_did_not_have():
    assert set(LAYERS_REFUSED) <= {*LAYERS, *LAYERS_LATER} and not set(LAYERS) & set(LAYERS_LATER)
    assert len(LAYERS) == 283


def test_the_page_of_names_is_fresh():
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    try:
        import fluid_layers_page
    finally:
        sys.path.pop(0)
    fresh = fluid_layers_page.page()
    assert fluid_layers_page.PAGE.read_text() == fresh, "run `python python/tests/fluid_layers_page.py`"


def test_the_other_front_says_where_more_is():
    with pytest.raises(AttributeError, match="`fluvial.fluid.layers` has all of Fluid's functions"):
        fl.layers.affine_grid  # noqa: B018
