"""Kinds of numbers: what meets in a compiled function, and operators at special values.

Every pair of kinds (Python's and NumPy's bool, int, float, complex of each width) in every way in
which two values can meet; every operator, method and function of numbers at zeros, ends, infinities
and NaN. A value, its type, and what is raised are those of plain Python; elementary functions may
differ by their last digits. Derivatives are those of the tracer.
"""

import contextlib
import importlib.util
import itertools
import math
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import zyg
from tests.searches.search import Search, main

INF, NAN, BIG = math.inf, math.nan, 2**53
VALUES = {
    "bool": [False, True],
    "int": [0, 1, -1, 3, -7, BIG, BIG + 1, 2**63 - 1, -(2**63)],
    "float": [0.0, -0.0, 1.0, -1.5, 2.0, INF, -INF, NAN, 5e-324, 2.0**53, 2.0**63, 1e308],
    "complex": [0j, complex(-0.0, -0.0), 1 + 0j, 1.5 - 2j, complex(INF, 0), complex(0, NAN),
                complex(-INF, INF)],
}  # fmt: skip
TYPES = {
    "bool": bool, "int": int, "float": float, "complex": complex, "np.bool_": np.bool_,
    "np.int64": np.int64, "np.float64": np.float64, "np.float32": np.float32,
    "np.complex128": np.complex128,
}  # fmt: skip
OTHERS = {name: getattr(np, name[3:]) for name in (
    "np.int8", "np.int16", "np.int32", "np.uint8", "np.uint16", "np.uint32", "np.uint64",
    "np.float16", "np.complex64")}  # fmt: skip


def values_of(name):
    """Special values of a kind."""
    kind = {**TYPES, **OTHERS}[name]
    plain = kind if kind in VALUES.values() else next(
        word for word in ("complex", "float", "bool", "int") if word in name)  # fmt: skip
    if name.startswith("np.uint"):
        return [kind(x) for x in (0, 1, 3, np.iinfo(kind).max)]
    if name in OTHERS and "int" in name:
        return [kind(x) for x in (0, 1, -7, np.iinfo(kind).max, np.iinfo(kind).min)]
    with np.errstate(all="ignore"):
        return [kind(x) for x in VALUES[plain]]


# How two values meet: the body of f(a, b, c, n), in which c decides, and n counts.
MEETINGS = {
    "ternary": ["t = a if c else b"],
    "if": ["t = a", "if c:", "    t = b"],
    "both sides": ["if c:", "    t = a", "else:", "    t = b"],
    "three": ["t = a if c else (b if n else 2)"],
    "and": ["t = a and b"],
    "or": ["t = a or b"],
    "not": ["t = (not a) or b"],
    "while": ["t, k = a, 0", "while k < n:", "    t = b", "    k += 1"],
    "while of it": ["t, k = a, 0", "while not t and k < n:", "    t = b", "    k += 1"],
    "for": ["t = a", "for k in range(n):", "    t = b"],
    "for, with a condition": ["t = a", "for k in range(n):", "    if c:", "        t = b"],
    "for, swapped": ["t, u = a, b", "for k in range(n):", "    t, u = u, t"],
    "break": ["t = a", "for k in range(n):", "    t = b", "    if c:", "        break"],
    "list": ["l = [a, b]", "t = l[n % 2]"],
    "list, set": ["l = [a, a]", "l[0 if c else 1] = b", "t = l[0]"],
    "list, grown": ["l = [a]", "for k in range(n):", "    l.append(b)", "t = l[-1]"],
    "list, grown and whole": ["t = [a]", "for k in range(n):", "    t.append(b if c else a)"],
    "comprehension": ["t = [a if k % 2 else b for k in range(n)]"],
    "dict": ["d = {'x': a}", "if c:", "    d['x'] = b", "t = d['x']"],
    "tuple": ["t = (a, b) if c else (b, a)"],
    "returned": ["def g(u):", "    if u:", "        return a", "    return b", "t = g(c)"],
    "recursion": ["def g(k):", "    if k <= 0:", "        return a",
                  "    return b if c else g(k - 1)", "t = g(n)"],
    "max": ["t = max(a, b)"], "min": ["t = min(a, b)"],
    "max of a list": ["t = max([a, b])"],
    "sum": ["t = sum([a, b][:n])"],
    "sum of many": ["t = sum(a for k in range(n))"],
    "added in a loop": ["t = a", "for k in range(n):", "    t += b"],
    "taken away": ["t = a", "for k in range(n):", "    t = t - b if c else t"],
    "times": ["t = a", "for k in range(n):", "    t = b * t"],
    "attribute": ["o = Record(a)", "if c:", "    o.x = b", "t = o.x"],
    "nonlocal": ["t = a", "def g():", "    nonlocal t", "    t = b", "if c:", "    g()"],
}  # fmt: skip
# What is done with what has met.
USES = {
    "itself": "t", "negative": "-t", "positive": "+t", "abs": "abs(t)", "not": "not t",
    "bool": "bool(t)", "int": "int(t)", "float": "float(t)", "complex": "complex(t)",
    "round": "round(t)", "floor": "math.floor(t)", "sqrt": "math.sqrt(t)", "sin": "np.sin(t)",
    "sign": "np.sign(t)", "square": "np.square(t)", "npabs": "np.abs(t)", "real": "t.real",
    "half": "t / 2", "halves": "t // 2", "mod": "t % 3", "divmod": "divmod(t, 2)",
    "into": "7 // t", "inverse": "1 / t", "power": "t ** 2", "inverse power": "t ** -1",
    "of two": "2 ** t", "invert": "~t", "and": "t & 1", "shift": "t << 1", "more": "t + 1",
    "more, real": "t + 1.0", "with itself": "t + t", "product": "t * t", "difference": "t - t",
    "less": "t < 1", "equal": "t == 1", "equal to real": f"t == {float(BIG)}", "is": "t is None",
    "isinstance": "isinstance(t, float)", "type": "1 if type(t) is int else 2.0",
    "array": "np.array([t, 1])", "in array": "np.array([1.0, 2.0]) * t",
    "in ints": "np.array([1, 2]) + t",
    "stored": "(lambda v: (v, v.__setitem__(0, t))[0])(np.zeros(2))",
    "range": "[k for k in range(t if abs(t) < 9 else 0)]", "index": "[1, 2, 3][t]",
    "max": "max(t, 1)", "float32": "np.float32(1.5) * t",
    "list": "[t, 2][0]", "key": "{'a': t}", "again": "(t if n else 1) + t",
    "float64": "np.float64(t)",
    "all at once": "(t, -t if n else t, t * 2.0)",
}  # fmt: skip
BINARY = [
    ["a + b", "a - b"], ["a * b"], ["a / b"], ["a // b"], ["a % b"], ["divmod(a, b)"], ["a ** b"],
    ["a == b", "a != b"], ["a < b", "a <= b", "a > b", "a >= b"], ["a & b", "a | b", "a ^ b"],
    ["a << b"], ["a >> b"], ["max(a, b)", "min(a, b)"], ["complex(a, b)"], ["pow(a, b)"],
    ["a and b", "a or b"],
]  # fmt: skip
UNARY = [
    "-a", "+a", "~a", "not a", "abs(a)", "round(a)", "round(a, 1)", "int(a)", "float(a)", "bool(a)",
    "complex(a)", "a.real", "a.imag", "a.conjugate()", "a ** 2", "a ** 3", "a ** 0.5", "a ** -1",
    "a ** -2", "a ** 0", "2 ** a", "2.0 ** a", "a + True", "a * 2**40", "a == 2**63", "a < 2**64",
    "a / 3", "3 / a", "a // 2.5", "a % -3", "1e308 * a", "np.float64(a)", "np.float32(a)",
    "np.int64(a)", "np.bool_(a)", "np.complex128(a)", "a * 1j", "(1 + 2j) / a", "a is True",
]  # fmt: skip
NATIVE = tuple(TYPES)
REALS = "bool", "int", "float", "np.int64", "np.float64", "np.float32", "np.bool_"


def _functions(module, names):
    return [f"{module}.{name}" for name in names.split()]


OF_ONE = _functions("math", """
    acos acosh asin asinh atan atanh ceil cos cosh degrees erf erfc exp exp2 expm1 fabs
    floor frexp gamma isfinite isinf isnan isqrt lgamma log log10 log1p log2 modf
    radians sin sinh
    sqrt tan tanh trunc ulp cbrt
""") + _functions("np", """
    absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad
    degrees exp exp2 expm1 fabs floor frexp invert isfinite isinf isnan log log10 log1p log2
    logical_not modf negative positive rad2deg radians reciprocal rint sign signbit sin sinh
    spacing sqrt square tan tanh trunc sinc real imag angle i0 nan_to_num round fix isreal
    iscomplex sum prod max mean ndim size shape
""")  # fmt: skip
OF_COMPLEX = _functions("cmath", """
    acos acosh asin asinh atan atanh cos cosh exp isfinite isinf isnan log log10 phase polar sin
    sinh sqrt tan tanh
""")  # fmt: skip
OF_TWO = _functions("math", """
    atan2 copysign fmod gcd hypot ldexp log nextafter pow remainder dist
""") + _functions("np", """
    add arctan2 bitwise_and bitwise_or copysign divide equal float_power floor_divide fmax fmin
    fmod gcd greater heaviside hypot ldexp left_shift less logaddexp logaddexp2 logical_and
    logical_or logical_xor maximum minimum multiply nextafter not_equal power remainder
    right_shift subtract divmod clip
""")  # fmt: skip


def _cases():
    """All of them: a name, the body of a function of a, b, c, n, and the kinds of a and b."""
    for meeting, body in MEETINGS.items():
        for kinds in itertools.product(NATIVE, repeat=2):
            yield f"{meeting} of {kinds}", [*body, "return t"], kinds
    for use, text in USES.items():
        for kinds in itertools.combinations(NATIVE, 2):
            yield f"{use} of {kinds}", [*MEETINGS["ternary"], f"return {text}"], kinds
            body = [*MEETINGS["for"], f"return {text}"]
            yield f"{use} after a loop of {kinds}", body, kinds
    for texts in BINARY:
        for kinds in itertools.product(NATIVE, repeat=2):
            for text in texts:
                yield f"{text} of {kinds}", [f"return {text}"], kinds
    for text in UNARY:
        for kind in NATIVE:
            yield f"{text} of {kind}", [f"return {text}"], (kind, "bool")
    for f in [*OF_ONE, *OF_COMPLEX]:
        for kind in NATIVE:
            yield f"{f} of {kind}", [f"return {f}(a)"], (kind, "bool")
    for f in OF_TWO:
        for kinds in itertools.product(REALS, repeat=2):
            text = f"{f}((a,), (b,))" if f == "math.dist" else f"{f}(a, b)"
            yield f"{f} of {kinds}", [f"return {text.replace('clip(a, b', 'clip(a, b, 2')}"], kinds
    for kind in OTHERS:
        yield f"ternary of {kind}", [*MEETINGS["ternary"], "return t + t"], (kind, "float")


CASES = [*_cases()]
_HEAD = """import cmath
import math
import numpy as np


class Record:
    def __init__(self, x):
        self.x = x


"""
_WATCHED = {
    "cmath": "zyg.cmath as cmath",
    "math": "zyg.math as math",
    "numpy as np": "zyg.numpy as np",
}
_FOLDER = tempfile.TemporaryDirectory()
EXACT = ("sqrt", "floor", "ceil", "trunc", "rint", "fabs", "abs", "sign", "fmod", "remainder",
         "maximum", "minimum", "fmax", "fmin", "ldexp", "copysign", "square", "reciprocal",
         "round")  # fmt: skip
OF_ZEROS = ("np.max", "np.min", "np.fm", "np.clip")  # NumPy gives either of two zeros
ROUGH = [f for f in (*OF_ONE, *OF_COMPLEX, *OF_TWO) if not any(word in f for word in EXACT)]


def _module(text, name):
    path = Path(_FOLDER.name) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def case(number):
    name, body, kinds = CASES[number]
    inside = "\n".join(f"    {line}" for line in body)
    return number, name, f"{_HEAD}def f(a, b, c, n):\n{inside}\n", kinds


def rows_of(text, kinds):
    """The arguments with which a case is called."""
    deciders = [(True, 0), (False, 1), (True, 3), (False, 0)]
    if " c" not in text.split("def f")[1].partition(":\n")[2] and " n" not in text:
        deciders = [(True, 1)]
    if not any(word in text for word in (" if c", "if c:", "range(n)", "if n", "< n", "(n)")):
        deciders = [(True, 1)]
    grows = any(word in text for word in ("**", "pow(", "<<"))
    for a, b in itertools.product(*map(values_of, kinds)):
        if grows and any(isinstance(x, (int, np.integer)) and not -65 < x < 65 for x in (a, b)):
            continue  # Python's ints would fill the memory
        for c, n in deciders:
            yield a, b, c, n


def outcome(f, *args):
    """What a call gives, or the type of what it raises."""
    try:
        return f(*args)
    except Exception as error:
        return type(error)


def same(x, y, rough=False):
    """Whether two results are the same: type, value, sign of zero, NaN."""
    if type(x) is not type(y):
        return False
    if isinstance(x, np.ndarray):
        return x.dtype == y.dtype and x.shape == y.shape and all(
            same(p, q, rough) for p, q in zip(x.ravel(), y.ravel(), strict=True))  # fmt: skip
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(same(p, q, rough) for p, q in zip(x, y, strict=True))
    if isinstance(x, dict):
        return same([*x.items()], [*y.items()], rough)
    if isinstance(x, (complex, np.complexfloating)):
        return same(x.real, y.real, rough) and same(x.imag, y.imag, rough)
    if isinstance(x, (float, np.floating)):
        if x != x or y != y:
            return x != x and y != y
        if x == y == 0 and rough == "zeros":
            return True
        if x == y:
            return math.copysign(1, x) == math.copysign(1, y)
        eps = 2e-6 if isinstance(x, np.float32) else 4e-15
        return rough and abs(x - y) <= eps * max(abs(x), abs(y), 1e-300)
    return bool(x == y)


def check(made):
    number, name, text, kinds = made
    f = _module(text, f"kinds_{number}").f
    compiled = zyg.compile(f)
    rough = any(g in text for g in ROUGH) or "**" in text or "pow" in text or (
        "complex" in str(kinds) and ("/" in text or "abs" in text))  # fmt: skip
    if any(g in text for g in OF_ZEROS):
        rough = "zeros"
    wrong, native = [], False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for args in rows_of(text, kinds):
            want = outcome(f, *args)
            with zyg.config(fallback="silent"):
                got = outcome(compiled, *args)
            if not same(want, got, rough):
                wrong.append((args, want, got))
        with contextlib.suppress(Exception):
            native = compiled.inspect(*args)["native"]
        slopes = "" if wrong or not native else _slopes(f, compiled, text, kinds, wrong)
    assert not wrong, f"{name}: {len(wrong)} wrong, as f{wrong[0][0]!r}: {wrong[0][1]!r}, but " \
        f"{wrong[0][2]!r}\n{text[len(_HEAD):]}"  # fmt: skip
    del sys.modules[f.__module__]
    return ("native" if native else "in Python") + slopes


def _slopes(f, compiled, text, kinds, wrong):
    """Derivatives, where a or b is a float: those of the tracer."""
    if not any(kind in ("float", "np.float64") for kind in kinds) or "complex" in str(kinds):
        return ""

    for module, watched in _WATCHED.items():
        text = text.replace(f"import {module}\n", f"import {watched}\n", 1)
    traced = _module(text, f"{f.__module__}_traced").f
    for args in rows_of(text, kinds):
        if not all(math.isfinite(x) and abs(float(x)) < 100 and x for x in args[:2]):
            continue
        if not isinstance(outcome(f, *args), float):
            continue
        with zyg.config(fallback="silent"):
            want = outcome(zyg.gradient, traced, *args)
            got = outcome(zyg.gradient, compiled, *args)
        near = 1e-10
        if want is zyg.errors.ConversionError:  # float(), which the tracer refuses
            want, near = _differences(f, args), 1e-5
        if isinstance(want, type) or isinstance(got, type):
            if want is not got:
                wrong.append((args, want, got))
            continue
        for k in (0, 1):
            if near == 1e-5 and want[k] is None:
                continue
            x, y = (0.0 if g[k] is None else float(g[k]) for g in (want, got))
            if not (same(x, y) or abs(x - y) <= near * (1 + abs(x))):
                wrong.append((args, want, got))
                break
    return ", with slopes"


def _differences(f, args):
    """Slopes by a and b; of ints there are none, nor where those to both sides differ."""
    found = []
    for k, x in enumerate(args[:2]):
        if not isinstance(x, (float, np.float64)):
            found.append(None)
            continue
        h, sides = 1e-6, []
        for step in (h, -h):
            moved = [*args]
            moved[k] = type(x)(x + step)
            sides.append((float(f(*moved)) - float(f(*args))) / step)
        found.append(sum(sides) / 2)
    return found


SEARCH = Search(case, check, count=len(CASES), gate=40)

if __name__ == "__main__":
    main(SEARCH, __doc__)
