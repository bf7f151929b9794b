"""What a training shows while it runs: a bar on a terminal, else a line now and then, on standard
error.

A training calls `progress.step` and `progress.score` with tensors. In a program these become calls
into Python, so that the same lines report in both modes.
"""

import sys
import time

import fluvial as fl

#: The progress that the calls of a running program are for.
_current = [None]



def step_to(names):
    """The name by which programs tell the number of a step and its losses."""

    def told(step, *losses):
        _current[0].on_step(step, zip(names, losses))
        return []

    name = f"examples.step {' '.join(names)}"
    fl.register_host(name, told)
    return name


fl.register_host("examples.score", lambda *values: _current[0].on_score(*values) or [])


class Progress:
    """Shows epochs, steps, losses, samples a second and the time left, and keeps the numbers.

    Args:
        first: The number of steps that were made before, by a run that is resumed.
        last: The number of steps after which the training ends.
        epoch: How many steps an epoch has.
        samples: How many samples a step has.
        metric: What scores are.
        quiet: Whether nothing is shown.
    """

    def __init__(self, first, last, epoch, samples, metric, quiet=False, file=None):
        self.first, self.last, self.epoch, self.samples = first, last, epoch, samples
        self.file = sys.stderr if file is None else file
        self.quiet, self.is_terminal = quiet, not quiet and self.file.isatty()
        self.metric = metric
        #: The losses of each step and the scores of each epoch, by the number of steps made.
        self.losses, self.scores = {}, {}
        self.start = self.shown = time.monotonic()
        _current[0] = self

    # Called by the training, in both modes --------------------------------------------------------

    def step(self, step, losses):
        """A step was made."""
        fl.host_call(step_to(tuple(losses)), [step, *losses.values()], [])

    def score(self, step, score):
        """An epoch was evaluated."""
        fl.host_call("examples.score", [step, score], [])

    # Called with numbers --------------------------------------------------------------------------

    def on_step(self, step, losses):
        step = int(step)
        self.losses[step] = {name: float(loss) for name, loss in losses}
        now = time.monotonic()
        if step == self.first + 1:
            # The first step is not counted: it may have waited for files and for the compiler.
            self.start = now
        if not self.quiet and now - self.shown > (0.1 if self.is_terminal else 10.0):
            self.shown = now
            self.show(self.line(step, now))

    def on_score(self, step, score):
        step, score = int(step), float(score)
        self.scores[step] = score
        losses = list(self.losses.values())[-self.epoch :]
        means = {name: sum(each[name] for each in losses) / len(losses) for name in losses[0]}
        if not self.quiet:
            self.clear()
            line = [f"epoch {step // self.epoch}", *numbers(means), f"{self.metric} {score:.4f}"]
            print("  ".join(line), flush=True)

    def line(self, step, now):
        """What is known at a step, in a line."""
        epoch, place = divmod(step - 1, self.epoch)
        epochs = -(-self.last // self.epoch)
        parts = [f"epoch {epoch + 1}/{epochs}", f"step {place + 1}/{self.epoch}"]
        if self.is_terminal:
            done = 20 * (place + 1) // self.epoch
            parts.insert(1, "[" + "=" * done + " " * (20 - done) + "]")
        parts += numbers(self.losses[step])
        rate = (step - self.first - 1) / max(now - self.start, 1e-9)
        if rate > 0:
            minutes, seconds = divmod(round((self.last - step) / rate), 60)
            parts += [f"{rate * self.samples:,.0f} samples/s", f"ETA {minutes}:{seconds:02}"]
        return "  ".join(parts)

    def show(self, line):
        if self.is_terminal:
            self.file.write(f"\r{line}\x1b[K")
        else:
            self.file.write(line + "\n")
        self.file.flush()

    def clear(self):
        """Takes the bar away, for a line that stays."""
        if self.is_terminal:
            self.file.write("\r\x1b[K")
            self.file.flush()


def numbers(values):
    return [f"{name.replace('_', ' ')} {value:.4f}" for name, value in values.items()]
