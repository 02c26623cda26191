"""Short ways give what the general way gives, to the last bit, whatever is around them.

The general way is taken where a strand is not alone, so these tests say that none is.
"""

import warnings

import numpy as np
import pytest

import zyg
import zyg.numpy as znp
from zyg.base.registry import ScalarRule, rules, short_ways
from zyg.base.structure import Structure
from zyg.core import elementwise, strand
from zyg.watched import value

from ..calls.calls import CUBE, EMPTY, POINT, A, B, V, W, array, call, each, matrix
from .layouts import CALLS as EVERY

CALLS = {}
for _f, _call in EVERY:
    CALLS.setdefault(_f, []).append(_call)


# What is refused, or means something else than a short way knows.
_SAID = (
    "a.sum(5)", "a.sum(nonsense=1)", "a.sum(out=np.zeros(()))", "a.sum(dtype='f4')", "a.sum(1.0)",
    "a.sum(where=C > 0)", "a.sum(initial=2.0)", "a.sum(None, None, None, True)", "a.mean(7)",
    "a.mean(nonsense=1)", "a.max(initial=3.0)", "a.max(nonsense=1)",
    "a.min(where=C > 0, initial=9)", "a * np.inf",
    "np.sum(a, axis=True)", "np.sum(a, keepdims=1)", "np.sum(a=a)", "np.max([a, a])",
    "a @ np.ones(7)",
    "np.dot(a, np.ones(7))", "a.dot(C.T, nonsense=1)", "np.dot(a, C.T, None)", "np.dot(a, 2.0)",
    "np.concatenate([a, C[0]])", "np.concatenate([a, C], 5)", "np.concatenate([a, C], None)",
    "np.concatenate([a, C], 1, dtype='f4')", "np.concatenate([a, [[1, 2, 3, 4]]])", "a @ 2.0",
    "np.stack([a, C, a], 1)", "np.stack([a, C[0]])", "np.stack((a, C), out=np.zeros((2, 3, 4)))",
    "a.copy('Q')", "a.copy(nonsense=1)", "np.copy(a, subok=True)", "a.max(out=np.zeros(()))",
    "np.shape(a)[0] * a", "np.size(a, 0) * a", "np.ndim(a) * a", "a @ C.tolist()[0]", "a @ 'x'",
    "a * None", "a * 'x'", "a + [1, 2, 3, 4]", "a * (2**70)", "a * (10**400)", "a / 0",
)  # fmt: skip


def _operators():
    s, z = 0.7, np.float64(1.3)
    pairs = [
        (A, B), (V, V + 3), (A, V), (V, A), (s, A), (A, s), (z, V), (CUBE, A), (POINT, A),
        (A, POINT), (POINT, POINT), (EMPTY, EMPTY), (array(3, 1), V), (array(1, 4), A),
    ]  # fmt: skip
    constants = (
        "2", "-1", "0.3", "1", "True", "np.float64(0.3)", "np.float32(0.3)", "C", "C[0]", "C > 0",
        "np.arange(4)", "np.asfortranarray(C)", "C.astype('f4')", "1j",
    )  # fmt: skip
    for symbol in ("+", "-", "*", "/", "**", "%"):
        text = f"lambda a, b: a {symbol} b"
        positive = symbol == "**"
        yield text, [call(*(np.abs(x) + 0.5 if positive else x for x in p)) for p in pairs]
        for c in constants:
            for text in (f"lambda a: a {symbol} {c}", f"lambda a: {c} {symbol} a"):
                yield text, [call(np.abs(x) + 0.5) for x in (A, V, POINT, 0.7, z)]
    products = [
        (A, V), (W, A), (V, V + 1), (A, matrix(4, 4)), (CUBE, V), (CUBE, matrix(4, 4)),
        (array(0), array(0)), (array(3, 0), array(0)),
    ]  # fmt: skip
    yield "lambda a, b: a @ b", [call(*p) for p in products]
    yield "lambda a: C @ a", [call(x) for x in (V, A.T, array(2, 4, 3))]
    yield "lambda a: a @ C.T", [call(x) for x in (V, A, CUBE)]
    yield "lambda a: a.T @ a", [call(x) for x in (A, V)]
    for name in ("sum", "mean", "max", "min"):
        for args in ("", "0", "-1", "axis=-1", "keepdims=True", "axis=0, keepdims=True", "(0,)"):
            yield f"lambda a: a.{name}({args})", [call(x) for x in (A, V, CUBE)]
    for args in ("", "'C'", "'K'", "'F'", "order='F'"):
        yield f"lambda a: a.copy({args})", [call(x) for x in (A, V, CUBE, POINT)]
    numbers = [call(0.3, 0.7, np.float64(1.1)), call(V[0], V[1], 0.2), call(1, 0.3, 2)]
    for made in (
        "np.stack([a, b, c])", "np.stack([a, 0, c], -1)", "znp.array([a, b, 2, c])",
        "znp.array([a, 2**70, b])", "znp.array((a, b, True))", "znp.asarray([a, b, c])",
        "np.stack([a * a, b, c]) * C[0, 0]", "np.stack([a, b, c], 3)", "np.stack([a, C])",
    ):  # fmt: skip
        yield f"lambda a, b, c: {made}", numbers
    for made in (
        "C > 0, a, 0", "C > 0, 0.5, a", "C[0] > 0, a, a * a", "C > 0, a[0, 0], a", "C > 0, a, C",
        "a > 0, a, -a", "True, a, 0", "C, a, 2", "C > 0, a, 2**70", "C > 0, a, C[:, :2]",
    ):  # fmt: skip
        yield f"lambda a: np.where({made})", [call(A)]
    for said in _SAID:
        yield f"lambda a: {said}", [call(A)]
    for f in ("np.sin", "np.abs", "np.floor", "np.exp", "np.sqrt", "np.square", "np.negative"):
        yield f"lambda a: {f}(a)", [call(0.3), call(np.float64(0.3)), call(-1), call(0.0)]
        yield f"lambda a: {f}(a[1])", [call(V)]


def _named(text):
    f = eval(text, {"np": np, "znp": znp, "C": array(3, 4, seed=5)})
    f.__name__ = text
    return f


OPERATORS = {_named(text): calls for text, calls in _operators()}


@pytest.fixture
def general(monkeypatch):
    """Have the general way be taken from now on."""

    def of_one(rule, x, constant, k):
        args = (x, constant) if k == 0 else (constant, x)
        return elementwise.elementwise(rule, *args[: len(rule.partials)])

    def take():
        init = strand.Strand.__init__

        def alone_never(self, *args):
            init(self, *args)
            self.alone = self.dual

        monkeypatch.setattr(strand.Strand, "__init__", alone_never)
        monkeypatch.setattr(value, "elementwise_of_one", of_one)
        monkeypatch.setattr(elementwise, "elementwise_of_one", of_one)

    return take


def is_float(x):
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex)) and not isinstance(x, bool)


LAYOUTS = {
    "as it is": lambda x: x,
    "Fortran": np.asfortranarray,
    "views": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if np.ndim(x) else x,
    "turned": lambda x: np.swapaxes(np.swapaxes(x, 0, -1).copy(), 0, -1) if np.ndim(x) else x,
}
LAYOUTS["watched views"] = LAYOUTS["views"]


def programs(f, c, layout):
    """A function of the floats in the arguments of a call to a number; these, and directions."""
    inside = Structure((c.args, c.kwargs), is_float)
    change = LAYOUTS[layout]
    watched = layout == "watched views"
    leaves = [x if watched or np.ndim(x) == 0 else change(x) for x in inside.leaves]

    def total(*xs):
        args, kwargs = inside.rebuild([change(x) if watched else x for x in xs])
        y = 0.0
        for k, part in enumerate(Structure(f(*args, **kwargs), is_result).leaves):
            part = np.real(part * (1 + 0.5j)) if np.iscomplexobj(part) else part
            weights = np.linspace(0.5, 1.7, max(np.size(part), 1))[: np.size(part)]
            y = y + np.sum(np.sin(part + 0.1 * k) * weights.reshape(np.shape(part)))
        return y

    return total, leaves, [np.cos(3.0 * x) for x in leaves]


def is_result(x):
    return zyg.is_traced(x) or is_float(x)


def found(total, leaves, directions):
    """The value and first and second derivatives, each of them or the error that it raises."""

    def gradient(*xs):
        return zyg.gradient(total, *xs, zeros=True)

    def slope(*xs):
        return sum(np.sum(np.real(g * v)) for g, v in zip(gradient(*xs), directions, strict=True))

    def in_a_task(*xs):
        return sum(zyg.threads.map(lambda k: total(*xs) * k, [1.0]))

    def outside(*xs):
        return zyg.gradient(lambda s: total(*[x * s for x in xs]), 1.1)[0]

    for what in (
        lambda: zyg.value_and_gradient(total, *leaves, zeros=True),
        lambda: zyg.gradient(slope, *leaves, zeros=True),
        lambda: zyg.pushforward(total, tuple(leaves), tuple(directions)),
        lambda: zyg.pushforward(gradient, tuple(leaves), tuple(directions)),
        lambda: zyg.gradient(in_a_task, *leaves, zeros=True),
        lambda: zyg.value_and_gradient(outside, *leaves, zeros=True),
    ):
        try:
            yield what()
        except Exception as error:
            yield error


def same(one, other):
    if isinstance(one, Exception) or isinstance(other, Exception):
        assert type(one) is type(other), (one, other)
        assert str(one).splitlines()[:1] == str(other).splitlines()[:1]
        return
    first, second = (Structure(x, lambda v: not isinstance(v, tuple)).leaves for x in (one, other))
    for a, b in zip(first, second, strict=True):
        assert type(a) is type(b)
        assert np.shape(a) == np.shape(b)
        np.testing.assert_array_equal(a, b, strict=True)
        if isinstance(a, np.ndarray) and a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def different(f, c, layouts):
    """The programs of a call in these layouts, but for those that lie as others do."""
    cases = {}
    for layout in layouts:
        case = programs(f, c, layout)
        strides = [np.asarray(x).strides for x in case[1]]
        cases.setdefault((*strides, any(strides) and layout == "watched views"), case)
    return cases.values()


def both_ways(general, f, c, layouts=tuple(LAYOUTS)):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = different(f, c, layouts)
        short = [[*found(*case)] for case in cases]
        general()
        for case, results in zip(cases, short, strict=True):
            for one, other in zip(results, found(*case), strict=True):
                same(one, other)


SHORT = {f: calls for f, calls in CALLS.items() if f in short_ways}


@each({**SHORT, **OPERATORS})
def test_functions_with_short_ways_go_both_ways(general, f, c):
    both_ways(general, f, c)


@each({f: calls for f, calls in CALLS.items() if f not in short_ways})
def test_functions_made_of_others_go_both_ways(general, f, c):
    """What they are made of is tested in all layouts above: of each the first call is, too."""
    both_ways(general, f, c, [*LAYOUTS][: None if c is CALLS[f][0] else 1])


def test_a_rule_of_ones_own_goes_before_a_short_way():
    def twice(a, *args):
        return 2 * np.add.reduce(a), lambda y_bar: (np.full_like(a, 2 * y_bar),)

    kept = rules[np.sum]
    try:
        zyg.adjoint(np.sum)(twice)
        assert np.sum not in short_ways
        for total in (np.sum, lambda x: x.sum()):
            value, (x_bar,) = zyg.value_and_gradient(total, V)
            assert value == 2 * np.sum(V)
            np.testing.assert_array_equal(x_bar, np.full(4, 2.0))
    finally:
        rules[np.sum] = kept


def test_a_function_of_more_than_its_arguments_is_refused():
    def f(x, w):
        rule = ScalarRule(lambda a, b: a * b * w, (1, 1))
        return elementwise.elementwise_of_two(rule, x, w).sum()

    with pytest.raises(zyg.errors.AdjointError, match="not among its arguments"):
        zyg.gradient(f, V, V)


def test_every_short_way_is_of_a_function_with_a_rule():
    assert {*short_ways} <= {*rules}
    assert len(short_ways) > 10


VIEWS = (np.transpose, np.reshape, np.ravel)  # which have no entries


@pytest.mark.parametrize("f", [f for f in short_ways if rules[f] != "constant" and f not in VIEWS])
def test_an_entry_of_a_short_way_has_the_name_of_its_function(f):
    c = CALLS[f][0]
    told = zyg.explain(lambda *xs: np.sum(f(*xs, **c.kwargs) * 1.0), *c.args)

    assert f.__name__ in {entry.name for entry in told._entries}
