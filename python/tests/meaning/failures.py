"""What fails, fails alike; errors before an op is reached."""

from . import Case

S = "state = fl.tensor([0.0, 0.0])\nbox = {'n': 0}\n"
IDX = ("fl.tensor([0, 1])", "fl.tensor([0, 9])", "fl.tensor([1, 1])")

CASES = {
    "state before an error": Case("box['n'] += 1\nstate[0] = 5.\ny = state[x]\nbox['n'] += 10\nreturn y", IDX, before=S),
    "errors in order": Case("a = state[x]\nassert fl.sum(x) < 5, 'second'\nreturn a", IDX, before=S),
    "errors in the other order": Case("assert fl.sum(x) < 5, 'first'\na = state[x]\nreturn a", IDX, before=S),
    "an unused op that fails": Case("state[x]\nreturn x * 2", IDX, before=S),
    "an unused op in a branch": Case("if fl.sum(x) > 5:\n    state[x]\nreturn x * 2", IDX, before=S),
    "try around an op": Case("try:\n    y = state[x]\nexcept IndexError:\n    y = state * 2 + 1\nreturn y", IDX, before=S),
    "try with finally": Case("try:\n    y = state[x]\nfinally:\n    box['n'] += 1\nreturn y", IDX, before=S),
    "try with else": Case("try:\n    state[x]\nexcept IndexError:\n    box['n'] -= 1\nelse:\n    box['n'] += 10\nreturn x", IDX, before=S),
    "an assert in a loop": Case("n = 0\nfor v in x:\n    assert v < 5, 'large'\n    box['n'] = box['n'] + 1\n    state[0] = 1.\nreturn x", IDX, before=S),
    "a raise in a branch": Case("box['n'] += 1\nif fl.sum(x) > 5:\n    raise KeyError('no', 3)\nreturn x", IDX, before=S),
    "a raise in a helper": Case("box['n'] += 1\nreturn checked(x)", IDX, before=S + "def checked(t):\n    if fl.sum(t) > 5:\n        raise ValueError(f'above {5}')\n    return t"),
    "a raise with values": Case("if fl.sum(x) > 5:\n    raise ValueError(f'sum is {fl.sum(x).item()}')\nreturn x", IDX),
    "an own exception": Case("if fl.sum(x) > 5:\n    raise Own(3, 'b')\nreturn x", IDX, before="class Own(Exception):\n    pass"),
    "raise from": Case("try:\n    state[x]\nexcept IndexError as error:\n    raise ValueError('wrong') from error\nreturn x", IDX, before=S),
    "a division by zero": Case("box['n'] += 1\nreturn 7 // int(fl.sum(x)), x", ("fl.tensor([0, 1])", "fl.tensor([0, 0])"), before=S),
    "a list index": Case("rows = [1., 2.]\nreturn rows[x]", ("fl.tensor(1)", "fl.tensor(-1)", "fl.tensor(2)")),
    "a missing key": Case("box['n'] += 1\nreturn box['q'] * x", before=S),
    "prints before an error": Case("print('a')\nassert fl.sum(x) < 5\nprint('b')\nreturn x", IDX),
    "an unbound name": Case("if fl.sum(x) > 0:\n    y = x\nreturn y"),
    "an unbound name of a loop": Case("for v in x:\n    if v > 3:\n        z = v\nreturn z"),
    "a wrong type": Case("box['n'] += 1\nreturn x + 'a'", before=S),
    "a wrong shape": Case("box['n'] += 1\nreturn x + fl.ones((3,))", before=S),
    "a wrong option": Case("box['n'] += 1\nreturn fl.sum(x, dim=0)", before=S),
    "int for a list": Case("return fl.transpose(x, 3)"),
    "a text for a list": Case("return fl.reshape(x, 'a')"),
    "a missing attribute": Case("return x.foo"),
    "a missing function": Case("return fl.foo(x)"),
    "a missing argument": Case("return fl.matmul(x)"),
    "None before a loop": Case("y = None\nfor v in x:\n    y = v if y is None else y + v\nreturn y"),
    "None before a loop of the run": Case("y = None\nfor i in range(x[0]):\n    y = x if y is None else y * 2\nreturn y", ("fl.tensor([2, 1])", "fl.tensor([0, 1])", "fl.tensor([1, 1])")),
    "a key that a loop adds": Case("d = {}\nfor v in x:\n    d['s'] = v\nreturn d"),
    "a key that a loop of the run adds": Case("d = {}\nfor i in range(x[0]):\n    d['s'] = i\nreturn d", ("fl.tensor([2, 1])", "fl.tensor([0, 1])", "fl.tensor([1, 1])")),
    "forms that differ": Case("y = x\nif fl.sum(x) > 0:\n    y = [x, x]\nreturn y"),
    "shapes that differ": Case("y = x\nif fl.sum(x) > 0:\n    y = fl.sum(x)\nreturn y"),
    "types that differ": Case("y = x\nif fl.sum(x) > 0:\n    y = 'text'\nreturn y"),
    "element types that differ": Case("y = x\nif fl.sum(x) > 0:\n    y = x.astype('int64')\nreturn y"),
}
