"""Python users read Python's words: no spelling of Rust in documents and errors."""

import re
from pathlib import Path

import pytest

import fluvial as fl

RUST = re.compile(r"\b(super|crate|self|std|fluvial_\w+)::|\bVec<|\bOption<|\busize\b|\bf64, f64\b|::new\b|\bNone\(|\bSome\(")


def test_documents():
    stub = Path(fl.__file__).with_name("_core.pyi").read_text()
    assert [line for line in stub.splitlines() if RUST.search(line)] == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: fl.optimizer.Adam(fl.nn.Linear(2, 2).parameters(), 0.1, betas=0.9),
        lambda: fl.optimizer.Adam(fl.nn.Linear(2, 2).parameters(), 0.1, amsgrad=0.5),
        lambda: fl.optimizer.Adam(fl.nn.Linear(2, 2).parameters(), 0.1, eps=(1.0, 2.0)),
        lambda: fl.nn.Conv2d(3, 4, "a"),
        lambda: fl.nn.Linear(3, 4)(fl.zeros((2, 5))),
        lambda: fl.Program.parse("fluvial 1 short main() { %y = LSTM(%x) return %y }"),
        lambda: fl.Program.load("no/such/file.fl"),
    ],
)
def test_errors(call):
    with pytest.raises(Exception) as caught:
        call()
    assert not RUST.search(str(caught.value)), caught.value
