"""What the examples have in common: the command line, the training, and its files.

A `Task` is a network with its optimizer and its data. `Task.train` is the whole training: passes
over the data, updates, the evaluation after each pass, and saving. `--mode imperative` runs it line
by line, `--mode program` as one program, to the same bits, and `--export` writes this program to a
file, which `fluvial run` trains without Python.
"""

import argparse
import math
import os
import sys

import fluvial as fl
from progress import Progress

STEP = "training.step"


class Task:
    """Something to learn. Examples override `inputs`, `measure` and `score` where they differ.

    Args:
        net: The network, a `Model`.
        optimizer: Its optimizer; or several, as `net.step` takes them.
        data: The readers, a `Data`.
    """

    #: What `score` gives.
    metric = "accuracy"
    #: Whether the program needs nothing of Python.
    exports = True

    def __init__(self, net, optimizer, data):
        self.net, self.optimizer, self.data = net, optimizer, data
        self.progress = self.folder = self.state = None
        self.last = self.save_every = 0

    def inputs(self, **batch):
        """What the network gets of a batch."""
        return batch

    def measure(self, **inputs):
        """Of a batch: what is added up over the test data, and how many it is of.

        By default right answers, of labels that are not negative.
        """
        labels = inputs.pop("y")
        hits = fl.argmax(self.net(**inputs), -1) == labels
        return fl.sum(fl.cast(hits, "float32")), fl.sum(fl.cast(labels >= 0, "float32"))

    def score(self, mean):
        """The measure of the whole test data, from the mean."""
        return mean

    def finish(self):
        """What is shown after the training, line by line."""

    # The training ---------------------------------------------------------------------------------

    def named(self, reader, batch):
        """A batch of a reader by the names of its fields, as the network gets it."""
        batch = batch if isinstance(batch, tuple) else (batch,)
        return self.inputs(**dict(zip(reader.fields, batch)))

    @fl.function
    def train(self):
        """Trains from the step that the state says up to step `last`; returns loss and score."""
        epoch = len(self.data.train)
        step = fl.declare_state(STEP, (), "int64", init=0, role="counter")
        loss, score = fl.tensor(0.0), fl.tensor(0.0)
        while step < self.last:
            self.net.train()
            for batch in self.data.train.iterate():
                losses = self.net.step(self.optimizer, **self.named(self.data.train, batch))
                loss = list(losses.values())[0].detach()
                step = step + 1
                fl.assign_state(STEP, step)
                if self.progress is not None:
                    self.progress.step(step, losses)
                if self.save_every and step % self.save_every == 0:
                    self.save()
                if self.last % epoch and step == self.last:
                    break
            if self.last % epoch == 0 or step % epoch == 0:
                score = self.evaluate()
                if self.progress is not None:
                    self.progress.score(step, score)
                else:
                    print("step", step, "loss", loss, self.metric, score)
                self.save()
        self.save()
        return {"loss": loss, self.metric: score}

    def evaluate(self):
        """The score on the test data."""
        self.net.eval()
        total, count = fl.tensor(0.0), fl.tensor(0.0)
        with fl.no_grad():
            for batch in self.data.test.iterate():
                value, n = self.measure(**self.named(self.data.test, batch))
                total, count = total + value, count + n
        return self.score(total / count)

    # Files ----------------------------------------------------------------------------------------

    def save(self):
        """Writes the network, `model.safetensors`, and all of the run, `states.safetensors`."""
        if self.folder is not None:
            fl.save_model(self.folder)
            fl.save_persistables(self.folder)

    def resume(self):
        """Takes up what `save` wrote, in whatever mode; returns the number of steps made so far."""
        path = os.path.join(self.folder, "states.safetensors")
        if not os.path.exists(path):
            return 0
        state = fl.State.current()
        self.net.initialise()
        own = set(state.names())
        for name in fl.load_states(path).names:
            # Files that programs write do not tell what is a parameter.
            if name not in own and state.role(name) == "parameter":
                state.insert(name, state[name], "optimizer")
        state.insert(STEP, state[STEP], "counter")
        step = int(state[STEP])
        # Inside of a loop of a program the position is not known, but it follows from the steps.
        epoch, place = divmod(step, len(self.data.train))
        self.data.train.position, self.data.test.position = (epoch, place), (epoch, 0)
        return step

    def export(self, path, seed):
        """Writes the training as a program that starts from nothing; returns the program."""
        program = fl.build(self.train, {}, seed=seed)
        program.save(path)
        return program


class Language(Task):
    """A task of a network that says what comes next in a text, judged by perplexity."""

    metric = "perplexity"

    def measure(self, x, y):
        losses = fl.cross_entropy(self.net(x).flatten(0, 1), y.flatten(), reduction="none")
        return fl.sum(losses), fl.sum(fl.ones_like(losses))

    def score(self, mean):
        return fl.exp(mean)


# The command line ---------------------------------------------------------------------------------


def positive(text):
    """A number of the command line that counts something."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return int(text)


def parser(about, epochs, batch_size):
    """The options of all examples."""
    cli = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = cli.add_argument
    add("--mode", choices=("imperative", "program"), default="program", help="how it is run")
    add("--data", metavar="WHERE", help="what it learns from, as said above")
    add("--samples", type=positive, help="learn from so many samples only, or make so many")
    add("--epochs", type=positive, default=epochs, help="passes over the data (%(default)s)")
    add("--batch-size", type=positive, default=batch_size, help="samples of a step (%(default)s)")
    add("--steps", type=positive, help="stop after so many steps in all")
    add("--seed", type=int, default=0, help="of all random numbers (%(default)s)")
    add("--save", metavar="DIR", help="save here after each epoch and at the end")
    add("--save-every", metavar="N", type=positive, default=0, help="save after so many steps, too")
    add("--resume", action="store_true", help="go on from what is in the folder of --save")
    add("--export", metavar="FILE.flb", help="write the training as a program, and do not run it")
    add("--work", default="fluvial_data", help="where data that is made is kept (%(default)s)")
    add("--quiet", action="store_true", help="show nothing")
    return cli


def main(make, about, arguments=None, *, epochs, batch_size):
    """Trains as the command line says; returns the task, whose `progress` has losses and scores.

    Args:
        make: Makes the task from the options.
        about: What the example is: its docstring.
        arguments: The command line; by default that of the process.
        epochs: How many passes by default.
        batch_size: How many samples a step has by default.
    """
    cli = parser(about, epochs, batch_size)
    options = cli.parse_args(arguments)
    if options.resume and options.save is None:
        cli.error("--resume needs the folder: --save DIR")
    with fl.State() as state, fl.mode(options.mode):
        fl.seed(options.seed)
        task = make(options)
        task.folder, task.save_every, task.state = options.save, options.save_every, state
        epoch = len(task.data.train)
        task.last = min(options.epochs * epoch, options.steps or options.epochs * epoch)
        say = print if not options.quiet else lambda *_: None
        size = sum(math.prod(parameter.shape) for parameter in task.net.parameters())
        say(f"{size:,} parameters learn from {task.data.what}, {task.last:,} steps in all")
        if options.export is not None:
            if not task.exports:
                cli.error("this one calls Python, and a program file cannot bring functions along")
            task.export(options.export, options.seed)
            say(f"wrote {options.export}; train it by `fluvial run {options.export}`")
            return task
        first = task.resume() if options.resume else 0
        if first:
            say(f"goes on after step {first:,}")
        task.progress = Progress(
            first, task.last, epoch, options.batch_size, task.metric, options.quiet
        )
        try:
            task.train()
        except KeyboardInterrupt:
            task.progress.clear()
            saved = "" if options.save is None else "; --resume goes on from what was saved last"
            print(f"stopped{saved}", file=sys.stderr)
            raise SystemExit(130) from None
        task.progress.clear()
        if not options.quiet:
            with fl.mode("imperative"):
                task.net.eval()
                task.finish()
    return task
