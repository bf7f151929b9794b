"""Writes `docs/refusals.md`: what programs refuse of Python, read from the code that refuses.

`python python/tests/refusals_page.py` writes the page; a test checks that it is fresh.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "fluvial"
PAGE = ROOT / "docs" / "refusals.md"
FILES = [
    *sorted((PACKAGE / "_convert").glob("*.py")),
    *(PACKAGE / f"{name}.py" for name in ("_numbers", "_printing", "_phase", "_results", "_reader")),
]

HEAD = """# What programs refuse

Most of Python works in functions under `@fl.function` as it does line by line. What cannot become a program is an error at the user's line when the function is built, or when it runs; nothing else is done in its place. Where it is a branch or a loop that cannot be a part of one program, a call builds a program for its own path
instead, and says so ([control flow](control_flow_rules.md)); the error comes with `fl.function(whole=True)`, and where a program is built without values, as `fl.build` does. This page is made from the code that refuses,
by `python python/tests/refusals_page.py`; `…` stands for what a message names. [Control flow](control_flow_rules.md) says what works.
"""


def text_of(node):
    """A text as the page shows it, or None for what is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None and right is None else (left or "…") + (right or "…")
    return None


def refusals(path):
    """Pairs of what a file refuses and its remedy."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", None))
        if name == "Mismatch" and node.args:
            what, remedy = text_of(node.args[0]), ""
        elif name == "fault" and len(node.args) >= 2:
            first = 1 if isinstance(node.func, ast.Name) else 0
            texts = [text_of(part) for part in node.args[first : first + 2]]
            what, remedy = texts[0], texts[1] if len(texts) > 1 else ""
        else:
            continue
        if what is None or not re.search("[a-z]{3}", what):
            continue
        what, _, said = what.partition("\n  remedy: ")
        what = re.sub(r"^(…:)+ *", "", what)
        found.append((what.strip(), (remedy or said or "").strip()))
    return sorted(set(found))


def page():
    """The text of the page."""
    parts = [HEAD]
    for path in FILES:
        found = refusals(path)
        if not found:
            continue
        title = ast.get_docstring(ast.parse(path.read_text())).split("\n")[0].rstrip(".")
        rows = [f"| {what} | {remedy} |".replace("\n", " ") for what, remedy in found]
        parts.append("\n".join([f"## {title}", "", "| what | what to do |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
