"""What the benchmarks make of measured rows; nothing is measured here."""

import dataclasses
import math
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.append(str(BENCH))

import command  # noqa: E402
import compare  # noqa: E402
import curves  # noqa: E402
import footprint  # noqa: E402
import micro  # noqa: E402
import micro_cases  # noqa: E402
import models  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import sections  # noqa: E402
from results import COMMAND, COMPILE, COMPILED, EAGER, FUSED, IMPERATIVE  # noqa: E402


def row(contestant, least, middle=None, *, workload="mlp", phase="train", batch=128, **more):
    """A row as models.py writes it."""
    plain = {"session": "a", "round": 0, "others_cpu": 0.0, "peak_rss_mb": 100.0}
    plain |= {"base_rss_mb": 60.0, "first_call_s": 1.0, "first_step_s": 2.0}
    found = {"contestant": contestant, "workload": workload, "phase": phase, "batch": batch}
    times = {"step_ms_min": least, "step_ms_median": middle or least}
    return plain | found | times | more


def column(rows, name, task=("mlp", "train", 128)):
    return results.table(rows, ["mlp", "gpt"])[task][name]


def test_least_and_median_over_the_rounds():
    rows = [row(COMPILED, 3.0, 5.0), row(COMPILED, 2.0, 9.0), row(COMPILED, 4.0, 6.0)]
    cell = column(rows, COMPILED)
    assert (cell.ms, cell.median_ms, cell.rounds) == (2.0, 6.0, 3)


def test_a_figure_is_noisy_if_the_least_is():
    quiet, noisy = row(EAGER, 2.0, others_cpu=0.09), row(EAGER, 3.0, others_cpu=0.5)
    assert not column([quiet, noisy], EAGER).noisy
    assert column([quiet | {"step_ms_min": 4.0}, noisy], EAGER).noisy


def test_memory_is_the_least_of_the_rounds_and_first_calls_that_of_cold_ones():
    rows = [
        row(COMPILE, 1.0, peak_rss_mb=800.0, first_call_s=30.0, first_step_s=33.0, cold=True),
        row(COMPILE, 1.0, peak_rss_mb=700.0, first_call_s=4.0, first_step_s=7.0, cold=False),
    ]
    cell = column(rows, COMPILE)
    assert (cell.peak_mb, cell.beyond_mb) == (700, 640)
    assert (cell.first_call_s, cell.first_step_s) == (30, 33)


def test_the_better_of_default_and_fused_counts():
    rows = [
        row(EAGER, 2.0, 2.5, peak_rss_mb=500.0, first_step_s=3.0),
        row(EAGER + FUSED, 1.5, 2.6, peak_rss_mb=510.0, first_step_s=2.9, others_cpu=0.3),
        row(COMPILE, 1.2),
        row(COMPILE + FUSED, 1.4),
    ]
    eager = column(rows, EAGER)
    assert (eager.ms, eager.median_ms, eager.peak_mb, eager.first_step_s) == (1.5, 2.5, 500, 2.9)
    assert eager.noisy
    assert column(rows, COMPILE).ms == 1.2
    assert EAGER + FUSED not in results.table(rows, [])["mlp", "train", 128]


def test_rows_of_two_sessions_are_not_mixed():
    old = [row(COMPILED, 1.0, session="2026-01-01"), row(EAGER, 2.0, session="2026-01-01")]
    new = [row(COMPILED, 1.5, session="2026-02-01"), row(EAGER, 1.8, session="2026-02-01")]
    ours = row(COMPILED, 0.1, session="2026-03-01")
    other = [row(COMPILED, 7.0, session="2026-01-01", workload="gpt")]
    made = results.table([*new, ours, *other, *old], ["mlp", "gpt"])
    times = {name: cell.ms for name, cell in made["mlp", "train", 128].items()}
    assert times == {COMPILED: 1.5, EAGER: 1.8}
    assert made["gpt", "train", 128][COMPILED].ms == 7.0
    assert [task[0] for task in made] == ["mlp", "gpt"]


def test_rows_that_newer_ones_replace_are_dropped(tmp_path):
    old = [row(COMPILED, 1.0, session="1"), row(EAGER, 2.0, session="1")]
    new = [row(COMPILED, 1.5, session="2"), row(EAGER, 1.8, session="2")]
    kept = [row(COMPILED, 7.0, session="1", workload="gpt")]
    heads = [{"session": name, "about": {}} for name in ("0", "1", "2")]
    sizes = [{"footprint": "torch", "mb": 1}, {"footprint": "torch", "mb": 2}]
    rows = results.that_count([*heads, *old, *kept, *new, *sizes])
    assert rows == [*heads[1:], *kept, *new, sizes[1]]
    results.rewrite(tmp_path / "rows.jsonl", rows)
    assert results.load(tmp_path / "rows.jsonl") == rows


def test_geometric_mean():
    assert results.geomean([1.0, 4.0, 2.0]) == pytest.approx(2.0)
    assert math.isnan(results.geomean([]))


def test_ratios_are_theirs_to_ours_where_both_are_there():
    rows = [row(COMPILED, 2.0), row(EAGER, 5.0), row(COMPILED, 1.0, workload="gpt", batch=8)]
    train = results.part(results.table(rows, []), "train")
    assert results.ratios(train, COMPILED, EAGER, results.ms) == {"mlp": 2.5}
    assert results.ratios(train, COMPILED, COMPILE, results.ms) == {}


def test_parts_by_batch():
    rows = [
        row(COMPILED, 1.0, phase="infer"),
        row(COMPILED, 0.1, phase="infer", batch=1),
        row(COMPILED, 3.0, phase="infer", batch=1, workload="gnn"),
    ]
    made = results.table(rows, ["mlp", "gnn"])
    own = results.part(made, "infer", {"mlp": 128, "gnn": 1})
    assert {name: cells[COMPILED].ms for name, cells in own.items()} == {"mlp": 1.0, "gnn": 3.0}
    one = results.part(made, "infer", 1)
    assert {name: cells[COMPILED].ms for name, cells in one.items()} == {"mlp": 0.1, "gnn": 3.0}


def ten_rows(ours, theirs):
    """Two workloads, with the same ratio in training and in inference of one sample."""
    rows = []
    for workload, batch, factor in (("mlp", 128, 1.0), ("gpt", 8, 2.0)):
        for task in ({"batch": batch}, {"phase": "infer", "batch": 1}):
            of = {"workload": workload, **task}
            rows.append(row(IMPERATIVE, ours, **of))
            rows.append(row(COMPILED, ours, **of, peak_rss_mb=60.0, first_step_s=0.5))
            rows.append(row(EAGER, theirs * factor, **of, first_step_s=2.6))
            rows.append(row(COMPILE, theirs, **of, first_step_s=9.9, peak_rss_mb=80.0))
    return rows


def test_targets():
    found = {
        (v.target.what, v.peer): v for v in results.verdicts(results.table(ten_rows(1.0, 1.2), []))
    }
    mean, start = 1.2 * 2**0.5, "compiled, from the start of the process to the first training step"
    expected = {
        ("imperative, training", EAGER): (mean, True),
        ("compiled, training", EAGER): (mean, True),
        ("compiled, training", COMPILE): (1.2, False),
        ("compiled, training, worst", EAGER): (1.2, True),
        ("compiled, training, worst", COMPILE): (1.2, True),
        ("compiled, inference at batch 1", EAGER): (mean, False),
        ("compiled, inference at batch 1", COMPILE): (1.2, False),
        ("compiled, peak memory in training, ours / theirs", EAGER): (0.6, True),
        ("compiled, peak memory in training, ours / theirs", COMPILE): (0.75, False),
        (start, EAGER): (5.2, True),
        (start, COMPILE): (19.8, False),
    }
    assert set(found) == set(expected)
    for key, (value, met) in expected.items():
        assert found[key].found == pytest.approx(value), key
        assert found[key].met == met, key
        assert found[key].workloads == 2
    assert found["compiled, training, worst", EAGER].worst == "mlp"


def test_what_was_not_measured_is_not_met():
    verdicts = results.verdicts(results.table([row(COMPILED, 1.0)], []))
    assert not any(v.met for v in verdicts)
    assert all(v.workloads == 0 for v in verdicts)


def test_report():
    head = {"cores": 2, "processor": "P", "python": "3", "versions": {"torch": "9"}, "commit": "c0"}
    failed = {"session": "a", "contestant": COMMAND, "workload": "mlp", "phase": "train"}
    rows = [{"session": "a", "about": head}, *ten_rows(1.0, 1.2)]
    rows += [failed | {"batch": 128, "error": "exit code 1"}]
    rows += [{"footprint": "fluvial", "import_ms": 101.2, "import_cpu_ms": 99.0, "mb": 60.04}]
    text = "\n".join(report.section(rows))
    assert "a: 2 cores of P, Python 3, torch 9, commit c0" in text
    line = "| compiled, training | torch eager | at least 1.5 | 1.70 | 2 of 10 | mlp | incomplete |"
    assert line in text
    assert "| at most 0.7 | 0.75 | 2 of 10 |" in text
    assert "| mlp | 128 | 1 / 1 | 1 / 1 | 1.2 / 1.2 | 1.2 / 1.2 | 1.20 | 1.20 | 1.20 |" in text
    assert "| gpt | 8 | 1 / 1 | 1 / 1 | 2.4 / 2.4 | 1.2 / 1.2 | 2.40 | 2.40 | 1.20 |" in text
    assert "| geometric mean |  |  |  |  |  | 1.70 | 1.70 | 1.20 |" in text
    assert "| worst |  |  |  |  |  | 1.20 | 1.20 | 1.20 |" in text
    assert "| mlp | 100 (40) | 60 (0) | 100 (40) | 80 (20) |" in text
    assert f"- {COMMAND}, mlp, train, batch 128: exit code 1" in text
    assert "| fluvial | 101 | 99 | 60 |  |" in text
    # Nothing was measured of inference at the workload's own batch.
    assert "### Inference of one sample" in text and "### Inference, ms" not in text
    fine = row(COMMAND, 1.0)
    assert "### Failed" not in "\n".join(report.section([*rows, fine]))


def test_noisy_figures_are_marked():
    rows = [row(COMPILED, 1.0, others_cpu=0.2), row(EAGER, 2.0)]
    text = "\n".join(report.section(rows))
    assert "| mlp | 128 | ~1 / 1 | 2 / 2 | 2.00 |" in text
    assert "| geometric mean |  |  |  | ~2.00 |" in text
    assert "| at least 1.5 | ~2.00 | 1 of 10, 1 noisy | mlp | incomplete |" in text


def test_targets_are_met_or_missed_by_all_workloads():
    rows = []
    for name, spec in report.WORKLOADS.items():
        of = {"workload": name, "batch": spec.batch}
        rows += [row(COMPILED, 1.0, **of), row(EAGER, 1.6, **of), row(COMPILE, 1.2, **of)]
    text = "\n".join(report.section(rows))
    assert "| compiled, training | torch eager | at least 1.5 | 1.60 | 10 of 10 | mlp | met |" in text
    assert "| torch.compile | at least 1.3 | 1.20 | 10 of 10 | mlp | missed |" in text
    assert "| at least 2.0 |  | 0 of 10 |  | incomplete |" in text


def test_a_part_of_the_file_is_replaced_and_the_others_stay(tmp_path):
    path = tmp_path / "RESULTS.md"
    path.write_text("# Figures\n\nby hand\n")
    sections.write("models", ["one"], path)
    sections.write("micro", ["two"], path)
    sections.write("models", ["three", "four"], path)
    models = f"{sections.begin('models')}\nthree\nfour\n{sections.end('models')}"
    micro = f"{sections.begin('micro')}\ntwo\n{sections.end('micro')}"
    assert path.read_text() == f"# Figures\n\nby hand\n\n{models}\n\n{micro}\n"
    with pytest.raises(ValueError, match="do not enclose"):
        sections.replaced(f"text {sections.end('models')}", "models", [])


def test_rows_are_added_and_read(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    assert results.load(path) == []
    results.append(path, {"a": 1})
    results.append(path, {"b": [2.5]})
    assert results.load(path) == [{"a": 1}, {"b": [2.5]}]
    path.write_text('{"a": 1}\n{"b"')
    with pytest.raises(SystemExit, match="rows.jsonl:2: no JSON"):
        results.load(path)


def micro_row(case, mode, malloc, noise=0.0, **times):
    plain = {"group": "g", "case": case, "mode": mode, "malloc": malloc, "others_cpu": noise}
    return plain | {"us_min": times}


def test_micro_table():
    rows = [
        micro_row("add", "eager", "default", torch=9.0, imperative=9.0),
        micro_row("add", "eager", "default", torch=8.0, imperative=2.0),
        micro_row("add", "eager", "kept", 0.5, torch=6.0, imperative=3.0),
        micro_row("chain", "compile", "default", torch=3.0, compiled=3.0),
        micro_row("adam", "eager", "default", torch=8.0, imperative=4.0, compiled=1.0),
    ]
    assert micro.table(rows)[2:] == [
        "| g: add | 2 | 8 | 4.00 | ~3 | ~6 | 2.00 |",
        "| g: chain, torch.compile, ours compiled | 3 | 3 | 1.00 |  |  |  |",
        "| g: adam | 4 | 8 | 2.00 |  |  |  |",
        "| g: adam, ours compiled | 1 | 8 | 8.00 |  |  |  |",
        "| geometric mean |  |  | 2.83 |  |  | ~2.00 |",
    ]
    assert len(micro.table(rows[:2])[0].split("|")) == 6


def test_both_sides_have_their_turns():
    calls = {"a": 0, "b": 0}

    def count(name):
        calls[name] += 1

    times = micro.in_turns({name: lambda name=name: count(name) for name in calls}, 0.0)
    assert {name: len(found) for name, found in times.items()} == {"a": 3, "b": 3}
    assert min(calls.values()) > 3


SMALL = [key for key in micro_cases.IMPERATIVE if key[0] == "overhead" or key[1].endswith(" 64k")]


@pytest.mark.parametrize("name", SMALL)
def test_our_small_micro_cases_run(name):
    for side in (micro_cases.IMPERATIVE, micro_cases.COMPILED):
        if name in side:
            call = side[name]()
            call()
            call()


def test_what_a_round_measures():
    everything = models.measurements(list(models.WORKLOADS), ["train", "infer", "infer1"], [])
    tasks = {(m.workload, m.phase, m.batch) for m in everything}
    # The graph network has a batch of one, so that its inference is one task.
    assert len(tasks) == 29 and len(set(everything)) == len(everything)
    assert not [m for m in everything if m.contestant.fused and m.phase == "infer"]
    jax = {m.workload for m in everything if m.contestant.name == results.JAX}
    assert jax == {"mlp", "resnet18", "gpt"}
    assert len([m for m in everything if (m.workload, m.phase) == ("lenet", "train")]) == 7
    few = models.measurements(["mlp"], ["train"], ["torch-eager"])
    assert [m.contestant.name for m in few] == [EAGER, EAGER + FUSED]


def test_the_order_changes_from_round_to_round():
    todo = models.measurements(["mlp", "gpt"], ["train"], [])
    rounds = [models.in_turns(todo, number) for number in range(3)]
    assert all(set(found) == set(todo) and len(found) == len(todo) for found in rounds)
    assert rounds[0] != rounds[1] and rounds[1] != rounds[2]
    assert rounds[0] == models.in_turns(todo, 0)
    assert [m.workload for m in rounds[2]] == [m.workload for m in todo]


def test_a_session_is_new_unless_resumed(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert models.session_of(path, resume=True) > "2000"
    for session in ("2001-01-01T00:00:00", "2001-01-02T00:00:00", "2001-01-01T12:00:00"):
        results.append(path, {"session": session})
    results.append(path, {"footprint": "torch"})
    assert models.session_of(path, resume=True) == "2001-01-02T00:00:00"
    assert models.session_of(path, resume=False) > "2001-01-02T00:00:00"


def test_children():
    script = "import time; x = bytearray(30_000_000); time.sleep(0.3); print('noise\\n{\"a\": 1}')"
    done = processes.run([sys.executable, "-c", script], 30)
    assert processes.last_row(done.stdout) == {"a": 1}
    assert done.seconds >= 0.3 and 0 < done.cpu_seconds < done.seconds + 30
    assert 30 < done.peak_mb < 1000
    with pytest.raises(processes.Fault, match=r"exit code 1: File .* \| ValueError: no"):
        processes.run([sys.executable, "-c", "raise ValueError('no')"], 30)
    with pytest.raises(processes.Fault, match="limit"):
        processes.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.1)
    with pytest.raises(processes.Fault, match="printed no row"):
        processes.last_row("1\n")


def test_times_of_the_command_line():
    text = '{"event":"note"}\n{"event":"bench","runs":3,"median":2.0,"minimum":1.0}\n'
    assert command.timing(text)["minimum"] == 1.0
    with pytest.raises(processes.Fault, match="no times"):
        command.timing('{"event":"note"}')


def point(contestant, size, least, **more):
    plain = {"session": "a", "axis": "batch", "workload": "mlp", "others_cpu": 0.0}
    return plain | {"contestant": contestant, "size": size, "step_ms_min": least} | more


def test_curves():
    rows = [
        point(COMPILED, 1, 9.0, session="0"),
        point(COMPILED, 1, 0.5),
        point(COMPILED, 1, 0.25),
        point(EAGER, 1, 1.0, others_cpu=0.9),
        point(EAGER, 2, 1.5),
        {"session": "b", "axis": "batch", "workload": "mlp", "error": "no memory"},
        point(EAGER, 4, 3.0, axis="depth", session="0"),
    ]
    found = curves.newest(rows)
    assert curves.table(found["mlp", "batch"], "batch") == [
        "| batch | fluvial compiled | torch eager | eager / compiled |",
        "|---:|---:|---:|---:|",
        "| 1 | 0.25 | ~1 | 4.00 |",
        "| 2 |  | 1.5 |  |",
    ]
    assert "### mlp, depth" in curves.section(found)


def test_points_of_curves_change_workloads():
    for workload in ("mlp", "gpt"):
        for axis, sizes in curves.SIZES.items():
            for size in sizes:
                at = curves.Point(workload, axis, size)
                spec = dataclasses.replace(models.WORKLOADS[workload], **at.changes)
                assert spec.batch == at.batch
                depth = len(spec.hidden) if workload == "mlp" else spec.layers
                assert size == (at.batch if axis == "batch" else depth)
                assert workload == "mlp" or spec.d_model % spec.heads == 0


def test_sizes_of_installed_packages():
    found = {}
    footprint.required("pytest>=1", found)
    assert {"pytest", "pluggy"} <= set(found)
    assert 0.1 < footprint.installed_mb(found["pytest"]) < 100
    footprint.required("no-such-package; extra == 'x'", found)
    assert "no-such-package" not in found


def test_what_moved_between_two_commits():
    head = [{"session": name, "about": {"commit": commit}} for name, commit in (("a", "1111aaa"), ("b", "2222bbb"))]
    rows = [row(COMPILED, 2.0, 2.1), row(COMPILED, 2.1), row(COMPILED, 2.5, 2.6, session="b")]  # slower by a quarter
    rows += [row(IMPERATIVE, 2.0, 2.6), row(IMPERATIVE, 2.5, 2.6, session="b")]  # within the noise of one round
    rows += [row(EAGER, 2.0), row(EAGER, 9.0, session="b")]  # theirs
    for commit, count in (("1111aaa", 1000), ("2222bbb", 950), ("2222bbb-dirty", 1)):
        rows.append({"commit": commit, "case": "matmul", "instructions": count})
    before, after = (compare.figures(head + rows, commit) for commit in ("1111aaa", "2222bbbccc"))
    assert [text for _, text in compare.moved(before, after)] == [
        f"mlp train 128, {COMPILED}, ms: 2 -> 2.5 (+25.0%)",
        "instructions: matmul: 1000 -> 950 (-5.0%)",
    ]
    assert compare.figures(head + rows, "3333") == {}
