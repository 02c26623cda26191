"""Where a module may hold NumPy, math and SciPy: each is zyg's while adopted, and given back."""

import importlib
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import zyg

# The definition of f(x), which is exp(2 x) of a float, by way of one shape of binding.
SHAPES = {
    "import": "import math\ndef f(x): return math.exp(2 * x)",
    "import as": "import math as m\ndef f(x): return m.exp(2 * x)",
    "from import": "from math import exp\ndef f(x): return exp(2 * x)",
    "from import as": "from math import exp as e\ndef f(x): return e(2 * x)",
    "star import": "from math import *\ndef f(x): return exp(2 * x)",
    "alias": "import math\nexp = math.exp\ndef f(x): return exp(2 * x)",
    "import in a function": "def f(x):\n import math\n return math.exp(2 * x)",
    "from import in a function": "def f(x):\n from math import exp\n return exp(2 * x)",
    "default": "import math\ndef f(x, exp=math.exp): return exp(2 * x)",
    "keyword default": "import math\ndef f(x, *, exp=math.exp): return exp(2 * x)",
    "closure": """
        import math
        def make(exp):
            def f(x): return exp(2 * x)
            return f
        f = make(math.exp)
    """,
    "class attribute": """
        import math
        class C:
            exp = math.exp
        def f(x): return C.exp(2 * x)
    """,
    "static method": """
        import math
        class C:
            exp = staticmethod(math.exp)
        def f(x): return C().exp(2 * x)
    """,
    "class in a class": """
        from math import exp as e
        class C:
            class D:
                exp = {"exp": e}
        del e
        def f(x): return C.D.exp["exp"](2 * x)
    """,
    "default of a method": """
        from math import exp as e
        class C:
            def g(self, x, exp=e): return exp(2 * x)
        def f(x): return C().g(x)
    """,
    "default of a property": """
        from math import exp as e
        class C:
            def __init__(self, x): self.x = x
            g = property(lambda self, exp=e: exp(2 * self.x))
        def f(x): return C(x).g
    """,
    "dict": "import math\nT = {'a': {'b': math.exp}}\ndef f(x): return T['a']['b'](2 * x)",
    "list": "import math\nT = [0, [math.exp]]\ndef f(x): return T[1][0](2 * x)",
    "tuple": "import math\nT = (0, ([math.exp],), math.exp)\n"
    "def f(x): return (T[1][0][0](2 * x) + T[2](2 * x)) / 2",
    "dict of tuples": "import math\nT = {1: (2, math.exp)}\ndef f(x): return T[1][1](2 * x)",
    "partial": "import math\nfrom functools import partial\n"
    "g = partial(map, math.exp)\ndef f(x): return [*g([2 * x])][0]",
    "partial of": "import math\nfrom functools import partial\n"
    "g = partial(math.exp)\ndef f(x): return g(2 * x)",
    "partial keyword": "import math\nfrom functools import partial\n"
    "g = partial(lambda x, exp: exp(x), exp=math.exp)\ndef f(x): return g(2 * x)",
    "object": """
        import math
        class C:
            def __init__(self, exp): self.exp = exp
        c = [C(math.exp)]
        def f(x): return c[0].exp(2 * x)
    """,
    "decorated": """
        import functools, math
        def twice(f):
            @functools.wraps(f)
            def g(x): return f(2 * x)
            return g
        @twice
        def f(x, exp=math.exp): return exp(x)
    """,
    "__all__": "__all__ = ['f']\nimport math\ndef f(x): return math.exp(2 * x)",
    "array of watched numbers": "import numpy as np\n"
    "def f(x): return np.exp(np.array([x, x]).sum())",
    "scipy's module": "from scipy import special\n"
    "def f(x): return np.exp(special.logsumexp([2 * x]))\nimport numpy as np",
    "scipy": "import scipy, scipy.special, numpy as np\n"
    "def f(x): return np.exp(scipy.special.logsumexp([2 * x]))",
    "scipy's function": "from scipy.special import logsumexp as g\nimport numpy as np\n"
    "def f(x): return np.exp(g([2 * x]))",
    "scipy in a function": "def f(x):\n import scipy.optimize, numpy as np\n"
    " return scipy.optimize.brentq(lambda y: np.log(y) - 2 * x, 0.1, 9.0)",
}  # fmt: skip


def state(module):
    """All that a namespace holds, by identity; of the containers in it what they hold."""
    found = []

    def note(value, depth):
        found.append(id(value))
        for part in parts(value) if depth else ():
            note(part, depth - 1)

    for name, value in vars(module).items():
        if not name.startswith("__"):
            note(value, 4)
    return found


def parts(value):
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, (list, tuple)):
        return [*value]
    if isinstance(value, type):
        # what a class gives for these is made at each reading
        return [v for k, v in vars(value).items() if not k.startswith("__")]
    return [*(getattr(value, "__defaults__", None) or ()), getattr(value, "func", None)]


@pytest.mark.parametrize("late", [False, True], ids=["loaded", "imported later"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_binding_is_zygs_while_adopted(write, shape, late):
    write({"shapes.py": SHAPES[shape]})
    if late:
        adoption = zyg.adopt("shapes")
    module = importlib.import_module("shapes")
    before = state(module)
    if not late:
        adoption = zyg.adopt("shapes")
        with zyg.adopt(module):  # a second time
            pass
    plain = module.f(0.25)
    value, (slope,) = zyg.value_and_gradient(module.f, 0.25)
    adoption.release()

    assert plain == value == pytest.approx(math.exp(0.5), rel=1e-14)
    assert slope == pytest.approx(2 * math.exp(0.5), rel=1e-9)
    if not late:
        assert state(module) == before
    with pytest.raises((zyg.errors.ZygError, zyg.errors.PerformanceWarning)):
        zyg.gradient(module.f, 0.25)


def test_what_is_not_numpys_but_has_its_name_stays(write):
    write({
        "own.py": """
            class np:
                sin = staticmethod(lambda x: 3 * x)
            math = {"exp": abs}
            def exp(x): return -x
            def f(x): return np.sin(x) + math["exp"](x) + exp(x)
        """
    })  # fmt: skip
    import own

    np_, math_, exp = own.np, own.math, own.exp
    with zyg.adopt("own"):
        assert zyg.adopted().modules == {"own": []}
        assert (own.np, own.math, own.exp) == (np_, math_, exp)
        assert zyg.gradient(own.f, 2.0) == (3.0,)


def test_types_stay_numpys(write):
    write({
        "kinds.py": """
            import numpy as np
            import scipy.sparse
            from numpy import ndarray, float64
            def kind(x):
                sparse = isinstance(x, scipy.sparse.csr_array)
                return isinstance(x, np.ndarray), isinstance(x, float64), sparse
        """
    })  # fmt: skip
    import kinds
    import scipy.sparse

    with zyg.adopt("kinds"):
        assert kinds.ndarray is np.ndarray is kinds.np.ndarray
        assert kinds.kind(np.ones(2)) == (True, False, False)
        assert kinds.kind(np.float64(2)) == (False, True, False)
        assert kinds.kind(scipy.sparse.csr_array(np.eye(2))) == (False, False, True)


def test_a_module_that_asks_what_numpy_is_hears_the_same(write):
    write({
        "asking.py": """
            import sys
            import numpy
            import numpy as np
            import scipy
            assert np is numpy is sys.modules["numpy"]
            def same(): return np is numpy
            def named(): return np.__name__, np.__file__, np.__version__, scipy.__version__
            def names(): return dir(np), dir(scipy), hasattr(np, "nothing_of_the_kind")
        """
    })  # fmt: skip
    zyg.adopt("asking")
    import asking

    def f(x):
        assert asking.same()
        assert asking.np is not np
        assert asking.named() == (np.__name__, np.__file__, np.__version__, scipy.__version__)
        assert asking.names() == (dir(np), dir(scipy), False)
        return x

    zyg.gradient(f, 1.0)


def test_the_modules_of_others_are_not_touched(write):
    write({
        "helping.py": "import math\ntable = [math.exp]\ndef g(x, exp=math.exp): return exp(x)",
        "helped.py": "from helping import g\nimport helping",
    })  # fmt: skip
    import helped
    import helping

    with zyg.adopt("helped"):
        assert zyg.adopted().modules == {"helped": []}
        assert helped.helping is helping
        assert helping.g.__defaults__ == (math.exp,)
        assert helping.table == [math.exp]


def test_what_the_module_has_bound_anew_stays(write):
    write({"rebinding.py": "import math\nexp = math.exp\nt = [math.exp, math.exp]"})
    import rebinding

    with zyg.adopt("rebinding"):
        rebinding.exp = abs
        rebinding.t[0] = min
    assert rebinding.exp is abs
    assert rebinding.t == [min, math.exp]
    assert rebinding.math is math


def test_numpy_math_and_scipy_are_untouched(write):
    modules = [np, math, np.linalg, np.fft, scipy, scipy.special, scipy.optimize]
    before = [dict(vars(module)) for module in modules]
    write({"using.py": "import math\nimport numpy as np\nfrom scipy import special, optimize"})

    with zyg.adopt("using"):
        import using  # noqa: F401

        assert [dict(vars(module)) for module in modules] == before


def test_two_modules_that_share_a_table_are_released_one_after_the_other(write):
    write({
        "tables.py": "import math\ntable = {'exp': math.exp}",
        "reading.py": "from tables import table\ndef f(x): return table['exp'](x)",
    })  # fmt: skip
    import reading
    import tables

    first, second = zyg.adopt("reading"), zyg.adopt("tables")
    first.release()
    assert zyg.gradient(reading.f, 0.0) == (1.0,)
    second.release()
    assert tables.table == {"exp": math.exp}


def test_a_large_or_circular_module_is_adopted(write):
    write({
        "circles.py": """
            import math
            class C: pass
            chain = last = C()
            for _ in range(20_000):
                last.next = C()
                last = last.next
            last.next, last.exp = chain, math.exp
            T = [math.exp]
            T.append(T)
        """
    })  # fmt: skip
    import circles

    with zyg.adopt("circles"):
        assert zyg.gradient(lambda x: circles.last.exp(x), 0.0) == (1.0,)
        assert circles.T[1] is circles.T
    assert circles.last.exp is circles.T[0] is math.exp


def test_private_names_and_functions_of_another_adopted_module_are_found(write):
    write({
        "pack/__init__.py": "",
        "pack/wrapping.py": """
            def wrap(f):
                def call(x): return f(x)
                return call
        """,
        "pack/using.py": """
            import math
            import numpy
            from pack.wrapping import wrap
            __MATH = math
            sine = wrap(math.sin)
            def f(x): return sine(x) * __MATH.exp(x)
        """,
    })  # fmt: skip
    import pack.using

    before = dict(vars(pack.using))
    with zyg.adopt("pack"):
        zyg.check_gradient(pack.using.f, 0.5, order=2)
        with pytest.raises(zyg.errors.ConversionError):
            zyg.gradient(lambda x: __import__("math").sin(x), 0.5)
    cell = pack.using.sine.__closure__[0]
    assert cell.cell_contents is before["math"].sin
    assert dict(vars(pack.using)) == before


def test_what_a_module_holds_is_not_asked_for_attributes(write):
    write({"lazy.py": """
        import math
        class Lazy:
            def __getattr__(self, name): raise RecursionError(name)
        lazy = Lazy()
        def f(x): return math.sin(x)
    """})  # fmt: skip
    import lazy

    with zyg.adopt("lazy"):
        zyg.check_gradient(lazy.f, 0.5)
