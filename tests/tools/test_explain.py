"""What `explain` says: what is kept, where a dependence ended, which lines conflict."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import zyg
import zyg.numpy as znp


class Model:
    def __init__(self):
        self.w = np.ones((3, 3))
        self.unused = 2.0
        self.threshold = 1.5
        self.steps = 2
        self.frozen = 4.0


def loss(m, x):
    h = np.tanh(m.w @ x)
    if m.threshold > 1:
        h = h * 2
    for _ in range(m.steps):
        h = h + 1
    return np.sum(h * zyg.stop_gradient(m.frozen))


def test_an_explanation_names_where_each_dependence_ended():
    text = str(zyg.explain(loss, Model(), np.ones(3)))

    assert "argument 0.w: the value depends on it" in text
    assert "argument 0.unused: its gradient is None; no operation uses it" in text
    ends = text[text.index("argument 0.threshold") :]
    assert "None; the dependence ends here:\n    > at " in ends
    assert "if m.threshold > 1:" in ends
    assert "use as an index at " in text[text.index("argument 0.steps") :]
    assert "stop_gradient at " in text[text.index("argument 0.frozen") :]


def test_an_explanation_counts_what_each_line_saves_once():
    saved = zyg.explain(loss, Model(), np.ones(3)).saved()

    (line,) = [line for line in saved if "np.tanh" in line]
    assert __file__ in line
    assert saved[line] == 9 * 8 + 3 * 8 + 3 * 8  # w, x, and the result of tanh


def test_an_overwritten_value_is_reported_with_the_line_of_the_write():
    def f(x):
        b = znp.zeros(2)
        b[0] = x * 2
        b[0] = 1.0
        return np.sum(b)

    text = str(zyg.explain(f, 3.0))

    assert "argument 0: its gradient is zero" in text
    assert "overwritten at " in text
    assert "b[0] = 1.0" in text


def test_what_does_not_reach_the_value_is_said_to():
    text = str(zyg.explain(lambda x, y: (np.sin(y), x * x)[1], 3.0, 2.0))

    assert "argument 1: its gradient is None; what depends on it does not reach the value" in text


def test_integer_casts_and_constant_functions_are_reported():
    text = str(zyg.explain(lambda x, y: x[int(y)] * np.argmax(x), np.ones(3), 1.7))

    assert "int() at " in text
    assert "argument 0: its gradient is zero" in text
    assert "argmax, which is constant at " in text


def set_first(c):
    c[0] = 5.0


def put_product(c):
    np.dot(np.ones(1000), 2.0, out=c)  # NumPy says of it that it is "not acceptable"


@pytest.mark.parametrize(
    ("write", "line"),
    [(set_first, "c[0] = 5.0"), (put_product, "np.dot(np.ones(1000), 2.0, out=c)")],
)
def test_a_mutation_conflict_names_both_lines(write, line):
    c = np.ones(1000)

    def f(x):
        y = x * c
        write(c)
        return np.sum(y)

    with pytest.raises(ValueError, match=r"read-only|not acceptable") as caught:
        zyg.explain(f, np.ones(1000))
    notes = "\n".join(caught.value.__notes__)
    assert "written at " in notes
    assert line in notes
    assert "y = x * c" in notes
    assert c.flags.writeable


def test_results_of_any_structure_are_explained():
    text = str(zyg.explain(lambda p: {"a": p[0] * p[1], "b": np.divmod(p[1], 2.0)}, [2.0, 3.0]))

    assert "argument 0[0]: the value depends on it" in text
    assert "argument 0[1]: the value depends on it" in text


def test_pictures_show_every_entry():
    e = zyg.explain(loss, Model(), np.ones(3))

    assert e.dot().startswith("digraph explanation {")
    assert e.dot().count("->") >= 6
    picture = ET.fromstring(e.svg())
    texts = [t.text for t in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"matmul", "tanh", "value", "argument 0.w"} <= set(texts)
    assert e.svg() in e.html()
    assert "&lt;" not in e.html() or "<pre>" in e.html()


def test_a_large_program_is_told_in_text_only():
    def f(x):
        for _ in range(500):
            x = x * 1.5
        return x

    e = zyg.explain(f, 1.0)

    assert "500" in str(e)
    assert "<svg" not in e.html()
    with pytest.raises(ValueError, match="too many for a picture"):
        e.dot()


def test_explaining_leaves_nothing_behind():
    before = zyg.gradient(np.sin, 0.5)
    zyg.explain(np.sin, 0.5)

    assert zyg.gradient(np.sin, 0.5) == before
    assert zyg.nestlevel() == 0
