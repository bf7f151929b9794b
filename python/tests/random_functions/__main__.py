"""The command: judges cases of a kind and says what it found."""

from __future__ import annotations

import argparse
import sys

from . import KINDS, case
from .minimise import minimised
from .report import FAULTS, Report
from .workers import Worker, judge_all, serve


def main() -> int:
    parser = argparse.ArgumentParser("random_functions", description=__doc__)
    parser.add_argument(
        "--kind",
        default="abcde",
        help="kinds: " + ", ".join(f"{k} {v[0]}" for k, v in KINDS.items()),
    )
    parser.add_argument("--seeds", default="0:500", help="from:to, or one seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--report", help="a JSON file; seeds that it has already are not judged again"
    )
    parser.add_argument(
        "--examples", type=int, default=0, help="minimise one case of each of so many groups"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="say how often each hazard occurred"
    )
    parser.add_argument("--show", type=int, help="print the case of a seed and its verdict")
    parser.add_argument(
        "--ignore",
        default="",
        help="a pattern of differences that do not count, such as 'sharing|is tensor'",
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    if options.show is not None:
        show(options.kind, options.show, options.ignore)
        return 0
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    report = Report(options.report)
    todo = [
        {"kind": k, "seed": s, "ignored": options.ignore}
        for s in seeds
        for k in options.kind
        if not report.is_done(k, s)
    ]
    since = 0

    def done(asked: dict, answer: dict) -> None:
        nonlocal since
        report.add(asked, answer)
        since += 1
        if since % 500 == 0:
            report.write()
            print(f"{since} of {len(todo)}", file=sys.stderr, flush=True)

    try:
        judge_all(todo, options.jobs, done)
    finally:
        report.write()
    print(report.summary())
    if options.coverage:
        print(report.errors(), report.coverage(), sep="\n")
    if options.examples:
        examples(report, options.examples, options.ignore)
        report.write()
    return 0


def show(kind: str, seed: int, ignored: str) -> None:
    """Prints a case, its verdict, and its shortest form with the same verdict."""
    text = case(kind, seed).text
    worker = Worker()
    answer = worker.judge({"text": text, "ignored": ignored})
    print(text, answer["name"], *answer["groups"], *answer["details"], sep="\n")
    if answer["groups"]:
        short, answer = shortest(worker, text, answer["groups"][0], ignored)
        print("\nminimised:\n", short, *answer["details"], sep="\n")
    worker.stop()


def shortest(worker: Worker, text: str, group: str, ignored: str) -> tuple[str, dict]:
    """The shortest text with the same difference, and the same error line by line."""
    wanted = worker.judge({"text": text, "ignored": ignored})

    def holds(shorter: str) -> bool:
        answer = worker.judge({"text": shorter, "ignored": ignored})
        return group in answer["groups"] and all(
            answer[key] == wanted[key] for key in ("name", "raised", "refusal")
        )

    n_tries = 20 if wanted["name"] == "timeout" else 250
    short = minimised(text, holds, n_tries)
    return short, worker.judge({"text": short, "ignored": ignored})


def examples(report: Report, n: int, ignored: str) -> None:
    """Minimises and prints one case of each of the most frequent groups of faults."""
    worker = Worker()
    chosen = [
        (entry["count"], key) for key, entry in report.groups.items() if key.split("|")[1] in FAULTS
    ]
    for count, key in sorted(chosen, reverse=True)[:n]:
        kind, verdict, group = key.split("|", 2)
        if key not in report.examples:
            texts = [case(kind, seed).text for seed in report.groups[key]["seeds"]]
            text = min(texts, key=len)
            short, answer = shortest(worker, text, group, ignored)
            report.examples[key] = {"text": short, "details": answer["details"]}
        example = report.examples[key]
        print(
            f"\n## {count} times in kind {kind}, {verdict}: {group}\n",
            example["text"],
            *example["details"],
            sep="\n",
        )
    worker.stop()


if __name__ == "__main__":
    sys.exit(main())
