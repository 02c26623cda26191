"""Functions at points that are special to one of them: NaN, infinities, zeros, orders, types."""

import numpy as np
import pytest

import zyg

from .calls import call
from .case import Case, compiled_of
from .engines import ENGINES, MACHINE_CODE
from .expressions import EDGES, SPECIAL
from .points import APART, HOLE
from .programs import of_text, written

PROGRAMS = [written(f, c)[:2] for f, c in APART]
PROGRAMS += [(of_text(text, len(leaves)), leaves) for text, leaves in SPECIAL]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_machine_code_agrees_at_special_points(number):
    program, leaves = PROGRAMS[number]
    case = Case(program.text, program, leaves)
    for engine in MACHINE_CODE.values():
        try:
            engine(case)
        except Exception as error:
            error.add_note(program.text)
            raise


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "leaves"), EDGES)
@pytest.mark.parametrize("engine", ["traced", "reverse", "forward", "second"])
def test_the_tracer_agrees_where_numpy_is_apart(engine, text, leaves):
    ENGINES[engine](Case(text, of_text(text, len(leaves)), leaves))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("c", [call(np.zeros(0)), call(np.array([1.0, 2.0]))])
def test_bincount_of_floats_raises(c):
    f = compiled_of(written(np.bincount, c)[0])
    with pytest.raises(TypeError, match="cast"):
        f(*c.args)


@pytest.mark.filterwarnings("ignore")
def test_vander_takes_one_axis():
    f = compiled_of(written(np.vander, call(np.ones((1, 1)), 3))[0])
    with pytest.raises(ValueError, match="one-dimensional"):
        f(np.ones((1, 1)))


def test_values_at_special_points_are_machine_code():
    f = compiled_of(written(np.prod, call(HOLE))[0])
    f(HOLE + 1)

    with zyg.config(fallback="error"):
        assert np.isnan(f(HOLE))
