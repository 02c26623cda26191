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

from zyg.compiler.back.lanes import RARE
from zyg.compiler.back.target import fuses

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


def rare_call(name: str) -> Any:
    """The C library's ``double name(double)``, to be called in a branch that is rarely taken."""
    variants = ",".join(f"_ZGV_LLVM_M{w}v_zyg_{name}(zyg_{name}_{w})" for w in WIDTHS)
    used = ", ".join(f"ptr @zyg_{name}_{w}" for w in WIDTHS)
    text = SCALAR.format(name=name, variants=variants, used=used, count=len(WIDTHS))
    text += "".join(RARE.format(linkage="weak_odr", name=name, w=w) for w in WIDTHS)

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


def _fused(function: str) -> Any:
    """x * y + z in one of the ways below."""

    def typed(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        real = typing_context.unify_types(x, y, z)

        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if function == "fma":
                return builder.fma(*arguments)
            return builder.fadd(builder.fmul(*arguments[:2]), arguments[2])

        return real(real, real, real), lower

    return intrinsic(typed)


exact_fma = _fused("fma")  # with z = -(x * y) the rounding error of the product
fma = exact_fma if fuses() else _fused("rounded twice")


@intrinsic
def select(typing_context: Any, condition: Any, x: Any, y: Any) -> Any:
    """x where the condition is true, else y: without a branch."""
    real = typing_context.unify_types(x, y)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return real(types.boolean, real, real), lower


def _cast_of(table: dict[Any, Any]) -> Any:
    def cast(typing_context: Any, x: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

        return table[x](x), lower

    return intrinsic(cast)


# The representation of a float, and the float of one; numba's x.view() is compiled as a function.
as_bits = _cast_of({types.float32: types.uint32, types.float64: types.uint64})
as_real = _cast_of({types.uint32: types.float32, types.uint64: types.float64})
