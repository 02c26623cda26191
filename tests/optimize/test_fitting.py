"""The loop over minibatches: as one would write it; its history; what it refuses."""

import numpy as np
import pytest

import zyg
from zyg.errors import NonScalarOutputError, OptimizationError, StructureError
from zyg.optimize import History, adam, fit, sgd

X = np.linspace(-1.0, 1.0, 10)
Y = 3.0 * X - 1.0
START = {"slope": 0.0, "offset": 0.0}


def loss(p, x, y):
    return np.mean((p["slope"] * x + p["offset"] - y) ** 2)


def by_hand(epochs, size, rng):
    opt, p, losses = adam(0.1), START, []
    state = opt.init(p)
    for _ in range(epochs):
        order = np.arange(10) if rng is None else rng.permutation(10)
        for first in range(0, 10, size):
            rows = order[first : first + size]
            value, (grads, *_) = zyg.value_and_gradient(loss, p, X[rows], Y[rows])
            p, state = opt.step(p, grads, state)
            losses.append(value)
    return p, losses


@pytest.mark.parametrize("size", [1, 3, 10, 99])
@pytest.mark.parametrize("seed", [None, 7])
def test_it_is_the_loop_that_one_would_write(size, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    params, losses = by_hand(3, size, rng)
    for given in (seed, None if seed is None else np.random.default_rng(seed)):
        found, history = fit(
            loss, START, (X, Y), optimizer=adam(0.1), batch_size=size, epochs=3, rng=given
        )
        assert found == params
        assert history.losses == losses
        assert history.epochs == pytest.approx(np.mean(np.reshape(losses, (3, -1)), axis=1))
    assert START == {"slope": 0.0, "offset": 0.0}


def test_what_takes_the_gradient_may_be_given():
    asked = []

    def by_both(f, p, *args):
        asked.append(len(args))
        return zyg.value_and_gradient(f, p, *args)

    options = {"optimizer": adam(0.1), "epochs": 2, "batch_size": 5}
    found = fit(loss, START, (X, Y), value_and_gradient=by_both, **options)
    assert found == fit(loss, START, (X, Y), **options)
    assert asked == [2] * 4


def test_data_in_every_form():
    def keywords(p, *, y, x):
        return loss(p, x, y)

    def one(p, xy):
        return loss(p, xy[:, 0], xy[:, 1])

    rows = np.stack([X, Y], -1)
    halves = [slice(0, 5), slice(5, 10)]
    opt = {"optimizer": adam(0.1), "epochs": 2}
    wanted = fit(loss, START, (X, Y), batch_size=5, **opt)
    for f, data in [
        (keywords, {"x": X, "y": Y}),
        (one, rows),
        (loss, (X.tolist(), Y.tolist())),
    ]:
        assert fit(f, START, data, batch_size=5, **opt) == wanted
    for f, batches in [
        (loss, [(X[h], Y[h]) for h in halves]),
        (keywords, [{"x": X[h], "y": Y[h]} for h in halves]),
        (one, [rows[h] for h in halves]),
    ]:
        assert fit(f, START, batches, **opt) == wanted
    once = fit(loss, START, iter([(X, Y)]), optimizer=adam(0.1))
    assert once == fit(loss, START, (X, Y), optimizer=adam(0.1))


def test_whole_numbers_in_data_are_data():
    def chosen(p, labels, y):
        assert not zyg.is_traced(labels)
        return np.mean((p[labels] - y) ** 2)

    p, _ = fit(
        chosen, np.zeros(3), (np.arange(10) % 3, Y), optimizer=sgd(0.5), epochs=200, batch_size=10
    )
    np.testing.assert_allclose(p, [Y[k::3].mean() for k in range(3)])


def test_no_epoch_leaves_the_start():
    params, history = fit(loss, START, (X, Y), optimizer=adam(0.1), epochs=0)
    assert params == START
    assert history == History()
    assert repr(history) == "History(0 epochs, 0 steps)"


def test_a_callback_sees_each_epoch_and_may_end_the_fit():
    seen = []

    def callback(params, history):
        seen.append((params["slope"], len(history.epochs)))
        if len(seen) == 2:
            raise StopIteration

    params, history = fit(loss, START, (X, Y), optimizer=adam(0.1), epochs=9, callback=callback)
    assert len(history.epochs) == 2
    assert seen[-1] == (params["slope"], 2)


def test_what_is_raised_has_the_parameters_so_far():
    last = []

    def callback(params, history):
        last.append(params)
        if len(last) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        fit(loss, START, (X, Y), optimizer=adam(0.1), epochs=9, callback=callback)
    assert caught.value.parameters is last[-1]
    assert "`parameters`" in caught.value.__notes__[0]

    def empty(p, x, y):  # no end of the fit, though it is a StopIteration
        return next(iter(()))

    with pytest.raises(StopIteration) as caught:
        fit(empty, START, (X, Y), optimizer=adam(0.1))
    assert caught.value.parameters == START


def raised(error, *args, **options):
    with pytest.raises(error) as caught:
        fit(*args, **{"optimizer": adam(0.1), **options})
    assert str(caught.value).count("\n") >= 3
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize(
    ("data", "options", "says"),
    [
        ((X, Y[:9]), {}, "data of shapes {0: (10,), 1: (9,)}"),
        ({"x": X, "y": 1.0}, {}, "data of shapes {'x': (10,), 'y': ()}"),
        ((), {}, "data of shapes {}"),
        ((X[:0], Y[:0]), {}, "data of shapes {0: (0,), 1: (0,)}"),
        (np.array(1.0), {}, "data of shapes {0: ()}"),
        ([], {}, "found no batch in its data"),
        (iter([(X, Y)]), {"epochs": 2}, "found no batch in its data"),
        (3, {}, "given a int as data"),
        (iter([(X, Y)]), {"batch_size": 5}, "given a list_iterator as data, and batch_size or rng"),
        ([], {"batch_size": 5}, "given data of shapes {0: (0,)}"),
        ([(X, Y)], {"batch_size": 0}, "given batch_size=0"),
        ([(X, Y)], {"rng": 0}, "given a list as data, and batch_size or rng"),
        ((X, Y), {"batch_size": 0}, "given batch_size=0"),
        ((X, Y), {"batch_size": 2.5}, "given batch_size=2.5"),
        ((X, Y), {"epochs": -1}, "given epochs=-1"),
        ((X, Y), {"epochs": True}, "given epochs=True"),
    ],
)
def test_data_and_numbers_that_make_no_sense(data, options, says):
    assert says in raised(OptimizationError, loss, START, data, **options)


def test_starts_and_losses_that_make_no_sense():
    assert "zyg.optimize.fit was given a dict without any number" in raised(
        StructureError, loss, {"name": "line"}, (X, Y)
    )
    assert "a start with inf at ['w'][1, 0]" in raised(
        OptimizationError, loss, {"w": np.array([[1.0], [np.inf]])}, (X, Y)
    )
    for f in (lambda p, x, y: x * p["slope"], lambda p, x, y: (loss(p, x, y), "aux")):
        raised(NonScalarOutputError, f, START, (X, Y))


def test_a_history_draws_itself(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    _, history = fit(loss, START, (X, Y), optimizer=adam(0.1), batch_size=5, epochs=3)
    axes = history.plot()
    assert axes is plt.gca()
    steps, epochs = axes.get_lines()
    assert steps.get_ydata().tolist() == history.losses
    assert epochs.get_xdata().tolist() == [2.0, 4.0, 6.0]
    assert epochs.get_ydata().tolist() == history.epochs
    _, other = plt.subplots()
    assert history.plot(other) is other
    plt.close("all")

    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        history.plot()


def test_a_history_in_a_notebook():
    html = History([4.0, np.nan, 2.0, 1.0], [3.0, 1.5])._repr_html_()
    assert "loss 3 -&gt; 1.5" in html
    assert 'points="0.0,0.0 266.7,50.0 400.0,100.0"' in html
    assert "<svg" not in History([1.0], [1.0])._repr_html_()
    assert 'points="0.0,0.0 400.0,0.0"' in History([1.0, 1.0], [1.0])._repr_html_()


def test_the_bar(capsys):
    pytest.importorskip("rich")
    fit(loss, START, (X, Y), optimizer=adam(0.1), batch_size=4, epochs=2, progress=True)
    assert "6/6" in capsys.readouterr().out


def test_a_fit_is_differentiated():
    """By the start, the rate and the data: of all its steps."""

    def fitted(start, rate, y):
        p, history = fit(loss, {"slope": start, "offset": 0.5}, (X, y), optimizer=adam(rate),
                         batch_size=4, epochs=2, rng=0)  # fmt: skip
        assert not zyg.is_traced(history.losses)
        return p["slope"] ** 2 + p["offset"]

    zyg.check_gradient(fitted, 0.3, 0.1, Y, order=1)


def test_optimizers_and_fit_need_no_scipy(tmp_path):
    import subprocess
    import sys

    program = (
        "import sys; sys.modules['scipy'] = None\n"
        "import zyg\n"
        "zyg.optimize.fit(lambda p, x: (p * x.sum()) ** 2, 1.0, zyg.optimize.__doc__ and "
        "__import__('numpy').ones(3), optimizer=zyg.optimize.adam(0.1))\n"
        "try:\n    zyg.optimize.minimize(abs, 1.0)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'zyg[scipy]'" in done.stdout, done.stderr


@pytest.mark.parametrize("seed", [None, 7])
def test_a_list_of_examples_is_cut_into_lists(seed):
    sequences = [{"x": X[:k], "y": Y[:k]} for k in range(1, 8)]

    def over_examples(p, batch):
        seen.append([len(one["x"]) for one in batch])
        return sum(loss(p, **one) for one in batch) / len(batch)

    seen, expected, opt, p = [], [], adam(0.1), START
    found, history = fit(
        over_examples, START, sequences, optimizer=opt, batch_size=3, epochs=2, rng=seed
    )
    given, state, rng = [*seen], opt.init(p), np.random.default_rng(seed)
    for _ in range(2):
        order = range(7) if seed is None else rng.permutation(7)
        for first in range(0, 7, 3):
            batch = [sequences[k] for k in order[first : first + 3]]
            value, (grads, _) = zyg.value_and_gradient(over_examples, p, batch)
            p, state = opt.step(p, grads, state)
            expected.append(value)
    assert found == p
    assert history.losses == expected
    assert [*map(len, given)] == [3, 3, 1] * 2
    for k in (0, 3):
        assert sorted(length for batch in given[k : k + 3] for length in batch) == [*range(1, 8)]


def test_losses_that_are_positive_are_drawn_on_a_logarithmic_axis():
    plt = pytest.importorskip("matplotlib.figure")
    for losses, scale in (([10.0, 1.0, 0.1], "log"), ([1.0, 0.0], "linear"), ([], "linear")):
        axes = plt.Figure().subplots()
        assert History(losses, losses[-1:]).plot(axes).get_yscale() == scale
    html = History([100.0, 10.0, 1.0], [37.0])._repr_html_()
    assert 'points="0.0,0.0 200.0,50.0 400.0,100.0"' in html
    html = History([2.0, 1.0, 0.0], [1.0])._repr_html_()
    assert 'points="0.0,0.0 200.0,50.0 400.0,100.0"' in html
