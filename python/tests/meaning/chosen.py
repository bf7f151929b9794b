"""Numbers that only the run knows as Python's own, containers that stay themselves, and what a loop goes through."""

from . import Case

#: The first lines of functions with an int and a float of the run.
NUMBERS = "n, k = 0, 0.5\nif fl.sum(x) > 0:\n    n, k = 2, 2.5\n"
#: Lists and an object outside of the function.
LISTS = "xs, ys = [fl.tensor(1.0), fl.tensor(2.0)], [fl.tensor(1.0), fl.tensor(2.0)]"
PAIR = "class Pair:\n    p, q = None, None\no = Pair()\no.p, o.q = [fl.tensor(1.0)], [fl.tensor(2.0), 3]"

CASES = {
    # What no number can do.
    "len of a number": Case(NUMBERS + "return len(n)"),
    "iteration over a number": Case(NUMBERS + "for a in n:\n    x = x + a\nreturn x"),
    "iteration over a number in a branch": Case(NUMBERS + "if x[0] > 3:\n    for a in n:\n        x = x + a\nreturn x"),
    "an item of a number": Case(NUMBERS + "if x[0] > 3:\n    x = x + k[0]\nreturn x"),
    "an item of a number is set": Case(NUMBERS + "if x[0] > 3:\n    n[0] = 3\nreturn x"),
    "an item of a number is deleted": Case(NUMBERS + "if x[0] > 3:\n    del k[0]\nreturn x"),
    "a call of a number": Case(NUMBERS + "if x[0] > 3:\n    n(x)\nreturn x"),
    "in a number": Case(NUMBERS + "if x[0] > 3:\n    return 3 in n\nreturn False"),
    "unpacking of a number": Case(NUMBERS + "a, b = n\nreturn a"),
    "sum of a number": Case(NUMBERS + "return sum(n)"),
    "a method that numbers have not": Case(NUMBERS + "return k.append(3)"),
    "an attribute of tensors": Case(NUMBERS + "return k.shape"),
    "caught": Case(NUMBERS + "try:\n    return len(n)\nexcept TypeError:\n    return x"),
    # What they can.
    "attributes of numbers": Case(NUMBERS + "return n.real, k.imag, n.numerator, n.denominator, k.conjugate()"),
    "is_integer": Case(NUMBERS + "return k.is_integer(), (k + 0.5).is_integer()"),
    "bit_length": Case(NUMBERS + "return n.bit_length()"),
    "signs of a number or a tensor": Case("k = min(fl.sum(x), 1.5)\nreturn abs(k), -k, +k"),
    "signs in a loop": Case("k = 0.5\nfor v in x:\n    if v > 1.5:\n        k = v\n    else:\n        k = -abs(k)\nreturn k"),
    "an int, a float or a tensor": Case("k = 0.5\nif fl.sum(x) > 0:\n    k = 1\nif x[1] > 1:\n    k = fl.sum(x)\nreturn k"),
    "a power that may be negative": Case("k = int(x[0])\nreturn 2 ** (1 - k), x * 3 ** -k, (2 ** -k) * 4"),
    "zero to a negative power": Case("k = int(x[1]) - 1\nn = k - k\nreturn n ** -k"),
    "a power that decides": Case("k = int(x[0]) - 1\nreturn list(range(2 ** (k + 4)))"),
    # Containers that stay themselves.
    "a list in what a try returns": Case("try:\n    if fl.max(x) > 1.1:\n        m[0] = x\n        return [xs, x]\nfinally:\n    x += 1\nreturn [xs, x]", before=LISTS + "\nm = fl.zeros((2, 2))"),
    "a list behind a loop that does not change it": Case("xs += [x]\nif x[0] > 0:\n    while fl.sum(x) < 20:\n        x = x * 2\nreturn x", parameters="x, xs", before=LISTS, calls=("fl.tensor([1., 2.]), xs", "fl.tensor([-1., 2.]), xs", "fl.tensor([4., 4.]), xs")),
    "a name of a closure behind a loop": Case("nonlocal xs\nxs += [x]\nif x[0] > 0:\n    while fl.sum(x) < 20:\n        x = x * 2\nreturn x", before=LISTS),
    "a loop copies a list": Case("z = xs\nwhile 0 < fl.sum(x) < 20:\n    z = list(z)\n    x = x * 2\nz.append(x)\nreturn z, x", before=LISTS),
    "a loop copies texts": Case("z = w = ['a']\nwhile 0 < fl.sum(x) < 20:\n    z = list(z)\n    x = x * 2\nw.append('b')\nreturn z, w", before=LISTS),
    "a loop chooses a list": Case("z = xs\nfor v in x:\n    if v > 1.5:\n        z = ys\n    x = x + z[0] * v\nreturn x, z", before=LISTS),
    "a loop swaps lists": Case("z, w = xs, ys\nfor v in x:\n    z, w = w, z\n    z[0] = z[0] + v\nreturn z, w", before=LISTS),
    "attributes are swapped": Case("o.p, o.q = o.q, o.p\no.p.append(x)\nreturn x * o.q[0]", before=PAIR),
    "entries are swapped": Case("d['p'], d['q'] = d['q'], d['p']\nd['q'].append(x)\nreturn d['p']", before="d = {'p': [fl.tensor(1.)], 'q': [fl.tensor(2.), 3]}"),
    "an argument is returned from a loop": Case("for v in x:\n    if v > 1.5:\n        x = x + 1\n        return po, x\nreturn po, x", parameters="x, po", calls=tuple(f"fl.tensor([{a}, 1.]), [fl.tensor(1.5), 3]" for a in (1.0, 2.0, 4.0))),
    # What a loop goes through.
    "rows of a tensor that the loop changes": Case("c = x * 1\nfor v in x:\n    c = c + v\n    x[1] = c[1]\nreturn c"),
    "the same on one path": Case("c = x * 1\nfor v in x:\n    c = c + v\n    o.h = c\n    x[1] = c[1]\nelse:\n    c[0] = 0.5\nreturn c", before="class Box:\n    h = None\no = Box()"),
    "a list that grows": Case("rows = [x]\nfor v in rows:\n    if fl.sum(x) > 0 and len(rows) < 4:\n        rows.append(v + 1)\nreturn rows"),
    "a list that shrinks": Case("rows, s = [x, x * 2, x * 3], 0\nfor v in rows:\n    s = s + v\n    if fl.sum(x) > 0:\n        rows.pop()\nreturn rows, s"),
    "a list of the run that grows": Case("rows = [x]\nif fl.sum(x) > 0:\n    rows.append(x * 2)\nfor v in rows:\n    if len(rows) < 4:\n        rows.append(v + 1)\nreturn rows"),
    "the last of an empty list": Case("rows = [x]\nfor v in x:\n    if v < 1.5:\n        rows.pop()\n    x = x + rows[-1]\nreturn x"),
    # Arrays, and sizes in messages.
    "an array that a branch changes is another one": Case("n = 0\nif fl.sum(x) > 0:\n    for v in x:\n        pass\n    a[0] += n\nreturn fl.tensor(a)", before="a = np.array([0.5, 1.5])", change="a = a * 2"),
    "a number of the run in an array": Case(NUMBERS + "a[0] += n\na[1] = k\nreturn x", before="a = np.zeros(2, np.float32)"),
    "a size in a message": Case("if fl.sum(x) < 5:\n    return x.reshape((x.shape[0], 2))\nreturn x", calls=("fl.arange(5) * 1.0", "fl.arange(4) * 1.0", "fl.arange(3) * 1.0")),
    "a size in a message of an index": Case("if fl.sum(x) < 5:\n    return x[3]\nreturn x", calls=("fl.arange(5) * 1.0", "fl.arange(4) * 1.0", "fl.arange(3) * 1.0")),
}
