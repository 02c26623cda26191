"""Arrays of other libraries: programs, verbs, constants and refusals, compared with NumPy's."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import zyg
from zyg.errors import MissingRuleError, MutationError, StructureError, ZygError

from .libraries import KINDS, host, maker
from .programs_of_arrays import PROGRAMS, A, C, V

READY = ["torch", "jax", "strict"]  # whose elements are there, and where NumPy has them


def cube(x, v):
    return np.sum(np.sin(x) * x * v) + np.sum(v**3)


@pytest.fixture(params=KINDS)
def make(request):
    return maker(request.param)


@pytest.fixture(params=READY)
def make_ready(request):
    return maker(request.param)


def assert_same(found, expected, kind=None):
    if kind is not None:
        assert type(found) is kind
    np.testing.assert_allclose(host(found), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_a_program_is_right_or_refused_by_name(kind, name):
    f, made = PROGRAMS[name], maker(kind)
    y, gradient = zyg.value_and_gradient(f, A, V, zeros=True)
    a, v = made(A), made(V)
    try:
        found, (a_bar, v_bar) = zyg.value_and_gradient(f, a, v, zeros=True)
    except ZygError as error:
        assert "np." in str(error) or "index" in str(error)  # noqa: PT017 - either is right
        return
    assert_same(found, y)
    assert_same(a_bar, gradient[0], type(a))
    assert_same(v_bar, gradient[1], type(v))


# Verbs


def test_verbs(make):
    a, v = make(A), make(V)
    y, back = zyg.pullback(lambda a, v: np.sin(a) * v, a, v)
    expected, plain_back = zyg.pullback(lambda a, v: np.sin(a) * v, A, V)
    assert_same(y, expected, type(a))
    for _ in range(2):
        a_bar, v_bar = back(make(C))
        assert_same(a_bar, plain_back(C)[0], type(a))
        assert_same(v_bar, plain_back(C)[1], type(v))
    y, y_dot = zyg.pushforward(cube, (a, v), (make(C), None))
    assert_same(y_dot, zyg.pushforward(cube, (A, V), (C, None))[1])
    assert type(zyg.gradient(cube, a, v)[0]) is type(a)


def test_second_derivatives(make):
    v, u = make(V), make(C[0])
    assert_same(zyg.hvp(loss, v, u), zyg.hvp(loss, V, C[0]), type(v))
    inner = zyg.gradient(lambda x: np.sum(zyg.gradient(loss, x)[0] ** 2), v)[0]
    assert_same(inner, zyg.gradient(lambda x: np.sum(zyg.gradient(loss, x)[0] ** 2), V)[0], type(v))


def loss(v):
    return np.sum(np.exp(v) * np.sin(v)) + np.sum(v * v) ** 2


def test_jacobian(make_ready):
    for mode in ("forward", "reverse"):
        (found,) = zyg.jacobian(lambda v: np.sin(v) * v[0], make_ready(V), mode=mode)
        assert_same(found, zyg.jacobian(lambda v: np.sin(v) * v[0], V)[0])


def test_checkpoint(make_ready):
    found = zyg.gradient(lambda v: np.sum(zyg.checkpoint(np.tanh, v) ** 2), make_ready(V))[0]
    assert_same(found, zyg.gradient(lambda v: np.sum(np.tanh(v) ** 2), V)[0])


def test_structures_and_aux(make):
    a, v = make(A), make(V)
    (y, aux), (parameters,) = zyg.value_and_gradient(
        lambda p: (np.sum(p["a"] * p["v"][0]), {"floor": np.floor(p["a"]), "v": v}),
        {"a": a, "v": [v], "name": "m"},
    )
    assert_same(y, np.sum(A * V))
    assert type(aux["floor"]) is type(a)
    assert aux["v"] is v
    assert_same(parameters["a"], np.broadcast_to(V, A.shape), type(a))
    assert parameters["name"] is None


def test_arguments_are_left_alone_and_results_share_no_memory(make_ready):
    v = make_ready(V)
    (found,) = zyg.gradient(lambda v: np.sum(v * v) / 2, v)
    (same,) = zyg.gradient(lambda v: np.sum(v), v)
    assert_same(v, V)
    assert_same(found, V)
    assert_same(same, np.ones(3))


# What meets them


def _operates_alone(x):
    """Whether a library leaves no operator to an operand at the right of its own."""
    return type(x).__module__.partition(".")[0] in ("sparse", "array_api_strict")


def test_constants_of_the_library_meet_them(make):
    a, c = make(A), make(C)
    if _operates_alone(c):
        pytest.skip("the library leaves no operator to the other operand")
    found = zyg.gradient(lambda a: np.sum(a * c + c / a) + np.sum(np.multiply(c, a)), a)[0]
    assert_same(found, zyg.gradient(lambda a: np.sum(2 * a * C + C / a), A)[0], type(a))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: np.sum(w * x * w),
        lambda x, w: np.sum((x @ w) ** 2), lambda x, w: np.sum(np.tanh(x * w)),
        lambda x, w: np.sum(w * x), lambda x, w: np.sum(np.dot(x, w) ** 2),
        lambda x, w: np.sum(np.multiply(w, x) + np.sin(w) * x),
        lambda x, w: np.sum(x * w[0]) * w[1], lambda x, w: np.sum(np.maximum(w, x)),
    ],
)  # fmt: skip
def test_watched_arrays_of_numpy_meet_constants_of_the_library(make, f):
    x = make(A)
    if _operates_alone(x):
        f = lambda x, w: np.sum(w * x * w)  # noqa: E731
    y, (w_bar,) = zyg.value_and_gradient(lambda w: f(x, w), V)
    expected, (plain,) = zyg.value_and_gradient(lambda w: f(A, w), V)
    assert type(w_bar) is np.ndarray
    assert_same(y, expected)
    assert_same(w_bar, plain)
    found = zyg.gradient(f, x, V)
    assert_same(found[0], zyg.gradient(f, A, V)[0], type(x))
    assert_same(found[1], plain, np.ndarray)


def test_watched_numbers_meet_them(make):
    x = make(A)
    for f in (
        lambda s, x: np.sum(s * x) * s,
        lambda s, x: np.sum(np.sin(s * x)),
        lambda s, x: np.sum(s * x / 2.0) / s**2,
    ):
        (found,) = zyg.gradient(lambda s: f(s, x), 1.5)  # noqa: B023
        assert type(found) is float
        assert found == pytest.approx(zyg.gradient(lambda s: f(s, A), 1.5)[0])  # noqa: B023


def test_dtypes_are_those_of_numpy(make_ready):
    for dtype in (np.float32, np.float64, np.complex128):
        x = make_ready((A[0] + 0.5).astype(dtype))
        y, (x_bar,) = zyg.value_and_gradient(lambda x: np.sum(np.real(x * x * 2 + 1)), x)
        assert host(x_bar).dtype == dtype
        assert host(y).dtype == np.real(np.ones(1, dtype)).dtype
    x = make_ready(np.arange(3))
    assert host(zyg.gradient(lambda x: np.sum(x * x * 0.5), x)[0]).dtype == np.float64


def test_complex_arrays(make_ready):
    z = V + 1j * C[0]
    f = lambda z: np.sum(np.abs(z * z + 1) ** 2)  # noqa: E731
    assert_same(zyg.gradient(f, make_ready(z))[0], zyg.gradient(f, z)[0])


def test_the_namespace_of_a_watched_array_is_numpy(make):
    def f(x):
        xp = x.__array_namespace__()
        assert xp is np
        return xp.sum(xp.sin(x) * xp.ones_like(x))

    assert_same(zyg.gradient(f, make(A))[0], np.cos(A))


def test_an_exact_zero_stays_zero(make):
    x = np.array([0.0, 2.0])
    f = lambda x: np.sum(np.where(x > 1.0, np.log(x), 0.0))  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(zyg.gradient(f, make(x))[0], [0.0, 0.5])


# What is refused


def test_what_a_library_lacks_is_refused_by_name():
    x = maker("strict")(A)
    with pytest.raises(MissingRuleError, match=r"np.einsum of arrays of array_api_strict"):
        zyg.gradient(lambda x: np.einsum("ij->", x), x)
    with pytest.raises(MissingRuleError, match="an index by an array of arrays of dask") as caught:
        zyg.gradient(lambda x: np.sum(x[np.array([0, 0])]), maker("dask")(A))
    assert "slices" in str(caught.value)


def test_writes_are_refused(make):
    def f(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(MutationError, match=r"np.where"):
        zyg.gradient(f, make(A))


def test_a_library_is_met_only_when_its_arrays_are():
    text = """
import sys
import numpy as np
import zyg
zyg.gradient(lambda x: np.sum(np.sin(x) * x), np.ones(3))
zyg.gradient(lambda x: x * x, 2.0)
zyg.hessian(lambda x: np.sum(x ** 3), np.ones(3))
for name in ("zyg.interop.guests", "torch", "jax", "dask.array", "sparse", "array_api_compat"):
    assert name not in sys.modules, name
"""
    subprocess.run([sys.executable, "-c", text], check=True)


def test_without_array_api_compat_the_extra_is_named(monkeypatch):
    from zyg.interop import libraries

    x = maker("strict")(A)
    monkeypatch.setattr(libraries, "libraries", {})
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    monkeypatch.setattr("zyg.interop.guests.libraries", {})
    with pytest.raises(StructureError, match="array-api-compat") as caught:
        zyg.gradient(np.sum, x)
    assert "zyg[arrays]" in str(caught.value)


def test_a_sparse_tensor_is_refused():
    torch = pytest.importorskip("torch", reason="needs torch")
    with pytest.raises(StructureError, match="cannot watch a sparse tensor"):
        zyg.gradient(np.sum, torch.eye(3).to_sparse())


def test_jax_without_x64_is_refused():
    pytest.importorskip("jax", reason="needs jax")
    text = """
import jax.numpy as jnp, numpy as np, zyg
assert zyg.gradient(lambda x: np.sum(x * x), jnp.ones(3))[0].dtype == np.float32
try:
    zyg.gradient(lambda x: np.sum(x * np.ones(3)), jnp.ones(3))
except zyg.errors.ConversionError as error:
    assert "jax_enable_x64" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True)


# Sparse arrays: the gradient at the stored places


@pytest.mark.parametrize("kind", ["COO", "GCXS"])
def test_the_gradient_of_a_sparse_array_is_at_its_places(kind):
    dense = np.where(A > 0.5, A, 0.0)
    x = maker(kind)(dense)
    assert x.nnz < A.size
    for f in (
        lambda x: np.sum(x * x * x),
        lambda x: np.sum(np.sin(x @ V)),
        lambda x: np.sum(x + 1.0),
    ):
        (found,) = zyg.gradient(f, x)
        assert type(found) is type(x)
        assert found.nnz == x.nnz
        expected = zyg.gradient(f, dense)[0]
        np.testing.assert_allclose(host(found), np.where(dense != 0, expected, 0), rtol=1e-12)
