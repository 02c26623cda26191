"""An axis that an array does not have: what NumPy raises, every engine raises."""

import inspect

import pytest

from . import tables
from .calls import call
from .case import Case
from .engines import ENGINES
from .programs import written

WORDS = ("axis", "axis1", "axis2", "axisa", "axes")


def _calls():
    for table in (tables.NUMPY, tables.DROP_INS):
        for f, some in table.items():
            try:
                names = [*inspect.signature(f).parameters]
            except (TypeError, ValueError):
                continue
            for word in WORDS:
                if word not in names:
                    continue
                place = names.index(word)
                fits = [c for c in some if type(_given(c, word, place)) in (int, type(None))]
                if fits:
                    yield f, fits[-1], word, place


def _given(c, word, place):
    return c.args[place] if place < len(c.args) else c.kwargs.get(word)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("f", "c", "word", "place"), [*_calls()],
                         ids=[f"{f.__name__}-{word}" for f, _, word, _ in _calls()])  # fmt: skip
@pytest.mark.parametrize("beyond", [9, -9])
def test_an_axis_that_is_not_there_is_refused_as_numpy_does(f, c, word, place, beyond):
    args, kwargs = list(c.args), dict(c.kwargs)
    if place < len(args):
        args[place] = beyond
    else:
        kwargs[word] = beyond
    program, leaves, fixed = written(getattr(f, "inside", f), call(*args, **kwargs))
    case = Case(f"{program.text} {word}={beyond}", program, leaves, fixed)
    for engine in ("traced", "compiled"):
        ENGINES[engine](case)
