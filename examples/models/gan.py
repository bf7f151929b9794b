"""Two networks against each other: one draws digits, the other tells them from real ones.

Data: MNIST, if `data/get_mnist.py` has fetched it, else the small digits that come with the
examples, enlarged to 28 x 28. `--data` may be a folder with `train.rec` and `test.rec`
(`x: u8[1, 28, 28]`, `y: i64[]`), or `synthetic`. With `--save`, drawings go to `digits.pgm` in that
folder. The score is how real the drawings seem to the second network, from 0 to 1.

    python examples/models/gan.py --mode imperative    # line by line
    python examples/models/gan.py --save out --resume  # goes on from what was saved
    python examples/models/gan.py --export gan.flb  # for `fluvial run`
"""

import os

import datasets
import fluvial as fl
import training
from fluvial import nn
from model import Model


class Gan(Model):
    """The deep convolutional GAN, for images of 28x28."""

    def __init__(self, latent=64, width=64):
        super().__init__("gan")
        n = width
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(latent, 2 * n, 7, bias=False),
            nn.BatchNorm2d(2 * n),
            nn.ReLU(),
            nn.ConvTranspose2d(2 * n, n, 4, 2, 1, bias=False),
            nn.BatchNorm2d(n),
            nn.ReLU(),
            nn.ConvTranspose2d(n, 1, 4, 2, 1),
            nn.Tanh(),
        )
        self.discriminator = nn.Sequential(
            nn.Conv2d(1, n, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(n, 2 * n, 4, 2, 1, bias=False),
            nn.BatchNorm2d(2 * n),
            nn.LeakyReLU(0.2),
            nn.Conv2d(2 * n, 1, 7),
            nn.Flatten(0),
        )

    def forward(self, z):
        return self.generator(z)

    def step(self, optimizer, real, z):
        """One update of each network: `optimizer` is the discriminator's and the generator's."""
        d_optimizer, g_optimizer = optimizer
        fake = self.generator(z)
        on_real, on_fake = self.discriminator(real), self.discriminator(fake.detach())
        d_loss = fl.softplus(-on_real).mean() + fl.softplus(on_fake).mean()
        d_optimizer.minimize(d_loss)
        g_loss = fl.softplus(-self.discriminator(fake)).mean()
        g_optimizer.minimize(g_loss)
        return {"d_loss": d_loss, "g_loss": g_loss}


class Drawing(training.Task):
    metric = "realism"

    def __init__(self, net, optimizer, data, latent):
        super().__init__(net, optimizer, data)
        self.latent = latent

    def inputs(self, real):
        return {"real": real, "z": fl.normal(("float32", (real.shape[0], self.latent, 1, 1)))}

    def measure(self, real, z):
        seems = fl.sigmoid(self.net.discriminator(self.net(z)))
        return fl.sum(seems), fl.sum(fl.ones_like(seems))

    def finish(self):
        """Writes 8 x 8 drawings as one image."""
        if self.folder is not None:
            with fl.no_grad():
                drawn = self.net(fl.normal(("float32", (64, self.latent, 1, 1)))).numpy()
            image = drawn.reshape(8, 8, 28, 28).transpose(0, 2, 1, 3).reshape(224, 224)
            path = os.path.join(self.folder, "digits.pgm")
            with open(path, "wb") as file:
                file.write(b"P5 224 224 255\n" + (127.5 * (image + 1)).astype("uint8").tobytes())
            print(f"wrote {path}")


def main(arguments=None, latent=64, **sizes):
    def task(options):
        net = Gan(latent, **sizes)
        optimizers = tuple(
            fl.optimizer.Adam(part.parameters(), 2e-4, betas=(0.5, 0.999), name=name)
            for name, part in (("d_adam", net.discriminator), ("g_adam", net.generator))
        )
        data = datasets.digits(options, mean=0.5, deviation=0.5)
        data = data.map(lambda reader: reader.select("x").rename("x", "real"))
        return Drawing(net, optimizers, data, latent)

    return training.main(task, __doc__, arguments, epochs=5, batch_size=64)


if __name__ == "__main__":
    main()
