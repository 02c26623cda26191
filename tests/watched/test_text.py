"""Text of watched numbers: a str for everything but becoming a number again."""

import ast
import copy
import json
import pickle

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError

AGAIN = [
    lambda x: float(str(x)),
    lambda x: float(f"{x:.18f}"),
    lambda x: float(f"{x}"),
    lambda x: float(f"{x!r:>10}".strip()),
    lambda x: float(format(x, ".3e")),
    lambda x: float(str(str(x))),
    lambda x: int(f"{x:.0f}"),
    lambda x: np.float64(str(x)),
    lambda x: np.float32(repr(x)),
    lambda x: np.array([str(x)], float)[0],
    lambda x: np.zeros(1).__setitem__(0, str(x)),
    lambda x: ast.literal_eval(repr(x)),
]


@pytest.mark.parametrize("x", [1.5, 2, np.float64(0.25)], ids=repr)
@pytest.mark.parametrize("f", AGAIN)
def test_text_does_not_become_a_number_again(f, x):
    if f is AGAIN[0]:
        with pytest.raises(ConversionError, match="text made of a watched number would become"):
            zyg.gradient(f, x)
    for verb in (zyg.gradient, zyg.hessian, lambda f, x: zyg.pushforward(f, (x,), (1.0,))):
        with pytest.raises(ConversionError):
            verb(f, x)


def test_text_is_a_str_for_everything_else(capsys):
    def f(x):
        s = str(x)
        assert isinstance(s, str)
        assert (s, hash(s), {s: 1}["1.5"], "".join([s, "a"])) == ("1.5", hash("1.5"), 1, "1.5a")
        assert json.dumps({s: [s]}) == '{"1.5": ["1.5"]}'
        for again in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s)):
            assert again == "1.5"
            assert type(again) is str
        assert (f"{x:6.2f}", f"{s:>5}", repr(x), s.split("."), s.encode()) == (
            "  1.50", "  1.5", "1.5", ["1", "5"], b"1.5",
        )  # fmt: skip
        assert np.array([s, "a"]).dtype.kind == "U"
        print(s)
        return x * len(s)

    assert zyg.gradient(f, 1.5) == (3.0,)
    assert capsys.readouterr().out == "1.5\n"


def test_text_that_outlives_its_gradient_is_plain():
    kept = []
    zyg.gradient(lambda x: kept.append(str(x)) or x, 2.5)
    assert float(kept[0]) == 2.5


def test_explain_names_the_line():
    text = str(zyg.explain(lambda x: 2.0 * float("1" + str(x)), 1.5))
    assert "str() at " in text
    assert "test_text.py" in text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (str, "str()"),
        (repr, "repr()"),
        (lambda x: f"{x}", "format()"),
        (lambda x: f"{x:.3f}", "format()"),
        (lambda x: format(x, ".2e"), "format()"),
        (lambda x: "%s" % x, "str()"),  # noqa: UP031
        (lambda x: "%.3f" % x, "% formatting"),  # noqa: UP031
    ],
)
@pytest.mark.parametrize("x", [1.5, np.float64(1.5)], ids=["float", "float64"])
def test_explain_names_text_as_where_the_dependence_ended(text, name, x):
    said = str(zyg.explain(lambda x: (text(x), 1.0)[1], x))

    assert f"the dependence ends here:\n    {name} at" in said
