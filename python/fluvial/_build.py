"""`python -m fluvial._build script.py -o program.flb [-- arguments]`: the program of a script, as a file."""

from __future__ import annotations

import argparse
import sys


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m fluvial._build", description="Writes the program that a script builds to a file."
    )
    parser.add_argument("script", help="the Python script; it is run, but not the program that it builds")
    parser.add_argument("-o", "--output", required=True, help="the file: .flb, or .fl for text")
    # A folder for arrays in memory, for one who runs the program at once.
    parser.add_argument("--data", help=argparse.SUPPRESS)
    parser.usage = "%(prog)s [-h] -o OUTPUT script [-- ARGUMENT ...]"
    words = sys.argv[1:] if argv is None else argv
    # What follows `--` is the script's own.
    end = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:end])

    from ._errors import StateError
    from ._run import program_of

    program = program_of(given.script, words[end + 1 :])
    try:
        program.carry_arrays(given.data)
    except StateError as error:
        print(error, file=sys.stderr)
        return 1
    program.save(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
