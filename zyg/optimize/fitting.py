"""A loop over minibatches, and what it tells of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from zyg.base.borders import border, keep_parameters
from zyg.core.strand import strip
from zyg.errors import OptimizationError
from zyg.optimize.forms import demand_finite
from zyg.optimize.optimizers import Optimizer
from zyg.optimize.progress import bar
from zyg.verbs.grad import value_and_grad
from zyg.verbs.vectors import Layout
from zyg.watched.value import as_array

P = TypeVar("P")


@dataclass
class History:
    """The losses of a fit: one for each step, and their mean for each epoch.

    Attributes
    ----------
    losses : list of float
        The loss of each batch, before its step.
    epochs : list of float
        The mean of these losses over each epoch.

    Examples
    --------
    >>> import zyg
    >>> zyg.optimize.History([4.0, 2.0, 1.0, 1.0], [3.0, 1.0])
    History(2 epochs, 4 steps, loss 3 -> 1)

    """

    losses: list[float] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)

    def plot(self, axes: Any = None) -> Any:
        """Draw the losses with matplotlib, into the axes given or the current ones; returns them.

        The axis of the losses is logarithmic if all of them are positive.

        Raises ImportError where matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                "history.plot() draws with matplotlib, which is not installed: "
                "pip install matplotlib"
            ) from None
        axes = plt.gca() if axes is None else axes
        axes.plot(range(1, len(self.losses) + 1), self.losses, alpha=0.4, label="steps")
        per_epoch = len(self.losses) / max(len(self.epochs), 1)
        ends = [per_epoch * (k + 1) for k in range(len(self.epochs))]
        axes.plot(ends, self.epochs, marker=".", label="epochs")
        axes.set(xlabel="step", ylabel="loss", yscale="log" if self._is_positive() else "linear")
        axes.legend()
        return axes

    def _is_positive(self) -> bool:
        """Whether the losses have a place on a logarithmic axis, but for those not finite."""
        finite = [y for y in self.losses if np.isfinite(y)]
        return bool(finite) and min(finite) > 0

    def __repr__(self) -> str:
        change = f", loss {self.epochs[0]:.4g} -> {self.epochs[-1]:.4g}" if self.epochs else ""
        return f"History({len(self.epochs)} epochs, {len(self.losses)} steps{change})"

    def _repr_html_(self) -> str:
        """A curve of the losses, for notebooks; of their logarithms, if all are positive."""
        height = np.log if self._is_positive() else float
        shown = [(k, height(y)) for k, y in enumerate(self.losses) if np.isfinite(y)]
        if len(shown) < 2:
            return f"<p>{_escaped(repr(self))}</p>"
        low, high = min(y for _, y in shown), max(y for _, y in shown)
        scale = 100 / (high - low or 1.0)
        wide = 400 / (len(self.losses) - 1)
        points = " ".join(f"{wide * k:.1f},{(high - y) * scale:.1f}" for k, y in shown)
        return (
            f"<p>{_escaped(repr(self))}</p>"
            '<svg width="420" height="120" viewBox="-10 -10 420 120">'
            f'<polyline points="{points}" fill="none" stroke="currentColor"/></svg>'
        )


def _escaped(text: str) -> str:
    return text.replace(">", "&gt;")


@border
def fit(
    loss: Callable[..., Any],
    params: P,
    data: Any,
    *,
    optimizer: Optimizer,
    batch_size: int | None = None,
    epochs: int = 1,
    rng: np.random.Generator | int | None = None,
    callback: Callable[[P, History], Any] | None = None,
    progress: bool = False,
    value_and_gradient: Callable[..., tuple[Any, tuple[Any, ...]]] | None = None,
) -> tuple[P, History]:
    """Fit parameters to data, batch by batch.

    Parameters
    ----------
    loss : callable
        ``loss(params, *batch)`` returns one real number, a mean over the batch.
    params : any structure of numbers and arrays
        Where to start. They are not modified.
    data : array, tuple of arrays, dict of arrays, or iterable of batches
        Arrays of one length, which are cut into batches along their first axis. Those of a tuple
        are the arguments of `loss` after the parameters, those of a dict its keywords. Of any other
        iterable, a list or a loader, each item is one batch: an argument, a tuple of arguments, or
        a dict of keywords. A list with `batch_size` is one of examples, of any structure and
        length each: a batch is a list of some, and the argument of `loss` after the parameters.
    optimizer : Optimizer
        `adam`, `sgd`, or another; see `chain`.
    batch_size : int, optional
        How many rows of the arrays, or examples of the list, a batch has; the last one may have
        fewer. By default all rows.
    epochs : int
        How many times to go through the data.
    rng : numpy.random.Generator or int, optional
        What shuffles the rows of arrays, or the examples, in each epoch, or its seed. By default
        they keep their order.
    callback : callable, optional
        ``callback(params, history)`` is called after each epoch. It ends the fit by raising
        StopIteration.
    progress : bool
        Whether to draw a bar that counts steps. Needs rich.
    value_and_gradient : callable, optional
        What takes the gradient: ``value_and_gradient(loss, params, *batch)`` returns the loss and a
        tuple, which begins with the gradient by the parameters. With that of `zyg.mpi`, several
        ranks fit one model. By default `zyg.value_and_gradient`.

    Returns
    -------
    params
        The parameters after the last step.
    history : History
        The losses; ``history.plot()`` draws them.

    Raises
    ------
    OptimizationError
        There is no data, arrays have different lengths, a number makes no sense, or the start is
        not finite.
    NonScalarOutputError
        The loss is anything but one real number.
    Exception
        What the loss and the callback raise. The parameters so far are in ``error.parameters``.

    Notes
    -----
    This is all that happens. If you need more, write it yourself:

    .. code-block:: python

        state = optimizer.init(params)
        for epoch in range(epochs):
            order = rng.permutation(len(x))
            for first in range(0, len(x), batch_size):
                rows = order[first : first + batch_size]
                value, (grads, *_) = zyg.value_and_gradient(loss, params, x[rows], y[rows])
                params, state = optimizer.step(params, grads, state)

    Examples
    --------
    >>> import numpy as np, zyg
    >>> x = np.linspace(-1.0, 1.0, 64)
    >>> y = 3.0 * x - 1.0
    >>> def loss(p, x, y):
    ...     return np.mean((p["slope"] * x + p["offset"] - y) ** 2)
    >>> start = {"slope": 0.0, "offset": 0.0}
    >>> p, history = zyg.optimize.fit(
    ...     loss, start, (x, y), optimizer=zyg.optimize.adam(0.1), batch_size=16, epochs=60, rng=0
    ... )
    >>> round(p["slope"], 3), round(p["offset"], 3), len(history.losses)
    (3.0, -1.0, 240)

    """
    batches = _Batches(data, batch_size, rng)
    if not _is_whole(epochs) or epochs < 0:
        raise _senseless("epochs", epochs, "data are gone through a whole number of times")
    demand_finite(Layout(params, "zyg.optimize.fit"), params, "zyg.optimize.fit")
    state, history = optimizer.init(params), History()
    slope = value_and_grad(loss) if value_and_gradient is None else _first(value_and_gradient, loss)
    total = None if batches.count is None else batches.count * epochs
    try:
        with bar(progress, "fit", total) as tell:
            for _ in range(epochs):
                before = len(history.losses)
                for args, kwargs in batches.of_epoch():
                    value, grads = slope(params, *args, **kwargs)
                    params, state = optimizer.step(params, grads, state)
                    history.losses.append(float(strip(value)))
                    if tell is not None:
                        tell(value)
                history.epochs.append(float(np.mean(history.losses[before:])))
                if callback is not None and _is_end(callback, params, history):
                    break
    except BaseException as error:
        keep_parameters(error, params)
        raise
    return params, history


def _first(value_and_gradient: Callable[..., Any], loss: Callable[..., Any]) -> Any:
    """What gives the loss, and its gradient by the first argument alone."""

    def slope(params: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        value, gradient = value_and_gradient(loss, params, *args, **kwargs)
        return value, gradient[0]

    return slope


def _is_end(callback: Callable[[Any, History], Any], params: Any, history: History) -> bool:
    try:
        callback(params, history)
    except StopIteration:
        return True
    return False


class _Batches:
    """Data, cut into batches: the arguments and the keywords of a loss."""

    def __init__(self, data: Any, size: int | None, rng: np.random.Generator | int | None) -> None:
        self.rng = None if rng is None else np.random.default_rng(rng)
        self.rows: int | None = None
        examples = isinstance(data, list) and size is not None
        if examples or isinstance(strip(data), (tuple, Mapping, np.ndarray)):
            self.data: Any = _Examples(data) if examples else _map(as_array, data)
            self.rows = _length(self.data)
            size = self.rows if size is None else size
            if not _is_whole(size) or size < 1:
                raise _senseless("batch_size", size, "a batch has one row or more")
            self.size = size
            self.count: int | None = -(-self.rows // size)
            return
        if size is not None or rng is not None:
            raise OptimizationError(
                f"zyg.optimize.fit was given a {type(data).__name__} as data, and batch_size or "
                "rng.",
                "each item of an iterable is one batch, in the order in which they come.",
                "leave both out, or pass a tuple or a dict of arrays, or a list of examples and "
                "batch_size.",
            )
        try:
            iter(data)
        except TypeError:
            raise OptimizationError(
                f"zyg.optimize.fit was given a {type(data).__name__} as data.",
                "it goes through batches.",
                "pass arrays in a tuple or a dict, or an iterable of batches.",
            ) from None
        self.data = data
        self.count = len(data) if hasattr(data, "__len__") else None

    def of_epoch(self) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        some = False
        for batch in self.data if self.rows is None else self._cut(self.rows):
            some = True
            if isinstance(batch, Mapping):
                yield (), dict(batch)
            else:
                yield (tuple(batch) if isinstance(batch, tuple) else (batch,)), {}
        if not some:
            raise OptimizationError(
                "zyg.optimize.fit found no batch in its data.",
                "there is nothing to fit to; an iterator can be gone through once only.",
                "pass data, and for several epochs a list or a loader that begins anew.",
            )

    def _cut(self, rows: int) -> Iterator[Any]:
        order = None if self.rng is None else self.rng.permutation(rows)
        for first in range(0, rows, self.size):
            some = slice(first, first + self.size)
            yield self._at(some if order is None else order[some])

    def _at(self, rows: Any) -> Any:
        return _map(lambda x: x[rows], self.data)


class _Examples:
    """A list of examples, of which batches are lists."""

    def __init__(self, examples: list[Any]) -> None:
        self.examples = examples
        self.shape = (len(examples),)

    def __getitem__(self, rows: Any) -> list[Any]:
        if isinstance(rows, slice):
            return self.examples[rows]
        return [self.examples[k] for k in rows]


def _map(f: Callable[[Any], Any], data: Any) -> Any:
    if isinstance(data, Mapping):
        return {name: f(x) for name, x in data.items()}
    return tuple(f(x) for x in data) if isinstance(data, tuple) else f(data)


def _length(data: Any) -> int:
    """How many rows arrays have."""
    parts = data if isinstance(data, tuple) else (data,)
    arrays = data.items() if isinstance(data, dict) else enumerate(parts)
    shapes = {name: x.shape for name, x in arrays}
    lengths = {shape[:1] for shape in shapes.values()}
    if len(lengths) != 1 or lengths == {()}:
        raise OptimizationError(
            f"zyg.optimize.fit was given data of shapes {shapes}.",
            "arrays are cut into batches along their first axis.",
            "pass one array or more, all of one length; constants belong into the loss.",
        )
    ((rows,),) = lengths
    if not rows:
        raise OptimizationError(
            f"zyg.optimize.fit was given data of shapes {shapes}.",
            "there is nothing to fit to.",
            "pass arrays with one row or more.",
        )
    return int(rows)


def _is_whole(n: Any) -> bool:
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool)


def _senseless(name: str, value: Any, why: str) -> OptimizationError:
    return OptimizationError(
        f"zyg.optimize.fit was given {name}={value!r}.", f"{why}.", f"pass another {name}."
    )
