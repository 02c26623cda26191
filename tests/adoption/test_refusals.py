"""What cannot be adopted, and what the messages say about it."""

import math
import sys
import types

import numpy as np
import pytest

import zyg
from zyg.errors import AdoptionError


def refusal(*asked):
    before = zyg.adopted().modules
    with pytest.raises(AdoptionError) as caught:
        zyg.adopt(*asked)
    assert zyg.adopted().modules == before
    text = str(caught.value)
    assert f"where: {__file__}" in text
    return text


@pytest.mark.parametrize(
    "asked",
    [np, "numpy", "numpy.linalg", "scipy", "scipy.optimize", math, "cmath", "statistics", zyg,
     "zyg", "zyg.functions", "zyg_cuda", "numba", "llvmlite"],
)  # fmt: skip
def test_what_drop_ins_stand_for_is_refused_by_name(asked):
    name = asked if isinstance(asked, str) else asked.__name__
    text = refusal(asked)

    assert text.startswith(f"{name} cannot be adopted. [adoption]\n")
    assert "fix:   adopt the module that uses it, by its own name." in text


def test_what_does_not_exist_is_refused_with_what_looks_like_it(write):
    write({"colour/__init__.py": "", "colour/models.py": ""})

    assert "no module 'colur'; there is colour" in refusal("colur")
    assert "no module 'colour.model'; there is colour.models. [" in refusal("colour.model")
    assert "no module 'colour.models.xyz'. [" in refusal("colour.models.xyz")
    assert "no module 'xqzzy'. [" in refusal("xqzzy")
    assert "no module ''. [" in refusal("")
    assert "no module '.colour'" in refusal(".colour")


def test_what_is_not_python_is_refused(write, monkeypatch):
    for name in ("builtins", "sys", "time", "_elementtree", "itertools"):
        assert f"{name} cannot be adopted: it is compiled" in refusal(name)
    monkeypatch.delitem(sys.modules, "_elementtree")
    assert "_elementtree cannot be adopted: it is compiled" in refusal("_elementtree")


def test_what_is_no_module_is_refused():
    assert "not 3 (int)" in refusal(3)
    assert "not sin (ufunc)" in refusal(np.sin)
    assert "not None (NoneType)" in refusal(None)
    assert "nothing to adopt" in refusal()


def test_nothing_is_adopted_if_one_is_refused(write):
    write({"good.py": "import math"})
    import good

    refusal("good", "xqzzy")
    assert good.math is math


def test_a_refusal_is_an_import_error_and_goes_through_pickle():
    import pickle

    with pytest.raises(ImportError) as caught:
        zyg.adopt("numpy")
    same = pickle.loads(pickle.dumps(caught.value))
    assert (type(same), str(same)) == (AdoptionError, str(caught.value))


def conversion(f):
    with pytest.raises(zyg.errors.ConversionError) as caught:
        zyg.gradient(f, 0.5)
    return str(caught.value)


def test_a_refusal_in_a_module_that_could_be_adopted_says_so(write):
    folder = write({
        "lib/__init__.py": "",
        "lib/a.py": "import math, struct\ndef f(x): return math.exp(x)\n"
        "def g(x): return struct.pack('d', x)",
        "single.py": "import math\ndef f(x): return math.exp(x)",
        "x-packages/installed.py": "import math\ndef f(x): return math.exp(x)",
    })  # fmt: skip
    sys.path.insert(0, str(folder / "x-packages"))
    import installed
    import single
    from lib import a

    assert 'call zyg.adopt("lib") once;' in conversion(a.f)
    assert 'call zyg.adopt("installed") once' in conversion(installed.f)
    assert "call zyg.adopt(__name__) once" in conversion(single.f)
    with zyg.adopt(a):
        assert "zyg.adopt(" not in conversion(a.g)
        assert "zyg.adopt(" in conversion(single.f)


def test_what_scipy_runs_is_its_callers_to_adopt(write):
    write({
        "solving/__init__.py": "from scipy import integrate\n"
        "def f(x): return integrate.quad(lambda y: y * x, 0, 9)[0]"
    })  # fmt: skip
    import solving

    assert 'call zyg.adopt("solving") once' in conversion(solving.f)


def test_what_is_adopted_is_printed(write):
    write({"lib/__init__.py": "", "lib/a.py": "import numpy as np\nfrom math import sin as s"})
    import lib.a  # noqa: F401

    adoption = zyg.adopt("lib")
    mine = types.ModuleType("mine")
    zyg.adopt(mine)

    assert repr(adoption) == "adopted:\n  lib: -\n  lib.a: np, s"
    assert repr(zyg.adopted()) == "adopted:\n  lib: -\n  lib.a: np, s\n  mine: -"
    adoption.release()
    assert repr(adoption) == "adopted:\n  nothing"
    assert repr(zyg.adopted()) == "adopted:\n  mine: -"
