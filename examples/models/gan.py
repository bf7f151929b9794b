"""Two networks against each other: one draws digits, the other tells them from real ones."""

import fluvial as fl
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
