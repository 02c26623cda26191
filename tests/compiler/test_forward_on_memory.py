"""Forward mode on programs with memory: against differences, carried out by the interpreter."""

import numpy as np
import pytest

from zyg.compiler.autodiff.forward import partials, pushforward
from zyg.compiler.back.native_function import Native
from zyg.compiler.ir import type_of

from .interpreted import Stopped, interpreted
from .kit import X4, Kit, module_text
from .random_memory import SIZE, random_program


def fresh(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def run(program, args):
    return interpreted(program, *fresh(args))


def printed(program):
    space = {}
    exec(module_text(program, "f"), space)
    return space["f"]


def floats(program, outs):
    """The outputs that have tangents."""
    kinds = map(type_of, program.outputs)
    return [y for y, kind in zip(outs, kinds, strict=False) if kind.startswith("float")]


def differences(program, args, dots, eps):
    """The slopes of all floats along a direction, from values to the left and right."""
    active = [k for k, x in enumerate(program.inputs) if x.type.startswith("float")]

    def at(t):
        moved = fresh(args)
        for k, dot in zip(active, dots, strict=True):
            moved[k] = moved[k] + t * dot
        return floats(program, run(program, moved))

    sides = zip(at(eps), at(-eps), strict=True)
    return [(right - left) / (2 * eps) for right, left in sides]


def assert_near(got, right, rtol):
    assert len(got) == len(right)
    for a, b in zip(got, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def test_only_what_moves_has_tangent_buffers():
    kit = Kit()
    a, (x, n) = kit.number(), kit.array()
    still = kit.alloc("float", n)
    kit.loop(n, [], lambda i: kit.store(still, i, kit.load(x, i)))
    y = kit.alloc("float", 1)
    kit.store(y, 0, kit.multiply(a, kit.load(still, 2)))
    program = kit.program("f", [kit.load(y, 0)])
    made = pushforward(program, [0])

    assert sum(type(op).__name__ == "Alloc" for op in made.body.ops) == 3
    assert run(made, [0.5, 3.0, X4, 4]) == [6.0, 1.0]


def test_of_several_inputs_each_has_its_own_tangents():
    kit = Kit()
    a, b = kit.number(), kit.number()
    x, y = kit.alloc("float", 2), kit.alloc("float", 2)
    kit.store(x, 0, kit.sin(a))
    kit.store(y, 0, kit.multiply(a, b))
    program = kit.program("f", [kit.load(x, 0), kit.load(y, 0)])
    made, masks = partials(program, [0, 1])

    assert masks == [[0], [0, 1]]
    np.testing.assert_allclose(run(made, [0.3, 2.0]), [np.sin(0.3), 0.6, np.cos(0.3), 2.0, 0.3])


def test_an_exact_zero_that_is_stored_meets_no_infinity_where_it_is_to_stay_one():
    kit = Kit()
    a = kit.number()
    x = kit.alloc("float", 1)
    kit.store(x, 0, kit.multiply(a, 0.0))
    program = kit.program("f", [kit.sqrt(kit.load(x, 0))])

    assert np.isnan(run(pushforward(program, [0]), [1.0, 2.0])[1])
    assert run(pushforward(program, [0], strong=True), [1.0, 2.0]) == [0.0, 0.0]


def test_functions_that_call_each_other():
    """even(n, x) = x odd(n - 1, x), odd(n, x) = 1.1 even(n - 1, x): 1 for none."""
    even, odd = Kit(), Kit()
    programs = [kit.program(name, [0.0]) for kit, name in ((even, "even"), (odd, "odd"))]
    for kit, callee, own, factor in (
        (even, programs[1], programs[0], None), (odd, programs[0], programs[1], 1.1),
    ):  # fmt: skip
        n, x = kit.number("int"), kit.number()

        def further(kit=kit, callee=callee, n=n, x=x, factor=factor):
            (y,) = kit.call(callee, kit.subtract(n, 1), x)
            return [kit.multiply(x if factor is None else factor, y)]

        own.body.yields = kit.if_(kit.less(n, 1), lambda: [1.0], further)
    kit = Kit()
    x = kit.number()
    program = kit.program("f", kit.call(programs[0], 5, x))

    np.testing.assert_allclose(
        run(pushforward(program, [0]), [1.0, 0.7]), [1.21 * 0.7**3, 3 * 1.21 * 0.7**2]
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(24))
def test_random_programs(part):
    """Tangents against differences; the module's text and machine code against the interpreter."""
    kinks = 0
    for seed in range(part, 168, 24):
        program, draw = random_program(seed), np.random.default_rng(seed)
        program.sizes = dict.fromkeys(program.inputs[2:], (SIZE,))
        args = [draw.normal(), int(draw.integers(7)), draw.normal(size=SIZE)]
        args.append(draw.integers(0, 7, SIZE))
        dots = [draw.normal(), draw.normal(size=SIZE)]
        moving = pushforward(program, [0, 2])
        try:
            outs = run(moving, [*dots, *args])
            slopes, others = (differences(program, args, dots, eps) for eps in (1e-6, 3e-6))
        except Stopped:
            continue
        for way in (printed(moving), Native(moving)) if seed % 3 == 0 else ():
            assert_near(way(*fresh([*dots, *args])), outs, 1e-11)
        if not all(
            np.allclose(*pair, rtol=1e-5, atol=1e-5) for pair in zip(slopes, others, strict=False)
        ):
            kinks += 1
            continue
        assert_near(outs[5:], slopes, 1e-4)
    assert kinks < 3
