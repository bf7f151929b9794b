"""The plots of the benchmarks, as SVG. Needs matplotlib, which the peers' environment has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("svg")
# Text stays text, and the same figures give the same file.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fluvial", "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402

import results  # noqa: E402
from results import COMPILE, COMPILED, EAGER, IMPERATIVE, Table  # noqa: E402

BARS = (  # ours, theirs, label, colour
    (IMPERATIVE, EAGER, "imperative against torch eager", "#9ecae1"),
    (COMPILED, EAGER, "compiled against torch eager", "#2171b5"),
    (COMPILED, COMPILE, "compiled against torch.compile", "#fd8d3c"),
)
LINES = {  # by contestant: colour
    IMPERATIVE: "#9ecae1",
    COMPILED: "#2171b5",
    EAGER: "#fdae6b",
    COMPILE: "#d94801",
}


def models(made: Table, path: Path) -> None:
    """Ratios of each workload as bars: training, and inference of one sample."""
    parts = {
        "training": results.part(made, "train"),
        "inference of one sample": results.part(made, "infer", 1),
    }
    parts = {title: tasks for title, tasks in parts.items() if tasks}
    figure, axes = plt.subplots(len(parts), 1, figsize=(9, 3.2 * len(parts)), squeeze=False)
    for axis, (title, tasks) in zip(axes[:, 0], parts.items()):
        names = [*tasks, "geometric mean"]
        for place, (ours, theirs, label, colour) in enumerate(BARS):
            found = results.ratios(tasks, ours, theirs, results.ms)
            if not found:
                continue
            heights = [found.get(name, 0.0) for name in tasks] + [results.geomean(found.values())]
            at = [index + 0.27 * (place - 1) for index in range(len(names))]
            bars = axis.bar(at, heights, 0.26, label=label, color=colour)
            texts = [f"{height:.1f}" if height else "" for height in heights]
            axis.bar_label(bars, texts, fontsize=6, padding=1)
        axis.margins(y=0.15)
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.set_xticks(range(len(names)), names, rotation=20, ha="right")
        axis.set_ylabel("theirs / ours")
        axis.set_title(f"{title}: above 1 ours is faster")
    axes[0, 0].legend(fontsize=7)
    save(figure, path)


Curve = Mapping[str, Sequence[tuple[int, float]]]  # by contestant: (size, ms)


def curves(drawn: Mapping[str, Curve], path: Path) -> None:
    """Step times over sizes, both axes logarithmic, one picture for each title."""
    columns = 2
    lines = -(-len(drawn) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(9, 3.2 * lines), squeeze=False)
    for axis in axes.flat[len(drawn) :]:
        axis.set_visible(False)
    for axis, (title, curve) in zip(axes.flat, drawn.items()):
        for name, points in curve.items():
            sizes, times = zip(*points)
            axis.plot(sizes, times, "o-", markersize=3, label=name, color=LINES.get(name))
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        every = sorted({size for points in curve.values() for size, _ in points})
        axis.set_xticks(every, [str(size) for size in every])
        axis.set_ylabel("ms for a training step")
        axis.set_title(title)
        axis.grid(True, linewidth=0.3)
        axis.legend(fontsize=7)
    save(figure, path)


def save(figure: plt.Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(f"wrote {path}")
