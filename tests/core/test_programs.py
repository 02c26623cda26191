"""Random programs that write into arrays; `programs.py` says what must hold, and grows more.

The first 250 of them; tests/whole/test_more_programs.py goes on.
"""

from collections import Counter

import numpy as np
import pytest

from .programs import KINDS, Failure, Program, check, check_chunk, program, shrink


@pytest.mark.parametrize("chunk", range(2))
def test_random_programs(chunk):
    check_chunk(chunk)


def test_every_kind_of_statement_occurs():
    kinds = Counter(kind for seed in range(600) for kind in program(seed).kinds)
    rare = {kind.__name__ for kind in KINDS if kinds[kind.__name__] < 3}
    assert not rare


def test_programs_are_the_same_for_the_same_seed():
    assert str(program(17)) == str(program(17))
    assert str(program(17)) != str(program(18))


def test_a_wrong_program_is_found_and_shrunk():
    # stop_gradient makes a derivative wrong on purpose; the other statements are not needed.
    wrong = Program(
        np.array([0.3, -0.4]),
        ("a = x * 1", "b = np.cos(x)", "import zyg", "a[0] *= zyg.stop_gradient(b[1])", "b += 1"),
        ("a", "b"),
    )
    failure = check(wrong)
    small = shrink(wrong, failure, second=False)

    assert isinstance(failure, Failure)
    assert failure.what == "the gradient is wrong"
    assert small.names == ("a",)
    assert small.statements == wrong.statements[:4]
