"""A network learns to read handwritten digits: one script, to be run in any way.

    python digits.py [EPOCHS]                        # line by line
    FLUVIAL_MODE=program python digits.py            # compiled
    fluvial build digits.py -o digits.flb            # as a file,
    fluvial run digits.flb                           # which needs no Python

The data, `train.rec` and `test.rec` in the current folder, is made by `make_digits.py`. The parameters go to
`model/model.safetensors`; they are the same in all three ways, to the bit.
"""

import sys

import fluvial as fl

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 12

train = fl.batch_reader("train.rec", batch_size=64, shuffle=1, drop_last=True, prefetch=2, name="train")
test = fl.batch_reader("test.rec", batch_size=119, name="test")

net = fl.nn.Sequential(
    fl.nn.Linear(64, 256), fl.nn.ReLU(), fl.nn.Dropout(0.3), fl.nn.Linear(256, 10)
)
adam = fl.optimizer.AdamW(net.parameters(), 2e-3)


@fl.function
def main():
    steps = fl.tensor(0)
    for image, label in train.iterate(epochs=EPOCHS):
        loss = fl.mean(fl.cross_entropy(net(image), label))
        adam.minimize(loss)
        steps = steps + 1
        if steps % 50 == 0:
            print("step", steps, "loss", loss)
    net.eval()
    hits, count = fl.tensor(0), fl.tensor(0)
    for image, label in test.iterate():
        hits = hits + fl.sum(fl.cast(fl.argmax(net(image), 1) == label, "int64"))
        count = count + image.shape[0]
    print("accuracy", fl.cast(hits, "float32") / fl.cast(count, "float32"))
    fl.save_model("model")


main()
