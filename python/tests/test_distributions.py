"""Random values of distributions: moments, gradients, and both modes. Densities are in `test_torch_cases.py`."""

import subprocess
import sys

import numpy as np
import pytest

import fluvial as fl

d = fl.distributions


@pytest.fixture(autouse=True)
def own_state():
    with fl.State():
        fl.seed(5)
        yield


MOMENTS = [
    d.Normal(1.0, 2.0), d.Laplace(1.0, 0.5), d.Gumbel(0.5, 1.0), d.Uniform(-1.0, 3.0), d.Exponential(2.0),
    d.Gamma(0.4, 2.0), d.Gamma(3.0, 0.5), d.Gamma(200.0, 10.0), d.Chi2(3.0), d.Beta(0.5, 2.0), d.StudentT(8.0, 1.0, 2.0),
    d.HalfNormal(2.0), d.LogNormal(0.1, 0.4), d.Bernoulli(0.3), d.Geometric(0.4), d.Binomial(9, 0.3), d.Poisson(0.7),
    d.Poisson(9.5), d.Poisson(10.5), d.Poisson(300.0), d.OneHotCategorical(fl.tensor([1.0, 2.0, 5.0])),
    d.Multinomial(5, fl.tensor([1.0, 2.0, 5.0])), d.Dirichlet(fl.tensor([0.5, 1.0, 3.0])),
    d.MultivariateNormal(fl.tensor([1.0, -1.0]), fl.tensor([[2.0, 0.7], [0.7, 1.0]])),
    d.MixtureSameFamily(d.Categorical(fl.tensor([0.3, 0.7])), d.Normal(fl.tensor([-2.0, 1.0]), fl.tensor([0.5, 1.0]))),
]  # fmt: skip


class TestSamples:
    @pytest.mark.parametrize("made", MOMENTS, ids=lambda one: type(one).__name__)
    def test_moments(self, made):
        n = 40_000
        drawn = made.sample((n,)).numpy().astype(float)
        mean, variance = made.mean.numpy(), made.variance.numpy()
        spread = np.sqrt(variance / n)
        assert (np.abs(drawn.mean(0) - mean) < 5.0 * spread + 1e-6).all()
        assert np.allclose(drawn.var(0), variance, rtol=0.15)

    def test_both_modes_draw_the_same(self):
        def draw(a):
            return d.Gamma(a, 1.0).rsample((3,)), d.Categorical(a).sample((4,)), d.Poisson(a).sample()

        a = fl.tensor([0.5, 2.0, 80.0])
        fl.seed(1)
        by_line = draw(a)
        fl.seed(1)
        for found, wanted in zip(fl.function(draw)(a), by_line):
            assert found.tolist() == wanted.tolist()

    @pytest.mark.parametrize("shape", [0.3, 1.0, 5.0, 55.0, 65.0, 500.0])
    def test_gradients_of_gamma_are_those_of_its_mean(self, shape):
        a = fl.full((20_000,), shape, dtype="float64").track()
        z = d.Gamma(a, 1.0).rsample()
        slope = fl.grad(fl.sum(z), a).numpy()
        # The mean of z is a, so the mean slope is 1; that of z² is a² + a.
        assert slope.mean() == pytest.approx(1.0, abs=5.0 * slope.std() / 140.0)
        twice = 2.0 * z.detach().numpy() * slope
        assert twice.mean() == pytest.approx(2.0 * shape + 1.0, rel=0.05)

    def test_gradients_pass_through_what_has_rsample(self):
        for made in (d.Normal, d.Laplace, d.Gumbel, d.Uniform, d.Gamma, d.Beta, d.LogNormal):
            a, b = fl.tensor([0.5]).track(), fl.tensor([2.0]).track()
            drawn = made(a, b).rsample((5,))
            assert all(g is not None and np.isfinite(g.numpy()).all() for g in fl.grad(fl.sum(drawn), [a, b]))
        with pytest.raises(NotImplementedError, match="use `sample`"):
            d.Bernoulli(0.5).rsample()

    def test_dropping_gradients(self):
        a = fl.tensor([0.5]).track()
        assert not d.Normal(a, 1.0).sample().is_tracked


class TestUse:
    @pytest.mark.parametrize("compiled", [False, True])
    def test_a_step_of_a_policy(self, compiled):
        logits = fl.nn.Parameter(fl.zeros(3))
        optimizer = fl.optimizer.SGD([logits], 0.5)

        def step(action, reward):
            policy = d.Categorical(logits=logits)
            loss = -policy.log_prob(action) * reward - 0.01 * policy.entropy()
            optimizer.minimize(loss)
            return loss

        step = fl.function(step) if compiled else step
        for _ in range(20):
            step(fl.tensor(2), fl.tensor(1.0))
        assert np.argmax(logits.numpy()) == 2

    def test_parameters_are_checked(self):
        for make in (lambda: d.Normal(0.0, -1.0), lambda: d.Bernoulli(1.5), lambda: d.Gamma(fl.zeros(2), 1.0)):
            with pytest.raises(AssertionError):
                make()
        d.Normal(0.0, -1.0, validate_args=False)
        with pytest.raises(ValueError, match="give one of them"):
            d.Categorical()
        with pytest.raises(ValueError, match="one way"):
            d.MultivariateNormal(fl.zeros(2))
        with pytest.raises(NotImplementedError, match="register_kl"):
            d.kl_divergence(d.Normal(0.0, 1.0), d.Gamma(1.0, 1.0))

    def test_shapes(self):
        wide = d.Normal(0.0, 1.0).expand((2, 3))
        assert wide.batch_shape == (2, 3) and wide.sample((4,)).shape == (4, 2, 3)
        both = d.Independent(wide, 1)
        assert (both.batch_shape, both.event_shape) == ((2,), (3,))
        assert both.entropy().shape == (2,) and both.expand((5, 2)).batch_shape == (5, 2)
        assert d.Categorical(fl.ones((2, 4))).sample((3,)).shape == (3, 2)
        assert d.Categorical(fl.ones((2, 4))).log_prob(fl.zeros((3, 2), dtype="int64")).shape == (3, 2)

    def test_they_are_loaded_when_they_are_used(self):
        code = (
            "import sys, fluvial as fl\n"
            "names = ('fluvial.distributions', 'fluvial.metrics', 'fluvial._saved', 'fluvial.optimizer._lbfgs')\n"
            "assert not [n for n in names if n in sys.modules]\n"
            "fl.distributions.Normal; fl.metrics.Accuracy; fl.optimizer.LBFGS; fl.optimizer.swa_utils\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
