"""Element types, Python numbers, and sizes."""

from . import Case

SIZES = tuple(f"fl.arange({n}).astype('float32')" for n in (3, 5, 4, 6))
ROWS = tuple(f"fl.arange({2 * n}).astype('float32').reshape((2, {n}))" for n in (3, 5, 4, 6))


def sized(body: str, **more) -> Case:
    return Case(body, SIZES, **more)


def wide(body: str, **more) -> Case:
    return Case(body, ROWS, **more)


def run(body: str, **more) -> Case:
    """`n` is a number that only the run knows."""
    calls = ("fl.tensor([1, 2])", "fl.tensor([2, 2])", "fl.tensor([3, 1])")
    return Case("n = 0\nfor i in range(x[0]):\n    n += 1\n" + body, calls, **more)


WHOLE = ("fl.tensor(2, dtype='int32'), 3", "fl.tensor(5, dtype='int32'), 2")

CASES = {
    # Element types.
    "int32 in a loop": Case("y = x * 0\nfor i in range(n):\n    y = y + i\nreturn y", WHOLE, "x, n"),
    "int32 in a loop of the run": Case("y = x * 0\nfor i in range(x):\n    y = y + i\nreturn y", WHOLE, "x, n"),
    "a negative power in a loop": Case("k = 2\nfor v in x:\n    k = k ** -1\nreturn k"),
    "a negative power": Case("k = 2\nfor i in range(fl.tensor(3)):\n    k = k ** -1\nreturn k * x"),
    "uint8 beside a counter": Case("n = 0\nfor v in x:\n    x = x + n\n    n += 1\nreturn x", ("fl.tensor([1, 2], dtype='uint8')",)),
    "float16 beside a float": Case("k = 0.1\nfor v in x:\n    x = x * k\n    k += 0.1\nreturn x", ("fl.tensor([1., 2.]).astype('float16')",)),
    "bool counted": Case("n = 0\nfor v in x:\n    if v > 0:\n        n = n + True\nreturn n, n * x"),
    "int becomes float": Case("n = 1\nfor v in x:\n    n = n / 2\nreturn n"),
    "float floor": Case("n = 7.5\nfor v in x:\n    n = n // 2\nreturn n, n % 2"),
    # Numbers.
    "a chosen float in f64": Case("return x * (.1 if fl.sum(x) > 0 else .2)", tuple(f"fl.tensor([1., {v}], dtype='float64')" for v in (1, -5))),
    "2 ** -k": Case("k = 0\nfor v in x:\n    k += 1\nreturn x * 2 ** -k, 2 ** -k"),
    "10 // 0": Case("k = 2\nfor v in x:\n    k -= 1\nreturn 10 // k"),
    "10 % 0": Case("k = 2\nfor v in x:\n    k -= 1\nreturn 10 % k"),
    "1 / 0": Case("k = 2.0\nfor v in x:\n    k -= 1\nreturn 1 / k"),
    "u8 and i32 counters": Case("c = fl.tensor(0, dtype='uint8')\nd = fl.tensor(0, dtype='int32')\nfor v in x:\n    c += 1\n    d = d + 1\nreturn c, d"),
    "0.1 * i for a second size": sized("s = 0.0\nfor i in range(len(x)):\n    s = s + 0.1 * i\nreturn x * s, s"),
    "0.1 * i beside f64": Case("for i in range(x.shape[0]):\n    x = x + 0.1 * i\nreturn x", tuple(f"fl.zeros(({n},), 'float64')" for n in (2, 3, 4, 7))),
    "an image as an array": Case("return a / 255, a.mean(), a + 1", ("np.array([[1, 255]], np.uint8)", "np.array([[3, 4]], np.uint8)"), "a"),
    "an array of doubles": Case("return a * 2, a.sum(), x + a", ("fl.tensor([1., 2.]), np.array([1., 2.])",) * 2, "x, a"),
    "an array in a list": Case("return a[0] / 2, a[1]['k'] * 2", ("[np.array([1, 2]), {'k': np.float32(3)}]",) * 2, "a"),
    "numpy numbers": Case("return x * a, a + 1, a", ("fl.tensor([1.]), np.float64(0.1)", "fl.tensor([1.]), np.int32(3)"), "x, a"),
    "a returned number": Case("n = 0\nfor v in x:\n    n += 2\nreturn n, n + 0.5, n > 3, [n]"),
    "large ints": Case("n = 1\nfor v in x:\n    n = n * 2 ** 40\nreturn n", verdict="refused"),
    "divmod and round": Case("n = 7\nfor v in x:\n    n += 1\nreturn divmod(n, 4), round(n / 3), abs(-n), -n"),
    "item": Case("k = fl.sum(x).item()\nreturn x * k, k"),
    "int and float of tensors": Case("return int(fl.sum(x)), float(fl.max(x)), bool(fl.sum(x) > 0)"),
    "a number chosen, then counted": Case("n = 1 if fl.sum(x) > 0 else 3\nfor v in x:\n    n += n\nreturn n * x"),
    # A number of the run as a key, and beside a bool.
    "a number is added to a set": run("s = {2}\ns.add(n)\ns.update([n + 1])\nreturn s, s | {n}"),
    "bool or int": Case("k = 3\nif fl.sum(x) > 0:\n    k = False\nprint(k)\nreturn k, k + 1, True if fl.sum(x) > 0 else 0.5"),
    "bool or int in a loop": Case("k = False\nfor v in x:\n    if v > 3:\n        k = 2\nreturn k"),
    "an operand of another kind": run("return n and 5, n or 7, not n, n == 2 and n"),
    "a tensor or a number, compared": Case("k = fl.sum(x)\nif k > 2:\n    k = 0\nreturn k > 0.6, k == 0"),
    # Sizes that are compared.
    "size ==": sized("return x * (2.0 if x.shape[0] == 4 else 1.0)"),
    "size !=": sized("return x * (2.0 if x.shape[0] != 4 else 1.0)"),
    "size in": sized("return x * (2.0 if x.shape[0] in (4, 6) else 1.0)"),
    "shape == tuple": sized("return x * (2.0 if x.shape == (4,) else 1.0)"),
    "a dict of sizes": sized("return x * {3: 1., 4: 2.}.get(x.shape[0], 7.)"),
    "two sizes": Case("return fl.sum(x) if x.shape[0] == y.shape[0] else fl.sum(y)", tuple(f"fl.ones(({a},)), fl.ones(({b},))" for a, b in ((3, 3), (5, 5), (4, 5), (6, 6))), "x, y"),
    "a returned size": sized("return x.shape[0], x.shape, len(x), x.size, x.shape[0] * 2"),
    "size is even": sized("return x * 2 if x.shape[0] % 2 == 0 else x"),
    "a size as a text": sized("return x * len(str(x.shape[0])), f'{x.shape[0]}'"),
    "a size in a list": sized("return [4, 5].index(x.shape[0]) if x.shape[0] in [4, 5] else -1"),
    "a size as an attribute": sized("o.n = x.shape[0]\nreturn x * o.n", before="class O:\n    n = 0\no = O()"),
    "a size sorted": sized("return sorted([x.shape[0], 4, 1]), max(x.shape[0], 4), min(x.shape[0], 4)"),
    "a size is": sized("n = x.shape[0]\nreturn (n == 4) == True, n == 4.0, bool(n - 4)"),
    "match of a size": sized("match x.shape[0]:\n    case 4:\n        return x * 2\n    case 5 | 6:\n        return x * 3\nreturn x"),
    # Symbolic sizes.
    "arange": sized("return x + fl.arange(x.shape[0])"),
    "columns before": wide("n = x.shape[1]\nreturn x[:, :n - 1], x[:, :n // 2], x[:, 1:n]"),
    "split": wide("n = x.shape[1]\na, b = fl.split(x, [1, n - 1], axis=1)\nreturn a, b * 2"),
    "tile and roll": wide("return fl.tile(x, [2, 1]), fl.roll(x, 1, 1), fl.tile(x, [1, 2])"),
    "n > 3": wide("return x * 2 if x.shape[1] > 3 else x"),
    "n % 2": wide("return x * (x.shape[1] % 2), x.shape[1] % 2"),
    "n ** 0.5": wide("return x / x.shape[1] ** 0.5, x.shape[1] ** 0.5"),
    "math.sqrt of a size": wide("return x / math.sqrt(x.shape[1]), math.sqrt(x.shape[1]), math.log(x.shape[1])"),
    "len and size": wide("return len(x), x.size, x * x.size, x.ndim"),
    "range over columns": wide("s = x[:, 0] * 0\nfor i in range(x.shape[1]):\n    s = s + x[:, i] * i\nreturn s"),
    "short slices": wide("return x[:, :4], x[:, -4:]"),
    "zeros of a size": wide("return fl.zeros((x.shape[1], 2)) + 1, fl.eye(x.shape[1]), fl.full((x.shape[1],), 0.5)"),
    "reshape by a size": wide("a, n = x.shape\nreturn x.reshape((n, a)), x.reshape((a * n,)), x.reshape((-1, n))"),
    "a causal mask": wide("n = x.shape[1]\nm = fl.tril(fl.ones((n, n)))\nreturn x @ m"),
    "a mean by hand": wide("return fl.sum(x, axis=1) / x.shape[1]"),
    "positions": wide("n = x.shape[1]\nreturn table[:n] + x[0].reshape((n, 1))", before="table = fl.arange(20).astype('float32').reshape((10, 2))"),
    "enumerate over rows": sized("s = 0.0\nfor i, v in enumerate(x):\n    s = s + v * i\nreturn s"),
    "zip over rows": sized("s = 0.0\nfor a, b in zip(x, x * 2):\n    s = s + a * b\nreturn s"),
    "reversed rows": sized("s = x[0] * 0\nfor v in reversed(x):\n    s = s * 0.5 + v\nreturn s"),
    "list of rows": sized("rows = [v * 2 for v in x]\nreturn fl.stack(rows, 0), len(rows)"),
    "sizes beside numbers": sized("n = x.shape[0]\nreturn n + 0.5, n / 2, n // 2, -n, n * n, 2 ** n, n - 10"),
    # Sizes of the run.
    "zeros of a tensor": Case("k = fl.sum(x).astype('int64')\nreturn fl.zeros((k,)) + 1", ("fl.tensor([1, 2])", "fl.tensor([3, 2])")),
    "a slice to a tensor": Case("k = fl.sum(x)\nreturn z[:k], z[k:]", ("fl.tensor([1, 2])", "fl.tensor([3, 2])"), before="z = fl.arange(9)"),
    "a decision on a size of the run": Case("y = x[x > 0]\nif y.shape[0] > 1:\n    return fl.sum(y)\nreturn fl.sum(x)"),
    "len of a size of the run": Case("y = x[x > 0]\nreturn len(y), fl.sum(y) / max(len(y), 1)"),
    "extremes of sizes": Case("y = x[x > 0]\nn = len(y)\nreturn max(n, 1), min(n, 1), n > 1, n == 1, not n, n / 2, sorted([n, 1])"),
    "places of what holds": Case("y = fl.argwhere(x > 0)\nfor i in range(y.shape[0]):\n    x = x + i\nreturn x"),
}
