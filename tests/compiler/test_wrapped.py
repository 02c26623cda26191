"""Modules of plain Python that take and return what the user's function does."""

import dataclasses
import typing

import numpy as np
import pytest

from zyg.compiler.autodiff.forward import partials, pullback, pushforward
from zyg.compiler.back.python_signature import Signature, wrapped_text
from zyg.compiler.kinds import Array, Scalar, Static, Struct, kind_of
from zyg.errors import KernelError

from .kit import X4, Kit, double_buffer, prefix_product, program_of, scaled

FLOAT, ROW = Scalar("float"), Array("float", 1)


def run(text):
    assert "import zyg" not in text
    space = {}
    exec(text, space)
    return space


def test_a_value_is_returned_and_arguments_are_written_as_python_does():
    program = program_of(prefix_product)
    signature = Signature("products", [("u", ROW)], Struct(tuple, (), (FLOAT, ROW)))
    f = run(wrapped_text(signature, program))["products"]
    contiguous, strided = X4.copy(), np.repeat(X4, 2)[::2]
    for x in (contiguous, strided):
        last, row = f(x)
        assert type(last) is float
        assert last == np.prod(X4)
        np.testing.assert_array_equal(x, np.cumprod(X4))
        np.testing.assert_array_equal(row, x)


def test_a_result_that_is_an_argument_is_that_argument():
    program = program_of(prefix_product)
    result = Struct(tuple, (), (FLOAT, Array("float", 1, same=0)))
    signature = Signature("products", [("u", ROW)], result)
    x = np.repeat(X4, 2)[::2]

    assert run(wrapped_text(signature, program))["products"](x)[1] is x


class Pair(typing.NamedTuple):
    gain: float
    row: np.ndarray


@dataclasses.dataclass
class Model:
    gain: float
    row: np.ndarray
    name: str = "m"


@pytest.mark.parametrize("make", [
    lambda gain, row: {"gain": gain, "row": row}, Pair, lambda gain, row: (gain, row), Model,
    lambda gain, row: [gain, row],
])  # fmt: skip
def test_structures_are_taken_apart_and_put_together(make):
    program = program_of(scaled)
    given, tangent = make(0.7, X4), make(0.2, np.cos(X4))
    signature = Signature("scaled", [("model", kind_of(given))], ROW)
    text = wrapped_text(signature, pushforward(program, [0, 1]), "pushforward", [0, 1])
    y, y_dot = run(text)["scaled_pushforward"]((given,), (tangent,))

    np.testing.assert_allclose(y, 0.7 * np.exp(X4), rtol=1e-15)
    np.testing.assert_allclose(y_dot, np.exp(X4) * (0.2 + 0.7 * np.cos(X4)), rtol=1e-14)


def power_and_product():
    kit = Kit()
    x, n, y = kit.number(), kit.number("int"), kit.number()
    return kit.program("f", [kit.multiply(kit.sin(x), y), n])


SIGNATURE = Signature(
    "f",
    [("model", Struct(Model, ("gain", "row", "name"), (FLOAT, Scalar("int"), Static("m")))),
     ("y", FLOAT), ("mode", Static("fast"))],
    Struct(dict, ("value", "n"), (Scalar("float", python=False), Scalar("int"))),
)  # fmt: skip


def test_gradients_have_the_structure_of_the_arguments():
    program, (mask, _) = partials(power_and_product(), [0, 2])
    f = run(wrapped_text(SIGNATURE, program, "gradient", mask))["f_gradient"]
    value, (model, y, mode) = f(Model(0.3, 4), 2.0, "fast")

    assert value == {"value": 2.0 * np.sin(0.3), "n": 4}
    assert type(value["value"]) is np.float64
    assert model == Model(2.0 * np.cos(0.3), None, None)
    assert (y, mode) == (np.sin(0.3), None)


def test_a_pullback_is_called_as_often_as_wanted():
    program = power_and_product()
    back, moving = pullback(program, [0, 2], values=True)
    back.inputs = [*back.inputs[2:], back.inputs[0]]  # cotangents after the operands; none of ints
    space = run(wrapped_text(SIGNATURE, back, "pullback", moving, program))
    value, kept = space["f_forward"](Model(0.3, 4), 2.0, "fast")

    assert value == {"value": 2.0 * np.sin(0.3), "n": 4}
    for bar in (1.0, -3.0):
        model, y, _ = space["f_reverse"](kept, {"value": bar, "n": None})
        assert (model.gain, y) == (bar * (2.0 * np.cos(0.3)), bar * np.sin(0.3))


def test_what_was_captured_stands_in_the_module():
    program = program_of(double_buffer)
    captured = [("x", Array("float", 1), np.array([1.0, np.inf, 0.5]))]
    result = Struct(tuple, (), (ROW, FLOAT))
    text = wrapped_text(Signature("f", [], result, captured), program)

    assert "x = np.array([1.0, math.inf, 0.5], np.float64).reshape((3,))" in text
    assert len(run(text)["f"]()[0]) == 3


def test_complex_numbers_are_pairs():
    kit = Kit()
    re, im, (x, n) = kit.number(), kit.number(), kit.array()
    y = kit.alloc("float", kit.multiply(n, 2))
    kit.loop(kit.multiply(n, 2), [], lambda i: kit.store(y, i, kit.multiply(2.0, kit.load(x, i))))
    program = kit.program("f", [kit.negative(im), re, y, n])
    kinds = Scalar("complex"), Array("complex", 1)
    signature = Signature("f", [("z", kinds[0]), ("x", kinds[1])], Struct(tuple, (), kinds))
    z, row = 1.0 + 2.0j, np.array([1j, 3.0])
    space = run(wrapped_text(signature, program))
    assert space["f"](z, row)[0] == 1j * z
    np.testing.assert_array_equal(space["f"](z, row)[1], 2 * row)

    moving = wrapped_text(signature, pushforward(program, [0, 1, 2]), "pushforward", [0, 1, 2])
    _, (z_dot, row_dot) = run(moving)["f_pushforward"]((z, row), (3j, row + 1))
    assert z_dot == -3.0
    np.testing.assert_array_equal(row_dot, 2 * (row + 1))


def test_a_result_without_text_is_refused():
    signature = Signature("f", [], Struct(tuple, (), (FLOAT, Static(len))))
    with pytest.raises(KernelError, match=r"len.* cannot be written as text"):
        wrapped_text(signature, program_of(lambda kit: [1.0]))
