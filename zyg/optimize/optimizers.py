"""Optimizers that go step by step, with the interface of optax's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from zyg.base.borders import border
from zyg.base.trees import taken_apart
from zyg.core.trace import watchable
from zyg.errors import OptimizationError
from zyg.optimize.forms import Form
from zyg.optimize.schedules import Rate
from zyg.optimize.transforms import (
    ByMoments,
    ByRootMeanSquare,
    BySign,
    Decayed,
    Momentum,
    NormClipped,
    Scaled,
    Transform,
    ValueClipped,
)
from zyg.verbs.vectors import Layout

P = TypeVar("P")


@dataclass(frozen=True)
class State:
    """What an optimizer remembers of the steps so far. It can be pickled.

    Attributes
    ----------
    form : Form
        The structure, shapes and dtypes of the parameters, without their values.
    parts : tuple
        What each part of the optimizer remembers, in vectors of numbers.
    """

    form: Form
    parts: tuple[Any, ...]


class Optimizer:
    """Makes steps of gradients. `sgd`, `adam` and the others make one; `chain` joins several.

    Parameters, gradients and updates may have any structure of numbers and arrays. A gradient is
    what `zyg.gradient` returns: a `Tangent` for an object, None for zeros. What is given is never
    modified. Steps can be differentiated.

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.sgd(0.1)
    >>> params = {"a": 1.0, "b": 2.0}
    >>> state = opt.init(params)
    >>> for _ in range(100):
    ...     grads = zyg.gradient(lambda p: (p["a"] - 3.0) ** 2 + p["b"] ** 2, params)[0]
    ...     params, state = opt.step(params, grads, state)
    >>> round(params["a"], 6), round(params["b"], 6)
    (3.0, 0.0)

    """

    def __init__(self, *parts: Transform) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"Optimizer({', '.join(map(repr, self.parts))})"

    @border
    def init(self, params: Any) -> State:
        """The state before the first step.

        Parameters
        ----------
        params : any structure of numbers and arrays
            Those that will be stepped.

        Returns
        -------
        State
            Can be pickled. Is never modified: each step returns another one.

        Raises
        ------
        StructureError
            There is no number in the parameters.
        """
        form = Form(params, "an optimizer")
        vectors = form.vectors(taken_apart(params, watchable).leaves)
        return State(form, tuple([part.start(vectors) for part in self.parts]))

    @border
    def update(self, grads: Any, state: State, params: Any = None) -> tuple[Any, State]:
        """What is to be added to the parameters, and the next state.

        Parameters
        ----------
        grads : the structure of a gradient
            As `zyg.gradient` returns it.
        state : State
            Of `init`, or of the step before.
        params : optional
            The parameters themselves, which only weight decay needs.

        Returns
        -------
        updates
            In the structure of a gradient; see `apply_updates`.
        state : State

        Raises
        ------
        StructureError
            The gradient or the parameters do not fit the state; the message names the place.
        OptimizationError
            The optimizer needs the parameters.
        """
        form, weights = state.form, None
        gradient = form.gradient(grads)
        if params is not None:
            structure = taken_apart(params, watchable)
            leaves = [structure.leaves[k] for k in form.order(structure)]
            weights = form.weights(leaves, gradient)
        changes, state = self._changes(gradient, state, weights)
        return form.updates(changes), state

    @border
    def step(self, params: P, grads: Any, state: State) -> tuple[P, State]:
        """The parameters after one step, and the next state: `update` and `apply_updates` in one.

        Parameters
        ----------
        params : any structure of numbers and arrays
            Those that `init` was given, or of the step before.
        grads : the structure of a gradient
            As `zyg.gradient` returns it.
        state : State
            Of `init`, or of the step before.

        Returns
        -------
        params
            With the structure, shapes and dtypes of the parameters given. Ints become floats,
            unless they stay at their value, as those do that only count.
        state : State

        Raises
        ------
        StructureError
            The gradient or the parameters do not fit the state; the message names the place.
        """
        form = state.form
        structure = taken_apart(params, watchable)
        order = form.order(structure)
        before = [structure.leaves[k] for k in order]
        vectors, gradient = form.vectors(before), form.gradient(grads)
        weights = form.weights(before, gradient) if form.counting else vectors
        changes, state = self._changes(gradient, state, weights)
        after = form.unpacked([v + c for v, c in zip(vectors, changes, strict=True)])
        leaves: list[Any] = [None] * len(order)
        for k, leaf in zip(order, form.kept(after, before), strict=True):
            leaves[k] = leaf
        return structure.rebuild(leaves), state

    def _changes(self, gradient: list[Any], state: State, weights: Any) -> tuple[Any, State]:
        """What is to be added to the vectors of parameters."""
        vectors, parts = state.form.vectors(gradient, "the gradient"), []
        for part, before in zip(self.parts, state.parts, strict=True):
            vectors, after = part.update(vectors, before, weights)
            parts.append(after)
        return vectors, State(state.form, tuple(parts))


def apply_updates(params: P, updates: Any) -> P:
    """Parameters and what `Optimizer.update` returned, added up.

    Parameters
    ----------
    params : any structure of numbers and arrays
        They are not modified.
    updates : the same structure
        As a gradient has it: a `Tangent` for an object, None for zeros.

    Returns
    -------
    params
        With the structure, shapes and dtypes of the parameters.

    Raises
    ------
    StructureError
        The updates do not fit the parameters.

    Examples
    --------
    >>> import zyg
    >>> zyg.optimize.apply_updates({"a": 1.0, "name": "line"}, {"a": 0.5, "name": None})
    {'a': 1.5, 'name': 'line'}

    """
    layout = Layout(params, "zyg.optimize.apply_updates")
    structure = layout.structure
    change = layout.gathered(structure.match(updates, "the parameters", of="update"), "the update")
    vector = layout.vector(structure.leaves) + change
    updated: P = structure.rebuild(layout.kept(layout.leaves(vector), structure.leaves))
    return updated


def chain(*optimizers: Optimizer) -> Optimizer:
    """One optimizer after another: each gets what the one before it makes of the gradient.

    Parameters
    ----------
    *optimizers : Optimizer
        `clip` mostly, and the one that makes the steps.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.chain(zyg.optimize.clip(norm=1.0), zyg.optimize.sgd(0.5))
    >>> opt.step(10.0, 100.0, opt.init(10.0))[0]
    9.5

    """
    return Optimizer(*(part for one in optimizers for part in one.parts))


def clip(*, norm: float | None = None, value: float | None = None) -> Optimizer:
    """Gradients made smaller: first in a `chain`.

    Parameters
    ----------
    norm : float, optional
        How long the vector of all numbers of the gradient may be. It keeps its direction.
    value : float, optional
        How large each number of the gradient may be.

    Returns
    -------
    Optimizer

    Raises
    ------
    OptimizationError
        Neither of the two is given, or both, or it is not positive.

    Notes
    -----
    optax calls them `clip_by_global_norm` and `clip`.

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.clip(value=1.0)
    >>> opt.update([3.0, -0.5], opt.init([0.0, 0.0]))[0]
    [1.0, -0.5]

    """
    most = value if norm is None else norm
    if (norm is None) == (value is None) or most is None or not most > 0:
        raise OptimizationError(
            f"zyg.optimize.clip was given norm={norm}, value={value}.",
            "it clips the norm of a gradient, or each value, at one positive number.",
            "clip(norm=1.0), or clip(value=1.0); chain both for both.",
        )
    return Optimizer(ValueClipped(most) if norm is None else NormClipped(most))


def sgd(rate: Rate, momentum: float = 0.0, nesterov: bool = False) -> Optimizer:
    """Steepest descent: against the gradient, with momentum if asked for.

    Parameters
    ----------
    rate : float or schedule
        How far to go. A schedule is a function of the number of steps done: `cosine`,
        `exponential`, `piecewise`, `warmup`, or your own.
    momentum : float
        How much the step before counts; 0.9 is usual.
    nesterov : bool
        Whether the gradient is taken as that of where momentum leads.

    Returns
    -------
    Optimizer

    Notes
    -----
    Sutskever et al., On the importance of initialization and momentum in deep learning (2013).

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.sgd(0.1)
    >>> opt.step({"a": 1.0}, {"a": 2.0}, opt.init({"a": 1.0}))[0]
    {'a': 0.8}

    """
    parts = [Momentum(momentum, nesterov)] if momentum else []
    return Optimizer(*parts, Scaled(rate))


def adam(rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """Adam: steps of about the size of the rate, whatever that of the gradient.

    Parameters
    ----------
    rate : float or schedule
        How far to go, as for `sgd`.
    b1, b2 : float
        How much the past counts in the means of gradients and of their squares.
    eps : float
        What is added to the root of the mean of squares.

    Returns
    -------
    Optimizer

    Notes
    -----
    Kingma and Ba, Adam: A method for stochastic optimization (2015).

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.adam(0.1)
    >>> params, state = opt.step({"a": 1.0}, {"a": 2.0}, opt.init({"a": 1.0}))
    >>> round(params["a"], 6)
    0.9

    """
    return Optimizer(ByMoments(b1, b2, eps), Scaled(rate))


def adamw(
    rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-4
) -> Optimizer:
    """Adam with weight decay: each step also makes the parameters smaller.

    Parameters
    ----------
    rate, b1, b2, eps
        As for `adam`.
    weight_decay : float
        What part of the parameters, times the rate, is taken off.

    Returns
    -------
    Optimizer

    Notes
    -----
    Loshchilov and Hutter, Decoupled weight decay regularization (2019).

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.adamw(0.1, weight_decay=0.5)
    >>> params, state = opt.step({"a": 1.0}, {"a": 2.0}, opt.init({"a": 1.0}))
    >>> round(params["a"], 6)
    0.85

    """
    return Optimizer(ByMoments(b1, b2, eps), Decayed(weight_decay), Scaled(rate))


def rmsprop(
    rate: Rate,
    decay: float = 0.9,
    eps: float = 1e-8,
    momentum: float = 0.0,
    nesterov: bool = False,
) -> Optimizer:
    """RMSProp: the gradient over the root of the running mean of its squares.

    Parameters
    ----------
    rate : float or schedule
        How far to go, as for `sgd`.
    decay : float
        How much the past counts in the mean of squares.
    eps : float
        What is added to the mean of squares.
    momentum, nesterov
        As for `sgd`.

    Returns
    -------
    Optimizer

    Notes
    -----
    Hinton, Neural networks for machine learning, lecture 6e (2012).

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.rmsprop(0.1, decay=0.75)
    >>> params, state = opt.step({"a": 1.0}, {"a": 2.0}, opt.init({"a": 1.0}))
    >>> round(params["a"], 6)
    0.8

    """
    parts = [Momentum(momentum, nesterov)] if momentum else []
    return Optimizer(ByRootMeanSquare(decay, eps), Scaled(rate), *parts)


def lion(rate: Rate, b1: float = 0.9, b2: float = 0.99, weight_decay: float = 1e-3) -> Optimizer:
    """Lion: steps of one size, in the direction of the signs of a mean of gradients.

    Parameters
    ----------
    rate : float or schedule
        How far to go; about a third to a tenth of what `adam` is given.
    b1, b2 : float
        How much the past counts, in the mean whose sign is taken and in the one that is kept.
    weight_decay : float
        What part of the parameters, times the rate, is taken off.

    Returns
    -------
    Optimizer

    Notes
    -----
    Chen et al., Symbolic discovery of optimization algorithms (2023).

    Examples
    --------
    >>> import zyg
    >>> opt = zyg.optimize.lion(0.1, weight_decay=0.0)
    >>> opt.step({"a": 1.0}, {"a": 20.0}, opt.init({"a": 1.0}))[0]
    {'a': 0.9}

    """
    return Optimizer(BySign(b1, b2), Decayed(weight_decay), Scaled(rate))
