"""Functions that are compiled, by numba and by zyg, in modules that are adopted."""

import builtins
import sys

import numba
import numpy as np
import pytest

import zyg

KERNELS = """
    import functools
    import math
    import numba
    import numpy as np
    from math import exp
    from numba import njit
    from numpy import zeros, linalg

    @njit
    def made(x):
        y = np.zeros(3)
        for k in range(3):
            y[k] = math.exp(k * x) + exp(x)
        return zeros(2).sum() + linalg.norm(np.array([x, y.sum()]))

    @njit
    def calling(x): return made(x) + helper(x)

    @numba.extending.register_jitable
    def helper(x): return exp(x) + np.arange(3).sum()

    @numba.vectorize
    def each(x): return math.exp(x) if x > 0 else np.floor(x)

    @numba.guvectorize(["void(f8[:], f8[:])"], "(n)->()")
    def total(x, y): y[0] = np.sum(x) + math.exp(0)

    def make(f, g=math.cos):
        @njit
        def inner(x, h=g): return f(x) * h(x)
        return inner

    inner = make(math.exp)

    @numba.experimental.jitclass([("x", numba.float64)])
    class Point:
        def __init__(self, x): self.x = x
        def norm(self): return np.sqrt(np.array([self.x, 1.0]).sum()) + math.exp(self.x)

    def by_each(x): return each(np.array([x, -x])).sum() + total(np.ones(3))
    def of_class(x): return Point(x).norm()
    def python(x): return math.exp(2 * x)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["made", "calling", "by_each", "inner", "of_class"])
def test_what_numba_compiles_computes_with_the_originals(write, name):
    write({"kernels.py": KERNELS, "adopted.py": KERNELS})
    import adopted
    import kernels

    values = []

    def compiling(x):
        assert adopted.np is not np
        values.append(getattr(adopted, name)(0.5))
        return x * adopted.python(x)

    with zyg.adopt("adopted"):
        assert zyg.gradient(compiling, 0.0) == (1.0,)
        assert values == [getattr(kernels, name)(0.5)]
    reader = numba.core.bytecode.FunctionIdentity.from_function
    assert not hasattr(reader, "before")


WATCHED = """
    import functools
    import math
    import numba
    import numpy as np

    @numba.njit
    def helper(x):
        y = np.zeros(2)
        y[0] = float(x) * math.sin(x)
        return y.sum()

    @numba.njit
    def scalar(x, power=2): return helper(x) ** power if x > 0 else x

    @numba.njit
    def apply(f, x): return f(x)

    @numba.njit
    def counted(): return np.arange(3.0)

    def mixed(x): return apply(helper, 0.5) * x * counted()[2] + len(helper.signatures) * 0

    class Model:
        @staticmethod
        @numba.njit
        def rate(x): return 2 * math.exp(x)
        @functools.lru_cache
        def memo(self, x): return math.exp(x) * float(x)

    model = Model()
    def of_class(x): return model.rate(x) + model.memo(x) + Model.rate(x)

    @functools.lru_cache(maxsize=None)
    def memo(x): return math.cos(x) * float(x)
    def memoised(x): return memo(x) * memo(3.0)

    @numba.guvectorize(["void(f8[:], f8, f8[:])"], "(n),()->(n)")
    def scaled(x, factor, y):
        for k in range(x.size):
            y[k] = x[k] ** 2 * factor
    @numba.guvectorize(["void(f8[:], f8[:])"], "(n)->()")
    def total(x, y):
        y[0] = 0.0
        for k in range(x.size):
            y[0] += math.sin(x[k])
    def loops(x):
        rows = np.array([[x, 2 * x], [3 * x, 0.5]])
        y = np.zeros((2, 2))
        scaled(rows, x, y)
        return y.sum() + (total(rows) * np.array([1.0, 2.0])).sum() + scaled(rows[0], 2.0)[1]
    def whole(x): return total(np.array([x, 1.0]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scalar", "mixed", "of_class", "memoised", "loops", "whole"])
def test_compiled_and_memoised_functions_run_in_python_on_watched_values(write, name):
    write({"adopted.py": WATCHED})
    import adopted

    def f(x):
        return getattr(adopted, name)(x)

    plain = f(0.7)
    before = {k: id(v) for k, v in vars(adopted).items()}
    with zyg.adopt("adopted"):
        zyg.check_gradient(f, 0.7, order=2)
        value, _ = zyg.value_and_gradient(f, 0.7)
        assert np.isclose(value, plain, rtol=1e-15)
        assert f(0.7) == plain
    assert {k: id(v) for k, v in vars(adopted).items()} == before


def test_a_memo_answers_plain_keys_and_keeps_no_watched_ones(write):
    write({"adopted.py": """
        import functools
        calls = []
        @functools.lru_cache
        def memo(x):
            calls.append(x)
            return 2 * x
        def f(x): return memo(x) * memo(3.0) + memo(x)
    """})  # fmt: skip
    import adopted

    with zyg.adopt("adopted"):
        assert zyg.gradient(adopted.f, 1.0) == (14.0,)
        assert zyg.gradient(adopted.f, 1.0) == (14.0,)
    assert adopted.memo.cache_info().currsize == 1
    assert len(adopted.calls) == 5


@pytest.mark.slow
def test_numba_compiles_functions_of_a_script_that_is_adopted_first(write):
    write({
        "script.py": """
            import zyg
            zyg.adopt(__name__)
            import math
            import numba
            import numpy as np

            @numba.njit("f8(f8)")
            def f(x): return np.zeros(3).sum() + math.exp(x) + np.array([x, 1.0]).sum()

            @numba.njit
            def g(x): return f(x) + np.sum(np.ones(2))

            values = f(0.5), g(0.5), zyg.gradient(lambda x: math.exp(2 * x), 0.0)
        """
    })  # fmt: skip
    import script

    expected = np.exp(0.5) + 1.5
    assert script.values == (expected, expected + 2, (2.0,))


@pytest.mark.slow
def test_a_global_that_changes_before_numba_compiles_is_read_then(write):
    write({"scaled.py": "import numba, numpy as np\nscale = 1.0\n"
           "@numba.njit\ndef f(x): return scale * np.ones(2).sum() * x"})  # fmt: skip
    import scaled

    def f(x):
        scaled.scale = 3.0
        assert scaled.f(1.0) == 6.0
        return x

    with zyg.adopt("scaled"):
        zyg.gradient(f, 1.0)


def test_a_function_of_an_adopted_module_is_a_kernel_as_ever(write):
    write({
        "numbers_.py": """
            import math
            import numpy as np
            from math import exp
            def f(x):
                return exp(-x) * np.sin(x) + math.log(x) if x > 0 else np.where(x > -1, x, -1.0)
        """
    })  # fmt: skip
    import numbers_

    x = np.array([-2.0, -0.5, 0.5, 2.0])
    plain, slopes = zyg.partials(numbers_.f, x)
    with zyg.adopt("numbers_"), zyg.config(fallback="error"):
        value, adopted = zyg.partials(numbers_.f, x)
        np.testing.assert_array_equal(value, plain, strict=True)
        np.testing.assert_array_equal(adopted[0], slopes[0], strict=True)


def test_compiled_modules_and_what_they_hold_are_left_alone(write):
    import _elementtree

    write({
        "holding.py": """
            import math, _elementtree, operator
            get = operator.attrgetter("exp")
            table = [math.exp, __builtins__]
        """
    })  # fmt: skip
    import holding

    before = dict(vars(_elementtree)), dict(vars(builtins))
    with zyg.adopt("holding"):
        assert holding.get(holding.math) is holding.table[0]
        now = dict(vars(builtins))
        assert now.pop("__import__") is not before[1]["__import__"]
        assert {**now, "__import__": before[1]["__import__"]} == before[1]
    assert (dict(vars(_elementtree)), dict(vars(builtins))) == before
    assert sys.modules["math"] is holding.math
