"""Every name of the tables is there, or says what to use."""

import importlib

import fluid_names
import pytest


def test_the_page_is_current():
    assert fluid_names.tables() in fluid_names.PAGE.read_text(encoding="utf-8"), "run python python/tests/fluid/fluid_names.py"


@pytest.mark.parametrize("module", fluid_names.MODULES)
def test_names_are_there(module):
    found = importlib.import_module(f"fluvial.fluid.{module}")
    for name in fluid_names.names_of(module):
        assert getattr(found, name) is not None or name == "VarType"


def test_others_say_what_to_use():
    for module, names in fluid_names.refused():
        found = importlib.import_module(module)
        for name, remedy in names.items():
            with pytest.raises(AttributeError) as error:
                getattr(found, name)
            assert remedy in str(error.value), name
