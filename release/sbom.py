"""Writes a bill of materials in CycloneDX 1.5: every crate that is in the wheel.

    cargo metadata --format-version 1 --filter-platform TARGET | python release/sbom.py CRATE > FILE
"""

import json
import re
import sys
import tomllib
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "Cargo.lock"


def used_by(metadata, name):
    """The packages that a crate is built of, itself first; what only tests or builds need is left out."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    start = next(key for key, package in packages.items() if package["name"] == name)
    found, left = {}, [start]
    while left:
        key = left.pop(0)
        if key in found:
            continue
        normal = [
            dep["pkg"] for dep in nodes[key]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])
        ]
        found[key] = (packages[key], normal)
        left += normal
    return found


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["description"]:
        entry["description"] = " ".join(package["description"].split())
    if package["license"]:
        entry["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def bill(metadata, name, lock):
    """The whole document."""
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    found = used_by(metadata, name)
    (first, _), *others = found.values()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component(first, checksums), "type": "application"}},
        "components": [component(package, checksums) for package, _ in others],
        "dependencies": [
            {"ref": reference(package), "dependsOn": sorted(reference(found[dep][0]) for dep in needed)}
            for package, needed in found.values()
        ],
    }


if __name__ == "__main__":
    with LOCK.open("rb") as file:
        json.dump(bill(json.load(sys.stdin), sys.argv[1], tomllib.load(file)), sys.stdout, indent=1)
    print()
