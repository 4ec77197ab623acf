"""The passes from a function to machine code: Numba's, and one that answers questions by the types of parts.

Where this Numba has the parts that `context.py` and `shortcuts.py` make quicker, they are used; without, all compiles
as Numba compiles anything: to the same results, in twice the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any

from numba.core import ir
from numba.core.compiler import DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir_utils import get_definition, guard
from numba.core.untyped_passes import RewriteSemanticConstants

try:
    from lowregret.compile.context import kernel_context, kernel_typing
    from lowregret.compile.shortcuts import shorten

    QUICK = True
except (ImportError, AttributeError):  # another Numba
    QUICK = False


def contexts(typing: Any, target: Any) -> tuple[Any, Any]:
    """The typing context and the target context to compile with."""
    return (kernel_typing(typing), kernel_context(target)) if QUICK else (typing, target)


def pipeline(state: Any) -> PassManager:
    """The passes that the function of this state needs."""
    passes: list[tuple[Any, str]] = []
    for step, purpose in DefaultPassBuilder.define_nopython_pipeline(state).passes:
        passes.append((step, purpose))
        if step is RewriteSemanticConstants:
            passes.append((StateFacts, "state facts"))
    nested = any(isinstance(constant, CodeType) for constant in state.func_id.code.co_consts)
    chosen = shorten(passes) if QUICK and not nested else PassManager("nopython")
    chosen.passes = chosen.passes or passes
    chosen.finalize()
    return chosen


@register_pass(mutates_CFG=False, analysis_only=False)
class StateFacts(FunctionPass):  # type: ignore[misc]
    """Put True and False in place of questions to parts that their types answer, such as `self.output.averages()`.

    The pruning of dead branches that follows then drops what the answer excludes.
    """

    _name = "state_facts"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        code, found = state.func_ir, False
        for assignment in list(_questions(code)):
            answer = _answer(assignment.value, code, state.args)
            if answer is not None:
                constant = ir.Const(answer, assignment.loc)
                code._definitions[assignment.target.name] = [
                    constant if known is assignment.value else known
                    for known in code._definitions[assignment.target.name]
                ]
                assignment.value = constant
                found = True
        return found


def _questions(code: Any) -> Iterator[Any]:
    """Assignments of what a call without arguments returns."""
    for block in code.blocks.values():
        for assignment in block.find_insts(ir.Assign):
            value = assignment.value
            if isinstance(value, ir.Expr) and value.op == "call" and not (value.args or value.kws or value.vararg):
                yield assignment


def _answer(call: Any, code: Any, arguments: Any) -> bool | None:
    method = guard(get_definition, code, call.func)
    if not (isinstance(method, ir.Expr) and method.op == "getattr"):
        return None
    fact = getattr(_kind(method.value, code, arguments), "fact", None)
    return fact(method.attr) if fact else None


def _kind(variable: Any, code: Any, arguments: Any) -> Any:
    """The type of an argument, or of a field of a part that is one; None if it is anything else."""
    origin = guard(get_definition, code, variable)
    if isinstance(origin, ir.Arg):
        return arguments[origin.index]
    if isinstance(origin, ir.Expr) and origin.op == "getattr":
        return getattr(_kind(origin.value, code, arguments), "fields", {}).get(origin.attr)
    return None
