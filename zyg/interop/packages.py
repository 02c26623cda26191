"""The libraries that do something otherwise than the standard has it: a class for each.

To add a library is to add a class to `KNOWN`, by the name of its package, if `Library` does not do.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from zyg.base.array_types import ArraySpec
from zyg.core.strand import WATCHED
from zyg.errors import ConversionError, StructureError
from zyg.interop.libraries import GuestSpec, Library, moved, without_axes


def _torch_function(*args: Any, **kwargs: Any) -> Any:
    return import_module("zyg.interop.torch_tensors").answer(*args, **kwargs)


class Torch(Library):
    different = frozenset(
        ("histogram", "histogramdd", "median", "nanmedian", "gradient", "put", "kl_div")
    )
    protocols: ClassVar[dict[str, Any]] = {"__torch_function__": classmethod(_torch_function)}

    def method(self, x: Any, name: str) -> Any:
        f = getattr(import_module("torch").Tensor, name, None)
        if name.startswith("_") or name in _OF_NUMPY or not callable(f):
            return None
        return lambda *args, **kwargs: _torch_function(None, f, (), (x, *args), kwargs)

    def entering(self, raw: Any) -> Any:
        if raw.layout is not self.xp.strided:
            raise StructureError(
                "zyg cannot watch a sparse tensor.",
                "its elements are in tensors of its own, which NumPy's functions do not know.",
                "pass x.to_dense(), or its values and make the tensor of them in f.",
                tag="array-kind",
            )
        return raw.detach()

    def device(self, raw: Any) -> Any:
        return raw.device

    def make(self, x: Any, dtype: np.dtype[Any], like: Any) -> Any:
        # NumPy's strides may be negative, and its memory read-only: torch would warn.
        x = np.array(x, dtype) if isinstance(x, np.ndarray) else x
        device = None if like is None else like.device
        return self.xp.asarray(x, dtype=self.own_dtype(dtype), device=device)

    def full(self, shape: tuple[int, ...], value: Any, dtype: np.dtype[Any], device: Any) -> Any:
        return self.xp.full(shape, value, dtype=self.own_dtype(dtype), device=device)

    def host(self, raw: Any) -> Any:
        if raw.device.type != "cpu":
            raise ConversionError(
                f"a tensor on {raw.device} is the cotangent of an array of the host.",
                "it would have to be copied from one to the other, and zyg does not copy unless "
                "you ask.",
                "pass numbers and arrays that meet such tensors as tensors of that device.",
                tag="host-copy",
            )
        return raw.resolve_conj().resolve_neg().numpy().copy()

    def seen(self, x: Any) -> Any:
        try:
            return x.raw.numpy()
        except (TypeError, RuntimeError):  # on another device, or with another dtype
            return x

    def copied(self, raw: Any) -> Any:
        return raw.detach().clone()

    def cast(self, raw: Any, dtype: np.dtype[Any]) -> Any:
        return raw.to(self.own_dtype(dtype))

    def read(self, raw: Any, index: Any) -> Any:
        return raw[_without_steps_back(index, raw)]

    def add_at(self, zeros: Any, index: Any, unique: bool, c: Any) -> Any:
        if unique:
            if (flips := _without_steps_back(index, zeros)) is not index:
                zeros.view(-1)[_places(self.xp, zeros)[flips]] += c
            else:
                zeros[index] += c
            return zeros
        places = _places(self.xp, zeros)[_without_steps_back(index, zeros)]
        return zeros.view(-1).index_add_(0, places.reshape(-1), c.reshape(-1)).view(zeros.shape)


def _places(xp: Any, zeros: Any) -> Any:
    return xp.reshape(xp.arange(zeros.numel(), device=zeros.device), zeros.shape)


def _without_steps_back(index: Any, raw: Any) -> Any:
    """An index of tensors, which know no slices with negative steps, in those that they know."""
    parts = index if type(index) is tuple else (index,)
    if not any(type(k) is slice and k.step is not None and k.step < 0 for k in parts):
        return index
    raise TypeError("a slice with a negative step; np.flip does that")


_OF_NUMPY = frozenset(dir(np.ndarray)) | {"raw"}


class Jax(Library):
    def __init__(self, package: str, xp: Any) -> None:
        super().__init__(package, xp)
        # Compiled, they start in a fourth of the time.
        compiled = import_module("jax").jit
        self._full = compiled(xp.full, static_argnums=(0, 2))
        self._reshape = compiled(xp.reshape, static_argnums=1)
        self._spread = compiled(xp.broadcast_to, static_argnums=1)

    def reshaped(self, raw: Any, shape: tuple[int, ...]) -> Any:
        return self._reshape(raw, tuple(shape))

    def spread(self, raw: Any, shape: tuple[int, ...]) -> Any:
        return self._spread(raw, tuple(shape))

    def seen(self, x: Any) -> Any:
        on_host = all(device.platform == "cpu" for device in x.raw.devices())
        return np.asarray(x.raw) if on_host and x.raw.is_fully_addressable else x

    def make(self, x: Any, dtype: np.dtype[Any], like: Any) -> Any:
        self._demand(dtype)
        return self.xp.asarray(x, dtype=dtype)

    def full(self, shape: tuple[int, ...], value: Any, dtype: np.dtype[Any], device: Any) -> Any:
        self._demand(dtype)
        return self._full(shape, value, dtype)

    def cast(self, raw: Any, dtype: np.dtype[Any]) -> Any:
        self._demand(dtype)
        return raw.astype(dtype)

    def _demand(self, dtype: np.dtype[Any]) -> None:
        wide = dtype.itemsize > (8 if dtype.kind == "c" else 4)
        if wide and not import_module("jax").config.jax_enable_x64:
            raise ConversionError(
                f"an array of {dtype.name} cannot become a JAX array while x64 is off.",
                "JAX would silently round it to half its digits.",
                'call jax.config.update("jax_enable_x64", True) first, or pass arrays of '
                "NumPy's in float32.",
                tag="partner-dtype",
            )

    def copied(self, raw: Any) -> Any:
        return raw  # which nobody can write to

    def add_at(self, zeros: Any, index: Any, unique: bool, c: Any) -> Any:
        return zeros.at[index].add(c)


class Sparse(Library):
    lacking = (*Library.lacking, ValueError)

    def add_at(self, zeros: Any, index: Any, unique: bool, c: Any) -> Any:
        plain, axes = without_axes(index, zeros.ndim)
        if not (type(plain) is tuple and all(type(k) in (int, slice) for k in plain)):
            raise self.refused("the derivative of an index by an array")
        if isinstance(c, self.xp.SparseArray) and c.fill_value == 0:
            c = self.xp.COO(c)
            c = c if axes is None else c.reshape(zeros[plain].shape)
            stored, data = c.coords, c.data
        else:  # every element of it, though it be the background
            c = np.asarray(self.host(c)).reshape(np.shape(zeros[plain]))
            stored, data = np.indices(c.shape).reshape(c.ndim, c.size), c.ravel()
        axis, coords = 0, []
        for k, n in zip(plain, zeros.shape, strict=True):
            if type(k) is int:
                coords.append(np.full(len(data), k % n))
            else:
                start, _, step = k.indices(n)
                coords.append(start + step * stored[axis])
                axis += 1
        return self.xp.COO(np.array(coords, dtype=np.intp), data, zeros.shape)

    def operands(self, name: str, raws: list[Any]) -> list[Any]:
        # No product of matrices, and nothing beside a dense array, may have a background but 0.
        if name != "matmul" and not any(np.ndim(x) for x in raws if isinstance(x, np.ndarray)):
            return raws
        return [x.todense() if getattr(x, "fill_value", 0) != 0 else x for x in raws]

    def entering(self, raw: Any) -> Any:
        return raw

    def wrap(self, raw: Any) -> Any:
        dense = isinstance(raw, (np.ndarray, np.generic))  # as sparse made it
        return raw if dense else self.guest(raw)

    def make(self, x: Any, dtype: np.dtype[Any], like: Any) -> Any:
        return np.asarray(x, dtype)  # dense: sparse meets NumPy's arrays

    def as_own(self, x: np.ndarray[Any, Any], like: Any) -> Any:
        return self.xp.asarray(x)

    def spec_of_argument(self, raw: Any, dtype: np.dtype[Any]) -> ArraySpec:
        return GuestSpec(self, self.shape_of(raw), dtype, raw)

    def adopted(self, c: Any, spec: ArraySpec) -> Any:
        return c

    def finished(self, c: Any, spec: ArraySpec) -> Any:
        """The cotangent of an argument: at the places that it stores, in its format."""
        like = spec.device  # type: ignore[attr-defined]
        if like is None:
            return c
        ones = like.copy()
        ones.data = np.ones_like(ones.data)
        c = np.multiply(self.guest(ones), c)
        if type(c) is not self.guest:  # watched
            return c
        c = self.xp.COO(c.raw)  # whose background may be infinite
        c = self.xp.COO(c.coords, c.data, c.shape)
        formats = {"compressed_axes": like.compressed_axes} if type(like) is self.xp.GCXS else {}
        return self.guest(type(like)(c, **formats))

    def cast(self, raw: Any, dtype: np.dtype[Any]) -> Any:
        return raw.astype(dtype)

    def host(self, raw: Any) -> Any:
        return raw.todense() if hasattr(raw, "todense") else np.array(raw)

    def copied(self, raw: Any) -> Any:
        return raw.copy()


class Shape(tuple[int, ...]):
    """The shape of a Dask array, which remembers the chunks."""

    chunks: Any


def _strong(c: Any, d: Any) -> Any:
    """The strong product of two chunks."""
    with np.errstate(all="ignore"):
        y = np.asarray(c * d)
        if np.isfinite(y.sum()):
            return y
        return np.where((c == 0) | ((d == 0) & np.isinf(c)), 0.0, y).astype(y.dtype)


_EMPTY = np.empty((0,))  # tells Dask what blocks are, which would call the function to find out


class Dask(Library):
    lazy, readable = True, False
    lacking = (*Library.lacking, ValueError)

    def entering(self, raw: Any) -> Any:
        if any(math.isnan(n) for n in raw.shape):
            raise StructureError(
                "zyg cannot watch a Dask array of unknown chunks.",
                "the shape of its gradient is not known before it is computed.",
                "call x.compute_chunk_sizes() first.",
                tag="array-kind",
            )
        return raw

    def shape_of(self, raw: Any) -> tuple[int, ...]:
        shape = Shape(raw.shape)
        shape.chunks = raw.chunks
        return shape

    def make(self, x: Any, dtype: np.dtype[Any], like: Any) -> Any:
        return np.asarray(x, dtype)

    def as_own(self, x: np.ndarray[Any, Any], like: Any) -> Any:
        return self.xp.asarray(x)

    def whole(self, raw: Any) -> Any:
        return raw.rechunk(-1)

    def cholesky(self, raw: Any) -> Any:
        return import_module("dask.array").linalg.cholesky(raw, lower=True)

    def read(self, raw: Any, index: Any) -> Any:
        y = raw[index]
        if any(math.isnan(n) for n in y.shape):
            raise self.refused("an index by a mask", "how many elements it names is not known.")
        return y

    def add_at(self, zeros: Any, index: Any, unique: bool, c: Any) -> Any:
        return super().add_at(zeros.copy(), index, unique, c)

    def reshaped(self, raw: Any, shape: tuple[int, ...]) -> Any:
        try:
            y = self.xp.reshape(raw, tuple(shape))
        except NotImplementedError:
            y = self.xp.reshape(raw.rechunk(dict.fromkeys(range(1, raw.ndim), -1)), tuple(shape))
        chunks = getattr(shape, "chunks", None)
        return y if chunks is None or y.chunks == chunks else y.rechunk(chunks)

    def spread(self, raw: Any, shape: tuple[int, ...]) -> Any:
        return import_module("dask.array").broadcast_to(
            raw, tuple(shape), chunks=getattr(shape, "chunks", None)
        )

    def adopted(self, c: Any, spec: ArraySpec) -> Any:
        return self.zeros(spec) + c

    def finished(self, c: Any, spec: ArraySpec) -> Any:
        chunks = getattr(spec.shape, "chunks", c.shape.chunks)
        return c if c.shape.chunks == chunks else self.guest(c.raw.rechunk(chunks))

    def strong_product(self, c: Any, d: Any) -> Any:
        elemwise = import_module("dask.array.core").elemwise
        return self.guest(elemwise(_strong, *map(self.raw, (c, d)), dtype=np.result_type(c, d)))

    def full(self, shape: tuple[int, ...], value: Any, dtype: np.dtype[Any], device: Any) -> Any:
        return self.xp.full(shape, value, dtype=dtype, chunks=getattr(shape, "chunks", "auto"))

    def cast(self, raw: Any, dtype: np.dtype[Any]) -> Any:
        return raw.astype(dtype)

    def copied(self, raw: Any) -> Any:
        return raw  # which nobody writes to but by making another

    def to_host(self, x: Any) -> Any:
        return x

    def later(self, f: Any, back: Any, x: Any, shape: tuple[int, ...]) -> Any:
        if type(x) in WATCHED:
            return moved(f, back, x, shape)
        axes = {"drop_axis": [*range(x.ndim)], "new_axis": [*range(len(shape))]}
        one = x.raw.rechunk(-1)
        return self.guest(
            one.map_blocks(f, dtype=x.dtype, chunks=tuple(shape), meta=_EMPTY, **axes)
        )

    def compute(self, arrays: list[Any]) -> list[Any]:
        compute = import_module("dask").compute
        return [np.asarray(x) for x in compute(*[x.raw for x in arrays])]


KNOWN: dict[str, type[Library]] = {"torch": Torch, "jax": Jax, "sparse": Sparse, "dask": Dask}
