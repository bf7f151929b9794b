"""Parts of tensors, and tensors seen in another shape, that are changed in place: the whole is changed, too."""

from . import Case

M = ("fl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])", "fl.tensor([[-1.0, 0.5, 2.0], [0.0, -5.0, 1.0]])")


def lines(body: str, **more) -> Case:
    return Case(body + "\nreturn x", M, **more)


CASES = {
    "a row is zeroed": lines("x[0].zero_()"),
    "an element of a row is added to": lines("x[0][1] += 1.0"),
    "an element of an element": lines("x[0][1:][0] = 4.0"),
    "a row is copied into": lines("x[0].copy_(fl.tensor([7.0, 8.0, 9.0]))"),
    "a view": lines("x.view(-1)[0] = 1.0"),
    "a row of another shape": lines("x.reshape(3, 2)[1].fill_(2.0)"),
    "a row of a flat one": lines("x.flatten()[1:3].neg_()"),
    "a new axis": lines("x.unsqueeze(0)[0, 1].neg_()"),
    "without axes of one": lines("x.unsqueeze(1).squeeze(1)[0] = 0.5"),
    "a transpose": lines("x.T[0] = 5.0"),
    "other transposes": lines("x.transpose(0, 1)[1].add_(1.0)\nx.permute(1, 0)[0][1] = 3.0\nx.mT[2] = -1.0"),
    "the data": lines("x.data.zero_()"),
    "a row of the data": lines("x.data[0].fill_(2.0)"),
    "detached": lines("x.detach()[0] = 2.0"),
    "a column": lines("x[:, 1].sub_(1.0)"),
    "an ellipsis": lines("x[..., 0].mul_(3.0)"),
    "every second one": lines("x[:, ::2].zero_()"),
    "rows with names": lines("y = x[0]\ny.add_(1.0)\nz = x[1]\nz.mul_(2.0)\nkept.append((y, z))", before="kept = []"),
    "a row that was taken before a change": Case("y = x[0]\nx[0] = 9.0\ny.add_(1.0)\nreturn x, y", M),
    "a row of a row that was taken before a change": Case("y = x[0]\nz = y[1:]\nx[0] = 9.0\nz.add_(1.0)\nreturn x, y, z", M),
    "two parts of the same elements": Case("y = x[0]\nz = x[:, 0]\ny.add_(1.0)\nz.mul_(2.0)\nreturn x, z", M),
    "rows of a loop": lines("for row in x:\n    row[0] = 5.0"),
    "rows and numbers": lines("for i, row in enumerate(x):\n    row.add_(float(i))"),
    "rows at places of the run": lines("for i in range(fl.tensor(2)):\n    x[i].add_(1.0)"),
    "a row at a place of the run": lines("x[(fl.sum(x) > 0).astype('int64')].zero_()"),
    "in a branch": lines("if fl.sum(x) > 0:\n    x[0].zero_()\nelse:\n    x[1].zero_()"),
    "a row of a branch": lines("if fl.sum(x) > 0:\n    y = x[0]\nelse:\n    y = x[1]\ny.zero_()"),
    "the last row of a loop": lines("y = x[0]\nfor i in range(fl.tensor(2)):\n    y = x[i]\ny.zero_()"),
    "a row by a helper": lines("clear(x[1])", before="def clear(t):\n    t.zero_()"),
    "a row in a list": lines("rows = [x[0], x[1]]\nrows[1].zero_()"),
    "a row of a computed tensor": Case("y = x * 2\ny[0].zero_()\nreturn y", M),
    "a gradient passes": Case("y = x * x\ny[0].mul_(3.0)\nreturn y", tuple(f"{one}.track()" for one in M), after="fl.sum(result).backward()\nreturn given[0].grad"),
    "a row of a parameter": lines("with fl.no_grad():\n    net.weight[0].zero_()\n    net.weight.data[1].fill_(2.0)", before="fl.seed(1)\nnet = fl.nn.Linear(3, 2)"),
    "a row of a leaf that is recorded": lines("w[0].zero_()", before="w = fl.tensor([[1.0, 2.0, 3.0]]).track()"),
    "a row of a gradient": lines("fl.sum(w * x).backward()\nw.grad[0].zero_()\ny = w.grad * 1.0\nw.zero_grad()\nkept.append(y)", before="w = fl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).track()\nkept = []"),
    "a row that is an argument": Case("row.zero_()\nreturn row", tuple(f"*rows({one})" for one in M), "whole, row", before="def rows(x):\n    return x, x[0]"),
    "a row of something that is gone": Case("y = (x * 2)[0]\ny[1] = 5.0\nreturn y", M, after="result.zero_()"),
    "a copy": Case("y = x.clone()\ny[0].zero_()\nz = x[0].clone()\nz.zero_()\nreturn x, y, z", M),
    "positions and masks copy": lines("x[fl.tensor([0])].zero_()\nx[x > 0].zero_()"),
    "narrow is refused": lines("x.narrow(0, 0, 1).zero_()"),
    "parts of a split are refused": lines("a, b = x.chunk(2)\na.zero_()"),
    "an expanded one is refused": lines("y = x[0].expand(4, 3)\ny[0] = 1.0"),
    "a transpose in another shape is refused": lines("x.T.reshape(-1)[0] = 1.0"),
    "a contiguous transpose is refused": lines("x.T.contiguous()[0] = 1.0"),
    "detached from what gradients pass is refused": Case("y = x * 2\ny.detach()[0] = 1.0\nreturn y", tuple(f"{one}.track()" for one in M)),
}

#: A tensor and a part of it, both given to one function.
BOTH = "def both(x, part):\n    kept.append(x)\n    return x, part(x)\nkept = []"


def together(body: str, part: str = "lambda x: x[0]", *, verdict: str = "equal", calls: tuple = M, **more) -> Case:
    return Case(body, tuple(f"*both({one}, {part})" for one in calls), "x, p", before=BOTH, verdict=verdict, **more)


READ = "p.zero_()\nreturn x * 1.0"
CASES |= {
    "part and whole: the part is changed, the whole is read": together(READ, verdict="refused"),
    "part and whole: the part is changed in a branch": together("if fl.sum(p) > 0:\n    p.zero_()\nreturn x * 1.0", verdict="refused"),
    "part and whole: the part is changed in a loop": together("for i in range(fl.tensor(2)):\n    p.add_(1.0)\nreturn x * 1.0", verdict="refused"),
    "part and whole: the whole is read before": together("y = x * 2.0\np.zero_()\nreturn y"),
    "part and whole: the whole is returned": together("p.zero_()\nreturn x"),
    "part and whole: the part is returned": together("p[1] = 5.0\nreturn p"),
    "part and whole: the whole is changed, the part is read": together("x[0] = 5.0\nreturn p * 1.0, x * 1.0"),
    "part and whole: both are changed": together("x[0] = 5.0\np.add_(1.0)", verdict="refused"),
    "part and whole: both are changed, the part first": together("p.add_(1.0)\nx[0] = 5.0", verdict="refused"),
    "a column and the whole": together(READ, "lambda x: x[:, 1]", verdict="refused"),
    "a transpose and the whole": together("p[0] = 7.0\nreturn x * 1.0", "lambda x: x.T", verdict="refused"),
    "a view and the whole": together("p[0] = 7.0\nreturn x * 1.0", "lambda x: x.view(-1)", verdict="refused"),
    "another shape and the whole": together(READ, "lambda x: x.reshape(3, 2)", verdict="refused"),
    "a detached one and the whole": together(READ, "lambda x: x.detach()", verdict="refused"),
    "the data and the whole": together(READ, "lambda x: x.data"),
    "a part of a part and the whole": together(READ, "lambda x: x[0][1:]", verdict="refused"),
    "a part of a part, the middle is gone": together("p.zero_()\nreturn x", "lambda x: x.view(-1)[1:3]"),
    "a part in a list": together("p[0].zero_()\nreturn x * 1.0", "lambda x: [x[0], x[1]]", verdict="refused"),
    "a part in a dict": together("p['row'].zero_()\nreturn x * 1.0", "lambda x: {'row': x[1]}", verdict="refused"),
    "two rows are changed": together("p[0].zero_()\np[1].add_(1.0)\nreturn p[0] * 1.0", "lambda x: [x[0], x[1]]"),
    "a row and a column are changed": together("p[0].zero_()\np[1].add_(1.0)", "lambda x: [x[0], x[:, 0]]", verdict="refused"),
    "a captured whole": Case("p.zero_()\nreturn kept[0] * 1.0", tuple(f"part({one})" for one in M), "p", before="kept = [None]\ndef part(x):\n    kept[0] = x\n    return x[0]", verdict="refused"),
    "a captured part": Case("kept[0].zero_()\nreturn x * 1.0", tuple(f"whole({one})" for one in M), before="kept = [None]\ndef whole(x):\n    kept[0] = x[0]\n    return x", verdict="refused"),
    "a captured whole that is not read": Case("p.zero_()", tuple(f"part({one})" for one in M), "p", before="kept = [None]\ndef part(x):\n    kept[0] = x\n    return x[0]"),
    "a part in the second call only": Case(READ, ("*apart()", "*both()"), "x, p", before="def apart():\n    return fl.ones((2, 3)), fl.ones((3,))\ndef both():\n    x = fl.ones((2, 3))\n    return x, x[0]", verdict="refused"),
    "a part in the first call only": Case("y = x * 1.0\np.zero_()\nreturn y", ("*both()", "*apart()", "*both()"), "x, p", before="def apart():\n    return fl.ones((2, 3)), fl.ones((3,))\ndef both():\n    x = fl.ones((2, 3))\n    return x, x[0]"),
    "a row of a parameter is an argument": Case("with fl.no_grad():\n    p.zero_()\nreturn net.weight * 1.0", ("net.weight[0]",), "p", before="fl.seed(1)\nnet = fl.nn.Linear(3, 2)", verdict="refused"),
    "arrays that share memory": Case("x[0] = 5.0\nreturn p * 1.0, x * 1.0", ("a, a[0]", "a, a.T"), "x, p", before="a = np.ones((2, 2), np.float32)"),
    "one tensor twice": Case("p[0] = 5.0\nreturn x * 1.0", tuple(f"*(lambda x: (x, x))({one})" for one in M), "x, p"),
}
