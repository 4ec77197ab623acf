"""Numba's passes without those that have nothing to do here, and without what they do for others.

Compiling takes the longer the more code there is, to read, to type and to optimise. So what is never run is not read,
and as nothing is counted, no code is written that would only release what is counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from numba.core import ir, types
from numba.core.analysis import must_use_alloca
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.interpreter import Interpreter, peep_hole_delete_with_exit
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.rewrites import rewrite_registry
from numba.core.ssa import reconstruct_ssa
from numba.core.typed_passes import (
    AnnotateTypes,
    DumpParforDiagnostics,
    IRLegalization,
    NativeLowering,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    GenericRewrites,
    InlineClosureLikes,
    InlineInlinables,
    IRProcessing,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    ReconstructSSA,
    TranslateByteCode,
    WithLifting,
)

from lowregret.compile.address import address

# They look for `with`, functions within functions, `literally`, expressions on whole arrays and parallel loops, find
# out how long variables live, and write types for people.
_IDLE = (
    IRProcessing,
    IRLegalization,
    AnnotateTypes,
    WithLifting,
    InlineClosureLikes,
    MakeFunctionToJitFunction,
    InlineInlinables,
    FindLiterallyCalls,
    LiteralUnroll,
    LiteralPropagationSubPipelinePass,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
    DumpParforDiagnostics,
)


def shorten(passes: list[tuple[Any, str]]) -> PassManager:
    """These passes, as far as they have anything to do."""
    chosen = _Passes("nopython")
    for step, purpose in passes:
        if step not in _IDLE:
            chosen.add_pass(_INSTEAD.get(step, step), purpose)
    return chosen


class _Passes(PassManager):  # type: ignore[misc]
    def _runPass(self, index: int, step: Any, state: Any) -> None:
        """Run one pass, without finding out again after it how long variables live: nobody asks."""
        step.analysis = self._analysis
        step.run_initialization(state)
        step.run_pass(state)
        step.run_finalizer(state)


# ---- writing LLVM code ----------------------------------------------------------------------------------------------


class _Lower(Lower):  # type: ignore[misc]
    def _find_singly_assigned_variable(self) -> None:
        """Variables that need no place in memory: with Numba's, those set once and in the first block, as arguments."""
        super()._find_singly_assigned_variable()
        first, *others = (self.blocks[label] for label in sorted(self.blocks))
        here = Counter(inst.target.name for inst in first.find_insts(ir.Assign))
        elsewhere = {inst.target.name for block in others for inst in block.find_insts(ir.Assign)}
        needed = elsewhere | must_use_alloca(self.blocks)
        self._singly_assigned_vars |= {name for name, times in here.items() if times == 1 and name not in needed}

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Memory for a variable, which no debugger is told of."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(lltype, name=name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Set a variable, without a look at the value that it had."""
        if argidx is None and name not in self._singly_assigned_vars:
            self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def lower_getitem(self, kind: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        place = self._place(value, index, signature)
        if place is None:
            return super().lower_getitem(kind, expr, value, index, signature)
        return self.context.cast(self.builder, self.builder.load(place), signature.return_type, kind)

    def lower_setitem(self, target: Any, index: Any, value: Any, signature: Any) -> Any:
        place = self._place(target, index, signature)
        if place is None:
            return super().lower_setitem(target, index, value, signature)
        number = self.context.cast(
            self.builder, self.loadvar(value.name), self.typeof(value.name), signature.args[0].dtype
        )
        return self.builder.store(number, place)

    def _place(self, array: Any, index: Any, signature: Any) -> Any:
        """Where a number lies in an array of one dimension without gaps; None of anything else."""
        kind: Any = signature.args[0]
        by: Any = signature.args[1]
        given = self.typeof(index.name)
        if not (_is_plain(kind) and isinstance(by, types.Integer)):
            return None
        cells, at = self.loadvar(array.name), self.context.cast(self.builder, self.loadvar(index.name), given, by)
        if getattr(by, "signed", False) and getattr(given, "literal_value", -1) < 0:  # counted from the end
            size = self.context.data_model_manager[kind].get(self.builder, cells, "nitems")
            below = self.builder.icmp_signed("<", at, at.type(0))
            at = self.builder.select(below, self.builder.add(at, size), at)
        return address(self.context, self.builder, kind, cells, at)

    def delvar(self, name: str) -> None:
        """Do nothing: there is nothing to release."""


def _is_plain(kind: Any) -> bool:
    return (
        isinstance(kind, types.Array)
        and (kind.ndim, kind.layout, kind.aligned) == (1, "C", True)
        and isinstance(kind.dtype, (types.Integer, types.Float))
    )


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):  # type: ignore[misc]
    """Native lowering of code that counts no references."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _Lower


# ---- reading Python's code -------------------------------------------------------------------------------------------


class _Interpreter(Interpreter):  # type: ignore[misc]
    def post_process(self, peepholes: list[Any], func_ir: Any) -> Any:
        """Put in order what was read, without a look at every variable for what `with` leaves behind."""
        return super().post_process([one for one in peepholes if one is not peep_hole_delete_with_exit], func_ir)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelTranslation(TranslateByteCode):  # type: ignore[misc]
    """Read the code of a function in which there is no `with`."""

    _name = "kernel_translation"

    def run_pass(self, state: Any) -> bool:
        state["func_ir"] = _Interpreter(state["func_id"]).interpret(state["bc"])
        return True


# ---- Numba's passes, without finding out after each how long variables live ------------------------------------------


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelRewrites(GenericRewrites):  # type: ignore[misc]
    """Say which indices and operands are constants, and the like."""

    _name = "kernel_rewrites"

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite = kind(state)
            for label in list(blocks):
                while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                    blocks[label] = rewrite.apply()
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class KernelSSA(ReconstructSSA):  # type: ignore[misc]
    """Give every value a variable of its own."""

    _name = "kernel_ssa"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class KernelStripPhis(PreLowerStripPhis):  # type: ignore[misc]
    """Let each way to a place where values meet set the variable there."""

    _name = "kernel_strip_phis"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        return True


_INSTEAD = {
    GenericRewrites: KernelRewrites,
    ReconstructSSA: KernelSSA,
    PreLowerStripPhis: KernelStripPhis,
    TranslateByteCode: KernelTranslation,
    NativeLowering: KernelLowering,
}
