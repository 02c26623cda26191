"""Every refusal: what happened, on which line of the user's, why, and what to do instead."""

# ruff: noqa: E501 - one case per line

import ast
import cmath
import copy
import ctypes
import inspect
import linecache
import math
import pickle
import re
import statistics
import struct
import sys
import textwrap

import numpy as np
import pytest

import zyg
from zyg import errors, gradient, pullback

ARRAY = np.array([1.0, 2.0, 3.0])
RNG = np.random.default_rng(0)


def refusal(error, f, *args):
    """The text of the error that the gradient of `f` raises, whose template and place are checked."""
    with pytest.raises(error) as caught:
        gradient(f, *args)
    text = str(caught.value)
    check_template(text)
    check_place(text, f)
    return " ".join(text.split())


def check_template(text):
    what, where, why, fix = re.fullmatch(
        r"(.+?) \[[a-z-]+\]\n  where: (.+?)\n  why:   (.+?)\n  fix:   (.+)", text, re.DOTALL
    ).groups()
    assert what.endswith(".")
    assert why.endswith(".")
    assert all(len(part) > 10 for part in (what, where, why, fix))


def check_place(text, f):
    """The place is a line of f, and its source text is shown."""
    file, line, source = re.search(r"where: (.+):(\d+), in [^:]+: (.+)", text).groups()
    lines, first = inspect.getsourcelines(f)
    assert file == __file__
    assert first <= int(line) < first + len(lines)
    assert source == linecache.getline(file, int(line)).strip()


# Results that have no gradient


def test_an_array_result():
    with pytest.raises(errors.NonScalarOutputError) as caught:
        gradient(np.sin, ARRAY)
    text = str(caught.value)
    check_template(text)
    assert "sin returned an array of shape (3,); gradient needs one real number." in text
    assert "only a number has a gradient; an array has a Jacobian." in text
    assert "np.sum(y)" in text
    assert "zyg.pullback(f, x)" in text
    assert f"{__file__}:" in text
    assert "gradient(np.sin, ARRAY)" in text


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda x: np.reshape(x, (1,)), r"an array of shape \(1,\)"),
        (lambda x: np.ones((1, 1)) * x, r"an array of shape \(1, 1\)"),
        (lambda x: [x], "a list"),
        (lambda x: {"a": x}, "a dict"),
        (lambda x: (x, x), "a tuple"),
        (lambda x: "text", "a str"),
        (lambda x: x > 0, "a bool"),
        (lambda x: np.array(True), r"an array of shape \(\)"),
    ],
)
def test_results_that_are_not_a_number(f, kind):
    with pytest.raises(errors.NonScalarOutputError, match=f"returned {kind}; gradient needs"):
        gradient(f, 2.0)


def test_a_function_that_returns_nothing_is_told_to_return_the_number():
    def f(x):
        x * x

    with pytest.raises(
        errors.NonScalarOutputError, match=r"(?s)f returned None; .*return the num"
    ) as e:
        gradient(f, 2.0)
    check_template(str(e.value))


def test_an_array_of_one_element_is_not_a_number_but_a_0_d_array_is():
    with pytest.raises(errors.NonScalarOutputError):
        gradient(lambda x: x * 2, np.ones(1))
    assert gradient(lambda x: np.sum(x * 2).reshape(()), np.ones(1))[0] == [2.0]


@pytest.mark.parametrize(
    "f",
    [lambda z: z * z, lambda z: np.array(1j) * z, lambda z: np.exp(1j * np.abs(z)), lambda z: 1j],
)
def test_complex_results(f):
    with pytest.raises(errors.ComplexOutputError) as caught:
        gradient(f, 1 + 2j)
    text = str(caught.value)
    check_template(text)
    assert "<lambda> returned a complex value; gradient needs one real number." in text
    assert "y.real, y.imag or abs(y)" in text
    assert "zyg.pullback(f, z)" in text
    assert "zyg.holomorphic(f, z) is the complex derivative df/dz" in text


def test_value_and_gradient_says_the_same_of_its_loss():
    with pytest.raises(errors.NonScalarOutputError, match=r"an array of shape \(3,\)"):
        zyg.value_and_gradient(lambda x: (x, 1.0), ARRAY)
    with pytest.raises(errors.NonScalarOutputError, match="a tuple"):
        zyg.value_and_gradient(lambda x: (), 1.0)


# Conversions that would drop a derivative


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: float(x), 1.0),
        (lambda x: float(x), np.float64(1.0)),
        (lambda x: float(np.sum(x)), ARRAY),
        (lambda x: float(x), 1),
        (lambda x: complex(x), 1.0),
        (lambda x: complex(x), 1j),
        (lambda x: math.sin(x), 1.0),
        (lambda x: math.sqrt(np.sum(x)), ARRAY),
        (lambda x: math.pow(2.0, x), 1.0),
        (lambda x: math.hypot(3.0, x), 1.0),
        (lambda x: math.fsum([x, 1.0]), 1.0),
        (lambda x: cmath.exp(x), 1j),
        (lambda x: cmath.exp(x), 1.0),
        (lambda x: np.asarray(x), ARRAY),
        (lambda x: np.asarray(x), 1.0),
        (lambda x: np.array(x), ARRAY),
        (lambda x: np.array([x, 1.0]), 1.0),
        (lambda x: np.array([[x, x], [x, x]]), 1.0),
        (lambda x: np.array([x, x]), ARRAY),
        (lambda x: np.asarray([x[0], x[1]]), ARRAY),
        (lambda x: np.array([1.0, 2.0], dtype=float) + np.array([x, 2.0], dtype=float), 1.0),
        (lambda x: np.float64(x), 1.0),
        (lambda x: np.float32(x), 1.0),
        (lambda x: np.full(3, x), 1.0),
        (lambda x: np.fromiter((x for _ in range(2)), float), 1.0),
        (lambda x: ARRAY.copy().fill(x), 1.0),
        (lambda x: ARRAY.copy().put([0], x), 1.0),
        (lambda x: ARRAY.dot(x), ARRAY),
        (lambda x: memoryview(x), ARRAY),
        (lambda x: bytes(x), ARRAY),
        (lambda x: np.ascontiguousarray(x), ARRAY),
        (lambda x: x.tobytes(), ARRAY),
        (lambda x: x.data, ARRAY),
        (lambda x: x.as_integer_ratio(), 1.0),
        (lambda x: x.hex(), 1.0),
        (lambda x: x.view(np.int64), ARRAY),
        (lambda x: x.__array_interface__["data"], ARRAY),
    ],
)
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_conversions_are_refused_never_silent(f, x):
    """Refused (by zyg, or by Python where a protocol is missing), or followed; never a plain value."""
    try:
        y, back = pullback(f, x)
    except (errors.ConversionError, errors.MutationError, errors.MissingRuleError, AttributeError,
            TypeError):  # fmt: skip
        return
    (x_bar,) = back(np.ones(np.shape(y)))
    assert x_bar is not None


@pytest.mark.parametrize(
    ("f", "x", "what"),
    [
        (lambda x: float(x), 1.0, "float(x) of a watched float would drop its derivative."),
        (lambda x: complex(x), 1.0, "complex(x) of a watched float would drop its derivative."),
        (lambda x: math.sin(x), 1.0, "float(x) of a watched float would drop its derivative."),
        (lambda x: math.exp(np.sum(x)), ARRAY, "float(x) of a watched float64 would drop"),
        (lambda x: cmath.sin(x), 1j, "complex(x) of a watched complex would drop its derivative."),
        (lambda x: np.asarray(x, float), ARRAY, "np.asarray of a watched ndarray would drop"),
        (lambda x: np.array([x, 2.0], float), 1.0, "of a watched float would drop its derivative."),
        (lambda x: bytes(x), 1.0, "bytes(x) of a watched float would drop its derivative."),
        (lambda x: bytes(x), ARRAY, "bytes(x) of a watched ndarray would drop its derivative."),
    ],
)
def test_conversion_messages(f, x, what):
    text = refusal(errors.ConversionError, f, x)
    assert what in text
    assert "C code and the math module convert their arguments." in text
    assert "zyg.stop_gradient(x)" in text


@pytest.mark.parametrize(
    ("f", "x", "fix"),
    [
        (lambda x: math.exp(x), 1.0, "use np.exp instead of math.exp"),
        (lambda x: math.lgamma(x), 1.0, "use zyg.math.lgamma instead of math.lgamma"),
        (lambda x: cmath.exp(x), 1j, "use np.exp instead of cmath.exp"),
        (lambda x: 2 * float(x), 1.0, "leave out float()"),
        (lambda x: np.float64(x), 1.0, "leave out np.float64()"),
        (
            lambda x: np.array([x, 2 * x], float),
            1.0,
            "write np.stack([x, 2 * x]) instead of np.array",
        ),
        (
            lambda x: np.array([[x, x], [x, x]], float),
            1.0,
            "use zyg.numpy.array instead of np.array",
        ),
        (
            lambda x: np.array([k * x for k in range(3)], float),
            1.0,
            "write np.stack([k * x for k in range(3)]) instead of np.array",
        ),
        (lambda x: np.array(x, float), [1.0, 2.0], "write np.stack(x) instead of np.array"),
        (lambda x: np.array(x, float), [[1.0]], "use zyg.numpy.array instead of np.array"),
        (lambda x: np.asarray(x, float), 1.0, "leave out np.asarray(), or use zyg.numpy.asarray"),
        (lambda x: np.full(3, x, float), 1.0, "write x * np.ones(n) instead of np.full(n, x)"),
        (lambda x: np.fromiter((x for _ in range(2)), float), 1.0, "write np.stack([...])"),
        (lambda x: RNG.normal(x), 1.0, "write mu + sigma * rng.normal(size=n)"),
        (
            lambda x: x > 0 and np.dot(1, 2) + math.sqrt(abs(x)),
            1.0,
            "use np.sqrt instead of math.sqrt",
        ),
        (lambda x: [float][0](x), 1.0, "call zyg.adopt("),
    ],
)
def test_the_remedy_is_that_of_the_call(f, x, fix):
    assert f"fix: {fix}" in refusal(errors.ConversionError, f, x)


def test_the_remedy_in_a_library_is_to_adopt_it(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "a_library.py").write_text(
        "import numpy as np\n\ndef half(x):\n    return float(x) / 2\n\n"
        "def filled(x):\n    y = np.zeros(2)\n    y[:] = x\n    return y\n"
    )
    monkeypatch.syspath_prepend(folder)
    import a_library

    for call in (a_library.half, a_library.filled):
        with pytest.raises(errors.ConversionError) as caught:
            gradient(call, 1.0)
        assert 'fix:   call zyg.adopt("a_library") once, and try again.' in str(caught.value)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: sum(np.nditer(x)), ARRAY),
        (lambda x: sum(a * b for a, b in np.nditer([x, ARRAY])), ARRAY),
        (lambda x: memoryview(x)[0], ARRAY),
        (lambda x: memoryview(x), 1.0),
        (lambda x: np.sum(np.frombuffer(x)), ARRAY),
        (lambda x: struct.unpack("d", struct.pack("d", x))[0], 1.0),
        (lambda x: struct.pack("f", x[0]), ARRAY),
        (lambda x: gradient(lambda z: struct.unpack("d", struct.pack("d", x))[0] * z, 1.0)[0], 1.0),
        (lambda x: zyg.pushforward(lambda x: memoryview(x), (x,), (x,))[1], 1.0),
    ],
)
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_what_c_code_refuses_is_an_error_of_zygs(f, x):
    text = refusal(errors.ConversionError, f, x)
    assert "C code cannot take a watched value: " in text
    assert "zyg.stop_gradient(x) gives the plain value" in text


twice_in_c = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 2 * x)
first_in_c = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_double))(lambda p: p[0])


@zyg.adjoint
def doubled(x):
    return twice_in_c(x), lambda y_bar: (2 * y_bar,)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: twice_in_c(x), 1.0),
        (lambda x: twice_in_c(x[0]), ARRAY),
        (lambda x: first_in_c(x), ARRAY),
        (lambda x: ctypes.pythonapi.PyFloat_FromDouble(x), 1.0),  # whose arguments have no types
        (lambda x: zyg.pushforward(lambda x: twice_in_c(x), (x,), (1.0,))[1], 1.0),
    ],
)
def test_functions_of_ctypes_refuse_by_name(f, x):
    text = refusal(errors.ConversionError, f, x)
    assert (
        "conversion for ctypes of a watched float" in text or "watched ndarray would drop" in text
    )
    assert "zyg.scalar_rule(f, *partials)" in text
    with pytest.raises(errors.ConversionError, match="conversion for ctypes of a watched float"):
        gradient(lambda x: gradient(doubled, x)[0], 1.0)


def test_what_ctypes_says_of_plain_values_is_left_as_it_is():
    def f(x):
        try:
            twice_in_c(x)
        except ctypes.ArgumentError:
            return x * twice_in_c("abc")

    with pytest.raises(ctypes.ArgumentError, match="TypeError"):
        gradient(f, 1.0)
    assert gradient(lambda x: x * twice_in_c(zyg.primal(x)), 3.0) == (6.0,)
    assert gradient(doubled, 3.0) == (2.0,)


def test_what_c_code_says_of_plain_values_is_left_as_it_is():
    """An exception of the user's own leaves f unchanged."""
    with pytest.raises(struct.error, match=r"^required argument is not a float$") as caught:
        gradient(lambda x: x * struct.pack("d", "abc")[0], 1.0)
    assert type(caught.value) is struct.error


def test_what_c_code_says_is_told_once_through_all_levels():
    with pytest.raises(errors.ConversionError) as caught:
        gradient(lambda y: gradient(lambda x: struct.pack("d", x), y)[0], 1.0)
    assert str(caught.value).count("C code cannot take") == 1


def test_what_c_code_refuses_of_others_is_its_own():
    with pytest.raises(TypeError, match="bytes-like object is required, not 'float'") as caught:
        gradient(lambda x: memoryview(2.0), 1.0)
    assert type(caught.value) is TypeError


def _store_scalar(x):
    b = np.zeros(3)
    b[0] = x
    return b[0]


def _store_scalar_slice(x):
    b = np.zeros(3)
    b[1:] = x
    return b[1]


def _store_array(x):
    b = np.zeros(3)
    b[:] = x
    return np.sum(b)


def _store_array_mask(x):
    b = np.zeros(3)
    b[np.array([True, True, True])] = x
    return np.sum(b)


def _store_list(x):
    b = np.zeros((2, 3))
    b[0] = [x, x, x]
    return np.sum(b)


@pytest.mark.parametrize(
    ("f", "x"),
    [(_store_scalar, 1.0), (_store_scalar, np.float64(1)), (_store_scalar_slice, 1.0),
     (_store_array, ARRAY), (_store_array_mask, ARRAY), (_store_scalar, 1), (_store_list, 1.0)],
)  # fmt: skip
def test_storing_into_a_plain_array(f, x):
    text = refusal(errors.ConversionError, f, x)
    assert "a watched value cannot be stored in a plain NumPy array." in text
    assert "make it with np.zeros_like(x), or with np.zeros(n) after import zyg.numpy as np" in text
    assert "zyg.stop_gradient(x)" in text


# Writes that cannot be followed


def _plain_iadd(x):
    b = np.zeros(3)
    b += x
    return np.sum(b)


def _plain_slice_iadd(x):
    b = np.zeros(3)
    b[:] += x
    return np.sum(b)


def _plain_element_iadd(x):
    b = np.zeros(3)
    b[0] += x
    return b[0]


def _out(x):
    b = np.zeros(3)
    np.add(x, 1.0, out=b)
    return np.sum(b)


def _positional_out(x):
    b = np.zeros(3)
    np.exp(x, b)
    return np.sum(b)


def _sum_out(x):
    b = np.zeros(())
    np.sum(x, out=b)
    return b


def _matmul_out(x):
    b = np.zeros(3)
    np.matmul(np.eye(3), x, out=b)
    return np.sum(b)


def _copyto(x):
    b = np.zeros(3)
    np.copyto(b, x)
    return np.sum(b)


def _add_at(x):
    b = np.zeros(3)
    np.add.at(b, [0, 1, 2], x)
    return np.sum(b)


def _put(x):
    b = np.zeros(3)
    np.put(b, [0, 1, 2], x)
    return np.sum(b)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        *((f, ARRAY) for f in (_plain_iadd, _plain_slice_iadd, _out, _positional_out, _sum_out)),
        *((f, ARRAY) for f in (_matmul_out, _copyto, _add_at, _put)),
        *((f, 1.0) for f in (_plain_iadd, _plain_slice_iadd, _plain_element_iadd, _out)),
        *((f, 1.0) for f in (_positional_out, _sum_out, _copyto, _add_at, _put)),
    ],
)
def test_writes_into_plain_arrays_are_refused(f, x):
    text = refusal(errors.ZygError, f, x)
    assert any(word in text for word in ("plain", "cannot write", "no rule")), text


@pytest.mark.parametrize("f", [_plain_iadd, _out, _positional_out])
def test_the_message_of_an_output_array(f):
    text = refusal(errors.ConversionError, f, ARRAY)
    assert "a watched value cannot be stored in a plain NumPy array" in text
    assert "the array can hold plain numbers only" in text
    assert "import zyg.numpy as np" in text


def _setfield(x):
    x.setfield(1.0, float)
    return np.sum(x)


def _byteswap(x):
    x.byteswap(inplace=True)
    return np.sum(x)


@pytest.mark.parametrize("f", [_setfield, _byteswap])
def test_writes_that_are_not_followed_are_refused(f):
    text = refusal(errors.MutationError, f, ARRAY)
    assert "not followed" in text


# Plain arrays that a pullback relies on


def _overwritten(x):
    w = np.ones(3)
    y = x * w
    w[:] = 5.0
    return np.sum(y)


def _overwritten_in_a_product(x):
    w = np.eye(3)
    y = w @ x
    w *= 5.0
    return np.sum(y)


@pytest.mark.parametrize("f", [_overwritten, _overwritten_in_a_product])
def test_a_small_plain_array_overwritten_before_the_reverse_pass_is_right(f):
    np.testing.assert_array_equal(gradient(f, ARRAY)[0], np.ones(3))


def test_an_argument_overwritten_before_the_reverse_pass_is_right():
    x = ARRAY.copy()
    _, back = pullback(lambda x: np.sum(x * x), x)
    x[:] = 100.0
    np.testing.assert_array_equal(back(1.0)[0], 2 * ARRAY)


def test_an_index_array_overwritten_before_the_reverse_pass_is_right():
    index = np.array([0, 1])

    def f(x):
        y = x[index]
        index[:] = 2
        return np.sum(y)

    np.testing.assert_array_equal(gradient(f, ARRAY)[0], [1.0, 1.0, 0.0])


# Functions without a rule


def shown_rule(text):
    """The rule that a message shows, as source text."""
    return textwrap.dedent(text[text.index("    @zyg.adjoint") :])


def test_an_unknown_numpy_function_is_named_and_a_rule_is_shown():
    with pytest.raises(errors.MissingRuleError) as caught:
        gradient(lambda x: np.sum(np.busday_count(x, x)), ARRAY)
    text = str(caught.value)
    check_template(text)
    check_place(text, test_an_unknown_numpy_function_is_named_and_a_rule_is_shown)
    assert text.startswith("np.busday_count has no rule, so zyg cannot differentiate it.")
    assert "zyg.nondifferentiable(" in text
    (rule,) = ast.parse(shown_rule(text)).body
    assert rule.name == "busday_count"


UNKNOWN = {
    "np.busday_offset": lambda x: np.busday_offset(x, 1),
    "np.datetime_as_string": lambda x: np.datetime_as_string(x),
    "np.is_busday": lambda x: np.is_busday(x),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_rule_that_is_shown_can_be_compiled_and_run(name):
    """The text names a function that exists, and defines a rule for it."""
    with pytest.raises(errors.MissingRuleError) as caught:
        pullback(UNKNOWN[name], ARRAY)
    text = str(caught.value)
    assert text.startswith(f"{name} has no rule")
    source = shown_rule(text)
    scope = {"zyg": zyg, "np": np}
    before = dict(zyg.base.registry.rules)
    try:
        exec(compile(source, "<message>", "exec"), scope)
    finally:
        zyg.base.registry.rules.clear()
        zyg.base.registry.rules.update(before)
    assert callable(scope[name.rpartition(".")[2]])


def test_an_unknown_function_of_another_library_is_named():
    class Special:
        """What dispatches as NumPy does, and is no part of NumPy."""

    def dispatched(x):
        return x.__array_function__(dispatched, (), (x,), {})

    dispatched.__module__ = "library.special"
    with pytest.raises(errors.MissingRuleError, match=r"library\.special\.dispatched has no rule"):
        gradient(dispatched, 1.0)


def _twice(a):
    return 2 * a


def test_what_frompyfunc_made_is_named_after_its_function():
    for f, x in ((lambda x: np.sum(np.frompyfunc(_twice, 1, 1)(x)), ARRAY),
                 (lambda x: np.frompyfunc(_twice, 1, 1)(x), 1.0)):  # fmt: skip
        text = refusal(errors.MissingRuleError, f, x)
        assert text.startswith("_twice, made by np.frompyfunc, has no rule.")
        assert "zyg.broadcast(f, *arrays)" in text


def test_a_ufunc_of_no_known_module_goes_by_its_name():
    ufunc = np._core.umath._ones_like  # as one that numba made

    text = refusal(errors.MissingRuleError, lambda x: np.sum(ufunc(x)), ARRAY)
    assert text.startswith("_ones_like has no rule")
    assert "@zyg.adjoint(_ones_like) def _ones_like(x):" in text


def test_an_unknown_keyword_of_a_known_function_is_named():
    text = refusal(errors.MissingRuleError, lambda x: np.clip(x, 0, 1, casting="no"), ARRAY)
    assert "clip cannot be differentiated with these arguments" in text
    assert "does not know the keyword 'casting'" in text
    assert "write a rule for your case with zyg.adjoint" in text


def test_an_unknown_keyword_of_an_adjoint_is_named():
    text = refusal(
        errors.MissingRuleError,
        lambda x: np.transpose(x, nonsense=1) if False else x.reshape(3, copy=False, nonsense=1),
        ARRAY,
    )
    assert "reshape" in text
    assert "'nonsense'" in text


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.subtract.reduce(x, dtype=np.float32),
        lambda x: np.hypot.accumulate(x, dtype=np.float32),
        lambda x: np.hypot.reduceat(x, [0, 1], dtype=np.float32),
    ],
)
def test_a_ufunc_method_without_rule_is_named(f):
    text = refusal(errors.MissingRuleError, f, ARRAY)
    assert re.match(r"np\.(hypot|subtract)\.\w+ with dtype= has no rule", text)


def test_ufunc_methods_with_a_rule():
    np.testing.assert_array_equal(gradient(lambda x: np.add.reduce(x), ARRAY)[0], np.ones(3))
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(np.add.accumulate(x)), ARRAY)[0], [3.0, 2.0, 1.0]
    )
    with pytest.raises(errors.NonScalarOutputError):
        gradient(lambda x: np.add.reduce(x), np.ones((2, 2)))


def test_an_attribute_without_rule_is_named():
    text = refusal(errors.ConversionError, lambda x: x.ctypes, ARRAY)
    assert "the attribute 'ctypes' of a watched ndarray has no rule." in text
    assert "zyg.primal(x)" in text


def test_pickling():
    text = refusal(errors.ConversionError, lambda x: pickle.dumps(x), 1.0)
    assert "a watched value cannot be pickled." in text
    assert "zyg.stop_gradient(x)" in text
    refusal(errors.ConversionError, lambda x: pickle.dumps({"a": [x]}), ARRAY)


def test_pickling_offers_calls_in_other_processes():
    assert "zyg.wrap_executor(pool)" in refusal(
        errors.ConversionError, lambda x: pickle.dumps(x), 2.0
    )


def test_a_module_of_scipys_without_a_drop_in_is_not_said_to_have_one():
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    tree = np.array([[0.0, 1.0, 1.0, 2.0]])
    with pytest.raises(errors.ConversionError) as caught:
        gradient(lambda t: hierarchy.fcluster(tree, t), 2.0)
    assert "zyg has no rule" in str(caught.value)
    assert "use zyg.scipy" not in str(caught.value)


def test_an_object_array_that_scipy_refuses_is_told_on_the_users_line():
    ndimage = pytest.importorskip("scipy.ndimage")
    with pytest.warns(zyg.errors.PerformanceWarning):
        text = refusal(
            errors.ConversionError, lambda x: ndimage.gaussian_filter(x, 1.0)[0], np.ones(6)
        )
    assert "zyg.adopt(__name__)" in text


def test_a_closed_value_can_be_pickled_and_copied():
    kept = []
    gradient(lambda x: kept.append(x) or x, 2.0)
    assert pickle.loads(pickle.dumps(kept[0])) == 2.0
    assert copy.deepcopy(kept[0]) == 2.0


# Rules that break their contract


def broken(rule):
    return zyg.adjoint(rule)


def test_a_rule_that_returns_no_pullback():
    @broken
    def bad(x):
        return x * 2

    text = refusal(errors.AdjointError, lambda x: bad(x), 1.0)
    assert "the rule bad returned float, not (y, pullback)." in text
    assert "return y, pullback" in text


def _own_cube(x):
    return x**3


def _own_scaled(x, w):
    return x * w


@pytest.mark.parametrize("own", [_own_cube, _own_scaled, lambda x: x, lambda x: x.T])
def test_a_rule_for_a_function_of_ones_own(own):
    rule = (lambda x, w: 0) if own is _own_scaled else (lambda x: 0)
    with pytest.raises(errors.AdjointError) as caught:
        zyg.adjoint(own)(rule)
    text = str(caught.value)
    name = own.__name__
    assert f"zyg.adjoint({name}) took {name} itself for a rule" in text
    assert "write @zyg.adjoint above <lambda>, have it return" in text
    check_place(text, test_a_rule_for_a_function_of_ones_own)


def test_a_rule_may_take_a_function_whose_errors_are_its_own():
    @zyg.adjoint
    def at_two(g):
        return g(2.0), lambda y_bar: (None,)

    assert at_two(lambda x: x * x) == 4.0
    with pytest.raises(ZeroDivisionError):
        at_two(lambda x: 1 / (x - 2))
    with pytest.raises(TypeError, match=r"missing 1 required positional") as caught:
        at_two(lambda x, y: x)
    assert not isinstance(caught.value, errors.ZygError)


def test_a_rule_whose_pullback_is_not_callable():
    @broken
    def bad(x):
        return x * 2, 3.0

    assert "not (y, pullback)" in refusal(errors.AdjointError, lambda x: bad(x), 1.0)


def reverse_refusal(f, *args):
    with pytest.raises(errors.AdjointError) as caught:
        gradient(f, *args)
    check_template(str(caught.value))
    return " ".join(str(caught.value).split())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_rule_with_the_wrong_number_of_cotangents(count):
    @broken
    def bad(x, y):
        return x * y, lambda c: (c,) * count

    text = reverse_refusal(bad, 2.0, 3.0)
    assert "the rule of bad" in text
    assert f"its pullback returned {count} cotangents where 2 are needed" in text
    line = inspect.getsourcelines(bad.rule)[1]
    assert f"{__file__}:{line}" in text
    assert "zyg.check_adjoint" in text


@pytest.mark.parametrize("bars", [3.0, [3.0], None, np.ones(1)], ids=repr)
def test_a_rule_whose_pullback_returns_no_tuple(bars):
    @broken
    def bad(x):
        return x * 2, lambda c: bars

    text = reverse_refusal(bad, 2.0)
    assert f"its pullback returned {type(bars).__name__}, not a tuple" in text


@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 3), (3, 1)])
def test_a_rule_with_a_cotangent_of_the_wrong_shape(shape):
    @broken
    def bad(x):
        return np.sum(x), lambda c: (np.ones(shape),)

    text = reverse_refusal(bad, ARRAY)
    assert f"the cotangent of argument 0 has shape {shape}; its argument (3,)" in text


def test_a_rule_with_an_array_for_the_cotangent_of_a_number():
    @broken
    def bad(x):
        return x * 2, lambda c: (np.ones(2),)

    assert "has shape (2,); its argument ()" in reverse_refusal(bad, 2.0)


def test_a_callable_cotangent_is_checked_like_any_other():
    @broken
    def bad(x):
        return np.sum(x), lambda c: (lambda: np.ones(2),)

    assert "has shape (2,); its argument (3,)" in reverse_refusal(bad, ARRAY)


def test_a_rule_with_a_cotangent_that_is_no_number():
    @broken
    def bad(x):
        return x * 2, lambda c: ("text",)

    with pytest.raises(errors.ZygError) as caught:
        gradient(bad, 2.0)
    check_template(str(caught.value))


def test_a_rule_with_a_structured_cotangent_that_does_not_fit():
    @broken
    def bad(xs):
        return xs[0] * xs[1], lambda c: ([c],)

    with pytest.raises(
        errors.StructureError, match=r"argument 0 of bad: at the top it needs 2 parts"
    ):
        gradient(bad, [2.0, 3.0])


def test_a_hook_that_changes_the_shape():
    with pytest.raises(
        errors.AdjointError, match=r"rule of hook.*has shape \(\); its argument \(3,\)"
    ):
        gradient(lambda x: np.sum(zyg.hook(np.sum, x)), ARRAY)


def test_a_hook_that_returns_nothing_lets_nothing_flow():
    assert gradient(lambda x: zyg.hook(lambda c: None, x) * 2, 1.0) == (None,)


def test_a_partial_that_cannot_be_called_is_refused_at_once():
    for wrong in (lambda x: x, lambda: 1, lambda x, y, z: 1, np.cos):
        with pytest.raises(
            errors.AdjointError, match="partial derivative 0 of sin cannot be called"
        ):
            zyg.scalar_rule(math.sin, wrong)


def test_a_scalar_rule_called_with_the_wrong_number_of_arguments():
    erf = zyg.scalar_rule(lambda x: math.erf(x), lambda x, y: 2 / np.sqrt(np.pi) * np.exp(-x * x))
    text = refusal(errors.MissingRuleError, lambda x: erf(x, 2.0), 1.0)
    assert "it takes 1 arguments, not 2" in text


def _scaled_by(x):
    return zyg.scalar_rule(lambda a: a * x, lambda a, y: x)


def test_a_scalar_rule_that_depends_on_more_than_its_arguments():
    for f in (
        lambda x: _scaled_by(x)(x),
        lambda x: _scaled_by(x)(2 * x),
        lambda x: _scaled_by(x)(np.float32(1) * x),
        lambda x: gradient(lambda z: _scaled_by(z)(x), 2.0)[0],
        lambda x: zyg.pushforward(lambda z: _scaled_by(z)(x), (2.0,), (1.0,))[1],
    ):
        text = refusal(errors.AdjointError, f, 3.0)
        assert "<lambda> depends on a watched value that is not among its arguments." in text
        assert "pass the value as an argument" in text


def test_an_adjoint_that_depends_on_a_value_of_a_newer_gradient():
    def by(z):
        return zyg.adjoint(lambda a: (a * z, lambda y_bar: (y_bar * z,)))

    text = refusal(errors.AdjointError, lambda x: gradient(lambda z: by(z)(x), 2.0)[0], 3.0)
    assert "depends on a watched value that is not among its arguments." in text


def test_a_scalar_rule_may_depend_on_what_an_outer_gradient_watches():
    assert gradient(lambda x: gradient(lambda z: _scaled_by(x)(z * z), 2.0)[0], 3.0) == (4.0,)


def test_a_type_error_of_a_function_with_a_scalar_rule_is_its_own():
    function = zyg.scalar_rule(lambda a: a + None, 1)
    with pytest.raises(TypeError, match="unsupported operand"):
        gradient(lambda x: function(x), 1.0)


# Cotangents, structures, settings


def test_a_cotangent_that_does_not_fit():
    def two(x):
        return {"a": x, "b": [x, x]}

    _, back = pullback(two, 1.0)
    with pytest.raises(errors.StructureError) as caught:
        back({"a": 1.0, "b": [1.0]})
    text = str(caught.value)
    check_template(text)
    assert "the cotangent does not fit the value of two: at ['b'] it needs 2 parts" in text
    assert "back({" in text


def test_a_cotangent_of_the_wrong_shape():
    _, back = pullback(np.sin, ARRAY)
    with pytest.raises(errors.StructureError) as caught:
        back(np.ones(2))
    text = str(caught.value)
    check_template(text)
    assert "a cotangent of shape (2,) does not fit the value of sin, which has shape (3,)." in text
    assert "np.ones_like(y)" in text


def test_an_array_with_semantics_of_its_own():
    with pytest.raises(errors.StructureError) as caught:
        gradient(np.sum, np.ones(1).view(np.recarray))
    text = str(caught.value)
    check_template(text)
    assert text.startswith("zyg cannot watch a recarray.")
    assert "np.asarray(x)" in text


def test_an_unknown_setting():
    with pytest.raises(TypeError, match="unknown zyg option 'strong'; there are: strong_zero"):
        zyg.config(strong=True)


# Kernels


def _product(a, b):
    return a * b


def test_a_result_of_a_kernel_written_into_a_watched_array():
    for f in (
        lambda x: np.sum(zyg.broadcast(_twice, x, out=x)),
        lambda x: np.sum(zyg.broadcast(_twice, ARRAY, out=x)),
    ):
        text = refusal(errors.MutationError, f, ARRAY)
        assert "a watched result cannot be written into out=." in text
        assert "x[...] = zyg.broadcast(f, x) writes it into a watched array." in text


def test_a_kernel_called_with_the_wrong_number_of_arguments():
    for call in (zyg.broadcast, zyg.partials, lambda f, *xs: zyg.elementwise(f)(*xs)):
        with pytest.raises(TypeError, match=r"_product\(a, b\): missing a required argument: 'b'"):
            call(_product, ARRAY)
        with pytest.raises(TypeError, match=r"_product\(a, b\): too many positional arguments"):
            call(_product, ARRAY, ARRAY, ARRAY)


# The errors themselves


def test_every_error_says_cause_example_and_remedy_in_its_docstring():
    for name, error in vars(errors).items():
        if (
            inspect.isclass(error)
            and issubclass(error, errors.ZygError)
            and error is not errors.ZygError
        ):
            assert name.endswith("Error")
            assert error.__doc__, name
            assert len(error.__doc__.splitlines()) >= 1


def test_errors_are_also_pythons_own_kind():
    assert issubclass(errors.ConversionError, TypeError)
    assert issubclass(errors.MutationError, TypeError)
    assert issubclass(errors.MissingRuleError, NotImplementedError)
    assert issubclass(errors.GradientMismatchError, AssertionError)


def test_the_place_is_the_users_line_even_in_a_helper_of_theirs():
    def helper(y):
        return float(y)

    with pytest.raises(errors.ConversionError) as caught:
        gradient(lambda x: helper(x), 1.0)
    check_place(str(caught.value), helper)
    assert "in helper: return float(y)" in str(caught.value)


def test_the_place_is_the_users_line_when_the_standard_library_converts():
    def f(xs):
        return statistics.fmean(xs)

    with pytest.raises(errors.ConversionError) as caught:
        gradient(f, [1.0, 2.0])
    check_place(str(caught.value), f)


def test_the_place_of_code_without_a_file_is_still_a_place():
    scope = {}
    exec(compile("def f(x):\n    return float(x)\n", "<typed in>", "exec"), scope)
    with pytest.raises(errors.ConversionError, match=r"where: <typed in>:2, in f\n"):
        gradient(scope["f"], 1.0)


def test_no_message_shows_zygs_own_files_as_the_place():
    for f, x in ((lambda x: float(x), 1.0), (lambda x: np.unwrap(x), ARRAY), (_setfield, ARRAY)):
        with pytest.raises(errors.ZygError) as caught:
            gradient(f, x)
        place = re.search(r"where: (.+):\d+, in", str(caught.value))[1]
        assert place == __file__


def test_an_error_of_the_users_is_not_wrapped():
    class MineError(Exception):
        pass

    def f(x):
        raise MineError("as it was")

    with pytest.raises(MineError, match=r"^as it was$") as caught:
        gradient(f, 1.0)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert caught.traceback[-1].name == "f"
    assert sys.exception() is None


def test_the_place_in_a_library_is_the_users_line_and_below_it_the_librarys(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "some_library.py").write_text("def half(x):\n    return float(x) / 2\n")
    monkeypatch.syspath_prepend(folder)
    import some_library

    def f(x):
        return some_library.half(x)

    for call in (f, some_library.half):
        with pytest.raises(errors.ConversionError) as caught:
            gradient(call, 1.0)
        _, where, lib, *_ = str(caught.value).splitlines()
        assert where.startswith(f"  where: {__file__}:")
        assert where.endswith("return some_library.half(x)" if call is f else "gradient(call, 1.0)")
        assert lib == f"  lib:   {folder}/some_library.py:2, in half: return float(x) / 2"
