"""How the pages of this folder become the site: their order, and links that lead out of it."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
#: Sections with their pages, in order. A folder stands for its pages in the order of its index, then all others.
SECTIONS = {
    "Start": ["README.md", "install.md", "guide/first_steps.md"],
    "Guide": ["guide/"],
    "How-tos": [
        "python.md", "control_flow_rules.md", "refusals.md", "readers.md", "debugger.md", "view.md", "scaling.md",
        "deploying.md", "onnx.md", "fluid_programs.md",
    ],
    "Python API": ["reference/"],
    "Command line": ["command_line.md", "command_options.md", "fl_language.md"],
    "Rust": ["layers_in_rust.md", "training.md", "compiled_programs.md"],
    "Lists": [
        "ops.md", "all_layers.md", "all_optimizers.md", "exported_ops.md", "onnx_ops.md", "fluid_layers.md",
        "fluid_program_ops.md",
    ],
    "Internals": ["ARCHITECTURE.md", "internals/", "ADD_AN_OP.md", "ADD_A_LAYER.md", "ADD_AN_OPTIMIZER.md"],
}  # fmt: skip
#: Where pages that no section names go, by their folder.
REST = {"": "How-tos", "guide": "Guide", "reference": "Python API", "internals": "Internals"}
#: Pages from outside of this folder, where they are on the site.
OUTSIDE = {
    "CHANGELOG.md": "repository/changelog.md",
    "CONTRIBUTING.md": "repository/contributing.md",
    "SECURITY.md": "repository/security.md",
    "bench/README.md": "repository/benchmarks.md",
    "bench/RESULTS.md": "repository/results.md",
    "examples/models/README.md": "repository/models.md",
    "release/README.md": "repository/releases.md",
}
#: Leads to what rustdoc has made, which `make site` puts beside the pages.
RUST_API = "rust_api.md"
RUST_API_TEXT = """# Rust API

<a href="rust/fluvial/index.html">The documentation of the crate `fluvial` and of all it is made of</a>, by rustdoc.
"""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s#]+)(#[^()\s]*)?\)")
FENCE = re.compile(r"^(```+).*?^\1$", re.DOTALL | re.MULTILINE)


def on_config(config):
    """Puts the pages in order."""
    docs = Path(config.docs_dir)
    left = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    nav = {name: [] for name in SECTIONS}
    for name, pages in SECTIONS.items():
        for page in pages:
            for found in ordered(docs, page) if page.endswith("/") else [page]:
                if found in left:
                    nav[name].append(found)
                    left.discard(found)
    for page in sorted(left):
        nav[REST[posixpath.dirname(page)]].append(page)
    nav["Rust"].append(RUST_API)
    nav["Internals"].extend(OUTSIDE.values())
    config.nav = [{name: pages} for name, pages in nav.items()]
    return config


def ordered(docs, folder):
    """The index of a folder, and the pages of it that the index names."""
    index = docs / folder / "README.md"
    yield folder + "README.md"
    for link in LINK.finditer(index.read_text()):
        yield posixpath.normpath(folder + link[3])


def on_files(files, config):
    for source, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text()))
    files.append(File.generated(config, RUST_API, content=RUST_API_TEXT))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links within the site stay; those to files of the repository that are not pages become plain text."""
    at = page.file.src_uri
    source = next((known for known, place in OUTSIDE.items() if place == at), f"docs/{at}")

    def mended(link):
        mark, text, target, anchor = link[1], link[2], link[3], link[4] or ""
        if re.match(r"[a-z]+:", target):
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        inside = OUTSIDE.get(path) or (path[len("docs/") :] if path.startswith("docs/") else None)
        if inside and files.get_file_from_path(inside):
            return f"{mark}[{text}]({posixpath.relpath(inside, posixpath.dirname(at) or '.')}{anchor})"
        return text

    # Code stays as it is.
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(mended, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(mended, markdown[end:])])
