"""What importing a framework costs, and how much it installs: ours, PyTorch and JAX.

    python bench/footprint.py [--repetitions 5]

Imports happen in processes of their own, NumPy included; the fastest counts. Sizes are those of the
installed files with all packages that are required. Rows are added to bench/results/models.jsonl.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
from pathlib import Path

import processes
import results
import startup

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "fluvial"


def required(text: str, seen: dict[str, importlib.metadata.Distribution]) -> None:
    """Adds the package of a requirement, such as `name[extra] >= 1`, and all that it requires."""
    name, extras = re.match(r"([A-Za-z0-9._-]+)\s*(?:\[(.*?)\])?", text).groups()
    key = re.sub(r"[-_.]+", "-", name).lower()
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return  # for another system, or another Python
    if key in seen and not extras:
        return
    seen[key] = distribution
    wanted = {extra.strip() for extra in (extras or "").split(",")}
    for requirement in distribution.requires or []:
        extra = re.search(r"extra == ['\"](.*?)['\"]", requirement)
        if extra is None or extra[1] in wanted:
            required(requirement, seen)


def installed_mb(distribution: importlib.metadata.Distribution) -> float:
    paths = (Path(distribution.locate_file(file)) for file in distribution.files or [])
    return sum(p.stat().st_size for p in paths if p.suffix != ".pyc" and p.is_file()) / 1e6


def folder_mb(folder: Path) -> float:
    files = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return sum(p.stat().st_size for p in files) / 1e6


def sizes(module: str) -> dict[str, float]:
    """MB by package; what PyTorch brings for GPUs is one of them."""
    found: dict[str, importlib.metadata.Distribution] = {}
    required("numpy" if module == "fluvial" else module, found)
    parts = {"fluvial": folder_mb(PACKAGE)} if module == "fluvial" else {}
    for name, distribution in found.items():
        part = "CUDA" if re.match("nvidia|cuda|triton", name) else name
        parts[part] = parts.get(part, 0.0) + installed_mb(distribution)
    return parts


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--repetitions", type=int, default=5)
    cli.add_argument("--out", type=Path, default=results.FOLDER / "models.jsonl")
    options = cli.parse_args()
    os.environ["PYTHONPATH"] = processes.environment()["PYTHONPATH"]
    for module in ("numpy", "fluvial", "torch", "jax"):
        if module != "fluvial" and module not in processes.versions([module]):
            print(f"{module} is not installed here")
            continue
        wall, processor = startup.milliseconds(module, "time", options.repetitions)
        parts = sorted(sizes(module).items(), key=lambda part: -part[1])
        row = {
            "footprint": module,
            "import_ms": round(wall, 1),
            "import_cpu_ms": round(processor, 1),
            "mb": round(sum(mb for _, mb in parts), 1),
            "of": ", ".join(f"{name} {mb:.0f}" for name, mb in parts if mb >= 1),
        }
        results.append(options.out, row)
        print(f"{module:10} import {wall:7.0f} ms   installed {row['mb']:8.1f} MB: {row['of']}")


if __name__ == "__main__":
    main()
