"""Modules of plain Python: they compute the same bits as the interpreter of programs."""

import re

import numpy as np
import pytest

from zyg.compiler.autodiff.forward import pushforward
from zyg.compiler.ir import operations
from zyg.kernels.scalar import read_for

from ..modules import imported
from .interpreted import interpreted
from .kit import Kit, module_text, product, program_of
from .random_programs import HEAD, source
from .test_forward_on_memory import fresh, printed


def assert_same(program, args):
    """The text and the interpreter return the same, and write the same into arguments."""
    sides = []
    for run in (printed(program), lambda *args: interpreted(program, *args)):
        given = fresh(args)
        outs = run(*given)
        outs = outs if isinstance(outs, (tuple, list)) else [outs]
        sides.append([*outs, *(x for x in given if isinstance(x, np.ndarray))])
    rounded = any(type(op).__name__ == "Routine" for op in operations(program.body))
    for got, right in zip(*sides, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-13 if rounded else 0, atol=0)


def test_a_module_imports_nothing_of_zyg():
    text = module_text(program_of(product), "f")
    imports = {*re.findall(r"^(?:import|from) .*", text, re.MULTILINE)}
    assert imports == {"import math", "import numpy as np"}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_programs(tmp_path, part):
    seeds = range(part, 120, 4)
    text = HEAD + "".join(f"\n\n{source(f'f{seed}', seed)}" for seed in seeds)
    module = imported(text, tmp_path / "programs.py")
    for seed in seeds:
        f = getattr(module, f"f{seed}")
        program = read_for(f, ("float",) * 3, None, lambda x: x, lambda x: x).kernel.program
        for at in np.random.default_rng(seed).uniform(-2, 2, (2, 3)):
            assert_same(program, at.tolist())
            assert_same(pushforward(program, (0, 1, 2)), [0.3, -0.7, 1.1, *at.tolist()])


VALUES = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-320, 1e300]


def test_every_operation_of_floats_is_as_ieee_has_it_whatever_the_operands():
    unary = ("negative absolute square reciprocal sqrt exp log log1p tan arcsin rint floor sign "
             "isnan signbit erf cbrt")  # fmt: skip
    binary = ("add subtract multiply divide power maximum fmin hypot arctan2 copysign remainder "
              "floor_divide fmod less not_equal")  # fmt: skip
    kit = Kit()
    x, y = kit.number(), kit.number()
    outs = [kit.op(name, x) for name in unary.split()]
    outs += [kit.op(name, x, y) for name in binary.split()]
    outs += [kit.divide(1.0, x), kit.divide(x, 3.0), kit.divide(kit.sin(x), y), kit.power(x, 3),
             kit.divide(kit.add(x, 1.0), kit.subtract(y, 1.5)), kit.power(x, -1),
             kit.add(x, np.inf), kit.multiply(np.nan, x)]  # fmt: skip
    program = kit.program("every", outs)
    for x in VALUES:
        for y in VALUES:
            assert_same(program, [x, y])


def text_of(outs_of, *kinds):
    kit = Kit()
    inputs = [kit.number(kind) for kind in kinds]
    return module_text(kit.program("f", outs_of(kit, *inputs)), "f").partition("def f")[2]


def test_brackets_are_where_they_change_something():
    def nested(k, a, b, c):
        return [
            k.add(a, k.add(b, c)), k.subtract(k.subtract(a, b), c), k.subtract(a, k.subtract(b, c)),
            k.negative(k.add(a, b)), k.multiply(k.add(a, b), k.negative(c)),
            k.less(k.add(a, 1.0), k.select(k.less(a, b), a, b)),
            k.logical_not(k.logical_and(k.less(a, c), k.less(b, c))),
            k.multiply(a, -2.0),
        ]  # fmt: skip

    text = text_of(nested, "float", "float", "float")
    for part in (
        "x0 + (x1 + x2)", "x0 - x1 - x2", "x0 - (x1 - x2)", "-(x0 + x1)", "(x0 + x1) * -x2",
        "x0 + 1.0 < (x0 if x0 < x1 else x1)", "not (x0 < x2 and x1 < x2)", "x0 * -2.0",
    ):  # fmt: skip
        kit = text.replace("v0", "(x0 + x1)")
        assert part in kit, part


def test_what_is_read_stays_before_what_is_stored():
    kit = Kit()
    x, _ = kit.array()
    a, b = kit.load(x, 0), kit.load(x, 1)
    kit.store(x, 0, b)
    kit.store(x, 1, a)
    c = kit.load(x, 0)
    kit.if_(kit.less(a, 5.0), lambda: kit.store(x, 0, 9.0))
    assert_same(kit.program("swap", [c, kit.load(x, 0)]), [np.array([3.0, 4.0]), 2])


@pytest.mark.parametrize(("why", "error"), [
    ("index 5", IndexError), ("division by zero", ZeroDivisionError), ("a shape", ValueError),
])  # fmt: skip
def test_a_check_that_fails_raises(why, error):
    kit = Kit()
    x = kit.number()
    kit.check(kit.not_equal(x, 0.0), why)
    f = printed(kit.program("f", [kit.divide(1.0, x)]))

    assert f(2.0) == 0.5
    with pytest.raises(error, match=why):
        f(0.0)


def test_names_that_are_given_are_kept_apart_from_those_that_are_made():
    kit = Kit()
    x, n = kit.array()
    out = kit.alloc("float", n)
    kit.loop(n, [], lambda i: kit.store(out, i, kit.load(x, i)))
    text = module_text(kit.program("f", [out]), "f", ["v0", "i"])
    space = {}
    exec(text, space)

    assert "def f(v0, i):" in text
    np.testing.assert_array_equal(space["f"](np.arange(3.0), 3), np.arange(3.0))


def test_ints_overflow_beyond_64_bits_only():
    kit = Kit()
    m, n = kit.number("int"), kit.number("int")
    names = ("add_overflows", "subtract_overflows", "multiply_overflows")
    outs = [kit.op(name, m, n) for name in names] + [kit.add_overflows(m, 1)]
    program = kit.program("over", outs)
    f = printed(program)
    for m in (0, 5, 2**62, -(2**62), 2**63 - 1, -(2**63)):
        for n in (0, -3, 2**62, -(2**62), 2**63 - 1, -(2**63)):
            assert_same(program, [m, n])
            assert f(np.int64(m), np.int64(n)) == f(m, n)


@pytest.mark.parametrize("name", ["v0", "x1", "i", "power", "<lambda>"])
def test_functions_and_variables_have_names_of_their_own(name):
    kit = Kit()
    callee = kit.program(name, [kit.multiply(kit.number(), 2.0)])
    kit = Kit()
    x, n = kit.array()
    kit.loop(n, [], lambda i: kit.store(x, i, kit.call(callee, kit.load(x, i))[0]))
    space = {}
    exec(module_text(kit.program("f", [kit.load(x, 1)]), "f", ["power", "n"]), space)

    assert space["f"](np.array([1.0, 3.0]), 2) == 6.0
