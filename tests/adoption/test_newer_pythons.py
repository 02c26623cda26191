"""What newer Pythons write: modules in their syntax, adopted and compiled, against differences."""

import functools
import importlib
import math
import sys
import warnings

import numpy as np
import pytest

import zyg

# What has warned when it was compiled the first time, and is read again.
WARNED = """
    import math
    TEXT = "\\d"
    def once(x): return math.sin(float(x)) * len("\\d")
"""
GENERIC = """
    import math
    from dataclasses import dataclass

    type Pair[T] = tuple[T, T]

    @dataclass(slots=True)
    class Of[T]:
        v: T
        def norm(self) -> float: return math.sqrt(float(self.v[0]) ** 2 + self.v[1] ** 2)

    def bound[T: float](x: T) -> float: return float(x) * math.sin(x)
    def generic(x): return Of([x, 2 * x]).norm()
    def alias(x):
        type Number = float
        y: Number = math.exp(float(x))
        return y
    def inlined(x):
        xs = [float(x) * k for k in range(4)]
        x2 = sum([x * v for v in {k: math.sin(v) for k, v in enumerate(xs)}.values()])
        return x2 + sum([k * float(x) for k in [float(q) for q in range(3)]])
    def quotes(x): return math.cos(x) if f"{"a" + f"{"b"}"}" == "ab" else 0.0
    def late(x): return sum([g() for g in [lambda: float(k * x) for k in range(3)]])
"""
DEFERRED = """
    import math
    import zyg
    from dataclasses import dataclass
    from typing import NamedTuple

    @dataclass
    class Node:
        v: float
        next: Node | None = None
        weight: Later = 1.0

    class Later(NamedTuple):
        a: Undefined
        b: float = 2.0

    def deferred(x: Nowhere) -> Nothing:
        n, l = Node(float(x), Node(2 * x)), Later(x)
        return n.v * n.next.v * l.a * l.b
    def helped(x): return deferred(x) * float(x)
    @zyg.adjoint
    def ruled(x: Nowhere):
        return math.sin(x), lambda y_bar: (y_bar * math.cos(x),)
    def by_rule(x): return ruled(x) * float(x)
    def local(x):
        y: NotHere = math.sin(x)
        return float(y)
    def caught(x):
        try:
            raise KeyError
        except ValueError, KeyError:
            return math.sin(x) * float(x)
    def template(x):
        t = t"{x:.3f} and {float(x)!r}"
        return t.interpolations[0].value * math.sin(t.interpolations[1].value)
    def finally_break(x):
        for k in range(3):
            try:
                y = float(x) * k
            finally:
                if k == 1: break
        return math.sin(y)
    def finally_return(x):
        try:
            y = 1 / 0
        finally:
            return math.sin(float(x))
"""
TEXT = """
    def f(x):
        part = t"{x:.17f}".interpolations[0]
        return float(format(part.value, part.format_spec))
"""
MODULES = [
    (WARNED, (3, 11), ["once"]),
    (GENERIC, (3, 12), ["bound", "generic", "alias", "inlined", "quotes", "late"]),
    (
        DEFERRED, (3, 14),
        ["deferred", "helped", "by_rule", "local", "caught", "template", "finally_break",
         "finally_return"],
    ),
]  # fmt: skip
CASES = [
    pytest.param(text, name, id=name, marks=pytest.mark.skipif(
        sys.version_info < version, reason=f"Python {version[0]}.{version[1]}"))
    for text, version, names in MODULES for name in names
]  # fmt: skip


@pytest.mark.parametrize(("text", "name"), CASES)
def test_modules_in_newer_syntax(write, text, name):
    write({"newer.py": text})
    with warnings.catch_warnings(action="ignore"):  # as Python does after the first import
        f = getattr(importlib.import_module("newer"), name)
    x, h = 0.7, 1e-6
    slope = (f(x + h) - f(x - h)) / (2 * h)
    with pytest.raises(zyg.errors.ConversionError):
        zyg.gradient(f, x)
    with warnings.catch_warnings():  # some stay in Python, which is said
        warnings.simplefilter("ignore", zyg.errors.PerformanceWarning)
        compiled = zyg.compile(f)
        assert compiled(x) == pytest.approx(f(x), rel=1e-15)
        assert zyg.gradient(compiled, x)[0] == pytest.approx(slope, rel=1e-8)
    zyg.adopt("newer")
    assert zyg.gradient(f, x)[0] == pytest.approx(slope, rel=1e-8)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python 3.14")
def test_the_text_of_a_template_is_no_number(write):
    write({"newer.py": TEXT})
    zyg.adopt("newer")
    with pytest.raises(zyg.errors.TextWarning):
        zyg.gradient(importlib.import_module("newer").f, 0.7)


def difference(a, b):
    return a * a - b


@pytest.mark.skipif(not hasattr(functools, "Placeholder"), reason="Python 3.14")
def test_partials_with_placeholders():
    held = functools.partial(difference, functools.Placeholder, 2.0)

    def calls(x):
        return held(x) * 3 + functools.partial(difference, functools.Placeholder, x)(2 * x)

    for f, slope in ((held, 1.4), (calls, 4.2 + 5.6 - 1)):
        compiled = zyg.compile(f)
        assert zyg.gradient(compiled, 0.7)[0] == pytest.approx(slope) == zyg.gradient(f, 0.7)[0]


@pytest.mark.skipif(not hasattr(math, "fma"), reason="Python 3.13")
def test_products_that_are_added_at_once():
    def f(x, y):
        return zyg.math.fma(x, y, x * y) * zyg.math.fma(2.0, x, 1.0)

    x, y = 0.7, 1.3
    slopes = 2 * y * (2 * x + 1) + 2 * x * y * 2, 2 * x * (2 * x + 1)
    np.testing.assert_allclose(zyg.gradient(f, x, y), slopes, rtol=1e-14)
    np.testing.assert_allclose(zyg.hessian(lambda x: f(x, 1.3), x), 8 * y, rtol=1e-14)
    tangent = zyg.pushforward(f, (x, y), (1.0, 0.0))[1]
    np.testing.assert_allclose(tangent, slopes[0], rtol=1e-14)
