"""Products and systems with sparse matrices, whose stored elements may be watched."""

import copyreg
import operator

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import (
    as_array,
    cast,
    composed,
    conj,
    is_watched,
    nestlevel,
    nondifferentiable,
    of_buffers,
    stands_for,
    strip,
    watched_leaves,
)
from zyg.scipy._namespace import rule_for
from zyg.scipy._theirs import scipy


class Pattern:
    """Where the elements of a sparse matrix are: rows, columns, and the order of CSR."""

    def __init__(self, rows, columns, shape):
        self.rows, self.columns, self.shape = rows, columns, shape
        self.order = np.lexsort((columns, rows))
        counts = np.bincount(rows, minlength=shape[0])
        self.starts = np.concatenate([[0], np.cumsum(counts)])

    def matrix(self, data):
        """The CSR array with these elements; those in the same place add up."""
        stored = data[self.order], self.columns[self.order], self.starts.copy()  # SciPy may write
        return scipy.sparse.csr_array(stored, shape=self.shape)

    def ends(self, transposed):
        return (self.columns, self.rows) if transposed else (self.rows, self.columns)


def weights(u, v, pattern, transposed):
    """The elements of u v^H that are stored."""
    rows, columns = pattern.ends(transposed)
    both = u[rows] * conj(v[columns])
    return np.sum(both, axis=-1) if np.ndim(u) == 2 else both


def _product(data, x, pattern, transposed=False):
    matrix = pattern.matrix(data)
    return (matrix.T if transposed else matrix) @ x


@rule_for(_product, linear=(0, 1))
def product(data, x, pattern, transposed=False):
    def product_pullback(y_bar):
        return (
            lambda: weights(y_bar, x, pattern, transposed),
            lambda: product(conj(data), y_bar, pattern, not transposed),
            None,
        )

    return product(data, x, pattern, transposed), product_pullback


def _solution(data, b, pattern, transposed, solve):
    matrix = pattern.matrix(data)
    return solve(matrix.T if transposed else matrix, b, transposed)


@rule_for(_solution, linear=(1,))
def solution(data, b, pattern, transposed, solve):
    """Of a system with a matrix, or its transpose, that ``solve(matrix, b, transposed)`` solves."""
    x = solution(data, b, pattern, transposed, solve)

    def solution_pullback(x_bar):
        b_bar = solution(conj(data), x_bar, pattern, not transposed, solve)
        return (lambda: -weights(b_bar, x, pattern, transposed)), b_bar, None, None, None

    return x, solution_pullback


def numbered(matrix, first=1):
    """A matrix of SciPy's with the numbers of its elements in their places."""
    numbers = first + np.arange(len(matrix.data), dtype=float)
    return scipy.sparse.coo_array((numbers, matrix.ends), shape=matrix.shape)


def renumbered(made, data):
    """What SciPy has `made` of numbers of elements, with the elements, `data`, for them."""
    if not scipy.sparse.issparse(made):
        places = np.asarray(made).astype(int)
        return np.concatenate([np.zeros_like(data, shape=1), data])[places]
    if made.ndim != 2:
        why = "of watched elements there are matrices alone, and no rows"
        raise unknown_call("scipy.sparse", why, "write a[k : k + 1] for a[k]")
    made = made.tocoo()
    return Sparse(data[made.data.astype(int) - 1], Pattern(made.row, made.col, made.shape))


class Sparse:
    """A sparse matrix with watched elements, `data`: for products, and to be solved with."""

    __array_ufunc__ = None  # x @ A is asked of A

    def __init__(self, data, pattern, transposed=False):
        if np.shape(data) != pattern.rows.shape:
            raise ValueError("row, column, and data array must all be the same length")
        self.data, self.pattern, self.transposed = data, pattern, transposed

    @property
    def shape(self):
        return self.pattern.shape[::-1] if self.transposed else self.pattern.shape

    @property
    def T(self):  # noqa: N802
        return Sparse(self.data, self.pattern, not self.transposed)

    def __matmul__(self, x):
        if isinstance(x, Sparse) or scipy.sparse.issparse(x):
            return self._times_sparse(sparse(x))
        if np.ndim(x) not in (1, 2) or np.shape(x)[0] != self.shape[1]:
            raise ValueError(f"matmul: shapes {self.shape} and {np.shape(x)} do not fit")
        return product(self.data, x, self.pattern, self.transposed)

    dot = __matmul__

    @property
    def ends(self):
        """Its rows and its columns."""
        return self.pattern.ends(self.transposed)

    def added(self):
        """The same, in which no two elements are in one place."""
        rows, columns = self.ends
        places, among = np.unique(rows * self.shape[1] + columns, return_inverse=True)
        if len(places) == len(rows):
            return self
        data = np.zeros_like(self.data, shape=len(places))
        np.add.at(data, among, self.data)
        rows, columns = np.divmod(places, self.shape[1])
        return Sparse(data, Pattern(rows, columns, self.shape))

    def __getitem__(self, index):
        matrix = self.added()
        return renumbered(numbered(matrix).tocsr()[index], matrix.data)

    def diagonal(self, k=0):
        matrix = self.added()
        return renumbered(numbered(matrix).diagonal(k), matrix.data)

    def tocsr(self, copy=False):
        """Itself: SciPy's layouts differ in how they are stored, which is not seen here."""
        return self

    tocsc = tocoo = copy = tocsr

    def asformat(self, format, copy=False):
        return self

    def eliminate_zeros(self):
        """None is left out: what is zero may move, and is an element."""

    sum_duplicates = sort_indices = eliminate_zeros

    def transpose(self):
        return self.T

    @property
    def nnz(self):
        return len(self.data)

    @property
    def dtype(self):
        return strip(self.data).dtype

    def __add__(self, other):
        if not isinstance(other, Sparse) and not scipy.sparse.issparse(other):
            if np.ndim(other):
                return self.toarray() + other
            if is_watched(other) or other != 0:
                why = "adding a nonzero scalar to a sparse array is not supported"
                raise NotImplementedError(why)
            return self
        other = sparse(other)
        if other.shape != self.shape:
            raise ValueError(f"inconsistent shapes: {self.shape} and {other.shape}")
        rows, columns = map(np.concatenate, zip(self.ends, other.ends, strict=True))
        data = np.concatenate([self.data, other.data])
        return Sparse(data, Pattern(rows, columns, self.shape))

    __radd__ = __add__

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, number):
        return self * (1 / number)

    def __rmatmul__(self, x):
        if scipy.sparse.issparse(x):
            return (self.T @ x.T).T
        return np.transpose(self.T @ np.transpose(x))

    def _times_sparse(self, other):
        """Each element times those of the row that it meets."""
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"matmul: shapes {self.shape} and {other.shape} do not fit")
        (rows, inner), (met, columns) = self.ends, other.ends
        order = np.argsort(met, kind="stable")
        starts = np.searchsorted(met[order], np.arange(other.shape[0] + 1))
        counts = np.diff(starts)[inner]
        first = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        second = order[np.repeat(starts[inner], counts) + within]
        shape = self.shape[0], other.shape[1]
        data = self.data[first] * other.data[second]
        return Sparse(data, Pattern(rows[first], columns[second], shape)).added()

    def __mul__(self, factor):
        if np.ndim(factor):
            raise unknown_call("*", "a sparse matrix with watched elements is scaled by numbers")
        return Sparse(self.data * factor, self.pattern, self.transposed)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def toarray(self):
        y = np.zeros_like(self.data, shape=self.shape)
        np.add.at(y, self.pattern.ends(self.transposed), self.data)
        return y

    def multiply(self, x):
        """Elementwise, by a number or an array that broadcasts."""
        if not np.ndim(x):
            return self * x
        places = self.pattern.ends(self.transposed)
        factors = np.broadcast_to(x, self.shape)[places]
        return Sparse(self.data * factors, self.pattern, self.transposed)

    def sum(self, axis=None):
        if axis is None:
            return np.sum(self.data)
        matrix = self if axis in (1, -1) else self.T
        return matrix @ np.ones(matrix.shape[1], self.data.dtype)

    def __getattr__(self, name):
        raise AttributeError(
            f"a sparse matrix of watched elements has no {name!r}: it is for products, sums, "
            "parts, multiply, functions of sparse.linalg and toarray"
        )


def _stored_product(data, columns, starts, shape, x, transposed=False):
    if transposed:
        return scipy.sparse.csc_array((data, columns, starts), shape=shape[::-1]) @ x
    return scipy.sparse.csr_array((data, columns, starts), shape=shape) @ x


@rule_for(_stored_product, linear=(4,))
def stored_product(data, columns, starts, shape, x, transposed=False):
    """The product with a matrix of plain elements, which are kept by the arrays they lie in."""

    def stored_product_pullback(y_bar):
        x_bar = stored_product(conj(data), columns, starts, shape, y_bar, not transposed)
        return None, None, None, None, x_bar, None

    return stored_product(data, columns, starts, shape, x, transposed), stored_product_pullback


def _product_of_plain(a, b, /):
    """A @ x and x @ A of a sparse matrix of SciPy's and a watched array."""
    of_rows, shapes = scipy.sparse.issparse(b), (np.shape(a), np.shape(b))
    a, x = (b, np.transpose(a)) if of_rows else (a, b)
    if not scipy.sparse.issparse(a) or a.ndim != 2:
        return NotImplemented
    if np.ndim(x) not in (1, 2) or np.shape(x)[0] != a.shape[0 if of_rows else 1]:
        raise ValueError(f"matmul: shapes {shapes[0]} and {shapes[1]} do not fit")
    a = a.tocsr()
    y = stored_product(a.data, a.indices, a.indptr, a.shape, x, of_rows)
    return np.transpose(y) if of_rows else y


composed(operator.matmul)(_product_of_plain)


@composed(operator.mul)
def _times(a, b, /):
    """``*`` of SciPy's matrices is their product; of its sparse arrays it is not."""
    if any(scipy.sparse.isspmatrix(x) for x in (a, b)):
        return _product_of_plain(a, b)
    return NotImplemented


nondifferentiable(scipy.sparse.issparse, scipy.sparse.isspmatrix)


def sparse(a):
    """A matrix of SciPy's as one that products with watched arrays can be taken of."""
    if isinstance(a, Sparse):
        return a
    stored = a.tocoo()
    return Sparse(stored.data, Pattern(stored.row, stored.col, a.shape))


def matmul(a, x):
    """``a @ x`` of a sparse matrix and an array, of which either may be watched."""
    if not isinstance(a, Sparse) and not is_watched(x):
        return a @ x
    return sparse(a) @ x


class _InPlaceOfSciPys(type(scipy.sparse.coo_array)):  # type: ignore[misc]
    """Of a class whose instances are made in gradients only: elsewhere SciPy's own are made."""

    scipys: type

    def __call__(cls, *args, **kwargs):
        make = super().__call__
        if "scipys" not in vars(cls):  # of a class of the user's
            return make(*args, **kwargs)
        if not nestlevel():
            return cls.scipys(*args, **kwargs)
        y = of_buffers(make, watched_leaves((args, kwargs)), args, kwargs)
        return make(*args, **kwargs) if y is NotImplemented else y

    def __instancecheck__(cls, x):
        return super().__instancecheck__(x) or ("scipys" in vars(cls) and isinstance(x, cls.scipys))

    def __subclasscheck__(cls, other):
        known = cls.scipys if "scipys" in vars(cls) else cls
        return type.__subclasscheck__(known, other)  # ABCMeta's asks this one again


copyreg.pickle(_InPlaceOfSciPys, lambda cls: (operator.getitem, ((cls.scipys,), 0)))


def _of_array(scipys, x, written):
    """SciPy's own product with an array; what is written here, where the array is watched."""
    y = of_buffers(scipys, [x], (x,), {}) if is_watched(x) else scipys(x)
    return written() if y is NotImplemented and is_watched(x) else y


_FORMS = "array", "matrix"


def _class(base):
    """SciPy's class, whose products take watched arrays; a `Sparse` of watched elements."""

    class Matrix(base, metaclass=_InPlaceOfSciPys):  # type: ignore[misc, valid-type]
        scipys = base

        def __new__(cls, arg1, shape=None, dtype=None, copy=False, **options):
            if not watched_leaves(arg1):
                return super().__new__(cls)
            if type(arg1) is not tuple:
                why = "a watched matrix is made of (data, places), not of an array"
                raise unknown_call(f"scipy.sparse.{base.__name__}", why)
            data, *places = arg1
            data = as_array(data) if dtype is None else cast(as_array(data), np.dtype(dtype))
            # Of pairs of places, those of COO: the others add up elements.
            kind = scipy.sparse.coo_array if isinstance(places[0], tuple) else base
            numbers = 1 + np.arange(np.size(data), dtype=float).reshape(np.shape(data))
            return renumbered(kind((numbers, *places), shape), np.ravel(data))

        def __matmul__(self, x):
            return _of_array(super().__matmul__, x, lambda: sparse(self) @ x)

        def __rmatmul__(self, x):
            return _of_array(super().__rmatmul__, x, lambda: x @ sparse(self))

        def __mul__(self, x):
            if isinstance(self, scipy.sparse.spmatrix) and np.ndim(x):
                return _of_array(super().__mul__, x, lambda: sparse(self) @ x)
            return super().__mul__(x)

        def dot(self, x):
            return _of_array(super().dot, x, lambda: self @ x)

        def transpose(self, *args, **options):
            flipped = super().transpose(*args, **options)
            return CLASSES[type(flipped).__name__](flipped)

        T = property(transpose)

    Matrix.__name__ = Matrix.__qualname__ = base.__name__
    Matrix.__module__ = "zyg.scipy.sparse"
    Matrix.__doc__ = f"scipy.sparse.{base.__name__}, whose products take watched arrays."
    return stands_for(base)(Matrix)


CLASSES = {
    name: _class(getattr(scipy.sparse, name))
    for name in (f"{kind}_{form}" for kind in ("coo", "csr", "csc", "dia") for form in _FORMS)
}
