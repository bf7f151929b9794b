"""What the models have in common: a loss, and a training step made of it."""

from fluvial import nn


class Model(nn.Layer):
    """A network that knows its loss.

    `forward` takes the inputs by name and `loss` the arrays of a batch by name. `step` is the same code line by
    line and in a program, where the gradients and the update become part of it.
    """

    def loss(self, **batch):
        """The scalar to minimise."""
        raise NotImplementedError(f"{type(self).__name__} has no loss of a batch: define `loss`, or `step`")

    def step(self, optimizer, **batch):
        """One update; returns the losses from before it, by name."""
        loss = self.loss(**batch)
        optimizer.minimize(loss)
        return {"loss": loss}
