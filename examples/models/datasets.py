"""Where the batches of the examples come from: shipped data, folders of the user, or synthetic
data.

Each function takes the options of the command line and returns a `Data`: two readers, of files, so
that a program that was exported finds them, too. What is made or converted here is kept in the
folder `--work`.
"""

import os

import fluvial as fl
import numpy as np

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
TRAIN, TEST = "train", "test"


class Data:
    """Readers of batches to learn from and of batches to judge by, and what they are, in words."""

    def __init__(self, what, train, test):
        self.what, self.train, self.test = what, train, test

    def map(self, stages):
        """The data with further stages of its readers."""
        return Data(self.what, stages(self.train), stages(self.test))


def find(folder, part):
    """The file with a part of the data in a folder, or None."""
    for ending in (".rec", ".npz"):
        path = os.path.join(folder, part + ending)
        if os.path.exists(path):
            return path
    return None


def opened(options, what, folder, *, shuffle=True, batched=True):
    """The data of a folder with `train.rec` and `test.rec` (or `.npz`)."""
    readers = []
    for part in (TRAIN, TEST):
        path = find(folder, part)
        if path is None:
            raise SystemExit(
                f"`{folder}` has neither {part}.rec nor {part}.npz\n"
                "  remedy: name a folder that has them, or use `--data synthetic`"
            )
        reader = fl.batch_reader(path, name=part)
        if len(reader) == 0:
            use = "the test" if part == TEST else "training"
            raise SystemExit(f"`{folder}` has no samples for {use}\n  remedy: use more of the data")
        if options.samples is not None:
            samples = options.samples if part == TRAIN else max(options.samples // 4, 1)
            reader = reader.take(min(samples, len(reader)))
        if shuffle and part == TRAIN:
            reader = reader.shuffle(seed=options.seed)
        if batched:
            size = min(options.batch_size, len(reader))
            # Programs for one size run fastest; a test must not leave samples out.
            whole = part == TRAIN or len(reader) % size == 0
            reader = reader.batch(size, drop_last=whole)
        readers.append(reader.prefetch(2))
    return Data(what, *readers)


def made(options, name, make):
    """The folder `name` of the work folder. If it has no data yet, `make()` gives the arrays of
    each part by name.
    """
    folder = os.path.join(options.work, name)
    if not all(find(folder, part) for part in (TRAIN, TEST)):
        os.makedirs(folder, exist_ok=True)
        for part, arrays in zip((TRAIN, TEST), make()):
            path = os.path.join(folder, part)
            np.savez(f"{path}.tmp.npz", **arrays)
            os.replace(f"{path}.tmp.npz", f"{path}.npz")
    return folder


def parted(arrays, every=5):
    """Arrays for training and, of every fifth sample, for the test."""
    is_test = np.arange(len(next(iter(arrays.values())))) % every == every - 1
    return tuple({name: a[wanted] for name, a in arrays.items()} for wanted in (~is_test, is_test))


def number(options, default):
    """How many samples are made: so many to learn from, and a quarter as many for the test."""
    return (options.samples or default) * 5 // 4 + 1


# Images -------------------------------------------------------------------------------------------


def digits(options, mean=0.1307, deviation=0.3081):
    """Digits of 28 x 28 pixels: `x: f32[batch, 1, 28, 28]` and `y: i64[batch]`.

    `mean` and `deviation` of pixels from 0 to 1 become 0 and 1.
    """
    mnist = os.path.join(options.work, "mnist")
    if options.data == "synthetic":
        return images(options, (1, 28, 28), 10, 4000)
    if options.data is not None:
        data = opened(options, f"images of `{options.data}`", options.data)
    elif find(mnist, TRAIN):
        data = opened(options, "MNIST", mnist)
    else:
        folder = made(options, "digits", small_digits)
        what = "1,797 small digits, enlarged; data/get_mnist.py fetches MNIST"
        data = opened(options, what, folder)
    return data.map(
        lambda reader: reader.cast("x", "float32").scale(
            "x", 1 / (255 * deviation), -mean / deviation
        )
    )


def small_digits():
    """The digits of `examples/data/digits`, each pixel as 3 x 3 of them, in a frame of two."""
    rows = np.fromfile(os.path.join(SHIPPED, "digits", "digits.bin"), np.uint8).reshape(-1, 65)
    images = rows[:, :64].reshape(-1, 8, 8).astype(np.int64) * 255 // 16
    images = np.pad(images.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    return parted({"x": images[:, None].astype(np.uint8), "y": rows[:, 64].astype(np.int64)})


def images(options, shape, classes, default=800):
    """Images `x: f32[batch, *shape]` and classes `y: i64[batch]`: of a folder, or synthetic."""
    size = "x".join(map(str, shape))
    if options.data not in (None, "synthetic"):
        data = opened(options, f"images of `{options.data}`", options.data)
    else:
        name = f"clusters-{size}-{classes}-{number(options, default)}-{options.seed}"
        folder = made(options, name, lambda: clusters(options, shape, classes, default))
        data = opened(options, f"synthetic images of {size} in {classes} classes", folder)
    return data.map(lambda reader: reader.cast("x", "float32").scale("x", 1 / 32, -4.0))


def clusters(options, shape, classes, default):
    """Synthetic images: half a fixed centre for each class, plus noise."""
    centres = np.random.RandomState(options.seed).randn(classes, *shape)
    rng, n = np.random.RandomState(options.seed + 1), number(options, default)
    y = rng.randint(0, classes, n)
    x = 0.5 * centres[y] + rng.randn(n, *shape)
    return parted({"x": np.clip(128 + 32 * x, 0, 255).astype(np.uint8), "y": y})


# Text ---------------------------------------------------------------------------------------------

#: Characters are tokens: the end of a line, and what can be printed in ASCII.
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


def encoded(text):
    """The tokens of a text; characters that are not known are left out."""
    places = {character: i for i, character in enumerate(CHARACTERS)}
    return np.array([places[c] for c in text if c in places], np.uint8)


def decoded(tokens):
    return "".join(CHARACTERS[int(token)] for token in tokens)


def text(options, length, rows=None):
    """Pieces of a text: tokens `x: i64[batch, length]` and what follows each, `y`.

    With `rows`, the text to learn from is cut into as many rows, and each batch goes on where the
    one before ended. The last tenth of the text is for the test.
    """
    if options.data == "synthetic":
        what, tokens = "synthetic text that counts", counting(options, length)
    else:
        path = options.data or os.path.join(SHIPPED, "moby_dick", "moby_dick.txt")
        if not os.path.isfile(path):
            raise SystemExit(f"`{path}` is not a file\n  remedy: name a file of text by `--data`")
        with open(path, encoding="utf-8") as file:
            tokens = encoded(file.read())
        what = f"{len(tokens):,} characters of {os.path.basename(path)}"

    def pieces(part, rows=None):
        if rows is None:
            starts = np.arange(0, len(part) - length, length)
        else:
            steps = (len(part) - 1) // rows // length
            starts = (np.arange(rows) * steps * length + np.arange(steps)[:, None] * length).ravel()
        places = starts[:, None] + np.arange(length)
        return {"x": part[places], "y": part[places + 1]}

    def make():
        border = len(tokens) * 9 // 10
        return pieces(tokens[:border], rows), pieces(tokens[border:])

    sum_ = int(np.sum(tokens, dtype=np.int64))
    name = f"text-{len(tokens)}-{sum_}-{length}" + (f"-{rows}" if rows else "")
    data = opened(options, what, made(options, name, make), shuffle=rows is None)
    return data.map(lambda reader: reader.cast("x", "int64").cast("y", "int64"))


def counting(options, length):
    """Tokens that count by a stride, which changes now and then; a tenth of them is random."""
    rng, n = np.random.RandomState(options.seed), number(options, 800)
    strides = rng.randint(1, 8, n).repeat(length)
    tokens = np.cumsum(strides) % len(CHARACTERS)
    noisy = rng.rand(len(tokens)) < 0.1
    return np.where(noisy, rng.randint(0, len(CHARACTERS), len(tokens)), tokens).astype(np.uint8)


# Other synthetic data -----------------------------------------------------------------------------


def reversal(options, vocab, length, pad=0, bos=1):
    """Sequences `src`, and the same from the end: `y`, and `tgt`, which has `bos` in front.

    All are `i64[batch, length]`.
    """

    def make():
        rng, n = np.random.RandomState(options.seed), number(options, 4000)
        src, tgt = np.full((n, length), pad), np.full((n, length + 1), pad)
        for row, size in enumerate(rng.randint(length // 2, length + 1, n)):
            src[row, :size] = rng.randint(2, vocab, size)
            tgt[row, 0] = bos
            tgt[row, 1 : size + 1] = src[row, :size][::-1]
        y = tgt[:, 1:]
        return parted({"src": src, "tgt": np.where(y == pad, pad, tgt[:, :-1]), "y": y})

    name = f"reversal-{vocab}-{length}-{number(options, 4000)}-{options.seed}"
    return opened(options, "synthetic sequences to reverse", made(options, name, make))


def ratings(options, users, items):
    """Who likes what: `user`, `item` and `y`, which is 1.0 where hidden tastes and traits agree."""

    def make():
        rng, n = np.random.RandomState(options.seed), number(options, 200_000)
        tastes, traits = rng.randn(users, 4), rng.randn(items, 4)
        user, item = rng.randint(0, users, n), rng.randint(0, items, n)
        liked = (tastes[user] * traits[item]).sum(axis=1) > 0
        return parted({"user": user, "item": item, "y": liked.astype(np.float32)})

    name = f"ratings-{users}-{items}-{number(options, 200_000)}-{options.seed}"
    return opened(options, "synthetic ratings", made(options, name, make))


def graph(options, nodes, features, classes, edges, repeat=10):
    """One graph: words `x: f32[nodes, features]`, edges `adj: f32[nodes, nodes]`, classes `y`.

    Two thirds of the nodes are to learn from and the others for the test; those of the other part
    have the class -100, which the loss leaves out. A pass has the same graph several times.
    """

    def make():
        rng = np.random.RandomState(options.seed)
        y = np.arange(nodes) * classes // nodes
        a = rng.randint(0, nodes, edges)
        b = (a + rng.randint(1, max(nodes // 14, 2), edges)) % nodes  # near, so mostly of one class
        adj = np.eye(nodes)
        adj[a, b] = adj[b, a] = 1.0
        scale = adj.sum(axis=1) ** -0.5
        adj = (scale[:, None] * adj * scale).astype(np.float32)
        topic = np.arange(features) * classes // features
        x = (rng.rand(nodes, features) < np.where(topic == y[:, None], 0.03, 0.01)).astype(float)
        x = (x / np.maximum(x.sum(axis=1, keepdims=True), 1.0)).astype(np.float32)
        is_test = rng.rand(nodes) < 1 / 3
        for wanted in (~is_test, is_test):
            yield {"x": x[None], "adj": adj[None], "y": np.where(wanted, y, -100)[None]}

    name = f"graph-{nodes}-{features}-{classes}-{edges}-{options.seed}"
    what = f"a synthetic graph of {nodes:,} nodes"
    data = opened(options, what, made(options, name, make), batched=False)
    return Data(what, data.train.repeat(repeat), data.test)
