"""Equations, factors and determinants by the LAPACK that NumPy brings: see `routines`.

A module has a function for each routine that it uses. The pivots of an interface with ints of 32
bits are in the first half of the memory for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zyg.compiler import libraries
from zyg.compiler.back.c_abi import type_in_text
from zyg.compiler.ir import Routine, type_of

# LAPACK's names, our operands, and what LAPACK takes: those, and letters.
_CALLS = {
    "solve": ("dgesv", "n k a x pivots", "n k a n pivots x n"),
    "solve lower": ("dtrtrs", "n k a x", "L N N n k a n x n"),
    "solve upper": ("dtrtrs", "n k a x", "U N N n k a n x n"),
    "solve again": ("dgetrs", "n k a x pivots", "T n k a n pivots x n"),
    "cholesky": ("dpotrf", "n a", "L n a n"),
    "factor": ("dgetrf", "n a pivots", "n n a n pivots"),
}
_SLOGDET = """
define internal {{ double, double }} @zyg_slogdet(i64 %n, ptr %a, ptr %pivots) noinline nounwind {{
entry:
  %regular = call i1 @zyg_factor(i64 %n, ptr %a, ptr %pivots)
  %width = add i64 %n, 1
  br i1 %regular, label %next, label %done
next:
  %k = phi i64 [ 0, %entry ], [ %after, %next ]
  %sign = phi double [ 1.0, %entry ], [ %other, %next ]
  %total = phi double [ 0.0, %entry ], [ %sum, %next ]
  %after = add i64 %k, 1
  %at = getelementptr {int}, ptr %pivots, i64 %k
  %pivot = load {int}, ptr %at
  %round = {cast}
  %swaps = icmp ne {int} %pivot, %round
  %place = mul i64 %k, %width
  %there = getelementptr double, ptr %a, i64 %place
  %d = load double, ptr %there
  %below = fcmp olt double %d, 0.0
  %turns = xor i1 %swaps, %below
  %turned = fneg double %sign
  %other = select i1 %turns, double %turned, double %sign
  %size = call double @llvm.fabs.f64(double %d)
  %log = call double @log(double %size)
  %sum = fadd double %total, %log
  %more = icmp slt i64 %after, %n
  br i1 %more, label %next, label %done
done:
  %s = phi double [ 0.0, %entry ], [ %other, %next ]
  %l = phi double [ 0xFFF0000000000000, %entry ], [ %sum, %next ]
  %first = insertvalue {{ double, double }} poison, double %s, 0
  %both = insertvalue {{ double, double }} %first, double %l, 1
  ret {{ double, double }} %both
}}"""


def printed(text: Any, op: Routine) -> None:
    """Print a call, into the text of a function."""
    m, given = text.m, ", ".join(f"{type_in_text(type_of(x))} {text.atom(x)}" for x in op.args)
    if op.name != "slogdet":
        define(op.name, m.declared)
        text.known[op.outs[0]] = m.value(f"call i1 @{_symbol(op.name)}({given})")
        return
    define_slogdet(m.declared)
    both = m.value(f"call {{ double, double }} @zyg_slogdet({given})")
    for k, out in enumerate(op.outs):
        text.known[out] = m.value(f"extractvalue {{ double, double }} {both}, {k}")


def define_slogdet(declared: dict[str, None]) -> None:
    """The function of determinants."""
    define("factor", declared)
    ints, cast = _ints()
    for line in ("declare double @llvm.fabs.f64(double)", "declare double @log(double)",
                 _SLOGDET.format(int=ints, cast=cast.format("%after"))):  # fmt: skip
        declared[line] = None


def _symbol(name: str) -> str:
    return f"zyg_{name.replace(' ', '_')}"


def _ints() -> tuple[str, str]:
    """The type of LAPACK's ints, and what makes one of an int of 64 bits."""
    _, _, ints = libraries.of_factors() or ("", "", "i64")
    return ints, "add i64 {}, 0" if ints == "i64" else "trunc i64 {} to i32"


def define(name: str, declared: dict[str, None]) -> None:
    """A function that calls LAPACK, and says whether there is a result."""
    before, after, _ = libraries.of_factors() or ("", "", "")
    ints, cast = _ints()
    routine, operands, words = _CALLS[name]
    symbol = f"{before}{routine}{after}"
    params = [f"i64 %{x}" if x in "nk" else f"ptr %{x}" for x in operands.split()]
    lines, given = [f"  %info = alloca {ints}"], list[str]()
    for x in (x for x in operands.split() if x in "nk"):
        lines += [f"  %at_{x} = alloca {ints}", f"  %int_{x} = {cast.format('%' + x)}",
                  f"  store {ints} %int_{x}, ptr %at_{x}"]  # fmt: skip
    for x in words.split():
        if x.isupper():
            declared[f"@zyg_letter_{x} = internal constant i8 {ord(x)}"] = None
        given.append(f"ptr @zyg_letter_{x}" if x.isupper() else f"ptr %{'at_' * (x in 'nk')}{x}")
    given += ["ptr %info", *["i64 1" for x in words.split() if x.isupper()]]  # lengths of letters
    declared[f"declare void @{symbol}({', '.join(x.split()[0] for x in given)})"] = None
    lines += [f"  call void @{symbol}({', '.join(given)})", f"  %failed = load {ints}, ptr %info",
              f"  %found = icmp eq {ints} %failed, 0", "  ret i1 %found"]  # fmt: skip
    how = f"define internal i1 @{_symbol(name)}({', '.join(params)}) noinline nounwind {{"
    declared["\n".join([how, *lines, "}"])] = None


def lines(name: str, args: Sequence[str], outs: Sequence[str]) -> Iterator[str]:
    """The same in Python, by NumPy, which raises where there is no result."""
    n = args[0]
    by_columns = "matrix({}, 0, {}, {}, 1, {})".format
    if name == "slogdet":
        yield f"{', '.join(outs)} = np.linalg.slogdet({by_columns(args[1], n, n, n)})"
        return
    if name == "cholesky":
        a = by_columns(args[1], n, n, n)
        yield f"{a}[:] = np.linalg.cholesky({a})"
    else:
        k, a, x = args[1:4]
        x = by_columns(x, n, k, n)
        turned = ".T" * (name == "solve again")
        yield f"{x}[:] = np.linalg.solve({by_columns(a, n, n, n)}{turned}, {x})"
    yield f"{outs[0]} = True"
