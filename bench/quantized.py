"""What integers of 8 bits cost in accuracy: trains models of `examples/models` for a short time, and judges them on
their test data as floats and as bytes, with static and with dynamic scales.

    python bench/quantized.py              # all of them, as a table
    python bench/quantized.py mlp lenet    # some
"""

import importlib
import sys
import tempfile
import warnings
from pathlib import Path

import fluvial as fl

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "models"))

#: How each is trained. Batches that scales are taken from are those of the training.
MODELS = {
    "mlp": ["--epochs", "3"],
    "lenet": ["--epochs", "2"],
    "deepcf": ["--epochs", "2"],
}
#: What inputs without a name are called, before their position.
POSITION = "position"
#: How many batches are looked at.
BATCHES = 16


class Program:
    """A program in the place of a network."""

    def __init__(self, program):
        self.program = program

    def eval(self):
        return self

    def __call__(self, *inputs, **named):
        return self.program(*inputs, **named)


def type_of(tensor):
    """The type of a batch of any size."""
    sizes = ", ".join(["batch", *map(str, tensor.shape[1:])])
    return f"{tensor.type_text.split('[')[0]}[{sizes}]"


def inputs_of(task, batch):
    """What the network gets of a batch, by name; what has none is called by its position."""
    seen = {}

    class Look(Exception):
        pass

    def look(*inputs, **named):
        seen.update({f"{POSITION}{i}": x for i, x in enumerate(inputs)}, **named)
        raise Look

    net, task.net = task.net, look
    try:
        task.measure(**batch)
    except Look:
        pass
    finally:
        task.net = net
    return seen


def judge(name):
    """The score as floats, with static and with dynamic scales, and how many ops became which."""
    module = importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        task = module.main([*MODELS[name], "--quiet", "--work", folder])
        with task.state, fl.mode("imperative"), fl.no_grad():
            task.net.eval()
            scores = [float(task.evaluate())]
            net, batches = task.net, []
            for batch in task.data.train.iterate():
                batches.append(inputs_of(task, task.named(task.data.train, batch)))
                if len(batches) == BATCHES:
                    break
            types = {name: type_of(x) for name, x in batches[0].items()}
            places = [name for name in types if name.startswith(POSITION)]
            others = [name for name in types if not name.startswith(POSITION)]
            program = fl.build(
                lambda *values: net(*values[: len(places)], **dict(zip(others, values[len(places) :]))), types
            )
            with warnings.catch_warnings(record=True) as left:
                warnings.simplefilter("always")
                made = [fl.quantize(program, batches), fl.quantize(program, dynamic=True)]
            for quantized in made:
                task.net = Program(quantized)
                scores.append(float(task.evaluate()))
    ops = str(made[0]).count("int8_linear") + str(made[0]).count("int8_conv")
    kept = str(left[0].message).count("floats:") if left else 0
    return task.metric, scores, ops, kept


def main(names):
    print("| model | measure | float32 | int8, static | int8, dynamic | ops on bytes | kept in floats |")
    print("|---|---|---|---|---|---|---|")
    for name in names or MODELS:
        metric, scores, ops, kept = judge(name)
        shown = " | ".join(f"{score:.4f}" for score in scores)
        print(f"| `{name}` | {metric} | {shown} | {ops} | {kept} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
