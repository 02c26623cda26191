"""In-place operators compute what NumPy's compute, to the last bit, however memory is laid out."""

import operator

import numpy as np
import pytest

import zyg

PARTS = {
    "whole": np.s_[...], "backwards": np.s_[:, ::-1], "both-backwards": np.s_[::-2, ::-1],
    "rows-backwards": np.s_[::-1], "steps": np.s_[:, ::2], "one": np.s_[2:1:-1, 1:0:-1],
    "no-axes": np.s_[2, 1, ...],
}  # fmt: skip


def numbers(shape, dtype, rng):
    x = rng.uniform(0.1, 2.0, shape)
    if dtype in "FD":
        x = x + 1j * rng.uniform(-1.0, 1.0, shape)
    return x.astype(dtype)


def operands(shape, dtype, rng):
    """Constants, and functions of the array that is written."""
    b = numbers(shape, dtype, rng)
    b = b if b.ndim else np.array(b)
    yield from (3, 0.3, b.ravel()[0], b, np.array(b, order="F"), np.flip(np.flip(b).copy()))
    yield from (numbers(shape, dtype.upper() if dtype in "FD" else "d", rng), b.tolist())
    yield lambda a, part: 0.5 * a[part] + 1  # watched
    yield lambda a, part: np.flip(a[part])  # watched, in the memory that is written


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("name", ["imul", "itruediv", "ipow", "iadd", "isub"])
def test_an_in_place_operator_rounds_as_numpys_does(name, part, dtype):
    operate, rng = getattr(operator, name), np.random.default_rng(7)
    for order in "CF":
        x = np.asarray(numbers((6, 8), dtype, rng), order=order)
        for b in operands(x[part].shape, dtype, rng):

            def program(x, b=b):
                a = x * 1
                view = a[part]
                operate(view, b(a, part) if callable(b) else b)
                return a

            expected = program(x)
            for y in (
                zyg.pullback(program, x)[0],
                zyg.pushforward(program, (x,), (x,))[0],
                zyg.pullback(lambda x, f=program: zyg.pullback(f, x)[0], x)[0],
            ):
                assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_derivative_is_that_of_the_power_that_is_not_in_place(part):
    x = numbers((3, 4), "d", np.random.default_rng(7))

    def in_place(x):
        a = x * 1
        a[part] **= np.flip(a[part])
        return np.sum(np.sin(a) * x)

    def new(x):
        a = x * 1
        a[part] = a[part] ** np.flip(a[part])
        return np.sum(np.sin(a) * x)

    np.testing.assert_allclose(
        zyg.hessian(in_place, x), zyg.hessian(new, x), rtol=1e-12, atol=1e-12
    )
    zyg.check_gradient(in_place, x)


def test_an_argument_is_not_written():
    x = np.linspace(0.5, 1.5, 1000)  # large enough to be kept by reference, and read-only
    before = x.copy()

    def program(x):
        x[::-1] **= 3
        return np.sum(x)

    y, (x_bar,) = zyg.value_and_gradient(program, x)
    np.testing.assert_allclose(x_bar, 3 * before**2, rtol=1e-14)
    np.testing.assert_array_equal(x, before)
    assert x.flags.writeable
    assert y == program(x)
