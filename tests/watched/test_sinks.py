"""Calls of other libraries that only look at values: as with plain ones, and nothing else is."""

import importlib
import io
import json
import logging
import sys
import threading
import types

import numpy as np
import pytest
import rich.console
import rich.progress
import rich.table
from tqdm import tqdm

import zyg
from zyg.base.sinks import declared
from zyg.errors import ConversionError, ZygError

X = np.array([1.0, 2.0, 4.0, 3.0])


def logged(x):
    stream = io.StringIO()
    handler, logger = logging.StreamHandler(stream), logging.getLogger("zyg.tests")
    logger.addHandler(handler)
    logger.warning("%s %.3f %d", x, x[0], x[1])
    logger.removeHandler(handler)
    return stream.getvalue()


def saved(save, *places):
    def text(x):
        file = io.StringIO() if save is np.savetxt else io.BytesIO()
        save(file, *(x if place is None else x[place] for place in places))
        return file.getvalue()

    return text


def passes(test, more=0.0):
    return lambda x: test(x, x + more) or "passed"


def barred(x):
    stream = io.StringIO()
    with tqdm(x, file=stream, mininterval=1e9, bar_format="{desc}{n}{postfix}") as bar:
        for a in bar:
            bar.set_description(f"{a:.2f}")
            bar.set_postfix(loss=a, all=x)
            bar.write(str(a), file=stream)
    return stream.getvalue()


def made_rich(x):
    console = rich.console.Console(file=io.StringIO())
    table = rich.table.Table("loss")
    table.add_row(f"{x[0]:.2f}")
    console.print(x[0], [x[1]], {"x": x}, table)
    columns = "{task.description}", rich.progress.BarColumn()  # none that tells the time
    with rich.progress.Progress(*columns, console=console) as progress:
        task = progress.add_task("steps", total=10)
        progress.update(task, advance=x[0])
        progress.update(task, completed=x[1])
    return console.file.getvalue()


TEXTS = {
    "print": lambda x: f"{x} {x[0]:.2f} {x[0]:.9f}",
    "%": lambda x: "%s %.3f %d" % (x, x[0], x[1]),  # noqa: UP031
    "logging": logged,
    "tqdm": barred,
    "rich": made_rich,
    "array2string": np.array2string,
    "format_float": lambda x: np.format_float_positional(x[1], precision=2),
    "json": lambda x: json.dumps({"loss": x[0]}, default=float),
    "save": saved(np.save, None),
    "save list": lambda x: saved(lambda file, *numbers: np.save(file, [*numbers]), 0, 1)(x),
    "savetxt": saved(np.savetxt, None),
    "savez": lambda x: len(saved(np.savez, None)(x)),
    "allclose": passes(np.testing.assert_allclose),
    "almost_equal": passes(np.testing.assert_array_almost_equal),
    "less": passes(np.testing.assert_array_less, 1.0),
    "approx_equal": lambda x: np.testing.assert_approx_equal(x[0], x[0]) or "passed",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_and_files_are_those_of_plain_values(name):
    seen = []

    def f(x):
        y = x * 1.0
        seen.append(TEXTS[name](y))
        return np.sum(y * y)

    np.testing.assert_array_equal(zyg.gradient(f, X)[0], 2 * X)
    zyg.pushforward(f, (X,), (X,))
    np.testing.assert_array_equal(
        zyg.gradient(lambda x: np.sum(zyg.gradient(f, x)[0] ** 2), X)[0], 8 * X
    )
    assert seen == 3 * [TEXTS[name](X)]


def test_a_test_that_fails_fails():
    def f(x):
        np.testing.assert_allclose(x, x + 1)
        return np.sum(x)

    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        zyg.gradient(f, X)


def test_tofile(tmp_path):
    def f(x):
        (x * 2).tofile(tmp_path / "x")
        return np.sum(x * x)

    np.testing.assert_array_equal(zyg.gradient(f, X)[0], 2 * X)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "x"), 2 * X)


def test_json_alone_says_what_to_write():
    note = "zyg: json was given a watched value: give it zyg.stop_gradient(x)."
    for verb in zyg.gradient, zyg.hessian:
        with pytest.raises(TypeError, match="not JSON serializable") as info:
            verb(lambda x: len(json.dumps([x])) * x, 1.0)
        assert info.value.__notes__ == [note]


def test_an_amount_of_tqdms_says_what_to_write():
    def f(x):
        with tqdm(total=10, file=io.StringIO()) as bar:
            bar.update(x)
        return x

    with pytest.raises(TypeError, match="timedelta") as info:
        zyg.gradient(f, 2.0)
    assert any("zyg.stop_gradient(x)" in note for note in info.value.__notes__)


# Pictures

plt = pytest.importorskip("matplotlib").use("Agg") or pytest.importorskip("matplotlib.pyplot")


def curves(x):
    _, ax = plt.subplots()
    (line,) = ax.plot(x, x * x, "o-", lw=x[0])
    line.set_ydata(2 * x)
    ax.scatter(x, x, c=x, s=10 * x)
    ax.errorbar(range(4), x, yerr=x / 4)
    ax.fill_between(range(4), x, 2 * x)
    ax.set_xlim(0, x[2])
    ax.set(ylim=(0, x[2]), title=f"{x[0]:.3f}")
    ax.set_xticks(x)
    ax.axhline(x[0])
    ax.annotate("here", (x[0], x[0]), (x[1], x[1]), arrowprops={})
    plt.semilogy(x)


def bars(x):
    plt.bar(range(4), x)
    plt.barh([x[0], x[1]], [1.0, x[2]])
    plt.hist(x)
    (plt.gca()
        .hist(x, bins=3, density=True,
              weights=x))  # fmt: skip
    plt.gca().boxplot(x)
    plt.axis((0, x[2], 0, x[2]))


def images(x):
    a = np.outer(x, x)
    image = plt.imshow(a, vmin=x[0], extent=(0, x[0], 0, x[1]))
    image.set_data(a + 1)
    image.set_clim(x[0], x[2])
    plt.colorbar(image)
    plt.contour(a, levels=[x[0], x[1]])
    plt.contourf(a)
    plt.pcolormesh(a)
    plt.figure().gca().hist2d(x, x)


def shapes(x):
    ax = plt.gca()
    ax.add_patch(plt.Rectangle((x[0] / 9, x[0] / 9), x[1] / 9, 0.1))
    ax.add_patch(plt.Circle((x[0] / 9, 0.5), x[1] / 9))
    plt.figure().add_subplot(projection="3d").plot(x, x, x)
    plt.figure().add_subplot(projection="polar").plot(x, x)


def drawn():
    """The pixels of the figures that are open, which are closed."""
    pixels = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format="raw", dpi=30)
        pixels.append(file.getvalue())
    plt.close("all")
    return pixels


@pytest.mark.parametrize("draw", [curves, bars, images, shapes])
@pytest.mark.parametrize("late", [False, True])
def test_pictures_are_those_of_plain_values(draw, late):
    seen = []

    def f(x):
        y = x * 1.0
        draw(y)
        if not late:
            seen.append(drawn())
        return np.sum(y * y)

    def both(verb, *args):
        value = verb(f, *args)
        if late:
            seen.append(drawn())
        return value

    draw(X)
    plain = drawn()
    np.testing.assert_array_equal(both(zyg.gradient, X)[0], 2 * X)
    both(zyg.pushforward, (X,), (X,))
    assert both(zyg.jacobian, X)[0].shape == (4,)
    nested = zyg.gradient(lambda x: np.sum(both(zyg.gradient, x)[0] ** 2), X)[0]
    np.testing.assert_array_equal(nested, 8 * X)
    assert len(plain[0]) > 0
    assert all(pictures == plain for pictures in seen)


def test_in_a_thread():
    seen = []

    def f(x):
        thread = threading.Thread(target=lambda: seen.append(plt.figure().gca().plot(x)[0]))
        thread.start()
        thread.join()
        return np.sum(x * x)

    np.testing.assert_array_equal(zyg.gradient(f, X)[0], 2 * X)
    np.testing.assert_array_equal(seen[0].get_ydata(), X)
    plt.close("all")


def test_explain_names_the_call():
    def f(x):
        plt.plot(x)
        plt.hist(x)
        np.testing.assert_allclose(x, x)
        return 1.0

    text = str(zyg.explain(f, X))
    plt.close("all")
    for name in ("matplotlib.pyplot.plot", "matplotlib.pyplot.hist", "assert_allclose"):
        assert name in text
    assert text.count(__file__) == text.count(" at ")  # no line of a library's


def counts(x):
    n, _, _ = plt.hist(x)
    return np.sum(n * x.sum())


def kept(x):
    found = []
    found.extend(map(plt.hist, [x]))
    return found[0][1][0]


def limits(x):
    return plt.xlim(0, x[0])[1] * x[0]


def statistics(x):
    from matplotlib import cbook

    return cbook.boxplot_stats(x)[0]["mean"]


def transformed(x):
    from matplotlib.transforms import Affine2D

    move = Affine2D()
    move.translate(x[0], 0.0)
    return move.transform((0.0, 0.0))[0]


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("f", [counts, kept, limits, transformed])
def test_numbers_that_come_back_are_refused(f):
    with pytest.raises(ZygError) as info:
        zyg.gradient(f, X)
    assert "zyg.stop_gradient(x)" in str(info.value)
    plt.close("all")


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_what_a_library_of_pictures_computes_keeps_its_derivative():
    np.testing.assert_allclose(zyg.gradient(statistics, X)[0], np.full(4, 0.25))


def test_a_function_of_the_users_that_is_called_back_is_none_of_these():
    def ticks(value, place):
        assert found.append(float(held[0])) is None
        return ""

    found, held = [], []

    def f(x):
        held.append(x)
        plt.gca().xaxis.set_major_formatter(ticks)
        plt.gcf().canvas.draw()
        return x * x

    with pytest.raises(ConversionError, match=r"float\(x\)"):
        zyg.gradient(f, 1.0)
    plt.close("all")


# What users declare


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A package that is installed, and what is declared of it."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    text = "def show(x):\n    return float(x)\n\nclass Log:\n    show = staticmethod(show)\n"
    (folder / "zyg_shows.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    yield types.SimpleNamespace(take=lambda: __import__("zyg_shows"))
    sys.modules.pop("zyg_shows", None)
    for name in [*declared]:
        del declared[name]


@pytest.mark.parametrize("name", ["zyg_shows", "zyg_shows.show", "zyg_shows.Log.show"])
def test_a_dotted_name_is_declared_before_it_is_loaded(library, name):
    def f(x):
        return x * library.take().show(x)

    with pytest.raises(ConversionError):
        zyg.gradient(f, 3.0)
    sys.modules.pop("zyg_shows")
    assert zyg.nondifferentiable(name) is None
    assert "zyg_shows" not in sys.modules
    assert zyg.gradient(f, 3.0) == (3.0,)


def test_a_name_of_nothing_changes_nothing(library):
    zyg.nondifferentiable("zyg_shows.nothing", "nowhere.at.all")
    with pytest.raises(ConversionError):
        zyg.gradient(lambda x: library.take().show(x), 3.0)


LIBRARY = """
import numpy as np

def by_cast(x): return np.array([x[0], x[1]]).astype(np.int64).sum() * 1.0
def of_a_number(x): return np.array([x[0]]).astype(int)[0] * x[1]
def by_fromiter(x): return np.fromiter(x, int).sum() * 1.0
def by_int(x): return int(x[0]) * x[1]
def by_map(x): return sum(map(int, x)) * x[0]
"""


@pytest.fixture
def casting(tmp_path, monkeypatch):
    """Calls of an installed library."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "casting_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("casting_library")
    sys.modules.pop("casting_library")


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_a_library_that_casts_watched_numbers_to_ints_is_refused(casting):
    for f in 9 * (casting.by_cast, casting.of_a_number, casting.by_fromiter):  # as it warms up
        with pytest.raises(ConversionError, match="a cast to int of a watched float64"):
            zyg.gradient(f, np.array([2.5, 3.0]))
    assert zyg.gradient(casting.by_int, np.array([2.5, 3.0]))[0].tolist() == [0.0, 2.0]
    assert zyg.gradient(casting.by_map, np.array([2.5, 3.0]))[0].tolist() == [5.0, 0.0]


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_what_ones_own_line_casts_to_ints_is_meant():
    assert zyg.gradient(lambda x: np.array([x[0]]).astype(int)[0] * x[1], np.array([2.5, 3.0]))[
        0
    ].tolist() == [0.0, 2.0]


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_a_sparse_array_of_watched_elements_is_not_cast_to_ints():
    sparse = pytest.importorskip("sparse", reason="sparse is not installed")
    places = np.array([[0, 1], [0, 1]])
    with pytest.raises(ConversionError, match="a cast to int"):
        zyg.gradient(lambda x: (sparse.COO(places, x, shape=(2, 2)) * 2).sum(), np.ones(2) / 2)
