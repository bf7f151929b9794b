"""Each call changes what its lines change of objects from outside, whatever these were when the program was built."""

import pytest

import fluvial as fl

V = fl.tensor([3.0, 1.0, 2.0, -1.0, 0.5])


class World:
    """Objects that a function changes, and that others change between its calls."""

    def __init__(self):
        self.rows, self.entries, self.members = [], {"n": 0, "rows": []}, set()
        self.count = 0

    def disturb(self, turn):
        self.entries.update(n=7, other=4)
        self.count = 9
        self.members.clear()
        self.members.update({2, 3} if turn % 2 else {2, 9})
        if turn > 1:
            self.rows.append(fl.tensor(5.0))

    def shown(self):
        return repr(([x if isinstance(x, float) else float(x) for x in self.rows], self.count, sorted(self.members))) + str(
            {key: [float(x) for x in value] if isinstance(value, list) else value for key, value in self.entries.items()}
        )


def appends(w, v):
    for x in v:
        if x > 0:
            w.rows.append(x)
            w.entries["rows"].append(x * 2)
            w.entries["n"] += 1
            w.count += 1
    return len(w.rows)


def clears(w, v):
    if v[0] > 0:
        w.rows.clear()
    w.rows.append(v[0])


def replaces(w, v):
    w.rows[:] = [v[0]]


def deletes(w, v):
    del w.rows[:]
    w.rows.append(v[0])


def sets_what_was_there(w, v):
    w.entries["n"] = 0
    w.count = 0


def sets_twice(w, v):
    w.entries["n"] = 1
    w.entries["n"] = 0


def sets_the_first(w, v):
    if len(w.rows) < 1:
        w.rows.append(0.0)
    w.rows[0] = 0.0


def sets_at_a_place_of_the_run(w, v):
    w.rows.extend([v[0], v[1], v[2]])
    w.rows[int(v[4] * 2) % 2] = v[3]


def changes_members(w, v):
    w.members.discard(3)
    w.members.add(1)
    if 2 in w.members:
        w.members.remove(2)
    w.members |= {5}


def changes_entries(w, v):
    w.entries.update(n=0)
    w.entries.setdefault("late", 1)
    w.entries.pop("other", None)


def takes_off(w, v):
    return w.rows.pop() if w.rows else v[0]


def repeats(w, v):
    w.rows *= 2
    w.rows.insert(0, v[0])
    w.rows.reverse()


@pytest.mark.parametrize(
    "function",
    [
        appends,
        clears,
        replaces,
        deletes,
        sets_what_was_there,
        sets_twice,
        sets_the_first,
        sets_at_a_place_of_the_run,
        changes_members,
        changes_entries,
        takes_off,
        repeats,
    ],
)
def test_as_line_by_line(function):
    found = {}
    for mode in ("imperative", "program"):
        w = World()
        program = fl.function(lambda v: function(w, v))  # noqa: B023
        found[mode] = []
        with fl.mode(mode):
            for turn, sign in enumerate((1, -1, 1, 1)):
                program(V * sign)
                found[mode].append(w.shown())
                w.disturb(turn)
    assert found["program"] == found["imperative"]
