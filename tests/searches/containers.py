"""What containers, objects and classes are to a compiled function: every kind in every use.

A value of each kind, made inside, captured or an argument, in each use of one value, and of two:
truth, comparison, membership, slices, classes, what NumPy makes of it. A compiled function gives
and raises what Python does.
"""

import itertools
import warnings

import numpy as np

import zyg
from tests.calls.compare import difference
from tests.modules import imported
from tests.searches.search import Search, in_machine_code, main
from zyg.errors import CompileError

HEAD = """\
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np

Pair = namedtuple("Pair", "first second")


class Own:
    __array_ufunc__ = None

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == getattr(other, "v", other)

    def __add__(self, other):
        return self.v + other if isinstance(other, (int, float)) else NotImplemented

    def __radd__(self, other):
        return 10.0 * other + self.v

    def __len__(self):
        return 3

    def __getitem__(self, k):
        return (self.v, 5.0, 6.0)[k]


class Less(Own):
    def __radd__(self, other):
        return 7.0

    def __bool__(self):
        return self.v > 5.0


class Plain:
    def __init__(self, v):
        self.v = v


class Rows(list):
    def __iter__(self):
        return iter([5.0, 6.0])


"""
VALUES = [
    "[]", "[1.0, 2.0]", "[1, 2.5, 3]", "[x[0], x[1]]", "[[1.0], [x[0]]]", "()", "(1.0, 2.0)",
    "(x[0], 2)", "Pair(1.0, 2.0)", "Pair(x[0], x[1])", "{}", "{1: x[0], 0: 2.0}", "{'a': 1.0}",
    "range(2, 9, 3)", "range(0)", "'abc'", "''", "None", "True", "0", "2", "2**63", "1.5", "x[0]",
    "x", "x[:0]", "x > 0.5", "x[:, None] * x", "np.arange(3)", "np.float32(1.5)", "2.0 + 1j",
    "Own(1.0)", "Own(x[0])", "Less(1.0)", "Less(x[0])", "Plain(2.0)", "Own", "np.sin",
    "{1, 2}", "OrderedDict(a=1.0)", "defaultdict(float)", "Rows([1.0, 2.0])",
    "np.int64(2)", "slice(1, None)", "len", "...", "(lambda v: v)", "np.bool_(True)",
]  # fmt: skip
ONE = [
    "bool(a)", "not a", "1.0 if a else 2.0", "a or 5.0", "a and 5.0", "len(a)", "a[1:]", "a[::-1]",
    "a[0]", "a[-1]", "list(a)", "tuple(a)", "[*a]", "sorted(a)", "max(a)", "sum(a)", "a * 2",
    "a is None", "callable(a)", "any(a)", "all(a)", "dict(a)", "a == a", "a != a", "-a", "abs(a)",
    "[v for v in a]", "[k for k, v in enumerate(a)]", "list(reversed(a))", "[a] == [a]", "a in [a]",
    "np.size(a)", "np.ndim(a)", "np.shape(a)", "np.array(a)", "np.sum(a)", "np.asarray(a) * 2.0",
    "np.sqrt(a)", "str(a)", "f'{a}'", "int(a)", "float(a)", "round(a)", "a + 1.0", "1.0 + a",
    "a ** 2", "[w for w in map(bool, [a])]", "type(a) is list", "type(a) is np.ndarray",
    "type(a) is float", "getattr(a, 'v', 3.0)", "(lambda *r: len(r))(*a)", "a[1:] == a[1:]",
    *(f"isinstance(a, {kind})" for kind in (
        "list", "tuple", "dict", "(int, float)", "np.ndarray", "np.floating", "str", "bool", "Own",
        "(list, np.ndarray)", "complex", "object")),
]  # fmt: skip
TWO = [
    "a == b", "a != b", "a < b", "a in b", "a + b", "a * b", "a is b", "b if a else x[0]",
    "a or b", "[a, b] == [b, a]", "max(a, b)", "a[b]", "(a, b) < (b, a)", "{1: a}.get(b, 4.0)",
]  # fmt: skip
WAYS = {
    "inside": "def f(x):\n    {bound}\n    return {use}\n",
    "captured": "x = np.array([0.7, -0.4, 1.3])\n{bound}\n\n\ndef f(x):\n    return {use}\n",
    "argument": (
        "def given(x):\n    {bound}\n    return a, b\n\n\ndef f(x, a, b):\n    return {use}\n"
    ),
}
X = np.array([0.7, -0.4, 1.3])
CASES = [
    *itertools.product(WAYS, ONE, VALUES, ["1.0"]),
    *itertools.product(WAYS, TWO, VALUES, VALUES),
]


def case(number):
    way, use, a, b = CASES[number * 7919 % len(CASES)]  # so that the first are from all over
    return HEAD + WAYS[way].format(bound=f"a, b = {a}, {b}", use=use)


def outcome(f, module):
    args = module.given(X.copy()) if hasattr(module, "given") else ()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(X.copy(), *args), None
        except CompileError:
            raise
        except Exception as error:
            return None, error


def check(text):
    module = imported(text)
    want, raised = outcome(module.f, module)
    try:
        got, error = in_machine_code(lambda: outcome(zyg.compile(module.f), module))
    except CompileError as refusal:
        return f"refused: {str(refusal).splitlines()[0]}"
    assert type(raised) is type(error), f"{error!r} for {raised!r}, {want!r}\n{text[len(HEAD) :]}"
    why = "" if raised or is_of_module(want) else difference(got, want, 1e-14)
    assert not why, f"{why}\n{text[len(HEAD) :]}"
    return "raises" if raised else None


def is_of_module(y):
    """Whether a result is, or holds, an object that equals others of its own only."""
    return any(map(is_of_module, y)) if type(y) in (list, tuple) else hasattr(y, "__dict__")


SEARCH = Search(case, check, count=len(CASES), gate=80)

if __name__ == "__main__":
    main(SEARCH, __doc__)
