"""What the pages of the repository hold together by: links, anchors, names, titles, commands.

`python python/tests/page_links.py` prints what is wrong. It needs neither the package nor a network.
"""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(```+)([^\n`]*)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
#: Pages of a folder that say what is in it.
INDEX = "README.md"
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(make|fluvial) (.*)$")
#: Words that stand for a target or a command in a sentence about all of them.
PLACEHOLDERS = {"COMMAND", "X", "NAME"}
#: Contestants of the benchmarks are named so.
CONTESTANTS = {"imperative", "compiled", "command"}


def pages():
    """Every page that people read: those of the root, of docs, and of folders with an index."""
    found = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    for folder in ("bench", "examples", "editors", "release", ".github"):
        found += [path for path in (ROOT / folder).rglob("*.md") if "node_modules" not in path.parts]
    return sorted(found)


def prose(text):
    """The text without its code."""
    text = re.sub(r"<!--.*?-->", "", FENCE.sub("", text), flags=re.DOTALL)
    return re.sub(r"``.+?``|`[^`\n]*`", lambda code: "`" + "x" * (len(code[0]) - 2) + "`", text)


def slug(heading):
    """The anchor that a heading has."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"</?[a-zA-Z][^>]*>", "", heading.replace("`", ""))
    heading = re.sub(r"[*]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def headings(text):
    return re.findall(r"^#+ +(.+?) *#*$", FENCE.sub("", text), re.MULTILINE)


def anchors(text):
    """All anchors of a page."""
    found, seen = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)), Counter()
    for heading in headings(text):
        anchor = slug(heading)
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def title(text):
    found = re.search(r"^# (.+)$", FENCE.sub("", text), re.MULTILINE)
    return found and found[1]


def faults_of_links(paths):
    """Links that lead nowhere."""
    found, known = [], {}

    def anchors_of(path):
        if path not in known:
            known[path] = anchors(path.read_text())
        return known[path]

    for page in paths:
        text = prose(page.read_text())
        for link in LINK.finditer(text):
            target = link[1]
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists() or not path.is_relative_to(ROOT):
                found.append(f"{page.relative_to(ROOT)}: {target} leads nowhere")
            elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
                found.append(f"{page.relative_to(ROOT)}: {target}: there is no such heading")
    return found


def faults_of_names(paths):
    """Pages of docs with the name or the title of another."""
    found = []
    paths = [path for path in paths if path.is_relative_to(DOCS)]
    titles = {path: title(path.read_text()) for path in paths}
    for path in paths:
        same = [other for other in paths if other != path and path.name == other.name != INDEX]
        found += [f"{path.relative_to(ROOT)} and {other.relative_to(ROOT)} have one name" for other in same]
        same = [other for other in paths if other != path and titles[path] == titles[other]]
        found += [f"{path.relative_to(ROOT)} and {other.relative_to(ROOT)} have one title" for other in same]
        if titles[path] is None:
            found.append(f"{path.relative_to(ROOT)} has no title")
    return found


def commands(text):
    """Commands in blocks of a shell and in code within sentences."""
    for fence in FENCE.finditer(text):
        if fence[2] in ("sh", "console"):
            yield from fence[3].splitlines()
    yield from re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def faults_of_commands(paths):
    """Targets of make, commands and options of `fluvial` that do not exist."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    options = {}
    for part in re.split(r"^## fluvial ?", (DOCS / "command_options.md").read_text(), flags=re.MULTILINE)[1:]:
        name, _, help_text = part.partition("\n")
        options[name] = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", help_text))
    found = []
    for page in paths:
        for line in commands(page.read_text()):
            match = COMMAND.match(line)
            if not match:
                continue
            words = re.sub(r"\s+#.*$", "", match[2]).split()
            if not words or words[0] in PLACEHOLDERS | CONTESTANTS:
                continue
            if match[1] == "make":
                names = [word for word in words if re.fullmatch(r"[a-z][\w-]*", word)]
                wrong = [f"make {name}" for name in names[:1] if name not in targets and words[0] != "-C"]
            else:
                words = words[: words.index("--")] if "--" in words else words
                depth = 2 if " ".join(words[:2]) in options else 1
                command = " ".join(words[:depth])
                if command.startswith("-"):
                    command, depth = "", 0
                if command not in options:
                    wrong = [f"fluvial {command}"] if re.fullmatch(r"[a-z]+", command) else []
                else:
                    given = [re.split(r"[=,;.)]", word)[0] for word in words[depth:]]
                    given = [word for word in given if re.fullmatch(r"--[a-z][\w-]*", word)]
                    wrong = [f"fluvial {command} {word}" for word in given if word not in options[command]]
            found += [f"{page.relative_to(ROOT)}: there is no `{name}`" for name in wrong]
    return found


def faults():
    """All that is wrong."""
    paths = pages()
    return faults_of_links(paths) + faults_of_names(paths) + faults_of_commands(paths)


if __name__ == "__main__":
    wrong = faults()
    print("\n".join(wrong))
    print(f"{len(pages())} pages, {len(wrong)} faults")
    raise SystemExit(bool(wrong))
