"""autograd's operators: what they return, against known mathematics."""

import functools
import warnings
from collections import OrderedDict
from types import SimpleNamespace

import numpy as onp
import pytest

import zyg
import zyg.autograd as autograd
import zyg.autograd.numpy as np
from zyg import errors
from zyg.autograd import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from zyg.autograd.differential_operators import make_jvp_reversemode

X = onp.array([0.3, -1.2, 2.0])
A = onp.arange(12.0).reshape(4, 3) / 7 - 0.5


def cubes(x):
    return np.sum(x**3)


def test_a_gradient_is_bare():
    found = grad(cubes)(X)
    assert type(found) is onp.ndarray
    onp.testing.assert_allclose(found, 3 * X**2)
    assert grad(lambda x, y: x * y, 1)(2.0, 3.0) == 2.0
    assert grad(lambda x, y: x * y, -1)(2.0, 3.0) == 2.0
    assert grad(lambda x, *, by: by * x)(2.0, by=3.0) == 3.0


@pytest.mark.parametrize("argnum", [(0, 1), [0, 1]])
def test_several_arguments_make_a_tuple(argnum):
    assert grad(lambda x, y: x * y, argnum)(2.0, 3.0) == (3.0, 2.0)
    assert grad(lambda x, y: x**2 * y, argnum=[1, 0])(2.0, 3.0) == (4.0, 12.0)
    assert grad(lambda x, y: x * y, [1])(2.0, 3.0) == (2.0,)


def test_numbers_are_numpys_as_autograds_are():
    def f(x):
        assert x.shape == ()
        return x * x

    value, slope = value_and_grad(f)(3.0)
    assert (type(value), type(slope)) == (onp.float64, onp.float64)
    assert grad(lambda p: f(p["a"][0]))({"a": (3.0,)}) == {"a": (6.0,)}
    assert type(grad(f)(onp.float32(3))) is onp.float32
    assert grad(cubes)(onp.ones(2, onp.float32)).dtype == onp.float32


def test_an_array_of_one_element_is_a_number():
    for shape in [(1,), (1, 1)]:
        value, slope = value_and_grad(lambda x: 2 * x)(onp.ones(shape))
        assert value.shape == slope.shape == shape
        assert slope == 2.0
    onp.testing.assert_allclose(
        jacobian(lambda x: np.sum(x, axis=0, keepdims=True))(X), onp.ones((1, 3))
    )


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: x, errors.NonScalarOutputError),
        (lambda x: (x[0], x), errors.NonScalarOutputError),
        (lambda x: (x[0],), errors.NonScalarOutputError),
        (lambda x: [x[0]], errors.NonScalarOutputError),
        (lambda x: 1j * x[0], errors.ComplexOutputError),
        (lambda x: np.allclose(x, x), errors.NonScalarOutputError),
    ],
)
def test_what_is_no_real_number_has_no_gradient(f, error):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for operator in (grad, value_and_grad):
            with pytest.raises(error) as caught:
                operator(f)(X)
            assert isinstance(caught.value, TypeError)


def test_arguments_that_are_not_there_are_refused():
    with pytest.raises(errors.ArgumentError, match="grad_of_cubes_wrt_argnum_1 was called with 1"):
        grad(cubes, 1)(X)
    with pytest.raises(errors.ArgumentError, match="argnum='x'"):
        grad(cubes, "x")
    with pytest.raises(errors.ArgumentError, match="argnum=\\[\\]"):
        grad(cubes, [])
    for argnum in ((0, 0), (0, -2)):
        with pytest.raises(errors.ArgumentError, match="by one argument twice"):
            grad(lambda x, y: x * y, argnum)(2.0, 3.0)
    with pytest.warns(UserWarning, match="independent"):
        vjp, _ = make_vjp(lambda x, y: y)("text", 2.0)
    with pytest.raises(errors.ArgumentError, match="differentiated by a str"):
        vjp(1.0)


def test_containers_keep_their_form():
    p = {"w": [X, (2.0, [])], "n": 3, "name": "line", "none": None}
    found = grad(lambda p: np.sum(p["w"][0]) * p["w"][1][0] ** 2 * p["n"])(p)
    total = onp.sum(X)
    onp.testing.assert_allclose(found["w"][0], onp.full(3, 12.0))
    assert found["w"][1] == (pytest.approx(12 * total), [])
    assert found["n"] == pytest.approx(4 * total)
    assert found["name"] is found["none"] is None
    assert grad(lambda x, y: y * len(x), (0, 1))([[]], 2.0) == ([[]], 1.0)
    point = grad(lambda p: p.x * p.y)(SimpleNamespace(x=2.0, y=3.0))
    assert (point.x, point.y) == (3.0, 2.0)


def test_independent_results_warn_and_have_zeros():
    with pytest.warns(UserWarning, match="independent"):
        assert grad(lambda x: 5.0)(2.0) == 0.0
    with pytest.warns(UserWarning, match="independent"):
        assert jacobian(lambda x: onp.ones(2))(X).tolist() == [[0.0] * 3] * 2
    with pytest.warns(UserWarning, match="independent"):
        assert make_jvp(lambda x: 5.0)(2.0)(1.0) == (5.0, 0.0)


def test_names_and_documentation_say_what_a_function_is():
    assert grad(cubes, 1).__name__ == "grad_of_cubes_wrt_argnum_1"
    assert "jacobian of function cubes" in jacobian(cubes).__doc__
    assert "partial" in grad(functools.partial(max, 1)).__name__


def test_elementwise_gradients_are_slopes_at_each_element():
    onp.testing.assert_allclose(elementwise_grad(np.sin)(X), onp.cos(X))
    onp.testing.assert_allclose(elementwise_grad(elementwise_grad(np.sin))(X), -onp.sin(X))
    found = elementwise_grad(lambda a, b: a * np.exp(b), 1)(2.0, X)
    onp.testing.assert_allclose(found, 2 * onp.exp(X))
    onp.testing.assert_allclose(deriv(np.sin)(X), onp.cos(X))
    with pytest.raises(errors.ComplexOutputError, match="elementwise_grad needs real"):
        elementwise_grad(lambda x: 1j * x)(X)


def test_jacobians():
    onp.testing.assert_allclose(jacobian(lambda x: np.tanh(A @ x))(X), tanh_jacobian(X))
    assert jacobian(lambda x: np.outer(x, x))(X).shape == (3, 3, 3)
    assert jacobian(lambda x: np.array([x, x**2]))(3.0).tolist() == [1.0, 6.0]
    assert jacobian(lambda x: x**2)(3.0) == 6.0
    assert jacobian(lambda x: x[:0])(X).shape == (0, 3)
    for f, x in [(lambda x: 1j * x, X), (lambda x: [x, x], X), (lambda p: p[0], [X])]:
        with pytest.raises(errors.NonScalarOutputError, match="jacobian needs one array"):
            jacobian(f)(x)


def tanh_jacobian(x):
    return (1 - onp.tanh(A @ x) ** 2)[:, None] * A


def test_hessians_and_their_products():
    v = onp.array([1.0, 0.5, -2.0])
    needed = onp.diag(6 * X)
    onp.testing.assert_allclose(hessian(cubes)(X), needed)
    assert hessian(lambda x: x**3)(2.0) == 12.0
    assert hessian(lambda x: np.outer(x, x))(X).shape == (3, 3, 3, 3)
    for product in (hessian_vector_product, hessian_tensor_product):
        onp.testing.assert_allclose(product(cubes)(X, v), needed @ v)
    hvp, gradient = make_hvp(cubes)(X)
    onp.testing.assert_allclose(hvp(v), needed @ v)
    onp.testing.assert_allclose(gradient, 3 * X**2)
    mixed = hessian_vector_product(lambda a, x: a * cubes(x), 1)
    onp.testing.assert_allclose(mixed(2.0, X, v), 2 * needed @ v)


def test_products_with_the_jacobian():
    v, w = onp.array([1.0, 0.5, -2.0]), onp.array([0.3, 0.1, -1.0, 2.0])
    f, j = (lambda x: np.tanh(A @ x)), tanh_jacobian(X)
    vjp, y = make_vjp(f)(X)
    onp.testing.assert_allclose(y, onp.tanh(A @ X))
    onp.testing.assert_allclose(vjp(w), w @ j)
    onp.testing.assert_allclose(vjp(2 * w), 2 * w @ j)
    y, y_dot = make_jvp(f)(X)(v)
    onp.testing.assert_allclose(y_dot, j @ v)
    onp.testing.assert_allclose(make_jvp_reversemode(f)(X)(v), j @ v)
    for product in (tensor_jacobian_product, vector_jacobian_product):
        onp.testing.assert_allclose(product(f)(X, w), w @ j)
    onp.testing.assert_allclose(make_ggnvp(f)(X)(v), j.T @ (j @ v))
    h = onp.diag(12 * onp.tanh(A @ X) ** 2)
    found = make_ggnvp(f, lambda y: np.sum(y**4))(X)(v)
    onp.testing.assert_allclose(found, j.T @ (h @ (j @ v)))


def test_a_loss_with_something_else():
    gradient, aux = grad_and_aux(lambda x: (cubes(x), {"norm": 2 * x, "note": "a"}))(X)
    onp.testing.assert_allclose(gradient, 3 * X**2)
    assert aux["note"] == "a"
    onp.testing.assert_array_equal(aux["norm"], 2 * X)
    outer = grad(lambda x: np.sum(grad_and_aux(lambda x: (cubes(x), x**2))(x)[1]))
    onp.testing.assert_allclose(outer(X), 2 * X)


def test_gradients_by_names():
    def f(a, b=2.0, *rest, scale=1.0, **others):
        return scale * a * b + sum(rest) + others.get("c", 0.0)

    found = multigrad_dict(f)(3.0)
    assert type(found) is OrderedDict
    assert [*found] == ["a", "b", "rest", "scale", "others"]
    assert (found["a"], found["b"], found["scale"]) == (2.0, 3.0, 6.0)
    found = multigrad_dict(f)(3.0, 4.0, 5.0, scale=2.0, c=1.0)
    assert found == {"a": 8.0, "b": 6.0, "rest": (1.0,), "scale": 12.0, "others": {"c": 1.0}}
    assert grad_named(f, "b")(3.0, 4.0) == 3.0


CALLS = []


def wave(x, power=2):
    CALLS.append(1)
    return np.sin(x) ** power


def test_a_checkpoint_computes_again():
    CALLS.clear()
    found = grad(lambda x: np.sum(checkpoint(wave)(x, power=3)))(X)
    onp.testing.assert_allclose(found, 3 * onp.sin(X) ** 2 * onp.cos(X))
    assert len(CALLS) == 2
    assert checkpoint(wave).__name__ == "wave"


# Complex numbers: for a real u of z = x + iy, du/dx - i du/dy


Z = onp.array([1.5 - 0.5j, 0.2 + 2.0j, -1.0 + 0.1j])


def by_differences(u, z):
    """du/dx - i du/dy at each element."""
    found, h = onp.zeros(z.shape, complex), 1e-6
    for place in onp.ndindex(z.shape):
        for unit, weight in ((1, 1), (1j, -1j)):
            step = onp.zeros(z.shape, complex)
            step[place] = h * unit
            found[place] += weight * (u(z + step) - u(z - step)) / (2 * h)
    return found


@pytest.mark.parametrize(
    "u",
    [
        lambda z: np.sum(np.abs(z) ** 3),
        lambda z: np.sum(np.real(z**2 * np.conj(z))),
        lambda z: np.real(np.prod(z)) * np.imag(z[0]),
        lambda z: np.sum(np.angle(z)),
    ],
)
def test_gradients_by_complex_numbers(u):
    onp.testing.assert_allclose(grad(u)(Z), by_differences(u, Z), atol=1e-8)
    onp.testing.assert_allclose(grad(u)(Z), onp.conj(zyg.gradient(u, Z)[0]), rtol=1e-14)
    found = grad(lambda p: u(p["z"]))({"z": Z, "n": 1.0})["z"]
    onp.testing.assert_allclose(found, grad(u)(Z))


def test_second_derivatives_by_complex_numbers():
    def v(z):
        return np.sum(np.real(grad(lambda z: np.sum(np.abs(z) ** 4))(z) * (2.0 + 1j)))

    onp.testing.assert_allclose(grad(v)(Z), by_differences(v, Z), atol=1e-7)


def test_products_with_complex_jacobians_are_linear():
    g = onp.array([1 + 2j, -0.5j, 3.0])
    vjp, _ = make_vjp(lambda z: z**3)(Z)
    onp.testing.assert_allclose(vjp(g), 3 * Z**2 * g)
    onp.testing.assert_allclose(make_jvp(lambda z: z**3)(Z)(g)[1], 3 * Z**2 * g)
    vjp, _ = make_vjp(lambda x: x * (1 + 2j))(2.0)
    assert vjp(1 + 1j) == onp.real((1 + 1j) * (1 + 2j))


def test_holomorphic_gradients():
    assert holomorphic_grad(lambda z: z**3)(1 + 2j) == pytest.approx(3 * (1 + 2j) ** 2)
    onp.testing.assert_allclose(holomorphic_grad(lambda z: np.sum(np.exp(z)))(Z), onp.exp(Z))
    twice = holomorphic_grad(holomorphic_grad(lambda z: z**3))
    assert twice(1 + 2j) == pytest.approx(6 * (1 + 2j))
    assert holomorphic_grad(lambda z: (1 + 0.2j) * z)(1 + 0j) == pytest.approx(1 + 0.2j)
    with pytest.warns(UserWarning, match="not complex"):
        assert holomorphic_grad(lambda x: x**2)(3.0) == 6.0


@pytest.mark.parametrize("f", [np.conj, np.abs, lambda z: z * np.conj(z), lambda z: np.real(z)])
def test_what_is_not_holomorphic_is_refused(f):
    with pytest.raises(errors.HolomorphicError, match="not holomorphic at this point"):
        holomorphic_grad(f)(1 + 2j)


# zyg around it


def test_writes_lists_and_plain_numpy_are_followed():
    def f(x):
        y = np.zeros(3)
        for k in range(3):
            y[k] = x[k] ** 2
        y[0] += np.array([x[0], 1.0])[0]
        return onp.sum(y)

    onp.testing.assert_allclose(grad(f)(X), 2 * X + onp.array([1.0, 0, 0]))


def test_operators_nest_with_zygs_verbs():
    assert zyg.gradient(lambda x: grad(lambda x: x**3)(x), 2.0) == (12.0,)
    assert grad(lambda x: zyg.gradient(lambda x: x**3, x)[0])(2.0) == 12.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert grad(grad(lambda x: 2.0 * x + x**2))(1.0) == 2.0


def test_whole_numbers_count_as_real():
    assert grad(lambda x: x * x)(3) == 6.0
    assert grad(cubes)(onp.arange(3)).tolist() == [0.0, 3.0, 12.0]


def test_what_is_not_there_says_so():
    with pytest.raises(errors.AbsentError) as caught:
        autograd.tracer.Node  # noqa: B018
    assert isinstance(caught.value, AttributeError)
    text = " ".join(str(caught.value).split())
    assert text.startswith("zyg.autograd.tracer has no Node. [absent] where: ")
    assert "why: autograd's tape is made of nodes and boxes, and zyg's is not." in text
    assert "fix: use zyg.pullback(f, x)" in text
    assert f"{__file__}:" in text
    assert not hasattr(np, "no_such_function")
    assert getattr(autograd, "no_such_name", None) is None
    assert not hasattr(autograd, "__no_such_name__")
