"""Calls of float, complex, type and NumPy's scalar types in functions of adopted modules."""

import inspect
import math
import sys

import numpy as np
import pytest

import zyg

CALLS = """
    import numpy as np

    def number(x): return 3 * float(x)
    def scalar(x): return np.float64(x) * x
    def both(z): return complex(z) * 2
    def parts(x): return (complex(3, x) * complex(x, 1)).imag
    def kind(x): return type(x)
    def here(a): return type(a) is np.ndarray, type(a)
    class Atlas:
        def map(self): return 1
    def mapped(x): return sum(map(float, [x, 2, x])) + Atlas().map() * [*map(complex, [x])][0].real
    def inner(x): return sum((lambda k: float(k) * x)(k) for k in [x, 1])
    def closed():
        factor = 2
        def f(x, more=np.float64(1)):
            return float(x) * factor * more
        return f
    closed_ = closed()

    class Holder:
        def __init__(self, x): self.x = float(x)
        @property
        def twice(self): return 2 * float(self.x)
        @staticmethod
        def thrice(x): return 3 * float(x)

    def of_class(x): return Holder(x).twice + Holder.thrice(x)
    def failing(x):
        y = float(x)
        return y / 0
"""


@pytest.fixture
def calls(write):
    write({"calls.py": CALLS})
    import calls

    return calls


SLOPES = {
    "number": (2.0, 3.0), "scalar": (2.0, 4.0), "inner": (2.0, 5.0), "of_class": (2.0, 5.0),
    "mapped": (2.0, 3.0), "closed_": (2.0, 2.0), "parts": (2.0, 4.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32, int])
def test_a_converted_number_keeps_its_derivative(calls, name, kind):
    x, slope = SLOPES[name]
    f = getattr(calls, name)
    plain = f(kind(x))
    with pytest.raises(zyg.errors.ConversionError):
        zyg.gradient(f, kind(x))
    with zyg.adopt("calls"):
        again = f(kind(x))
        value, (got,) = zyg.value_and_gradient(f, kind(x))
    assert (type(plain), plain) == (type(again), again) == (type(value), value)
    assert got == pytest.approx(slope)
    with pytest.raises(zyg.errors.ConversionError):
        zyg.gradient(f, kind(x))


def test_a_type_is_what_the_module_has_in_its_place(write):
    write({"typed.py": """
        import numpy as np
        import scipy.sparse as sp
        from scipy.interpolate import CubicSpline
        from scipy.sparse import csr_matrix
        HELD = csr_matrix([[0.0, 2.0]])
        def f(x):
            assert type(HELD) is csr_matrix and (HELD @ (x * np.ones(2)))[0] == 2 * x
            a, s = sp.eye(2, format="csr"), CubicSpline([0, 1, 2.0], [0, 1, 4.0])
            found = type(a) is csr_matrix, type(a) is sp.csr_matrix, {csr_matrix: 1}.get(type(a))
            return *found, type(s) is CubicSpline, type(s).__name__, type(3), type(a) is type(s)
    """})  # fmt: skip
    import typed

    expected, found = typed.f(1.0), []
    assert expected == (True, True, 1, True, "CubicSpline", int, False)
    with zyg.adopt("typed"):
        assert typed.f(1.0) == expected
        zyg.gradient(lambda x: found.append(typed.f(x)) or x, 1.0)
    assert found == [expected]


@pytest.mark.parametrize("z", [1.5, 2, 1 + 2j, np.complex64(1 + 2j), np.array(1 - 1j)])
def test_complex_of_a_number(calls, z):
    def f(z):
        return abs(calls.both(z)) ** 2

    with zyg.adopt("calls"):
        value, (slope,) = zyg.value_and_gradient(f, z)
    assert value == pytest.approx(4 * abs(z) ** 2, rel=1e-6)
    assert slope == pytest.approx(8 * np.array(z)[()], rel=1e-6)


def test_the_type_of_a_watched_value_is_the_plain_one(calls):
    seen = []

    def f(x, n, a):
        seen.extend([calls.kind(x), calls.kind(n), *calls.here(a)])
        return x * n * a.sum()

    with zyg.adopt("calls"):
        zyg.gradient(f, np.float64(2.0), 3, np.ones(2))
    assert seen == [np.float64, int, True, np.ndarray]


@pytest.mark.parametrize("value", [np.array([1.0]), np.array([1.0, 2.0]), 1j])
def test_what_float_does_not_take_is_refused_as_before(calls, value):
    with pytest.raises(zyg.errors.ZygError), zyg.adopt("calls"):
        zyg.gradient(lambda x: calls.number(x).real.sum(), value)


def test_plain_values_go_where_they_went(calls):
    values = [1, 2.5, True, "3.5", np.float32(1.5), np.array(2), np.array([7])[0], 1 << 70]
    expected = [calls.number(v) for v in values]
    with zyg.adopt("calls"):
        assert [calls.number(v) for v in values] == expected
        for bad in ("x", None, 1j, [1.0], 10**400):
            with pytest.raises((TypeError, ValueError, OverflowError)) as adopted:
                calls.number(bad)
            with pytest.raises(adopted.type) as plain:
                float(bad)
            assert str(adopted.value) == str(plain.value)
        assert calls.kind(calls.Holder) is type
        assert calls.kind("") is str


def test_names_that_are_something_else_are_called(write):
    write({
        "others.py": """
            def float(x): return -x
            class C:
                def type(self, x): return [x]
            def f(x): return float(x) + C().type(x)[0] * 3
            def g(x, complex=abs): return complex(x)
        """
    })  # fmt: skip
    import others

    with zyg.adopt("others"):
        assert others.f(2.0) == 4.0
        assert zyg.gradient(others.f, 2.0) == (2.0,)
        assert zyg.gradient(others.g, -2.0) == (-1.0,)


def test_lines_sources_and_codes_are_as_they_were(calls):
    functions = [calls.number, calls.closed_, calls.Holder.__init__, calls.Holder.thrice]
    codes = [f.__code__ for f in functions]
    lines = [inspect.getsource(f) for f in functions]

    def f(x):
        assert [inspect.getsource(f) for f in functions] == lines
        assert [f.__code__.co_firstlineno for f in functions] == [c.co_firstlineno for c in codes]
        assert all(f.__code__ is not code for f, code in zip(functions, codes, strict=True))
        calls.keep = calls.closed()
        return calls.failing(x)

    with zyg.adopt("calls"):
        with pytest.raises(ZeroDivisionError) as caught:
            zyg.gradient(f, 1.0)
        line = next(e.lineno for e in caught.traceback if e.name == "failing")
        assert line == inspect.getsourcelines(calls.failing)[1] + 1
        assert all(f.__code__ is code for f, code in zip(functions, codes, strict=True))
    kept = calls.keep
    assert kept(2.0) == 4.0
    with pytest.raises(zyg.errors.ConversionError):
        zyg.gradient(kept, 2.0)


def test_a_source_that_is_not_what_runs_is_not_used(write):
    path = write({"stale.py": "def f(x): return float(x)"})
    import stale

    (path / "stale.py").write_text("def f(x): return 5 * float(x)\n")
    with zyg.adopt("stale"):
        assert stale.f(2.0) == 2.0
        with pytest.raises(zyg.errors.ConversionError):
            zyg.gradient(stale.f, 2.0)


def test_a_running_function_goes_on_when_its_module_is_released(write):
    write({"going.py": "def f(x, between):\n y = float(x)\n between()\n return y * float(x)"})
    import going

    adoption = zyg.adopt("going")
    assert zyg.gradient(lambda x: going.f(x, adoption.release), 3.0) == (6.0,)


def test_kernels_read_the_source(write):
    write({"read.py": "import math\ndef f(x): return float(x) * math.exp(x)"})
    import read

    x = np.array([0.5, 1.5])
    plain = zyg.broadcast(read.f, x)
    with zyg.adopt("read"), zyg.config(fallback="error"):
        np.testing.assert_array_equal(zyg.broadcast(read.f, x), plain)


def test_an_object_answers_float_by_its_own_method(write):
    write({"answers.py": """
        class Length:
            def __init__(self, x): self.x = x
            def __float__(self): return float(self.x) * 2
            def __complex__(self): return self.x * 3 + 0j
        class Bad:
            def __float__(self): return "no"
        def f(x): return float(Length(x)) * x
        def g(x): return abs(complex(Length(x)))
        def both(x): return float(Length(x)), float(Length(2.0)), float(Length(2.0)) * x
        def bad(x): return float(Bad())
    """})  # fmt: skip
    import answers

    with zyg.adopt("answers"):
        assert zyg.gradient(answers.f, 3.0) == (12.0,)
        assert zyg.gradient(answers.g, 3.0) == (3.0,)
        assert zyg.value_and_gradient(answers.both, 3.0) == ((6.0, 4.0, 12.0), (2.0,))
        with pytest.raises(TypeError, match="non-float"):
            zyg.gradient(answers.bad, 3.0)
    assert type(answers.both(3.0)[0]) is float


@pytest.mark.slow
def test_numba_compiles_the_codes_of_before(write):
    write({"jitted.py": "import numba\n@numba.njit\ndef f(x): return float(x) * 2\n"
           "def g(x): return float(x)"})  # fmt: skip
    import jitted

    def f(x):
        assert jitted.f(3) == 6.0
        return jitted.g(x)

    with zyg.adopt("jitted"):
        assert zyg.gradient(f, 3.0) == (1.0,)


def test_no_call_is_lost_in_depth(write):
    """A function that converts what is not a float, and calls itself, ends."""
    write({
        "deep.py": """
            import numpy as np
            def f(x):
                if not isinstance(x, float):
                    return f(float(x))
                if type(x) is not float:
                    return f(float(x))
                return x * x
        """
    })  # fmt: skip
    import deep

    with zyg.adopt("deep"):
        for x in (3, np.float32(3), np.float64(3), np.array(3.0), 3.0):
            assert zyg.gradient(deep.f, x) == (6.0,)
    assert sys.getrecursionlimit() > 100
    assert math.isclose(deep.f(3), 9)


def test_watched_scalars_of_numpy_answer_an_ellipsis_and_none(write):
    write({"subscripts.py": """
        import numpy as np
        def column(x): return np.concatenate([v[..., np.newaxis] for v in np.array(x)])
        def whole(x): return np.array(x)[0][...] * np.array(x)[1][()]
        def of_array(x): return np.array([x, x])[..., 1, 0] + np.array([x, x])[..., 0:1].sum()
        def of_number(x): return x[0].item()[...]
        def failing(x): return np.array(x)[0][..., 0]
    """})  # fmt: skip
    import subscripts

    x = np.array([1.5, -0.5])
    with zyg.adopt("subscripts"):
        for f in (subscripts.column, subscripts.whole, subscripts.of_array):
            zyg.check_gradient(f, x, order=2)
            value = zyg.pullback(f, x)[0]
            assert type(value) is type(f(x))
            assert np.shape(value) == np.shape(f(x))
        for f, error in ((subscripts.of_number, TypeError), (subscripts.failing, IndexError)):
            for call in (f, lambda x, f=f: zyg.gradient(f, x)):
                with pytest.raises(error):
                    call(x)


METHODS = """
    import numpy as np
    import scipy.sparse as sp

    DATA = np.array([3.0, 1.0, 2.0])
    TABLE = np.arange(6.0).reshape(2, 3)

    def copied(x):
        y = DATA.copy()
        y[1] = x * x
        return y.sum()
    def converted(x):
        y = (DATA > 1).astype(float)
        y[:2] *= x
        return y @ DATA
    def flattened(x):
        y = TABLE.flatten()
        y[4] += x
        return (y * y).sum()
    def of_sparse(x):
        a = sp.csr_matrix(TABLE).toarray()
        a[0, 1] = x
        return a.sum() * a[0, 1]
    def product(x): return TABLE.dot(np.array([x, 2.0, x * x])).sum()
    def between(x): return TABLE.clip(x, 2 * x).sum() + TABLE.clip(max=x).sum()
    def chosen(x):
        y = np.zeros(3)
        (DATA > 1).astype(int).choose((DATA, np.array([x, 1, 2 * x])), out=y)
        return y @ DATA
    def into_a_buffer(x):
        y = np.zeros(2)
        TABLE.sum(axis=1, out=y)
        y[0] = x
        return y.prod()
    class State(np.ndarray):
        pass
    def objects(x):
        y = np.array([x, 2.0, x * x]).view(State)
        z = y.astype(complex) * 1j
        assert type(z) is State
        return sum(v.imag * k for k, v in enumerate(z))
    def of_float(m=float.__mul__, p=float.__rsub__, n=float.__neg__, f=float.__eq__):
        return lambda x: m(2.0, m(x, x)) + p(x, 3.0) * p(3.0, x) + n(x) + f(x, 1.7)
    unbound = of_float()
    class Atlas(dict):
        def copy(self): return Atlas(super().copy())
    def of_others(x): return Atlas(a=x).copy()["a"] * [x].copy()[0]
    def same(): return DATA.astype(float, copy=False) is DATA, DATA.copy(), TABLE.astype(int)
    def octets(x): return x * (bytes(memoryview(np.ones(1))) == np.ones(1).tobytes())
    def of_watched(x): return memoryview(np.stack([x]))
"""


@pytest.fixture
def methods(write):
    write({"methods.py": METHODS})
    import methods

    return methods


MADE = ("copied", "converted", "flattened", "of_sparse", "product", "between", "chosen")


@pytest.mark.parametrize("name", [*MADE, "into_a_buffer", "of_others", "unbound"])
def test_methods_of_plain_arrays_give_room_to_watched_values(methods, name):
    with zyg.adopt("methods"):
        f = getattr(methods, name)
        value, (got,) = zyg.value_and_gradient(f, 1.7)
        assert value == f(1.7)
        assert got == pytest.approx((f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_objects_of_somebodys_class_are_converted_one_by_one(methods):
    with zyg.adopt("methods"):
        assert zyg.gradient(methods.objects, 1.7) == pytest.approx((4 * 1.7,))


def test_methods_of_plain_arrays_are_numpys_where_no_gradient_runs(methods):
    with zyg.adopt("methods"):
        same, *outside = methods.same()
        assert same is True
        assert [type(x) for x in outside] == [np.ndarray] * 2
        inside: list = []
        zyg.gradient(lambda x: inside.extend(methods.same()) or x, 1.0)
    assert inside[0] is True
    assert type(inside[2]) is np.ndarray  # whole numbers are for counting


def test_the_memory_of_a_buffer_is_asked_for(methods):
    with zyg.adopt("methods"):
        assert zyg.gradient(methods.octets, 2.0) == (1.0,)
        with pytest.raises(zyg.errors.ConversionError):
            zyg.gradient(methods.of_watched, 1.0)


def test_an_example_of_many_is_a_float(calls):
    for xs in (np.array([0.5, 1.0, 2.0]), np.array([0.5, 1.0], np.float32)):
        with zyg.adopt(calls), zyg.config(fallback="error"):
            found = zyg.vmap(zyg.grad(lambda x: calls.number(x) * x))(xs)
        np.testing.assert_allclose(found, 6 * xs, rtol=1e-6)
    assert found.dtype == np.float32
