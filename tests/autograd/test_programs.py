"""Programs as users of autograd write them, with two lines changed; against differences."""

import itertools

import numpy as onp
import pytest
import scipy.optimize
import zyg.autograd.numpy.random as npr
import zyg.autograd.scipy.stats.multivariate_normal as mvn
import zyg.autograd.scipy.stats.norm as norm
from zyg.autograd.numpy.linalg import solve
from zyg.autograd.scipy.integrate import odeint
from zyg.autograd.scipy.special import expit, gammaln, logsumexp

import zyg.autograd.numpy as np
from zyg.autograd import elementwise_grad, grad, hessian_vector_product, value_and_grad
from zyg.autograd.core import make_vjp
from zyg.autograd.extend import defvjp, primitive, vspace
from zyg.autograd.misc import flatten
from zyg.autograd.misc.optimizers import adam
from zyg.autograd.scipy.signal import convolve
from zyg.autograd.test_util import check_grads


@pytest.fixture(autouse=True)
def _seeded():
    npr.seed(0)


def test_the_slopes_of_a_curve_to_the_sixth_order():
    x, f = np.linspace(-2, 2, 9), lambda x: np.sinh(x) / np.cosh(x)
    for _ in range(6):
        f = elementwise_grad(f)
    t = onp.polynomial.Polynomial([0.0, 1.0])  # of y' = 1 - y^2
    for _ in range(6):
        t = t.deriv() * onp.polynomial.Polynomial([1.0, 0.0, -1.0])
    onp.testing.assert_allclose(f(x), t(onp.tanh(x)), atol=1e-8)


def test_a_logistic_regression_is_fitted():
    x = npr.randn(30, 3)
    y = x @ onp.array([1.0, -2.0, 0.5]) + 0.3 * npr.randn(30) > 0

    def loss(w):
        return np.mean(np.logaddexp(0.0, np.where(y, -1.0, 1.0) * np.dot(x, w)))

    check_grads(loss, modes=["rev"])(onp.zeros(3))
    w = onp.zeros(3)
    for _ in range(60):
        w = w - 2.0 * grad(loss)(w)
    assert loss(w) < 0.4 * loss(onp.zeros(3))


def test_a_neural_network_learns_by_adam():
    sizes = itertools.pairwise([2, 5, 1])
    params = [(0.5 * npr.randn(m, n), npr.randn(n)) for m, n in sizes]
    x = npr.randn(20, 2)
    y = x[:, :1] * x[:, 1:]

    def predict(params, x):
        for w, b in params:
            outputs = np.dot(x, w) + b
            x = np.tanh(outputs)
        return outputs

    def loss(params, i=0):
        return np.mean((predict(params, x) - y) ** 2)

    check_grads(loss, modes=["rev"], order=1)(params)
    assert loss(adam(grad(loss), params, num_iters=60, step_size=0.05)) < 0.6 * loss(params)


def test_a_gaussian_process_has_a_likelihood():
    x = np.linspace(0, 1, 8)[:, None]
    y = np.sin(6 * x)[:, 0]

    def nll(params):
        mean, scale, length, noise = params[0], *np.exp(params[1:])
        d = np.expand_dims(x / length, 1) - np.expand_dims(x / length, 0)
        cov = scale * np.exp(-0.5 * np.sum(d**2, axis=2)) + noise * np.eye(8)
        return -mvn.logpdf(y, mean * np.ones(8), cov)

    check_grads(nll, modes=["rev"], order=1)(onp.array([0.1, 0.0, -1.0, -2.0]))

    def fit(params):
        d = np.exp(params[0]) * np.eye(8) + np.outer(y, y)
        return np.sum(solve(d, y) ** 2)

    check_grads(fit, order=1)(onp.array([0.3]))


def test_a_recurrent_network_over_time():
    w, inputs = 0.3 * npr.randn(4, 7), npr.randn(6, 3)

    def step(x, h, w):
        return np.tanh(np.dot(w, np.concatenate((x, h))))

    def loss(w):
        h = np.zeros(4)
        outputs = []
        for x in inputs:
            h = step(x, h, w)
            outputs.append(h)
        return np.sum(np.array(outputs)[-2:] ** 2) + logsumexp(np.stack(outputs))

    check_grads(loss, modes=["rev"])(w)


def test_a_differential_equation_is_fitted():
    t = np.linspace(0.0, 1.0, 5)

    def f(y, t, k):
        return np.dot(k, y**3)

    def loss(k):
        return np.sum(odeint(f, onp.array([1.0, 0.5]), t, (k,), rtol=1e-10, atol=1e-10) ** 2)

    k = onp.array([[-0.1, 1.0], [-1.0, -0.1]])
    h, direction = 1e-4, onp.array([[0.3, -0.2], [0.5, 0.1]])
    slope = (loss(k + h * direction) - loss(k - h * direction)) / (2 * h)
    assert onp.sum(grad(loss)(k) * direction) == pytest.approx(slope, rel=1e-4)


def test_a_wave_is_steered():
    target = npr.randn(8)

    def height(speed, push):
        now = before = np.zeros(8)
        for p in push:
            bend = np.roll(now, 1) - 2.0 * now + np.roll(now, -1)
            now, before = 2.0 * now - before + speed**2 * bend + p, now
        return now

    def loss(speed, push):
        return np.linalg.norm(height(speed, push) - target)

    check_grads(loss, (0, 1), modes=["rev"], order=1)(0.4, npr.randn(4, 8))


def test_a_mixture_is_fitted_by_hessian_products():
    data = onp.concatenate([npr.randn(10, 2) + 2, npr.randn(10, 2) - 2])
    params, unflatten = flatten({"logits": onp.zeros(2), "means": npr.randn(2, 2)})

    def nll(vector):
        p = unflatten(vector)
        weights = p["logits"] - logsumexp(p["logits"])
        parts = [
            w + mvn.logpdf(data, m, np.eye(2)) for w, m in zip(weights, p["means"], strict=True)
        ]
        return -np.sum(logsumexp(np.vstack(parts), axis=0))

    found = scipy.optimize.minimize(
        value_and_grad(nll), params, jac=True, method="trust-ncg",
        hessp=hessian_vector_product(nll),
    )  # fmt: skip
    assert found.success
    assert onp.allclose(grad(nll)(found.x), 0.0, atol=1e-3)


def test_a_variational_posterior_by_reparametrization():
    noise = npr.randn(20, 2)

    def log_posterior(x):
        return norm.logpdf(x[:, 1], 0, 1.35) + norm.logpdf(x[:, 0], 0, np.exp(x[:, 1]))

    def bound(params):
        mean, log_std = params[:2], params[2:]
        samples = noise * np.exp(log_std) + mean
        return -np.sum(log_std) - np.mean(log_posterior(samples))

    check_grads(bound, modes=["rev"])(onp.array([-1.0, -1.0, -2.0, -2.0]))


def test_a_convolutional_layer():
    images, filters = npr.randn(2, 3, 6, 6), npr.randn(3, 4, 3, 3)

    def layer(filters, images):
        y = convolve(images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
        pooled = np.max(np.reshape(y, (2, 4, 2, 2, 2, 2)), axis=(3, 5))
        return np.sum(np.maximum(pooled, 0.0) ** 2)

    assert convolve(
        images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid"
    ).shape == (2, 4, 4, 4)
    check_grads(layer, (0, 1), modes=["rev"], order=1)(filters, images)


def test_a_phase_is_retrieved():
    truth = npr.randn(6) + 1j * npr.randn(6)
    measured = np.abs(np.fft.fft(truth, 12)) ** 2

    def loss(z):
        return np.sum((np.abs(np.fft.fft(z, 12)) ** 2 - measured) ** 2)

    z = npr.randn(6) + 1j * npr.randn(6)
    check_grads(loss, modes=["rev"])(z)
    for _ in range(20):
        step = np.conj(grad(loss)(z))  # autograd's convention
        z = z - 1e-5 * step
    assert loss(z) < loss(z + 1e-3 * np.conj(grad(loss)(z)))
    assert onp.allclose(grad(loss)(truth), 0.0)


def test_a_hamiltonian_sampler_takes_reversible_steps():
    def energy(q):
        return np.sum(q**2) / 2 + 0.1 * np.sum(q**4)

    def leapfrog(q, p, steps=5, h=0.1):
        for _ in range(steps):
            p = p - h / 2 * grad(energy)(q)
            q = q + h * p
            p = p - h / 2 * grad(energy)(q)
        return q, p

    q, p = npr.randn(3), npr.randn(3)
    q1, p1 = leapfrog(q, p)
    onp.testing.assert_allclose(leapfrog(q1, -p1)[0], q, atol=1e-12)
    check_grads(lambda q: np.sum(leapfrog(q, p)[0] ** 2), order=1)(q)


def test_a_jacobian_and_its_value_by_the_rows_of_a_basis():
    def jacobian_and_value(f, x):
        vjp, y = make_vjp(f, x)
        rows = map(vjp, vspace(y).standard_basis())
        return np.reshape(np.stack(rows), vspace(y).shape + vspace(x).shape), y

    x = npr.randn(3)
    found, y = jacobian_and_value(lambda x: np.sin(np.outer(x, x)), x)
    assert found.shape == (3, 3, 3)
    onp.testing.assert_allclose(y, onp.sin(onp.outer(x, x)))
    onp.testing.assert_allclose(found[0, 1], onp.cos(x[0] * x[1]) * onp.array([x[1], x[0], 0]))


def test_a_likelihood_with_a_rule_of_ones_own():
    @primitive
    def log_factorial(n):
        return gammaln(n + 1)

    h = 1e-5
    defvjp(
        log_factorial,
        lambda ans, n: lambda g: g * (gammaln(n + 1 + h) - gammaln(n + 1 - h)) / (2 * h),
    )
    counts = onp.array([3.0, 0.0, 5.0])

    def nll(rates):
        return np.sum(rates - counts * np.log(rates) + log_factorial(counts + 0.0 * rates))

    onp.testing.assert_allclose(grad(nll)(onp.ones(3)), 1 - counts, atol=1e-6)


def test_scores_of_a_survival_model_with_censored_times():
    t, seen = npr.exponential(size=12) + 0.1, npr.rand(12) < 0.7

    def nll(log_params):
        scale, shape = np.exp(log_params)
        log_hazard = np.log(shape / scale) + (shape - 1) * np.log(t / scale)
        return np.sum((t / scale) ** shape) - np.sum(np.where(seen, log_hazard, 0.0))

    check_grads(nll)(onp.array([0.2, -0.1]))
    found = scipy.optimize.minimize(value_and_grad(nll), onp.zeros(2), jac=True)
    onp.testing.assert_allclose(grad(nll)(found.x), 0, atol=1e-4)


def test_a_matrix_is_factored_with_missing_entries():
    truth = npr.randn(5, 2) @ npr.randn(2, 4)
    known = npr.rand(5, 4) < 0.8

    def loss(u, v):
        return np.sum(np.where(known, (np.dot(u, v) - truth) ** 2, 0.0)) + 0.1 * np.sum(expit(u))

    u, v = npr.randn(5, 2), npr.randn(2, 4)
    check_grads(loss, (0, 1), modes=["rev"])(u, v)
    by_u, by_v = grad(loss, (0, 1))(u, v)
    assert loss(u - 1e-3 * by_u, v - 1e-3 * by_v) < loss(u, v)
