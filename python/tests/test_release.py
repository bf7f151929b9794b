"""The files of a release: what the bill of materials says, and where a wheel is tried."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "release"))

import sbom  # noqa: E402
import test_wheel  # noqa: E402


def package(name, version="1.0.0", licence="MIT"):
    return {"id": name, "name": name, "version": version, "license": licence, "description": "a\n thing"}


def node(name, *deps):
    return {"id": name, "deps": [{"pkg": dep, "dep_kinds": [{"kind": kind}]} for dep, kind in deps]}


def test_the_bill_has_what_is_in_the_wheel():
    metadata = {
        "packages": [package("ours"), package("used", licence="MIT/Apache-2.0"), package("deeper"), package("tests")],
        "resolve": {
            "nodes": [
                node("ours", ("used", None), ("tests", "dev")),
                node("used", ("deeper", None), ("tests", "build")),
                node("deeper"),
                node("tests"),
            ]
        },
    }
    lock = {"package": [{"name": "used", "version": "1.0.0", "checksum": "ab" * 32}, {"name": "ours", "version": "1.0.0"}]}
    made = sbom.bill(metadata, "ours", lock)
    assert made["metadata"]["component"]["name"] == "ours"
    used, deeper = made["components"]
    assert used["licenses"] == [{"expression": "MIT OR Apache-2.0"}] and used["hashes"][0]["content"] == "ab" * 32
    assert deeper["name"] == "deeper" and "hashes" not in deeper and deeper["description"] == "a thing"
    assert made["dependencies"][0] == {"ref": "pkg:cargo/ours@1.0.0", "dependsOn": ["pkg:cargo/used@1.0.0"]}


def test_this_python_is_among_those_that_wheels_are_tried_with():
    if sys.version_info[1] in test_wheel.MINORS:
        assert f"python3.{sys.version_info[1]}" in dict(test_wheel.interpreters())
