"""Steps of sequences on the CPU: see minifp/derive/steps.py.

A step is a function without an entry for Python: the kernel that takes a part of the batch through
all steps calls it at its address, with a pointer to each array in a table.
"""

from functools import cache

from llvmlite import ir

from minifp.derive.graph import in_order
from minifp.derive.llvm import Emitter
from minifp.derive.steps import ROUNDED, Step
from minifp.runtime.cpu.compile.decorators import intrinsic, types
from minifp.runtime.cpu.compile.machine import F32, I64, VOID, address_of
from minifp.runtime.cpu.emit.formats_ir import FORMATS
from minifp.runtime.cpu.emit.loops import Code, element, new_module, parameters

NAME = "step"  # of all, so that those of one formula share code


def step_text(step: Step) -> str:
    """LLVM's text of a step, NAME.

    Its parameters: table: where the arrays begin; sums: the workspace, whose rows are `apart`;
    row: that of the first sequence, which is number `first` of all; n, width: sequences and units.
    """
    module = new_module(NAME)
    _add_rounding(module, step.dtype)
    text = "table int64, sums float32, apart i64, row i64, first i64, n i64, width i64"
    code = Code(module, NAME, parameters(text))
    b, p = code.b, code.p
    arrays = {}
    for k, (name, operand) in enumerate(step.operands.items()):
        place = b.load(b.gep(p["table"], [I64(k)]))
        arrays[name] = b.inttoptr(place, element(operand.dtype).as_pointer())
    with code.loop(I64(0), p["n"]) as r:
        rows = {"row": b.add(p["row"], r), "sequence": b.add(p["first"], r), "all": I64(0)}
        stored: dict = {}  # where the numbers of nodes lie that earlier loops have written
        for results in step.loops:
            with code.lanes(p["width"]) as j:

                def at(name, block, r=r, j=j, rows=rows):
                    """(array, index, dtype) of a number."""
                    dtype, index, blocks = step.operands[name]
                    column = b.add(b.mul(I64(block), p["width"]), j)
                    if index == "sums":
                        return p["sums"], b.add(b.mul(r, p["apart"]), column), dtype
                    start = b.mul(rows[index], b.mul(I64(blocks), p["width"]))
                    return arrays[name], b.add(start, column), dtype

                loads = [n for n in in_order([n for n, _ in results]) if n.op == "load"]
                places = stored | {n: step.reads[n.value[0]] for n in loads}
                emitter = Emitter(b, {n: code.load(*at(*place)) for n, place in places.items()})
                values = [emitter.value(node) for node, _ in results]
                for value, (_, place) in zip(values, results):
                    array, index, dtype = at(*place)
                    code.store(value, array, index, dtype)
            stored |= {node: place for node, place in results if node.value == ROUNDED}
    code.finish()
    return code.text()


def _add_rounding(module, dtype):
    """Put the function ROUNDED into a module."""
    function = ir.Function(module, ir.FunctionType(F32, [F32]), ROUNDED)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    b, (_, upcast, downcast) = ir.IRBuilder(function.append_basic_block()), FORMATS[dtype]
    b.ret(upcast(b, downcast(b, function.args[0])))


@cache
def address_of_step(step: Step) -> int:
    """Where its code begins."""
    return address_of(NAME, step_text(step), step.name)


@intrinsic
def take_step(typing, step, table, sums, apart, row, first, n, width):
    """Call the step at an address."""
    numbers = (apart, row, first, n, width)

    def generate(context, builder, signature, args):
        kinds = [I64.as_pointer(), F32.as_pointer(), *[I64] * len(numbers)]
        function = builder.inttoptr(args[0], ir.FunctionType(VOID, kinds).as_pointer())
        given = [context.cast(builder, a, k, types.int64) for a, k in zip(args[3:], numbers)]
        builder.call(function, [args[1], args[2], *given])
        return context.get_dummy_value()

    return types.void(step, table, sums, *numbers), generate
