"""Makes the pictures of the guide: `python docs/guide/pictures/make.py [FOLDER]`."""

import html
import os
import sys

import fluvial as fl

INK, GREY, PAPER = "#1b2733", "#66788a", "#ffffff"
BLUE, GREEN, AMBER, ROSE = "#dcebfa", "#dff3e4", "#fbeccd", "#f8dfe3"


class Picture:
    """An SVG, from the top left corner."""

    def __init__(self, width, height):
        self.size, self.parts = (width, height), []

    def box(self, x, y, width, height, fill, title="", lines=(), mono=False):
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" stroke="{GREY}"/>'
        )
        top = y + 22
        if title:
            self.text(x + 12, top, title, bold=True)
            top += 21
        for i, line in enumerate(lines):
            self.text(x + 12, top + 18 * i, line, mono=mono, size=13)

    def text(self, x, y, text, bold=False, mono=False, size=15, color=INK, anchor="start"):
        font = "ui-monospace,Menlo,Consolas,monospace" if mono else "Helvetica,Arial,sans-serif"
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x}" y="{y}" font-family="{font}" font-size="{size}" fill="{color}"'
            f' text-anchor="{anchor}"{weight} xml:space="preserve">{html.escape(text)}</text>'
        )

    def arrow(self, *points, dashed=False):
        path = " ".join(f"{x},{y}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.6"{dash} marker-end="url(#head)"/>'
        )

    def svg(self):
        width, height = self.size
        head = (
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker>'
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
                f'<defs>{head}</defs><rect width="{width}" height="{height}" fill="{PAPER}"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


def two_modes():
    """One definition, two ways to run it, one state."""
    p = Picture(860, 392)
    code = ["def step(x, y):", "    loss = fl.mean((net(x) - y) ** 2)", "    adam.minimize(loss)", "    return loss"]
    p.box(270, 14, 320, 112, AMBER, "your code, written once", code, mono=True)
    p.box(20, 176, 370, 92, BLUE, "imperative: with fl.mode(\"imperative\")")
    p.text(32, 219, "each op runs at once; the tape records it", size=13)
    p.text(32, 237, "print it, step over it, stop at it", size=13)
    p.text(32, 255, "numbers: now", size=13)
    p.box(470, 176, 370, 92, GREEN, "a program: @fl.function")
    p.text(482, 219, "each op is appended, with your line", size=13)
    p.text(482, 237, "differentiated, fused, planned; a file if you like", size=13)
    p.text(482, 255, "numbers: when it runs, without Python", size=13)
    p.arrow((330, 126), (205, 174))
    p.arrow((530, 126), (655, 174))
    p.text(430, 160, "the switch", size=13, color=GREY, anchor="middle")
    p.box(150, 312, 560, 66, ROSE, "the state scope: one, for both")
    p.text(162, 357, "net.0.weight   adam.m.net.0.weight   adam.step   rng   train.position", mono=True, size=12)
    p.arrow((205, 268), (290, 310))
    p.arrow((655, 268), (570, 310))
    p.text(430, 298, "the same numbers, to the bit", size=13, color=GREY, anchor="middle")
    return p.svg()


def life():
    """From code to numbers."""
    stages = [
        ("capture", BLUE, ["your function runs", "once, on values", "without numbers"], "fl.build"),
        ("check", BLUE, ["shapes, types,", "names: at your", "line"], "fluvial check"),
        ("differentiate", GREEN, ["gradients are ops", "of the program,", "so is the update"], "minimize"),
        ("optimise", GREEN, ["drop, fold, fuse;", "each change says", "why"], "show --passes"),
        ("plan", AMBER, ["one arena, values", "share it; in place", "where they can"], "fluvial plan"),
        ("run", AMBER, ["any size, any", "thread count,", "the same bits"], "fluvial run"),
    ]
    p = Picture(1010, 190)
    for i, (name, fill, lines, command) in enumerate(stages):
        x = 14 + i * 166
        p.box(x, 36, 148, 108, fill, name, lines)
        p.text(x + 74, 166, command, mono=True, size=12, color=GREY, anchor="middle")
        if i:
            p.arrow((x - 18, 90), (x - 2, 90))
    p.text(14, 24, "once: milliseconds", size=13, color=GREY)
    p.text(14 + 5 * 166, 24, "as often as you like", size=13, color=GREY)
    return p.svg()


@fl.function
def grow(x):
    factor = fl.parameter("factor", (), init=2.0)
    while fl.sum(x) < 100.0:
        x = x * factor
    return x


#: Notes by what a line of the listing begins with, from top to bottom.
NOTES = [
    ("fluvial 1", "the version of the format"),
    ("state @", "what lasts: its name, type and role"),
    ("startup {", "initial values; for states that have none yet"),
    ("main(", "inputs, with types; n is any size"),
    ("%1 = read", "a state is read"),
    ("%3 = constant", "a number of your code"),
    ("%5 = while", "your loop: its body is a block of its own"),
    ("%2 = mul", "x * factor; each op knows the line you wrote"),
    ("return %5,", "the condition of the next trip, and what is carried"),
    ("}, n_carried", "what the loop is given: condition, x, factor"),
    ("return %5 as", "outputs, by name"),
]


def listing():
    """A listing, line by line: that of a real program."""
    with fl.State():
        text = fl.build(grow, {"x": "f32[n]"}).text()
    lines = text.rstrip().splitlines()
    p = Picture(1010, 32 + 19 * len(lines))
    left = list(NOTES)
    for i, line in enumerate(lines):
        y = 28 + 19 * i
        p.text(14, y, line.partition("  at ")[0], mono=True, size=13)
        if left and line.strip().startswith(left[0][0]):
            p.text(600, y, left.pop(0)[1], size=13, color="#8a4b00")
            p.arrow((594, y - 4), (24 + 7.9 * len(line.partition("  at ")[0]), y - 4), dashed=True)
    if left:
        raise SystemExit(f"the listing has no line for {left}:\n{text}")
    return p.svg()


PICTURES = {"two_modes.svg": two_modes, "life.svg": life, "listing.svg": listing}


def main(folder=os.path.dirname(os.path.abspath(__file__))):
    for name, make in PICTURES.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(make())


if __name__ == "__main__":
    main(*sys.argv[1:])
