"""Lower kernels, in a process that takes this machine for one of a kind: see variants.py.

Reads calls from the input, and prints what was made of them. numba types and lowers, and links what
a kernel calls; of LLVM's work only what any CPU needs is done here, once for all: inlining, and
simplifying. Loops are unrolled and put into vectors where the kernel is used.
"""

import hashlib
import json
import re
import sys
from functools import cache

import numba
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import codegen, cpu, registry

from . import variants

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
TRIPLE = variants.VARIANTS[sys.argv[1]][0]
_ = registry.cpu_target.target_context  # numba's own machine remains the one there is
llvm.get_process_triple = lambda: TRIPLE

from minifp.runtime.cpu.compile import decorators, front_end, machine, shipped  # noqa: E402

from . import archives, entry  # noqa: E402

# ---- numba ---------------------------------------------------------------------------------------


def keep_raw():
    """Let numba link modules, and neither optimise them nor make code."""

    def no_code(library):
        library._finalized = True

    def no_function(context, library, description, environment):
        library._ensure_finalized()
        return [].append  # of C, and another for each, as numba knows functions by them

    codegen.CPUCodeLibrary._optimize_functions = lambda library, module: None
    codegen.CPUCodeLibrary._optimize_final_module = lambda library: None
    codegen.CPUCodeLibrary._finalize_final_module = no_code
    cpu.CPUContext.get_executable = no_function


KINDS = {"int": "int64", "float": "float64", "bool": "boolean", "None": "none"}


def numba_type(kind):
    """numba's type for one of entries.py."""
    types = numba.types
    if isinstance(kind, list):
        return types.Tuple([numba_type(inner) for inner in kind])
    if "[" in kind:
        format = kind.partition("[")[0].replace("bool", "boolean")
        return types.Array(getattr(types, format), entry.axes_of(kind), "C")
    return getattr(types, KINDS.get(kind, kind.removeprefix("numpy.")))


def raw(fn, options, args):
    """(numba's module of a function of these types, its name there, the type of its result)."""
    kernel = numba.njit(**options, no_cpython_wrapper=True)(front_end.understood(fn))
    kernel.compile(tuple(args))
    (made,) = kernel.overloads.values()
    return str(made.library._final_module), made.fndesc.llvm_func_name, made.signature.return_type


# ---- LLVM ----------------------------------------------------------------------------------------


@cache
def any_machine():
    """One for all kinds of CPU, so that what is the same for them remains so."""
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    return target.create_target_machine(cpu="x86-64", opt=1, reloc="pic")


def plain(text, name):
    """A module without what belongs to this process: exceptions that no one reads, long names."""
    text = re.sub(rf"@{re.escape(name)}(?![\w.$])", "@kernel", text)
    text = re.sub(r"^\s*store .*@\.const\.picklebuf.*$", "", text, flags=re.MULTILINE)
    known: dict = {}
    text = re.sub(r"_ZN[\w.$]+", lambda m: known.setdefault(m[0], f"f{len(known)}"), text)
    return re.sub(r"^target .*$", "", text, flags=re.MULTILINE)


def simplified(text, as_it_is):
    """A module whose function `kernel` has in it what it calls.

    as_it_is: of functions of C. The tile is in LLVM's vectors already: 5% slower if simplified now.
    """
    module = llvm.parse_assembly(text)
    for value in [*module.functions, *module.global_variables]:
        if not value.is_declaration and value.name != "kernel":
            value.linkage = "internal"
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    tuning.loop_vectorization = tuning.slp_vectorization = False  # as wide as the CPU is, later
    tuning.loop_interleaving = tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(any_machine(), tuning)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    (passes if as_it_is else builder.getModulePassManager()).run(module, builder)
    passes.add_strip_symbols_pass()  # which numba numbers on and on
    passes.run(module, builder)
    return module


def joined(module, text):
    """A module with the one of its entry; the text of both."""
    kernel = module.get_function("kernel")
    kernel.add_function_attribute("noinline")
    module.link_in(llvm.parse_assembly(text))
    module.get_function("kernel").linkage = "internal"
    lines = str(module).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("; ", "source_", "target ")))


def c_function(symbol, signature):
    """The module of a function of C that calls `kernel`."""
    module, known = ir.Module(), {"CPointer": machine.POINTER, "int": machine.I64}
    takes = [known.get(type(a).__name__, machine.I64) for a in signature]
    form = [machine.POINTER, machine.POINTER, *takes]
    kernel = ir.Function(module, ir.FunctionType(machine.I32, form), "kernel")
    fn = ir.Function(module, ir.FunctionType(machine.VOID, takes), symbol)
    builder = ir.IRBuilder(fn.append_basic_block())
    spaces = [builder.alloca(machine.POINTER) for _ in range(2)]
    builder.call(kernel, [*(builder.bitcast(s, machine.POINTER) for s in spaces), *fn.args])
    builder.ret_void()
    return str(module)


# ---- all -----------------------------------------------------------------------------------------


def lowered(path, name, types):
    """[name of the member, text, symbols it calls] of a kernel, or of a function of C."""
    kernel = archives.kernel_of(path, name)
    if isinstance(kernel, decorators.Native):
        args, _ = numba.core.sigutils.normalize_signature(types)
        text, full, _ = raw(kernel.py_func, {"error_model": "numpy", "_nrt": False}, args)
        caller = c_function(name, args)
    else:
        args = [numba_type(kind) for kind in entry.parse(types)]
        text, full, result = raw(kernel.py_func, kernel.options, args)
        caller = entry.entry_text(shipped.ENTRY, types, str(result))
    module = simplified(plain(text, full), as_it_is=isinstance(kernel, decorators.Native))
    text = joined(module, caller)
    symbols = sorted(
        symbol for symbol in decorators.NATIVES if f"@{symbol}(" in text and symbol != name
    )
    return hashlib.sha256(text.encode()).hexdigest()[:24], text, symbols


if __name__ == "__main__":
    output, sys.stdout = sys.stdout, sys.stderr
    keep_raw()
    made = {
        path: {name: {t: lowered(path, name, t) for t in types} for name, types in kernels.items()}
        for path, kernels in json.load(sys.stdin).items()
    }
    about = {"llvm": llvm.llvm_version_info[0], "numba": numba.__version__}
    json.dump({"kernels": made, **about}, output)
