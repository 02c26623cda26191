"""What vectorised functions need of LLVM and numba does not offer.

A call of the C library keeps LLVM from vectorising the loop around it, and making it for every
element would cost more than all else. The function made by `rare_call` carries vector variants, as
those of libraries of vector math do: LLVM vectorises the loop, marks in a mask which elements of a
vector took the branch, and the variant calls the C function if one did. Where LLVM finds no variant
(it looks for masked ones since version 17), the loop is right and stays scalar.
https://llvm.org/docs/LangRef.html#call-site-attributes
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WIDTHS = 2, 4, 8, 16  # doubles in a vector: of ARM up to AVX-512, with 16 float32 beside them

SCALAR = """
declare double @{name}(double)
define weak_odr double @zyg_{name}(double %x) noinline nounwind readnone \
"vector-function-abi-variant"="{variants}" {{
  %y = call double @{name}(double %x)
  ret double %y
}}
@llvm.compiler.used = appending global [{count} x ptr] [{used}], section "llvm.metadata"
"""

# All lanes are computed where one is marked: a loop over the marked ones would be no shorter.
VECTOR = """
define weak_odr <{w} x double> @zyg_{name}_{w}(<{w} x double> %x, <{w} x i1> %mask) \
noinline nounwind readnone {{
entry:
  %bits = bitcast <{w} x i1> %mask to i{w}
  %unmarked = icmp eq i{w} %bits, 0
  br i1 %unmarked, label %done, label %lane
lane:
  %i = phi i32 [ 0, %entry ], [ %next, %lane ]
  %y = phi <{w} x double> [ %x, %entry ], [ %y_next, %lane ]
  %x_i = extractelement <{w} x double> %x, i32 %i
  %y_i = call double @{name}(double %x_i)
  %y_next = insertelement <{w} x double> %y, double %y_i, i32 %i
  %next = add i32 %i, 1
  %last = icmp eq i32 %next, {w}
  br i1 %last, label %done, label %lane
done:
  %result = phi <{w} x double> [ %x, %entry ], [ %y_next, %lane ]
  ret <{w} x double> %result
}}
"""


def rare_call(name: str) -> Any:
    """The C library's ``double name(double)``, to be called in a branch that is rarely taken."""
    variants = ",".join(f"_ZGV_LLVM_M{w}v_zyg_{name}(zyg_{name}_{w})" for w in WIDTHS)
    used = ", ".join(f"ptr @zyg_{name}_{w}" for w in WIDTHS)
    text = SCALAR.format(name=name, variants=variants, used=used, count=len(WIDTHS))
    text += "".join(VECTOR.format(name=name, w=w) for w in WIDTHS)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        context.active_code_library.add_llvm_module(llvmlite.binding.parse_assembly(text))
        double = ir.DoubleType()
        function = builder.module.globals.get(f"zyg_{name}") or ir.Function(
            builder.module, ir.FunctionType(double, [double]), f"zyg_{name}"
        )
        return builder.call(function, arguments)

    def call(typing_context: Any, x: Any) -> Any:
        return types.float64(types.float64), lower

    return intrinsic(call)


def _fused_multiply_add(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once: with z = -(x * y) the rounding error of the product."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), lower


fused_multiply_add: Any = intrinsic(_fused_multiply_add)


def _cast_of(table: dict[Any, Any]) -> Any:
    def cast(typing_context: Any, x: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

        return table[x](x), lower

    return intrinsic(cast)


# The representation of a float, and the float of one; numba's x.view() is compiled as a function.
as_bits = _cast_of({types.float32: types.uint32, types.float64: types.uint64})
as_real = _cast_of({types.uint32: types.float32, types.uint64: types.float64})
