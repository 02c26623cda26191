"""Text of watched numbers: a str for everything but becoming a number again."""

import ast
import copy
import decimal
import io
import json
import logging
import pickle
import pprint
import reprlib
import sys

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, TextWarning

pytestmark = pytest.mark.filterwarnings("ignore::zyg.errors.TextWarning")

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
    lambda x: float(str(x).encode()),
    lambda x: float(str(x).encode().decode()),
    lambda x: float((str(x) + "\n").encode()),
    lambda x: float("1" + str(x)),
    lambda x: float((str(x) + " 7").split()[0]),
    lambda x: float((str(x) + "=").partition("=")[0]),
    lambda x: float(str(x).replace("x", "")),
    lambda x: float(f"{x}"[0]),
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
    text = str(zyg.explain(lambda x: 2.0 * float("".join(["1", str(x)])), 1.5))
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


MADE = {
    "an f-string": lambda x: f"{x}\n",
    "join": lambda x: ",".join([str(x), "2"]),
    "a list": lambda x: str([x]),
    "a file": lambda x: io.StringIO().write(str(x)),
    "Decimal": lambda x: decimal.Decimal(repr(x)),
    "% formatting": lambda x: "%s;" % x,  # noqa: UP031
    "a message": lambda x: json.dumps({"x": str(x)}),
    "NumPy's arrays of text": lambda x: np.array([str(x), "a"]),
    "enough digits": lambda x: f"{x:.17g},",
    "padding": lambda x: f"{x:20},",
}


@pytest.mark.filterwarnings("error::zyg.errors.TextWarning")
@pytest.mark.parametrize("name", MADE)
def test_a_line_that_makes_text_of_all_digits_is_told_so(name):
    def f(x):
        MADE[name](x)
        return x

    with pytest.warns(TextWarning, match="text with all digits of a watched number") as told:
        assert zyg.gradient(f, 1.5) == (1.0,)
    assert {w.filename for w in told} == {__file__}
    with zyg.config(text="refuse"), pytest.raises(ConversionError, match="text with all digits"):
        zyg.gradient(f, 1.5)
    with zyg.config(text="allow"):
        assert zyg.gradient(f, 1.5) == (1.0,)


def printed(x):
    print(f"x = {x}")


def raised(x):
    with pytest.raises(ValueError, match=r"^x = 1\.5, which is 1\.5$"):
        raise ValueError(f"x = {x}, which is {x!r}")


def logged(x):
    logging.getLogger("zyg.tests").debug("x = %s", x)
    logging.getLogger("zyg.tests").warning(f"x = {x}")


def by_a_function(x):
    def shown(x):
        return f"<{x}>"

    print(shown(x), [shown(k * x) for k in range(2)], sep="\n")


SHOWN = {
    "printed": printed, "raised": raised, "logged": logged, "by a function": by_a_function,
    "pprint": lambda x: pprint.pformat({"x": x}),
    "the error stream": lambda x: sys.stderr.write(f"{x}\n"),
    "rounded": lambda x: f"{x:.3f}, {x:8.2e}, {x:.14g}",
    "a debugger": lambda x: reprlib.repr(x),
    "an int": lambda x: f"layer {(2 if x else x)}",
}  # fmt: skip


@pytest.mark.filterwarnings("error::zyg.errors.TextWarning")
@pytest.mark.parametrize("name", SHOWN)
def test_text_that_is_shown_is_not_warned_of(name):
    with zyg.config(text="refuse"):
        assert zyg.gradient(lambda x: (SHOWN[name](x), x)[1], 1.5) == (1.0,)
    assert zyg.gradient(lambda n: (f"layer {n}", n)[1], 3) == (1.0,)


def test_what_a_library_says_of_a_refusal_is_not_warned_of():
    def send(x):
        try:
            pickle.dumps(x)
        except ConversionError as error:
            said.append(" ".join(["could not serialize", str(x)]))
            raise TypeError from error

    said = []
    with zyg.config(text="refuse"), pytest.raises(TypeError):
        zyg.gradient(send, 1.5)
    assert said == ["could not serialize 1.5"]
