"""What `inspect` says: a dict that prints as a table."""

import math
import re

import numpy as np

import zyg


def summed(xs):
    s = 0.0
    for x in xs:
        s += math.sin(math.exp(x))
    return s


def until(x, n):
    while x < n:
        x = x * 1.1 + math.sin(x)
    return x


def trying(x):
    try:
        return x
    except ValueError:
        return -x


def test_it_prints_each_form_in_a_row_without_the_programs():
    found = zyg.compile(summed).inspect(np.ones(100))

    assert isinstance(found, dict)
    assert {*found["forms"]} == {"value", "gradient"}
    assert found["bytes"] == sum(found["kept"].values())
    assert "multiply" in found["gradient"]
    text = repr(found)
    assert str(found) == text
    assert re.fullmatch(
        r"summed: machine code\n"
        r"  form +mode +machine code +seconds +kept\n"
        r"  value +(disk|compiled) +\d+\.\d{3}\n"
        r"  gradient +reverse +(disk|compiled) +\d+\.\d{3} +\d buffers?, [\d,]+ bytes",
        text,
    )


def test_a_tape_that_grows_has_no_size_before_the_call():
    found = zyg.compile(until).inspect(1.0, 7.0)

    assert found["bytes"] is None
    assert repr(found).endswith("buffer, sizes are found in the call")


def test_what_is_not_compiled_says_why():
    found = zyg.compile(trying).inspect(1.0)

    assert not found["native"]
    assert repr(found).startswith("trying: runs in Python\n  a try cannot be used")
    assert "test_inspection.py" in repr(found)


def test_derivatives_that_are_traced_are_a_row_with_a_reason():
    found = zyg.compile(lambda n: np.sum(np.arange(3) * n)).inspect(np.array([1, 2, 3]))

    assert found["native"]
    assert found["forms"]["gradient"] == {"mode": "traced"}
    assert re.search(r"\n  gradient +traced$", repr(found))
