"""Foreign functions: their derivatives against analytic ones, calls counted, every refusal."""

import ctypes
import ctypes.util
import functools
import math
import subprocess
import sys
import threading

import numpy as np
import pytest

import zyg
from zyg.base.extras import demand_version
from zyg.errors import (
    AdjointError,
    MissingRuleError,
    NonFiniteError,
    StructureError,
)


def plain(x):
    """What no watched value passes."""
    assert not zyg.is_traced(x)
    return np.asarray(x)


def cubes(x):
    x = plain(x)
    return np.array([np.sum(x**3), x[0] * x[1]])


def cubes_jacobian(x):
    rest = np.zeros_like(x[2:]) if np.size(x) > 2 else x[:0]
    return np.stack([3 * x**2, np.concatenate([np.stack([x[1], x[0]]), rest])])


WAYS = {
    "pullback": {"pullback": lambda y_bar, y, x: (y_bar @ cubes_jacobian(x),)},
    "jacobian": {"jacobian": cubes_jacobian},
    "difference": {"method": "difference"},
    "complex": {"method": "complex"},
}
X = np.array([0.7, -1.2])


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


def near(a, b, way, order=1):
    exact = way in ("pullback", "jacobian") or (way == "complex" and order == 1)
    np.testing.assert_allclose(a, b, rtol=1e-12 if exact else [1e-8, 1e-5][order - 1], atol=1e-9)


def native(x):
    return (x[0] ** 3 + x[1] ** 3) ** 2 + (x[0] * x[1]) ** 2


def test_every_way_gives_gradient_hessian_and_forward_mode(way):
    f = zyg.foreign(cubes, **WAYS[way])

    def loss(x):
        return np.sum(f(x) ** 2)

    near(zyg.gradient(loss, X)[0], zyg.gradient(native, X)[0], way)
    near(zyg.jacobian(f, X)[0], cubes_jacobian(X), way)
    near(zyg.hessian(loss, X), zyg.hessian(native, X), way, 2)
    near(zyg.hvp(loss, X, X), zyg.hvp(native, X, X), way, 2)
    y, y_dot = zyg.pushforward(f, (X,), (X,))
    near(y_dot, cubes_jacobian(X) @ X, way)
    assert y.tolist() == cubes(X).tolist()


def test_derivatives_of_a_pullback_have_any_order():
    cube = zyg.foreign(
        lambda x: float(plain(x)) ** 3, pullback=lambda y_bar, y, x: (y_bar * 3 * x * x,)
    )
    third = zyg.gradient(lambda x: zyg.gradient(lambda x: zyg.gradient(cube, x)[0], x)[0], 2.0)
    assert third == (6.0,)


def test_structures_go_in_and_come_out():
    @zyg.foreign(method="difference")
    def f(model, how, scale):
        assert how == "both"
        assert not model["w"].flags.writeable
        return {"sum": float(model["w"].sum() * scale), "parts": [model["w"] ** 2, "text"]}

    def loss(model, scale):
        found = f(model, "both", scale)
        assert found["parts"][1] == "text"
        return found["sum"] + np.sum(found["parts"][0]) * model["b"]

    model = {"w": np.array([1.0, 2.0]), "b": 3.0, "name": "m"}
    by_model, by_scale = zyg.gradient(loss, model, 0.5)
    np.testing.assert_allclose(by_model["w"], [6.5, 12.5], rtol=1e-8)
    assert (by_model["b"], by_model["name"]) == (5.0, None)
    assert by_scale == pytest.approx(3.0)


def test_objects_are_arguments():
    class Model:
        def __init__(self):
            self.w, self.bias = np.ones(2), 2.0

    f = zyg.foreign(lambda m: float(m.w.sum()) * m.bias, method="difference")
    (tangent,) = zyg.gradient(f, Model())
    np.testing.assert_allclose(tangent.w, [2.0, 2.0], rtol=1e-8)
    assert tangent.bias == pytest.approx(2.0)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128, np.float64])
def test_dtypes_stay(dtype):
    f = zyg.foreign(lambda z: z * z * np.conj(z), method="difference")
    z = np.array([1.5, -0.5]).astype(dtype) * (1 if np.dtype(dtype).kind == "f" else 1 + 0.5j)
    z = z.astype(dtype)

    def loss(f, z):
        return np.sum(np.abs(f(z)) ** 2)

    found = zyg.gradient(functools.partial(loss, f), z)[0]
    wanted = zyg.gradient(functools.partial(loss, lambda z: z * z * np.conj(z)), z)[0]
    assert found.dtype == dtype
    tolerance = 2e-3 if np.finfo(dtype).eps > 1e-10 else 1e-8
    np.testing.assert_allclose(found, wanted, rtol=tolerance)


def test_a_complex_jacobian_is_conjugated():
    square = zyg.foreign(lambda z: z * z, jacobian=lambda z: 2 * z)
    z = 0.4 - 1.1j
    found = zyg.gradient(lambda z: (square(z) * (2 + 1j)).real, z)
    assert found == zyg.gradient(lambda z: (z * z * (2 + 1j)).real, z)


def test_several_arguments_and_constants():
    f = zyg.foreign(lambda a, b, c: a @ b, jacobian=lambda a, b, c: (b, a, None))
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert [g.tolist() for g in zyg.gradient(lambda a, b: f(a, b, "c"), a, b)] == [[3, 4], [1, 2]]
    assert zyg.gradient(lambda a: f(a, b, None), a)[0].tolist() == [3, 4]


def test_calls_are_counted_and_constants_cost_none():
    calls = []

    @zyg.foreign(method="difference")
    def f(x, table):
        calls.append(1)
        return x.sum() * table.sum()

    y, back = zyg.pullback(lambda x: f(x, np.ones(500)), np.ones(3))
    assert (len(calls), y) == (1, 1500.0)
    back(1.0)
    assert len(calls) == 1 + 2 * 3
    f(np.ones(3), np.ones(2))
    assert len(calls) == 8

    counted = zyg.foreign(lambda x: (calls.append(1), x * x)[1], method="complex")
    calls.clear()
    zyg.gradient(lambda x: counted(x).sum(), np.ones(3))
    assert len(calls) == 1 + 3 + 2  # and a difference to compare with


def test_without_a_gradient_it_is_the_function():
    f = zyg.foreign(lambda x: x, method="difference")
    x = np.ones(2)
    assert f(x) is x
    assert f.__name__ == "<lambda>"


def test_the_same_buffer_each_time_is_copied():
    buffer = np.zeros(2)

    def into_buffer(x):
        np.multiply(x, x, out=buffer)
        return buffer

    f = zyg.foreign(into_buffer, pullback=lambda y_bar, y, x: (2 * y_bar * x,))
    y, back = zyg.pullback(lambda x: f(x) * f(2 * x), np.array([1.0, 3.0]))
    assert y.tolist() == [4.0, 324.0]
    assert back(np.ones(2))[0].tolist() == [16.0, 432.0]


def test_methods_can_be_foreign():
    class Simulator:
        def __init__(self):
            self.rate = 3.0

        @zyg.foreign(method="difference")
        def run(self, x):
            return float(x) * 3.0

    assert zyg.gradient(Simulator().run, 1.0)[0] == pytest.approx(3.0)


def test_it_passes_through_arguments_whole():
    f = zyg.foreign(math.sin, jacobian=np.cos)
    assert zyg.gradient(lambda d: d["f"](d["x"]), {"f": f, "x": 0.0})[0]["x"] == 1.0


def test_under_a_checkpoint_and_in_threads():
    f = zyg.foreign(math.sin, jacobian=np.cos)
    assert zyg.gradient(lambda x: zyg.checkpoint(f, x * x), 0.5)[0] == pytest.approx(math.cos(0.25))
    found = []

    def work(x):
        found.append(zyg.gradient(f, x)[0] == math.cos(x))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert found == [True] * 8


# Refusals


def test_exactly_one_way_is_asked_for():
    with pytest.raises(TypeError, match=r"exactly one of pullback=, jacobian= and method=.*none"):
        zyg.foreign(math.sin)
    with pytest.raises(TypeError, match="pullback= and method="):
        zyg.foreign(math.sin, pullback=len, method="difference")
    with pytest.raises(ValueError, match="no method 'forward'"):
        zyg.foreign(math.sin, method="forward")
    with pytest.raises(ValueError, match="greater than 0"):
        zyg.foreign(math.sin, method="difference", step=-1.0)


def test_cotangents_that_do_not_fit_are_refused_by_name_and_place():
    def half(x):
        return x[:1]

    few = zyg.foreign(half, pullback=lambda y_bar, y, x: (y_bar, y_bar))
    with pytest.raises(AdjointError, match=r"rule of half \(.*test_foreign.py:\d+\).* 2 cotang"):
        zyg.gradient(lambda x: few(x).sum(), X)
    shape = zyg.foreign(half, pullback=lambda y_bar, y, x: (y_bar,))
    with pytest.raises(AdjointError, match=r"half.*argument 0 has shape \(1,\); its argument \(2"):
        zyg.gradient(lambda x: shape(x).sum(), X)
    jacobian = zyg.foreign(half, jacobian=lambda x: np.eye(3))
    with pytest.raises(AdjointError, match=r"half has shape \(3, 3\) for argument 0, not \(1, 2"):
        zyg.gradient(lambda x: jacobian(x).sum(), X)
    number = zyg.foreign(lambda x, y: x, jacobian=lambda x, y: np.eye(2))
    with pytest.raises(AdjointError, match="returned 1 arrays for 2 arguments"):
        zyg.gradient(lambda x: number(x, 1.0).sum(), X)
    inside = zyg.foreign(lambda d: d["x"], jacobian=lambda d: np.eye(2))
    with pytest.raises(AdjointError, match="no number or array"):
        zyg.gradient(lambda x: inside({"x": x}).sum(), X)


@pytest.mark.parametrize("result", [None, "text", {"a": None}, []])
def test_a_result_without_numbers_is_refused(result):
    f = zyg.foreign(lambda x: result, method="difference")
    with pytest.raises(StructureError, match="without numbers"):
        zyg.gradient(f, 1.0)


def test_the_complex_step_is_refused_where_it_would_be_wrong():
    for f in (math.sin, lambda x: np.abs(x), lambda x: float(np.real(x))):
        with pytest.raises(MissingRuleError, match='use method="difference"'):
            zyg.gradient(zyg.foreign(f, method="complex"), 1.0)
    with pytest.raises(MissingRuleError, match="is complex"):
        zyg.gradient(lambda z: abs(zyg.foreign(lambda z: z, method="complex")(z)), 1j)


@pytest.mark.parametrize(
    "f",
    [lambda x: x * np.real(x), lambda x: np.conj(x) * x, lambda x: x * np.abs(x), np.conj,
     lambda x: np.stack([x, x * np.exp(-np.abs(x))])],
)  # fmt: skip
@pytest.mark.parametrize("x", [np.array([1.5, -0.25]), np.array([0.5], np.float32), 2.5])
def test_the_complex_step_of_what_is_not_holomorphic_is_refused(f, x):
    with pytest.raises(MissingRuleError, match=r"a difference of it by real numbers is .*says"):
        zyg.gradient(lambda x: np.sum(zyg.foreign(f, method="complex")(x)), x)


@pytest.mark.parametrize(
    "f", [np.sqrt, np.tanh, lambda x: np.sin(1e3 * x), lambda x: x * 1e-9, lambda x: x**3 * 1e9,
          lambda x: np.exp(-1 / x), lambda x: 0 * x, np.log, lambda x: x + 1e12, lambda x: 1 / x]
)  # fmt: skip
@pytest.mark.parametrize(
    "x", [np.array([1.5, 0.25]), np.array([0.5], np.float32), 2.5, np.array([1e-8, 1e8]), 3]
)
def test_the_complex_step_of_what_is_holomorphic_is_not(f, x):
    def seen(x):
        assert getattr(x, "dtype", float) in (np.complex128, np.complex64, dtype, float)
        return f(x)

    dtype = np.asarray(x).dtype
    bar = zyg.gradient(lambda x: np.sum(zyg.foreign(seen, method="complex")(x)), x)[0]
    expected = np.imag(f(np.asarray(x, complex) + 1e-30j)) * 1e30
    np.testing.assert_allclose(bar, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_a_difference_that_is_not_finite_is_refused_by_place():
    f = zyg.foreign(lambda d: np.log(d["x"][0]), method="difference")
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match=r"\['x'\], element 0"):
        zyg.gradient(f, {"x": np.zeros(2)})


def test_more_calls_than_allowed_are_refused_before_the_first():
    calls = []
    f = zyg.foreign(lambda x: (calls.append(1), x.sum())[1], method="difference")
    with pytest.raises(MissingRuleError, match=r"by 501 numbers takes 1002 calls"):
        zyg.gradient(f, np.ones(501))
    assert not calls
    more = zyg.foreign(lambda x: x.sum(), method="difference", calls=1002)
    np.testing.assert_allclose(zyg.gradient(more, np.ones(501))[0], 1.0, rtol=1e-6)
    few = zyg.foreign(lambda x: float(x @ x), method="difference", calls=10)
    with pytest.raises(MissingRuleError, match="takes 16 calls"):
        zyg.hessian(few, np.ones(2))


def test_third_differences_are_refused():
    f = zyg.foreign(math.exp, method="difference")
    with pytest.raises(MissingRuleError, match="no third derivative"):
        zyg.gradient(lambda x: zyg.gradient(lambda x: zyg.gradient(f, x)[0], x)[0], 1.0)


def test_watched_keywords_are_refused_and_plain_ones_given():
    f = zyg.foreign(lambda x, power=1: x**power, pullback=lambda d, y, x, power: (d * power,))
    assert zyg.gradient(lambda x: f(x, power=3), 1.0) == (3.0,)
    with pytest.raises(MissingRuleError, match="watched keyword"):
        zyg.gradient(lambda x: f(1.0, power=x), 1.0)


def test_a_write_to_an_argument_is_refused_and_an_exception_stays_itself():
    def writes(x):
        x[0] = 1.0
        return x

    with pytest.raises(ValueError, match="read-only") as caught:
        zyg.gradient(lambda x: zyg.foreign(writes, method="difference")(x).sum(), np.ones(2))
    assert any("lambda x: f(x.copy())" in note for note in caught.value.__notes__)
    copied = zyg.foreign(lambda x: writes(x.copy()), method="difference")
    np.testing.assert_allclose(zyg.gradient(lambda x: copied(x).sum(), np.ones(2))[0], [0, 1])

    class CrashError(Exception):
        pass

    def crashes(x):
        raise CrashError("itself")

    x = np.ones(2000)
    with pytest.raises(CrashError, match=r"^itself$"):
        zyg.gradient(zyg.foreign(crashes, method="difference", calls=10**6), x)
    assert x.flags.writeable


def test_a_result_that_depends_on_a_closure_is_refused():
    def outer(x):
        return zyg.foreign(lambda y: y * x, jacobian=lambda y: 0.0)(x)

    with pytest.raises(AdjointError, match="not among its arguments"):
        zyg.gradient(outer, 2.0)


def test_results_of_other_shapes_are_refused():
    f = zyg.foreign(lambda x: np.ones(2 if x > 1 else 3), method="difference")
    with pytest.raises(AdjointError, match="2 numbers, and 3"):
        zyg.gradient(lambda x: f(x).sum(), 1.0)


def test_a_library_that_is_too_old_is_refused_by_its_version():
    demand_version("PyTorch", "2.13.0+cpu", "2.4")
    demand_version("JAX", "0.10.2", "0.5")
    with pytest.raises(ImportError, match=r"PyTorch 2\.4 or newer; 2\.3\.1 is installed"):
        demand_version("PyTorch", "2.3.1", "2.4")


# Compiled code and processes


def test_a_ctypes_function_with_pointers():
    name = ctypes.util.find_library("c")
    if name is None:
        pytest.skip("there is no C library that ctypes finds")
    libc = ctypes.CDLL(name)
    libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def reverse_copy(x):
        y = np.empty_like(x)
        libc.memcpy(y.ctypes.data, np.ascontiguousarray(x[::-1]).ctypes.data, x.nbytes)
        return y

    f = zyg.foreign(reverse_copy, pullback=lambda y_bar, y, x: (y_bar[::-1],))
    weights = np.arange(3.0)
    found = zyg.gradient(lambda x: f(x) @ weights, np.ones(3))
    assert found[0].tolist() == [2.0, 1.0, 0.0]


def test_a_cffi_function():
    cffi = pytest.importorskip("cffi", reason="cffi is not installed: pip install 'zyg[interop]'")
    ffi = cffi.FFI()
    ffi.cdef("double cosh(double);")
    libm = ffi.dlopen(ctypes.util.find_library("m"))
    f = zyg.foreign(libm.cosh, method="difference")
    assert zyg.gradient(f, 1.0)[0] == pytest.approx(math.sinh(1.0), rel=1e-8)


@pytest.mark.slow
def test_a_program_behind_a_command_line():
    program = "import sys; x, y = map(float, sys.stdin.read().split()); print(x * x * y)"

    @zyg.foreign(method="difference", step=1e-3)
    def simulate(x):
        text = " ".join(map(str, x))
        run = [sys.executable, "-c", program]
        return float(subprocess.run(run, input=text, text=True, capture_output=True).stdout)

    found = zyg.gradient(simulate, np.array([2.0, 5.0]))[0]
    np.testing.assert_allclose(found, [20.0, 4.0], rtol=1e-6)


HOW = {
    "difference": lambda k: {"method": "difference"},
    "complex": lambda k: {"method": "complex"},
    "jacobian": lambda k: {"jacobian": lambda x: (k() + 1) * np.cos(x * (k() + 1))},
    "pullback": lambda k: {"pullback": lambda c, y, x: (c * (k() + 1) * np.cos(x * (k() + 1)),)},
}


@pytest.mark.parametrize("how", HOW)
def test_variables_are_for_the_derivative_what_they_were_for_the_value(how):
    calls = 0

    def f(x):
        total = 0.0
        for k in range(3):

            def sine(x):
                nonlocal calls
                calls += 1
                return np.sin(x * (k + 1))  # noqa: B023

            total = total + zyg.foreign(sine, **HOW[how](lambda: k))(x)  # noqa: B023
        k = 7
        return total

    expected = sum(k * np.cos(k * 0.3) for k in (1, 2, 3))
    assert zyg.gradient(f, 0.3)[0] == pytest.approx(expected, rel=1e-8)
    assert zyg.pushforward(f, (0.3,), (1.0,))[1] == pytest.approx(expected, rel=1e-8)
    assert calls >= 6
    bent = zyg.gradient(lambda x: zyg.pushforward(f, (x,), (1.0,))[1], 0.3)[0]
    assert bent == pytest.approx(-sum(k * k * np.sin(k * 0.3) for k in (1, 2, 3)), rel=1e-4)
