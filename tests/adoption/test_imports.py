"""Modules that are imported while others are adopted, by whatever way."""

import importlib
import importlib.util
import subprocess
import sys
import types

import pytest

import zyg
import zyg.__main__

EXP = "import math\ndef f(x): return math.exp(2 * x)\n"


def slope(f, x=0.0):
    return zyg.gradient(f, x)[0]


def test_parts_of_a_package_that_are_imported_later_are_adopted(write):
    write({
        "pkg/__init__.py": "",
        "pkg/a.py": EXP,
        "pkg/b/__init__.py": "from pkg import a",
        "pkg/b/c.py": EXP,
        "pkgs.py": EXP,
    })  # fmt: skip
    import pkg

    with zyg.adopt(pkg):
        import pkg.b.c
        import pkgs

        assert slope(pkg.a.f) == slope(pkg.b.c.f) == 2
        assert zyg.adopted().modules.keys() == {"pkg", "pkg.a", "pkg.b", "pkg.b.c"}
    for module in (pkg.a, pkg.b.c, pkgs):
        with pytest.raises(zyg.errors.ConversionError):
            slope(module.f)


def test_a_package_is_imported_as_it_would_be_and_adopted_then(write):
    """What it asks of NumPy while it is imported is not zyg's, not even in its last module."""
    ask = "import sys, math\nassert math is sys.modules['math']\n"
    write({
        "pkg/__init__.py": ask + "from .a import *\n" + ask,
        "pkg/a.py": ask + "from math import exp\ndef f(x): return exp(2 * x)\n",
        "pkg/b.py": ask + "from .a import exp, math\nassert math is sys.modules['math']\n",
    })  # fmt: skip
    (write({"pkg/__init__.py": ask + "from .a import *\nfrom . import b\n" + ask}))
    with zyg.adopt("pkg"):
        import pkg

        assert slope(pkg.f) == 2
        assert {"pkg.b": ["exp", "math"]}.items() <= zyg.adopted().modules.items()
    assert pkg.b.exp is pkg.exp is sys.modules["math"].exp


def test_a_package_in_whose_place_an_object_stands_is_adopted_by_it(write):
    write({
        "pkg/__init__.py": """
            import sys
            from pkg import a
            class StandIn:
                def __init__(self, module): self.module = module
                def __getattr__(self, name): return getattr(self.module, name)
            sys.modules["pkg"] = StandIn(sys.modules["pkg"])
        """,
        "pkg/a.py": EXP,
    })  # fmt: skip
    import pkg

    with zyg.adopt(pkg):
        assert slope(pkg.a.f) == 2


def test_circular_imports(write):
    write({
        "circle/__init__.py": "from circle import a",
        "circle/a.py": "import math\nfrom circle import b\ndef f(x): return b.g(x)",
        "circle/b.py": "import circle.a\ndef g(x): return circle.a.math.exp(2 * x)",
    })  # fmt: skip
    with zyg.adopt("circle"):
        import circle

        assert slope(circle.a.f) == 2


def test_lazy_modules(write):
    write({
        "lazy/__init__.py": """
            import importlib
            def __getattr__(name):
                if name != "part":
                    raise AttributeError(name)
                return importlib.import_module("lazy.part")
        """,
        "lazy/part.py": EXP,
    })  # fmt: skip
    import lazy

    with zyg.adopt("lazy"):
        assert zyg.adopted().modules == {"lazy": []}
        assert slope(lazy.part.f) == 2


def test_a_module_of_the_lazy_loader_is_not_loaded_by_being_adopted(write):
    write({"slow.py": "print('loaded')\n" + EXP})
    with zyg.adopt("slow"):
        spec = importlib.util.find_spec("slow")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        slow = sys.modules["slow"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(slow)
        with zyg.adopt("slow"):
            pass
        assert type(slow) is not types.ModuleType
        assert slope(slow.f) == 2
        assert type(slow) is types.ModuleType


def test_namespace_packages(write):
    write({"space/a.py": EXP})
    with zyg.adopt("space"):
        import space.a

        assert slope(space.a.f) == 2


def test_reloading(write):
    path = write({"again.py": EXP})
    import again

    with zyg.adopt("again"):
        (path / "again.py").write_text("from math import sin, exp\ndef f(x): return sin(3 * x)")
        importlib.reload(again)
        assert slope(again.f) == 3
    assert again.sin is sys.modules["math"].sin
    assert again.math is sys.modules["math"]  # a name of before, which reloading does not remove
    with pytest.raises(zyg.errors.ConversionError):
        slope(again.f)


def test_a_module_that_fails_is_as_if_it_had_never_been(write):
    path = write({"failing.py": "import math\n1 / 0"})
    with zyg.adopt("failing"):
        with pytest.raises(ZeroDivisionError):
            import failing
        assert zyg.adopted().modules == {}
        (path / "failing.py").write_text(EXP)
        importlib.invalidate_caches()
        import failing

        assert slope(failing.f) == 2


def test_another_finder_that_asks_all_finders(write, monkeypatch):
    class Asking:
        def find_spec(self, name, path=None, target=None):
            for finder in sys.meta_path:
                if finder is not self and (spec := finder.find_spec(name, path, target)):
                    return spec
            return None

    write({"asked.py": EXP})
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    with zyg.adopt("asked"):
        sys.meta_path.insert(0, Asking())
        sys.meta_path.append(Asking())
        import asked

        assert slope(asked.f) == 2


def test_who_stands_before_imports_meanwhile_stays_there(write, monkeypatch):
    import builtins

    ours = builtins.__import__
    write({"used.py": "def f(x):\n import math\n return math.exp(2 * x)"})
    import used

    adoption = zyg.adopt("used")
    inner = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", lambda *args, **options: inner(*args, **options))
    theirs = builtins.__import__
    adoption.release()
    assert builtins.__import__ is theirs
    with zyg.adopt("used"):
        assert slope(used.f) == 2
    with pytest.raises(zyg.errors.ConversionError):
        slope(used.f)
    monkeypatch.undo()
    assert builtins.__import__ is not ours  # what they put back is what they found
    builtins.__import__ = ours


SCRIPT = """
import sys
import zyg
{before}
import math as m
import numpy as np
from numpy import linalg
from math import sin
from pathlib import Path
{after}

def f(x):
    import scipy.special as special
    z = np.zeros(2)
    z[0] = m.exp(x)
    return sin(z[0]) + special.logsumexp(np.array([x, 2 * x])) + linalg.norm(np.array([x, x]))

def plain(x):
    return np.sin(np.exp(x)) + np.log(np.exp(x) + np.exp(2 * x)) + np.sqrt(2 * x * x)

slopes = zyg.gradient(f, 0.5)[0], zyg.gradient(plain, 0.5)[0]
"""


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_script_adopts_itself_before_its_imports_or_after_them(write, place):
    line = {"before": "", "after": "", place: "zyg.adopt(__name__)"}
    write({"script.py": SCRIPT.format(**line)})
    import script

    assert script.slopes[0] == pytest.approx(script.slopes[1], rel=1e-12)


def test_names_that_are_not_those_of_a_module_are_adopted_by_their_own():
    names = {"__name__": "nowhere", "zyg": zyg}
    exec(SCRIPT.format(before="adoption = zyg.adopt(__name__)", after=""), names)
    assert names["slopes"][0] == pytest.approx(names["slopes"][1], rel=1e-12)
    names["adoption"].release()
    assert names["m"] is sys.modules["math"]


@pytest.fixture
def run_main(monkeypatch):
    """python -m zyg, in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", list(sys.argv))
        monkeypatch.setattr(sys, "path", ["", *sys.path])
        monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        zyg.__main__.main([*map(str, arguments)])
        return sys.modules["__main__"]

    return run


def test_a_script_is_run_adopted_and_so_are_the_modules_beside_it(write, run_main):
    folder = write({
        "run.py": SCRIPT.format(before="from beside.deep import g", after="import os")
        + "\nassert __name__ == '__main__' and sys.argv == [__file__, '-x', '1']\n"
        + "import pickle\nassert pickle.loads(pickle.dumps(f)) is f\n"
        + "deep = zyg.gradient(g, 0.0)\n",
        "beside/__init__.py": "",
        "beside/deep.py": "from math import exp\ndef g(x): return exp(2 * x)",
        "site-packages/other.py": EXP,
    })  # fmt: skip
    main = run_main(folder / "run.py", "-x", "1")

    assert main.slopes[0] == pytest.approx(main.slopes[1], rel=1e-12)
    assert main.deep == (2.0,)
    assert {"__main__", "beside.deep"} <= zyg.adopted().modules.keys()
    assert main.__file__ == str(folder / "run.py")
    assert sys.path[0] == str(folder.resolve())
    sys.path.insert(0, str(folder / "site-packages"))
    import other

    with pytest.raises(zyg.errors.ConversionError):
        slope(other.f)


@pytest.mark.parametrize("arguments", [[], ["-c"]])
def test_a_command_without_a_script_says_how_it_is_used(run_main, arguments):
    with pytest.raises(SystemExit, match=r"usage: python -m zyg script.py \[arguments\]"):
        run_main(*arguments)


def test_a_command_with_a_script_that_is_not_there_says_so(run_main):
    with pytest.raises(SystemExit, match=r"cannot read nowhere\.py: No such file"):
        run_main("nowhere.py")


@pytest.mark.slow
def test_the_command(write):
    folder = write({
        "run.py": "import math, sys, zyg\nprint(zyg.gradient(lambda x: math.exp(2 * x), 0.0))\n"
        "sys.exit(len(sys.argv))"
    })  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "zyg", str(folder / "run.py"), "a"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "(2.0,)\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("line", ["x = 1 / 0", "x = = 1", "import math, zyg; zyg.gradient(g, 1.0)"])
def test_the_traceback_of_a_script_is_that_without_the_command(write, line):
    text = f"def g(x):\n    return [1.0][2] * x\n{line}\n"
    path = str(write({"run.py": text}) / "run.py")
    plain, adopted = (
        subprocess.run([sys.executable, *options, path], capture_output=True, text=True)
        for options in ([], ["-m", "zyg"])
    )
    assert plain.returncode == adopted.returncode == 1
    assert plain.stderr == adopted.stderr
