"""`match`."""

from collections import namedtuple

import fluvial as fl

from . import V, case

Point = namedtuple("Point", "x y")


@case((V, 0), (V, 1), (V, 5))
def literals(v, n):
    match n:
        case 0:
            return v
        case 1:
            return v * 2
        case _:
            return v * 3


@case((V, 0), (V, 2), (V, 5))
def alternatives(v, n):
    match n:
        case 0 | 1:
            out = v
        case 2 | 3:
            out = v * 2
        case other:
            out = v * other
    return out


@case((V, 0), (V, 2), (V, 5))
def guards(v, n):
    match n:
        case k if k > 3:
            return v * k
        case 2 if v[0] > 100:
            return v * 7
        case k if k == 0:
            return v
    return -v


@case((V, -1), (V, 2))
def negative_literals(v, n):
    match n:
        case -1:
            return v
        case 2:
            return v * 2
    return v * 3


@case((V, 1.5), (V, 2.5))
def floats(v, x):
    match x:
        case 1.5:
            return v
        case 2.5 as y:
            return v * y
    return v * 3


@case(V, -V)
def sequences(v):
    pair = (v[0], v[1])
    match pair:
        case (a,):
            return a
        case (a, b):
            return a * b
        case _:
            return v[0]


@case(V, -V)
def sequences_with_literals(v):
    pair = ["add", v[1], v[2]]
    match pair:
        case ["sub", a, b]:
            return a - b
        case ["add", a, b] if a > 0:
            return a + b
        case ["add", *rest]:
            return rest[0] * rest[1]


@case((V, 0), (V, 1))
def sequence_of_values(v, n):
    match (n, v[0]):
        case (0, x):
            return x
        case (1, x) if x > 1:
            return x * 2
        case (_, x):
            return x * 3


@case(V, -V)
def mappings(v):
    match {"kind": "scale", "by": v[0], "more": v[1]}:
        case {"kind": "shift", "by": b}:
            return v + b
        case {"kind": "scale", "by": b, **rest}:
            return v * b + rest["more"]


@case(V, -V)
def classes(v):
    match Point(v[0], v[1]):
        case Point(x, y) if x > y:
            return x
        case Point(x=a, y=b):
            return a * b


@case(V, -V)
def classes_of_values(v):
    match v[0]:
        case int():
            return v
        case fl.Tensor():
            return v * 2


@case((V, 0), (V, 1))
def in_a_loop(v, n):
    state = n
    for x in v:
        match state:
            case 0:
                v = v + x
                state = 1
            case 1:
                v = v * 2
                state = 2
            case _:
                state = 0
    return v, state


@case((V, 0), (V, 1))
def break_and_continue(v, n):
    s = v[0] * 0
    for i in range(5):
        match v[i] > 0:
            case True:
                s = s + v[i]
                continue
            case False:
                break
    return s


@case((V, 0), (V, 1))
def nothing_fits(v, n):
    out = v
    match n:
        case 5:
            out = v * 2
    return out


@case((V, 0), (V, 1))
def nested(v, n):
    match n:
        case 0:
            match v[0] > 0:
                case True:
                    return v
                case _:
                    return -v
        case _:
            return v * 9


@case(V, -V)
def plain_subjects(v):
    match "b":
        case "a":
            return v
        case "b" | "c":
            return v * 2 if v[0] > 0 else v


@case((V, 0), (V, 1), (V, 3))
def bound_by_patterns(v, n):
    match n:
        case 0:
            k = 1
        case 1 as m:
            k = m + 10
        case m:
            k = m + 20
    return k


@case((V, 0), (V, 3))
def dotted_values(v, n):
    match n:
        case Codes.a:
            return v
        case Codes.b:
            return v * 2
    return v * 3


class Codes:
    a = 0
    b = 3
