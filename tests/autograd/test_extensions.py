"""Primitives with derivatives in autograd's form, vector spaces, boxes."""

import functools
import itertools

import numpy as onp
import pytest
import scipy.special

import zyg
import zyg.autograd.numpy as np
from zyg import errors
from zyg.autograd import elementwise_grad, grad, hessian, make_jvp, make_vjp
from zyg.autograd.core import primitive_jvps, primitive_vjps
from zyg.autograd.extend import (
    Box,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    register_notrace,
    vspace,
)
from zyg.autograd.numpy.numpy_boxes import ArrayBox
from zyg.autograd.numpy.numpy_vjps import metadata, unbroadcast, unbroadcast_f
from zyg.autograd.test_util import check_grads, check_jvp, check_vjp
from zyg.autograd.tracer import getval, isbox
from zyg.base.registry import late_rule, rules

X = onp.array([0.3, -1.2, 2.0])


@pytest.fixture(autouse=True)
def _seeded():
    onp.random.seed(0)  # which autograd's checks draw from


@primitive
def logsumexp(x):
    """The logarithm of the sum of exponentials."""
    largest = onp.max(x)
    return largest + onp.log(onp.sum(onp.exp(x - largest)))


defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))


@primitive
def scaled(x, y, power=1):
    return x * y**power


defvjp(
    scaled,
    lambda ans, x, y, power=1: unbroadcast_f(x, lambda g: g * y**power),
    lambda ans, x, y, power=1: unbroadcast_f(y, lambda g: g * x * power * y ** (power - 1)),
)


@primitive
def tripled(z):
    return 3.0 * z


defvjp(tripled, lambda ans, z: lambda g: 3.0 * g)
defjvp(tripled, "same")


def test_a_primitive_has_the_derivatives_that_were_given():
    assert logsumexp(X) == pytest.approx(onp.logaddexp.reduce(X))
    assert (logsumexp.__name__, logsumexp.__doc__[:13]) == ("logsumexp", "The logarithm")
    found = grad(lambda x: logsumexp(x**2))(X)
    weights = onp.exp(X**2) / onp.sum(onp.exp(X**2))
    onp.testing.assert_allclose(found, weights * 2 * X)
    zyg.check_gradient(lambda x: logsumexp(np.sin(x)), X)
    p = onp.exp(X) / onp.sum(onp.exp(X))
    onp.testing.assert_allclose(hessian(logsumexp)(X), onp.diag(p) - onp.outer(p, p))


def test_keywords_stay_keywords_and_broadcasting_is_summed():
    zyg.check_gradient(lambda x, y: scaled(x, y, power=3), 2.0, X)
    zyg.check_gradient(lambda x, y: scaled(x, y), X, onp.array([[1.0], [2.0]]))
    assert grad(lambda x: scaled(x, 2.0, power=2))(1.0) == 4.0
    with pytest.raises(errors.MissingRuleError, match="keyword-only argument of it is watched"):
        grad(lambda p: scaled(1.0, 2.0, power=p))(2.0)


@pytest.mark.parametrize("order", [1, 2])
def test_autograds_own_check_finds_no_fault(order):
    check_grads(scaled, (0, 1), order=order)(2.0, X)
    check_grads(logsumexp, modes=["rev"], order=order)(X)
    check_grads(tripled, order=order)(X + 1j)


def test_a_wrong_derivative_is_found():
    wrong = primitive(lambda x: 2.0 * x)
    defvjp(wrong, lambda ans, x: lambda g: 2.001 * g)
    defjvp(wrong, lambda g, ans, x: 2.001 * g)
    for check, kind in ((check_vjp, "VJP"), (check_jvp, "JVP")):
        with pytest.raises(AssertionError, match=rf"\({kind}\) check of <lambda> failed: along"):
            check(wrong, X)
    with pytest.raises(errors.GradientMismatchError, match=r"\(JVP\) check"):
        check_jvp(wrong, 3)
    inner = primitive(lambda g: g)
    defvjp(inner, lambda ans, g: lambda h: 1.001 * h)
    outer = primitive(lambda x: 2.0 * x)
    defvjp(outer, lambda ans, x: lambda g: 2.0 * inner(g))
    with pytest.raises(errors.GradientMismatchError, match="check of vjp_<lambda> failed"):
        check_grads(outer, modes=["rev"])(1.0)


def test_by_arguments_numbers():
    def seen(argnums, ans, args, kwargs):
        partials = [lambda g: g * args[1], lambda g: g * args[0]]
        return lambda g: [partials[k](g) for k in argnums]

    product = primitive(lambda x, y: x * y)
    defvjp_argnums(product, seen)
    zyg.check_gradient(lambda x, y: product(x, y), 2.0, 3.0, modes=["reverse"])
    product = primitive(lambda x, y: x * y)
    defvjp_argnum(product, lambda k, ans, args, kwargs: lambda g: g * args[1 - k])
    defjvp_argnum(product, lambda k, g, ans, args, kwargs: g * args[1 - k])
    zyg.check_gradient(lambda x, y: product(x, y), 2.0, 3.0)
    product = primitive(lambda x, y: x * y)
    defvjp(product, lambda ans, x, y: lambda g: g * x, argnums=(1,))
    assert grad(product, 1)(2.0, 3.0) == 2.0
    with pytest.raises(errors.MissingRuleError, match="without a vjp for argument 0"):
        grad(product)(2.0, 3.0)


def test_forward_mode_by_what_was_given_or_by_transposition():
    assert make_jvp(logsumexp)(X)(X)[1] == pytest.approx(
        onp.sum(X * onp.exp(X)) / onp.sum(onp.exp(X))
    )
    calls = []
    square = primitive(lambda x, y: x**2 * y)

    def along(g, ans, x, y):
        calls.append(g)
        return 2 * g * x * y

    defjvp(square, along, "same")
    assert make_jvp(square)(3.0, 2.0)(0.5)[1] == 6.0
    assert calls == [0.5]
    assert make_jvp(square, (0, 1))(3.0, 2.0)((0.5, 1.0))[1] == 15.0
    with pytest.raises(errors.MissingRuleError, match="without a vjp"):
        grad(square)(3.0, 2.0)
    linear = primitive(lambda x, y: 2 * x * y)
    def_linear(linear)
    assert make_jvp(linear, (0, 1))(3.0, 2.0)((1.0, 10.0))[1] == 64.0
    together = primitive(lambda x, y: x + y)
    defjvp_argnums(together, lambda argnums, gs, ans, args, kwargs: sum(gs))
    assert make_jvp(together, (0, 1))(3.0, 2.0)((1.0, 10.0))[1] == 11.0


def test_none_says_that_nothing_flows():
    shifted = primitive(lambda x, n: x + n)
    defvjp(shifted, lambda ans, x, n: lambda g: g, None)
    defjvp(shifted, lambda g, ans, x, n: g, None)
    assert grad(shifted, (0, 1))(2.0, 3.0) == (1.0, 0.0)
    assert make_jvp(shifted, 1)(2.0, 3.0)(1.0)[1] == 0.0
    assert make_jvp(shifted, 1)(onp.inf, 3.0)(1.0)[1] == 0.0


def test_what_was_not_given_is_refused():
    bare = primitive(lambda x: 2.0 * x)
    for operator in (grad(bare), elementwise_grad(bare), make_jvp(bare)(2.0)):
        with pytest.raises(NotImplementedError) as caught:
            operator(2.0)
        assert "<lambda> is a primitive without a vjp for argument 0. [no-rule]" in str(
            caught.value
        )


def test_what_autograd_deprecates_is_not_there():
    with pytest.raises(errors.AbsentError, match="has no defgrad") as caught:
        logsumexp.defgrad(lambda ans, x: lambda g: g)
    assert "fix:   write defvjp(logsumexp, ...)" in str(caught.value)
    assert not hasattr(logsumexp, "no_such_name")


def test_a_function_that_is_no_primitive_is_followed():
    def f(x):
        return 2.0 * x

    defvjp(f, lambda ans, x: lambda g: 5.0 * g)
    assert grad(f)(1.0) == 2.0
    assert f not in rules


def test_a_cotangent_of_another_shape_is_refused():
    summed = primitive(lambda x, y: x + y)
    defvjp(summed, lambda ans, x, y: lambda g: g, lambda ans, x, y: lambda g: g)
    assert grad(summed, 1)(2.0, 3.0) == 1.0
    with pytest.raises(errors.AdjointError) as caught:
        grad(lambda x: np.sum(summed(x, X)))(2.0)
    assert "the cotangent of argument 0 has shape (3,); its argument ()" in str(caught.value)
    assert f"({__file__}:" in str(caught.value)


def test_complex_cotangents_are_the_conjugates():
    squared = primitive(lambda z: z**2)
    defvjp(squared, lambda ans, z: lambda g: g * 2 * z)
    modulus = primitive(lambda z: onp.abs(z) ** 2)
    defvjp(modulus, lambda ans, z: lambda g: g * 2 * np.conj(z))
    z = onp.array([1 + 2j, -0.5j])
    for f, same in ((squared, lambda z: z**2), (modulus, lambda z: np.abs(z) ** 2)):
        zyg.check_gradient(f, z)
        g = onp.array([2.0, 3.0])
        onp.testing.assert_allclose(make_vjp(f)(z)[0](g), make_vjp(same)(z)[0](g))


def test_several_results_and_arguments_that_are_containers():
    both = primitive(lambda x: (2 * x, {"three": 3 * x}))
    defvjp(both, lambda ans, x: lambda g: 2 * g[0] + 3 * g[1]["three"])
    assert grad(lambda x: both(x)[0])(1.0) == 2.0
    assert grad(lambda x: both(x)[1]["three"] * both(x)[0])(1.0) == 12.0
    total = primitive(lambda parts: sum(parts))
    defvjp(total, lambda ans, parts: lambda g: [g for _ in parts])
    assert grad(lambda x: total([x, 1.0, x * x]))(3.0) == 7.0


def test_a_primitive_in_a_class_is_a_method():
    class Model:
        w = 2.0

        @primitive
        def loss(self, x):
            return self.w * x**2

    defvjp(Model.loss, None, lambda ans, self, x: lambda g: g * 2 * self.w * x)
    assert grad(Model().loss)(3.0) == 12.0


def test_a_function_of_numpys_can_be_given_other_derivatives():
    before, zyg_slope = rules[onp.sinc], zyg.gradient(onp.sinc, 0.3)[0]
    try:
        defvjp(np.sinc, lambda ans, x: lambda g: 7.0 * g)
        assert grad(np.sinc)(0.3) == 7.0
        assert grad(lambda x: np.sum(onp.sinc(x)))(X).tolist() == [7.0] * 3
        assert make_jvp(np.sinc)(0.3)(1.0)[1] == 7.0
        assert onp.sinc in primitive_vjps
        defjvp(np.sinc, lambda g, ans, x: 5.0 * g)
        assert make_jvp(np.sinc)(0.3)(1.0)[1] == 5.0
        primitive_vjps.pop(onp.sinc)
        onp.testing.assert_allclose(grad(np.sinc)(0.3), zyg_slope)
    finally:
        rules[onp.sinc] = before
        primitive_vjps.pop(onp.sinc, None)
        primitive_jvps.pop(onp.sinc, None)
    zyg.check_gradient(np.sinc, X)


@pytest.mark.parametrize("f", [onp.exp, onp.outer, onp.matmul, scipy.special.expit])
def test_what_was_not_given_for_a_function_with_a_rule_is_that_of_the_rule(f):
    before = rules.get(f) or late_rule(f)
    args = (onp.eye(3) + 0.1,) * (1 if f in (onp.exp, scipy.special.expit) else 2)
    y, back = zyg.pullback(f, *args)
    needed = back(y)
    try:
        defjvp(f, *[lambda g, ans, *args: g] * len(args))
        onp.testing.assert_array_equal(zyg.pullback(f, *args)[1](y), needed)
        zyg.check_gradient(f, *args, modes=["reverse"])
        assert f not in primitive_vjps
    finally:
        rules[f] = before
        primitive_jvps.pop(f)


def test_so_can_those_that_take_other_arguments_here():
    before = {f: rules[f] for f in (onp.where, onp.stack)}
    try:
        defvjp(np.where, None, None, lambda ans, c, x, y: lambda g: 7.0 * g)
        defvjp(np.stack, lambda ans, xs, axis=0: lambda g: [5.0 * part for part in g])
        assert grad(lambda x: np.sum(np.where(X > 0, X, x)))(X).tolist() == [7.0] * 3
        assert grad(lambda x: np.sum(np.stack([x, x])))(X).tolist() == [10.0] * 3
    finally:
        rules.update(before)
        for f in before:
            primitive_vjps.pop(f)
    zyg.check_gradient(lambda x: np.where(X > 0, X, x), X)


def test_what_carries_no_derivative():
    seen = []

    @notrace_primitive
    def level(x):
        seen.append(type(x))
        return float(x) // 2

    assert grad(lambda x: x * level(x))(7.0) == 3.0
    assert type(level(7.0)) is float
    assert not any(map(isbox, seen))
    doubled = primitive(lambda x: 2.0 * x)
    defvjp(doubled, lambda ans, x: lambda g: 2.0 * g)
    defjvp(doubled, "same")
    register_notrace("any", doubled)
    assert grad(lambda x: x * doubled(x))(3.0) == 6.0
    assert make_jvp(lambda x: x * doubled(x))(3.0)(1.0)[1] == 6.0


def test_boxes_are_what_is_watched():
    def f(x):
        assert isbox(x)
        assert isinstance(x, Box)
        assert isinstance(x, ArrayBox)
        assert isinstance(x, onp.ndarray)
        assert type(getval(x)) is onp.ndarray
        assert not isbox(getval(x))
        onp.testing.assert_array_equal(getval(x), X)
        return np.sum(x * getval(x))

    onp.testing.assert_allclose(grad(f)(X), X)
    assert not isbox(X)
    assert not isinstance(X, Box)
    assert getval(X) is not None
    assert grad(grad(lambda x: x**2 * getval(x)))(3.0) == 6.0
    for kind in (Box, VSpace):
        with pytest.raises(errors.AdoptionError, match="cannot register a"):
            kind.register(onp.ndarray)


def test_sums_over_broadcast_axes():
    x = onp.ones((4, 2, 3))
    assert unbroadcast(x, metadata(onp.ones((2, 1)))).tolist() == [[12.0], [12.0]]
    assert unbroadcast(x, metadata(2.0)) == 24.0
    assert (
        unbroadcast(onp.ones((2, 3, 4)), metadata(onp.ones((2, 3))), -1).tolist() == [[4.0] * 3] * 2
    )
    assert unbroadcast(1j * x, metadata(2.0)) == 0.0
    assert unbroadcast(x, metadata(1j)) == 24.0


VALUES = [
    0.0, 1j, onp.zeros((3, 2)), onp.zeros((2, 1), complex), [1.0, onp.zeros((2, 1))],
    (1.0, onp.zeros(2)), {"a": 1.0, "b": [onp.zeros(2), ({"c": 0.0},)]},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_vector_space_has_a_basis_and_an_inner_product(value):
    space = vspace(value)
    basis = [*space.standard_basis()]
    assert len(basis) == space.size
    for (i, a), (j, b) in itertools.product(enumerate(basis), repeat=2):
        assert space.inner_prod(a, b) == (i == j)
    total = functools.reduce(space.add, basis)
    x, y = space.randn(), space.randn()
    assert space.inner_prod(x, total) == pytest.approx(space.inner_prod(x, space.ones()))
    for v in (*basis, x, space.zeros(), space.add(x, y), space.scalar_mul(x, 2.0)):
        assert vspace(v) == space
    assert space.inner_prod(x, x) > 0
    assert space.inner_prod(space.zeros(), x) == 0
    assert space.iscomplex == (space.dtype.kind == "c")


def test_spaces_differ_by_shape_kind_and_structure():
    spaces = [vspace(value) for value in VALUES]
    assert all((a == b) == (i == j) for (i, a), (j, b) in
               itertools.product(enumerate(spaces), repeat=2))  # fmt: skip
    assert vspace(X).shape == (3,)
    assert vspace(X).ndim == 1
    assert [s.shape for s in vspace([1.0, X]).shape] == [(), (3,)]
    assert vspace(1j).ones() == 1 + 1j
    for value in ("text", None, True):
        with pytest.raises(TypeError, match="is in no vector space"):
            vspace(value)
