"""What is said to write in place of the call that was refused, or that is slow."""

import datetime
import fractions
import multiprocessing
import pickle
import struct
import time
import types

import joblib
import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, PerformanceWarning


def refused(f, *args):
    with pytest.raises(ConversionError) as caught:
        zyg.gradient(f, *args)
    return str(caught.value)


def warned(f, *args):
    with pytest.warns(PerformanceWarning) as caught:
        zyg.gradient(f, *args)
    return str(caught[0].message)


def in_module(text, name="f"):
    """A function of an adopted module, whose text is this."""
    module = types.ModuleType("of_this_test")
    exec("import numpy as np\n" + text, vars(module))
    return module, lambda *args: getattr(module, name)(*args)


quiet = pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")


@quiet
def test_an_array_of_objects_is_made_one_of_numbers_by_stacking():
    def flat(x):
        y = np.empty(2, dtype=object)
        y[0], y[1] = x, 3 * x
        return np.sum(y.astype(np.float64))

    def square(x):
        y = np.empty((2, 2), dtype=object)
        y[:] = [[x, x], [2 * x, 1.0]]
        return np.sum(y.astype(float))

    assert "write np.stack([*y]) instead of y.astype" in refused(flat, 1.0)
    assert "write np.stack([*y.flat]).reshape(y.shape) instead of y.astype" in refused(square, 1.0)


@quiet
def test_what_replaces_astype_is_right():
    def f(x):
        y = np.empty((2, 2), dtype=object)
        y[:] = [[x, x], [2 * x, 1.0]]
        return np.sum(np.stack([*y.flat]).reshape(y.shape) ** 2)

    assert zyg.gradient(f, 1.0) == (12.0,)


def test_a_list_given_for_an_array_is_to_be_stacked():
    assert "pass np.stack([x, 2 * x]) instead of [x, 2 * x]" in warned(
        lambda x: np.sum(np.exp([x, 2 * x])), 1.0
    )
    assert "pass np.stack([x, x]) instead of [x, x]" in warned(
        lambda x: np.trace(np.diag([x, x])), 1.0
    )


def test_who_has_adopted_is_not_told_to_use_drop_ins():
    module, f = in_module("def f(x): return np.sum(np.vectorize(lambda v: v * v)(x))")
    with zyg.adopt(module):
        said = warned(f, np.ones(2))
    assert "use NumPy's functions on x itself" in said
    assert "zyg.numpy" not in said


def test_a_buffer_of_an_adopted_module_is_to_be_made_in_the_gradient():
    text = "buffer = np.zeros(2)\ndef f(x):\n    buffer[0] = x\n    return buffer[0]"
    module, f = in_module(text)
    assert "after import zyg.numpy as np" in refused(f, 1.0)
    with zyg.adopt(module):
        said = refused(f, 1.0)
    assert "make it with np.zeros_like(x), or with np.zeros(n) where the gradient runs" in said
    assert "zyg.adopt" not in said


def test_the_place_is_no_text_of_pythons_own():
    def f(x):
        value = multiprocessing.Value("d", 0.0)
        value.value = x
        return value.value

    assert f"where: {__file__}:" in refused(f, 1.0)


def test_a_text_of_the_users_that_has_a_module_is_a_place():
    names = {"__name__": "typed"}
    exec("def f(x): return float(x)", names)
    assert "where: <string>:1, in f" in refused(names["f"], 1.0)


def test_what_keeps_results_of_joblibs_is_told_the_function(tmp_path):
    def square(x):
        return x * x

    kept = joblib.Memory(tmp_path, verbose=0).cache(square)
    assert "f.func(x) for f(x)" in refused(lambda x: kept(x), 1.5)
    assert zyg.gradient(lambda x: kept.func(x), 1.5) == (3.0,)


def test_a_pickle_offers_wrap_executor_before_stop_gradient():
    said = refused(lambda x: pickle.dumps(x), 1.5).partition("fix:")[2]
    assert said.index("zyg.wrap_executor(pool)") < said.index("zyg.stop_gradient(x)")


@quiet
@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: np.arange(0, x, 0.5).sum(), "zyg.stop_gradient(x) for an end x"),
        (lambda x: fractions.Fraction(x) * x, "give the gradient a Fraction at which it is taken"),
    ],
)
def test_adoption_is_not_advised_where_it_does_not_help(f, said):
    found = refused(f, 1.5)
    assert said in found
    assert "zyg.adopt" not in found


@quiet
def test_an_adopted_module_is_told_of_its_drop_ins_what_is_said_of_the_originals():
    module, f = in_module("def f(x): return np.sum(np.arange(0.0, x, 0.5))")
    with zyg.adopt(module):
        assert "zyg.stop_gradient(x) for an end x" in refused(f, 1.5)


def test_an_end_of_a_range_is_a_constant():
    assert zyg.gradient(
        lambda x: np.sum(x * np.arange(0, zyg.stop_gradient(x), 0.5)), 1.5
    ) == pytest.approx((1.5,))


def test_c_code_is_told_what_fits_it():
    packed = refused(lambda x: struct.unpack("d", struct.pack("d", x))[0], 1.5)
    assert "keep the number itself" in packed
    assert "scipy" not in packed


# Notes on exceptions that are not zyg's


def notes(error, call):
    with pytest.raises(error) as caught:
        call()
    return "".join(getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: zyg.gradient(np.sin)(1.0), "zyg.grad(f)(x) is one, too"),
        (lambda: zyg.gradient(lambda x: x)(1.0), "zyg.grad(f)(x) is one, too"),
        (lambda: zyg.gradient(1.0, np.sin), "the function itself comes first"),
        (lambda: zyg.jacobian(np.sin(1.0), 1.0), "the function itself comes first"),
        (lambda: zyg.gradient(lambda x: x, 1.0, argnums=0), "zyg.value_and_grad take argnums="),
    ],
)
def test_a_call_of_a_verb_that_python_refuses_is_put_right(call, said):
    assert said in notes(TypeError, call)


def test_a_type_error_in_the_function_has_no_note():
    assert notes(TypeError, lambda: zyg.gradient(lambda x: len(1), 1.0)) == ""
    assert notes(TypeError, lambda: zyg.gradient(lambda x, y: x, 1.0)) == ""


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: x.detach() * x, "instead of x.detach, write zyg.stop_gradient(x)"),
        (lambda x: x.numpy() * x, "instead of x.numpy, write x,"),
        (lambda x: (x * x).backward(), "instead of x.backward, write zyg.gradient(f, x)"),
        (lambda x: x.at[0].set(1.0), "instead of x.at, write x[i] = v"),
        (lambda x: x.register_hook(print), "instead of x.register_hook, write x = zyg.hook(g, x)"),
        (lambda x: x.no_such_attribute, ""),
    ],
)
def test_attributes_of_tensors_are_said_in_zygs_words(f, said):
    for x in (1.5, np.array(2.0)):
        found = notes(AttributeError, lambda x=x: zyg.gradient(f, x))
        assert said in found
        assert bool(said) == bool(found)


def test_code_that_takes_plain_numbers_is_given_the_plain_value():
    assert "zyg.stop_gradient(x)" in notes(
        TypeError, lambda: zyg.gradient(lambda x: time.sleep(x) or x, 0.0)
    )
    assert "f(zyg.stop_gradient(x))" in notes(
        TypeError, lambda: zyg.gradient(lambda x: datetime.timedelta(seconds=x) and x, 1.0)
    )
