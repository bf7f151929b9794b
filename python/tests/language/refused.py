"""What a program cannot do: refused at the user's line, which is marked."""

import math

import fluvial as fl

from . import V, refused
from .lists import positive


@refused(TypeError, "`tolist` needs the elements of f32[5]", V)
def elements(v):
    return sum(v.tolist())  # here


@refused(TypeError, "`numpy` needs the elements of f32[5]", V)
def array(v):
    return v * v.numpy().max()  # here


@refused(ValueError, "f32[5] does not have one element", V)
def item_of_several(v):
    return v.item()  # here


@refused(TypeError, "`math.hypot` has no op that gives the same bits", V)
def function_without_an_op(v):
    return math.hypot(v[0], v[1])  # here


@refused(TypeError, "rounding to digits of a number that only the run knows", V)
def rounded_to_digits(v):
    return round(v[0].item(), 2)  # here


@refused(RuntimeError, "has no text yet", V)
def text_of_a_number(v):
    return "x" * len(str(v[0].item()))  # here


@refused(RuntimeError, "i64[] of a program being built has no elements yet", V)
def number_for_python(v):
    return "abc" * int(v[0])  # here


@refused(TypeError, "which part of a dict this is", V, 1)
def entry_of_a_dict(v, n):
    return {0: v, 1: v * 2}[n]  # here


@refused(TypeError, "which element this is, is known only when the program runs, and their types differ", V, 1)
def elements_of_two_types(v, n):
    return [v[0], v][n]  # here


@refused(TypeError, "which element this is, is known only when the program runs, and they differ in form", V, 1)
def functions_in_a_list(v, n):
    return [fl.exp, fl.log][n](v)  # here


@refused(IndexError, "a range of 2 does not lie within axis 0", V, 4)
def window_over_the_end(v, i):
    return v[i : i + 2]  # here


@refused(TypeError, "a position is a whole number, not f32[]", V)
def place_of_a_float(v):
    return [v[0], v[1]][v[0]]  # here


@refused(TypeError, "a range of a list of the program is not replaced", V)
def slice_of_a_list_set(v):
    found = positive(v)
    found[:2] = [v[0]]  # here
    return len(found)


@refused(AttributeError, "a list of the program has no `index`", V)
def index_of_an_element(v):
    return positive(v).index(v[0])  # here


@refused(TypeError, "the length of this list is known only when the program runs", V)
def unpack_an_unknown_length(v):
    a, b = positive(v)  # here
    return a + b


@refused(TypeError, "the length of this tuple", V)
def tuple_of_an_unknown_length(v):
    return tuple(x for x in v if x > 0)  # here


@refused(TypeError, "a list of the program is sorted by its elements", V)
def sort_a_list_by_a_key(v):
    return sorted(positive(v), key=lambda x: -x)  # here


@refused(TypeError, "the length of this list is known only when the program runs, and the pattern", V)
def pattern_of_an_unknown_length(v):
    found = positive(v)
    match found:
        case [a, b]:  # here
            return a + b
    return v[0]


@refused(TypeError, "whether a generator gives a value is known only when the program runs", V)
def condition_of_a_generator(v):
    return sum(x for x in [v[0], v[1]] if x > 0)  # here


@refused(TypeError, "`:=`, `yield` or `super()` stands behind a condition", V)
def walrus_behind_and_in_while(v):
    while v[0] < 100 and (s := fl.sum(v)) < 100:  # here
        v = v + s
    return v


@refused(UnboundLocalError, "cannot access local variable 'previous'", V, 3)
def first_bound_by_a_later_trip(v, n):
    for i in range(n):
        if i > 0:
            v = v + previous  # here
        previous = v[0]
    return v


@refused(TypeError, "the path of a generator depends on a value", V)
def generator_with_a_condition(v):
    def f(v):
        for x in v:
            if x > 0:  # here
                yield x

    return list(f([v[0], v[1]]))


@refused(TypeError, "whether lists of the program are equal is not asked", V)
def lists_compared(v):
    return positive(v) == positive(v)  # here


@refused(TypeError, "a list would be changed in a part of an expression", V)
def effects_behind_a_comparison(v):
    calls = []

    def at(i):
        calls.append(i)  # here
        return v[i]

    return 0 < at(1) < at(0) < 10
