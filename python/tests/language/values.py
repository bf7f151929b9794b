"""Python's functions of numbers, of values of the program."""

import math
import operator

import fluvial as fl

from . import I, V, X, case


@case(V, -V)
def greatest_and_least_of_two(v):
    return max(v[0], v[1]), min(v[0], v[1]), max(v[0], 2.0), min(0, v[1])


@case(V, -V)
def greatest_with_a_key(v):
    return max(v[0], v[1], v[3], key=lambda x: -x), min([v[0], v[1]], key=abs)


@case(V, -V)
def greatest_with_a_default(v):
    return max([], default=v[0]), max(v), min(v, default=3)


@case(V, -V)
def absolute_values(v):
    return abs(v), abs(v[0]), round(v[4]), -abs(v[1])


@case(V * 1.37, -V * 1.23)
def rounding(v):
    return round(v[0]), round(v[1], 1)


@case(V * 1.37, -V * 1.23)
def rounding_by_math(v):
    return math.floor(v[0]), math.ceil(v[1]), math.trunc(v[3])


@case((I, 7), (I, 3))
def quotient_and_rest(v, n):
    q, r = divmod(v[3], 3)
    return q, r, divmod(n, 2)


@case(V, -V)
def powers(v):
    return pow(v, 2), pow(v[0], 3), v[0] ** 2, pow(2, v[1])


@case(V, -V)
def math_functions(v):
    a = abs(v[0]) + 1
    return math.sqrt(a), math.exp(v[1]), math.log(a), math.sin(v[2]), math.tanh(v[0])


@case(V, -V)
def more_math(v):
    return math.pow(v[0], 2.0), math.fabs(v[1]), math.degrees(v[2]), math.atan2(v[0], v[1])


@case(V, -V)
def math_questions(v):
    out = 0
    if math.isnan(v[0]):
        out = 1
    if math.isfinite(v[1]):
        out += 10
    if math.isinf(v[2]):
        out += 100
    return out


@case(V, -V)
def math_of_plain_numbers(v):
    return v * math.sqrt(2.0) + math.pi


@case(V, -V)
def condition_by_bool(v):
    if bool(v[0] > 1):
        return v * 2
    return v


@case(V, V * 0)
def bool_of_a_number(v):
    flag = bool(v[0])
    return 1 if flag else 2


@case(V * 1.4, -V * 1.4)
def whole_number_of_a_float(v):
    n = int(v[0])
    return v * n


@case(V * 1.4, -V * 1.4)
def whole_number_as_a_bound(v):
    s = v[0] * 0
    for i in range(int(abs(v[0]))):
        s = s + v[i]
    return s


@case((V, 2), (V, 4))
def whole_number_of_an_int(v, n):
    return v * int(n), int(n) + 1


@case((V, 2), (V, 4))
def float_of_a_value(v, n):
    return v * float(v[0]), float(n) / 4


@case(V, -V)
def item_of_a_value(v):
    return v * v[0].item()


@case(V, -V)
def item_in_a_condition(v):
    if v[0].item() > 1:
        return v * 2
    return v


@case(V, -V)
def loss_item_in_a_loop(v):
    total = 0.0
    for x in v:
        total += (x * x).item()
    return total


@case((I, 3), (I, 8))
def whole_arithmetic(v, n):
    return n // 2, n % 3, -n, n & 1, n << 1, n | 8, n ^ 3


@case((V, 3), (V, 8))
def number_arithmetic(v, n):
    n += 1
    n *= 2
    return v * n, n / 4, n - 0.5


@case(V, -V)
def operator_module(v):
    if operator.gt(v[0], 1.0):
        return operator.mul(v, 2)
    return operator.neg(v)


@case(V, -V)
def truth_of_comparisons(v):
    a = v[0] > 1
    b = v[1] > 1
    return a and b, a or b, not a, a & b, a | b


@case(V, V * 0)
def truth_of_values(v):
    return v[0] or 5.0, v[0] and 3.0


@case(V, -V)
def is_instance(v):
    if isinstance(v, fl.Tensor):
        return v * 2
    return v


@case(X)
def shapes_as_numbers(x):
    n, m = x.shape
    s = 0
    for i in range(n):
        for j in range(m):
            if x[i, j] > 0:
                s += i * m + j
    return s, len(x), x.ndim


@case((V, 3), (V, 5))
def clamp(v, n):
    return min(max(n, 1), 4), max(min(v[0], 2.0), -2.0)


@case((V, 0), (V, 3))
def sign_by_comparison(v, n):
    return (n > 0) - (n < 0)


@case((V, 12), (V, 35))
def greatest_common_divisor(v, n):
    a, b = n, 15
    while b:
        a, b = b, a % b
    return a


@case((V, 12), (V, 27))
def collatz(v, n):
    steps = 0
    while n != 1 and steps < 200:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case((V, 1.0), (V, 30.0))
def newton(v, a):
    x = a
    for _ in range(20):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-6:
            break
        x = new
    return x


@case((V, 7), (V, 10))
def string_of_shapes(v, n):
    label = f"{v.shape[0]}"
    return v * int(label) + n


@case(I, I + 1)
def whole_sums(v):
    return sum(v), sum([v[0], 1, 2.5]), sum((v[0], v[1]), 10)


@case(I)
def extremes_of_whole_numbers(v):
    return max(v), min(v), max(v[0], v[1], 3)


@case(V, -V)
def numbers_of_two_types(v):
    k = 1
    if v[0] > 0:
        k = 2.5
    return v * k


@case(V, -V)
def print_values(v):
    if v[0] > 100:
        print("large", v[0])
    return v


@case(V, -V)
def any_in_while(v):
    n = 0
    while any(x > 1 for x in v):
        v = v - 0.5
        n += 1
    return v, n


@case(V, -V)
def all_of_a_tensor_method(v):
    if (v > 0).any():
        v = v * 2
    if (v > -100).all():
        v = v + 1
    return v


@case(V, -V)
def sums_of_floats_of_python(v):
    total, weight = 0.0, 1.0
    for x in v:
        weight *= 0.9
        total += x.item() * weight
    return total, v * weight, sum([x.item() for x in v])


@case(V, -V)
def floats_of_python_beside_tensors(v):
    k = v[0].item()
    return k * 0.1 * v, (k / 3) * v, v - k, 1 - k, v / (k + 10), k > v, v == k


@case(V, -V)
def numbers_in_branches(v):
    best, k = 0.0, v[1].item()
    if k > 0:
        best = k / 3
    rate = 0.1 if v[0] > 0 else 0.3
    return best, rate * 3 * v, rate * 0.7


@case(V, -V)
def division_by_zero(v):
    k = v[1].item()
    return 1 / (k - 1)


@case((V, 2), (V, -3))
def whole_numbers_of_python(v, n):
    k = int(n)
    root = float(k) ** 0.5 if k > 0 else 0.0
    return k // 2, k % 3, k / 7, k**2, -k, abs(k), k & 3, divmod(k, 2), round(k / 4), v[k] * 2, root


@case(V, -V)
def numbers_as_arguments_of_ops(v):
    k = v[0].item()
    return fl.maximum(v, k), fl.minimum(0.5 * k, v), v.clip(-1, 1) * k


@case(-abs(V) - 1, abs(V))
def domain_of_a_function(v):
    return math.sqrt(v[0]), math.log(v[1])


@case(V, V * float("nan"))
def whole_number_of_nan(v):
    return int(v[0])


@case(V, -V)
def numbers_in_structures(v):
    counts, pair = {"n": 0, "rate": 0.5}, (0, 1.0)
    for x in v:
        if x > 0:
            counts["n"] += 1
            counts["rate"] = counts["rate"] * 0.9
        pair = (pair[0] + 2, pair[1] * 0.9) if x > 1 else pair
    return counts, pair


@case(V, -V)
def rate_that_falls(v):
    rate = 0.1
    while fl.sum(v) < 40 and rate > 0.001:
        v = v * (1 + rate)
        rate *= 0.9
    return v, rate


@case(V, -V)
def best_so_far(v):
    best, at = -math.inf, -1
    for i, x in enumerate(v):
        if x.item() > best:
            best, at = x.item(), i
    return best, at


@case(V, -V)
def mean_of_some(v):
    total, count = 0.0, 0
    for x in v:
        if x < 0:
            continue
        total += float(x)
        count += 1
    return total / count if count else 0.0
