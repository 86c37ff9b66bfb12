"""Names that are not there, most of them PyTorch's, refused with the nearest thing that is.

Importing this module attaches it to `fp`, `nn`, `F`, `optim` and the others, and to Tensor, Module
and Optimizer; and `dir` of these, and so completion, shows the public names only, not what they are
made of. The text is made when it is read, so that `hasattr` costs nothing. A Tensor knows PyTorch's
names; what is like none of them Python refuses by itself. Names with an underscore in front are
asked for by Python, NumPy and notebooks, and are refused as ever.

Modules have the names by which they are attributes: `import minifp.cuda.amp`. What is said of
names, and of arguments (runtime/unknown_arguments.py), is in advice.py.
"""

import sys
from functools import cache, partial
from inspect import CO_VARARGS, CO_VARKEYWORDS, getattr_static, isfunction, unwrap
from opcode import opmap
from typing import Any

import numpy as np

from minifp import autograd, data, models, nn, optim, utils
from minifp.autograd.tape import Tensor
from minifp.compat import amp, cuda, paddle
from minifp.compat.advice import ARGUMENTS, MORE, OF_MODULES, OF_OPTIMIZERS
from minifp.compat.arguments import ORDER, TAKEN
from minifp.errors import UnknownNameError
from minifp.nn import functional, init
from minifp.nn import utils as nn_utils
from minifp.optim import lr_scheduler
from minifp.runtime.nearest import nearest
from minifp.runtime.unknown_arguments import ADVICE, MEANING, POSITIONS, answering

PLACES: dict[str, Any] = {  # how a name there is written -> where to look
    "fp.": sys.modules["minifp"],
    "nn.": nn,
    "F.": functional,
    "x.": Tensor,
    "optim.": optim,
    "optim.lr_scheduler.": lr_scheduler,
    "nn.init.": init,
    "nn.utils.": nn_utils,
    "nn.utils.rnn.": nn_utils.rnn,
    "fp.data.": data,
    "fp.utils.": utils,
    "fp.utils.data.": utils.data,
    "fp.models.": models,
    "fp.amp.": amp,
    "fp.cuda.": cuda,
    "fp.cuda.amp.": cuda.amp,
    "fp.autograd.": autograd,
    "fp.paddle.": paddle,
    "fp.paddle.amp.": paddle.amp,
    "fp.paddle.mixed_precision.": paddle.mixed_precision,
}
ALIASES = ("amp", "cuda", "paddle")  # of minifp, which has them in minifp.compat
LISTED = 20  # names of a place that are few enough to list

IDEAS = (  # names of what goes by another one here, or is done in another way
    ("compile jit", "nothing to do: kernels are compiled when they are first called"),
    ("set_default_dtype set_default_tensor_type", 'fp.set_precision("float32"), or another one'),
    ("get_default_dtype", "fp.get_precision()"),
    ("Generator", "fp.manual_seed(seed), of all random numbers"),
    ("random", "fp.manual_seed(seed), fp.get_state(), fp.rand, fp.randn"),
    ("get_rng_state initial_seed", "fp.get_state()"),
    ("set_rng_state", "fp.set_state(state)"),
    ("get_device is_cpu", "x.device"),
    ("DataParallel DistributedDataParallel distributed", "training runs on one device"),
    ("AlphaDropout alpha_dropout", "nn.Dropout"),
    ("embedding_bag", "F.embedding, and the sum, mean or max of its result along dim=1"),
    ("Hardshrink Softshrink Threshold RReLU hardshrink softshrink threshold rrelu", "fp.where"),
    ("MultiplicativeLR CyclicLR", "optim.lr_scheduler.LambdaLR"),
    ("clamp_min clamp_max clamp_min_ clamp_max_", "clamp(min=...) and clamp(max=...)"),
    ("fmod", "remainder"),
    ("baddbmm", "fp.bmm(a, b) + c"),
    ("as_strided", "x.reshape, x.permute and slices"),
    ("grad_fn", "x.node: the operation that made it"),
    ("data_ptr untyped_storage", "x.array: the NumPy array itself"),
    ("astype", 'x.to("float32"), or another dtype'),
    ("byte", 'x.to("uint8")'),
    ("short char", 'x.to("int32")'),
    ("copy", "x.clone()"),
    ("ChainDataset StackDataset", "ConcatDataset, or TensorDataset"),
    ("DistributedSampler", "training runs in one process, on one device"),
    ("is_available cuda", "`minifp doctor` on the command line shows what this machine has"),
)
TENSOR_NAMES = """
    absolute addbmm addmv addr adjoint align_as aminmax angle apply_ arccos arccosh arcsin arcsinh
    arctan arctan2 arctanh argwhere asinh acosh atanh atan2 bincount bitwise_left_shift
    bitwise_right_shift cauchy_ cholesky cholesky_solve conj copysign corrcoef cov cross cummax
    cummin deg2rad det diag diag_embed diagflat diff digamma dist dsplit erfc erfinv erfinv_ exp2
    exponential_ expm1_ fix flatten_ fliplr flipud float_power fmax fmin frac frexp geometric_ ger
    hardshrink heaviside histc histogram hsplit hypot i0 imag index_reduce inner inverse ipu
    is_coalesced is_complex is_inference is_meta is_neg is_nonzero is_pinned is_quantized
    is_same_size is_set_to is_shared is_signed isneginf isposinf isreal istft kron kthvalue lcm gcd
    ldexp lgamma log_normal_ logaddexp logaddexp2 logcumsumexp logdet logit logit_ lu map_
    matrix_exp matrix_power median mH mode moveaxis msort mvlgamma nan_to_num nan_to_num_ nanmean
    nanmedian nanquantile nansum narrow_copy ndimension negative new nextafter norm_ orgqr
    pin_memory pinverse polygamma positive put put_ qr quantile rad2deg random_ real record_stream
    refine_names register_post_accumulate_grad_hook reinforce rename renorm renorm_ resize resize_
    resize_as resize_as_ retains_grad rot90 scatter_reduce scatter_reduce_ select_scatter set_ sgn
    share_memory_ signbit sinc slice_scatter slogdet solve sparse_mask stft storage_offset
    storage_type sum_to_size svd swapdims take tensor_split to_dense to_sparse trace unfold unique
    unique_consecutive unsafe_chunk unsafe_split values vdot vsplit xlogy xpu zero
"""
CLASSES: dict[str, tuple[type, str]] = {  # how a method is written -> whose, and what it lacks
    "x.": (Tensor, TENSOR_NAMES),
    "model.": (nn.Module, OF_MODULES),
    "optimizer.": (optim.Optimizer, OF_OPTIMIZERS),
}
INSTEAD = {name: instead for names, instead in (*IDEAS, *MORE) for name in names.split()}
ADVICE.update({name: instead for names, instead in ARGUMENTS for name in names.split()})
MEANING.update(TAKEN)
POSITIONS.update(ORDER)


def names_in(place: Any) -> list[str]:
    """The public names of a module or of a class."""
    own = getattr(place, "__all__", None)
    if own is None and not isinstance(place, type):
        own = [n for n, v in vars(place).items() if getattr(v, "__module__", "") == place.__name__]
    names = own or [n for n in dir(place) if not isinstance(vars(place).get(n), Missing)]
    return [n for n in names if not n.startswith("_")]


def advice(own: str, name: str) -> str:
    """What to write instead of a name, asked for where names are written with `own` in front."""
    if name in INSTEAD:
        return f"instead: {INSTEAD[name]}"
    place = PLACES.get(own) or CLASSES[own][0]
    known, plain = names_in(place), name.lower().removeprefix("lazy").rstrip("_")
    places = {own: place, **PLACES}
    same = [f"{w}{n}" for w, p in places.items() for n in names_in(p) if n.lower() == plain]
    like_numpy = getattr(np, name, None)
    if not same and callable(like_numpy) and not isinstance(like_numpy, type):
        return f"NumPy has it, without gradients: np.{name}(x.numpy())"
    same.sort(key=lambda n: n.rpartition(".")[2] != name.rstrip("_"))  # a class, or a function
    near = same or [f"{own}{n}" for n in nearest(plain, known)]
    if not near and len(known) <= LISTED:
        return f"there are {', '.join(known)}"
    near = near or [f"{w}{n}" for w, p in places.items() for n in nearest(plain, names_in(p), 1)]
    if near:
        return f"the nearest: {', '.join(near)}"
    return f"nothing here is like it; dir({own.rstrip('.')}) lists all names"


def text(where: str, own: str, name: str) -> str:
    """The message for a name asked for at `where`."""
    return f"{where.replace('minifp.compat', 'minifp')} has no {name!r}; {advice(own, name)}"


def refuse(module: str, own: str, late: Any, name: str) -> Any:
    """The `__getattr__` of a module. Raises UnknownNameError, or ImportError in an import.

    late: the names that are imported when they are asked for, and what imports one.
    """
    if name in late:
        late(name)
        answer_arguments(sys.modules[module], [name])
        home, held = sys.modules[late.homes[name][0]], vars(sys.modules[module])[name]
        if vars(home).get(name) is unwrap(held):
            setattr(home, name, held)
        return held
    if name.startswith("_") or f"{module}.{name}" in sys.modules:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    if is_import(sys._getframe(1)):  # which would raise an error of its own
        raise ImportError(text(module, own, name), name=module)
    raise UnknownNameError(partial(text, module, own, name))


def is_import(frame: Any) -> bool:
    """Whether a frame is executing `from ... import name`."""
    return frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


class Missing:
    """A name that PyTorch's class has and ours has not. Reading it raises UnknownNameError.

    One descriptor a name: a `__getattr__` would make each attribute of every Tensor slower.
    """

    def __init__(self, own: str, name: str) -> None:
        self.own, self.name = own, name

    def __get__(self, owner: Any, kind: type) -> Any:
        raise UnknownNameError(partial(text, f"a {kind.__name__}", self.own, self.name))


def present(owner: Any) -> list[str]:
    """The `__dir__` of these classes: without what is missing."""
    kind = type(owner)
    names = object.__dir__(owner)
    return [n for n in names if not isinstance(getattr_static(kind, n, None), Missing)]


def attach(place: Any, written: str) -> None:
    """Let a module refuse the names that it does not have, nor gets when they are asked for."""
    late = vars(place).get("__getattr__", ())  # a `Late` of minifp.runtime.late
    place.__getattr__ = partial(refuse, place.__name__, written, late)


def show_public_names(place: Any) -> None:
    """Let `dir` of a module show its public names, and no other."""
    place.__dir__ = partial(names_in, place)


def attach_to_class(written: str, kind: type, names: set[str]) -> None:
    """Let a class refuse the names that it does not have."""
    setattr(kind, "__dir__", present)  # noqa: B010
    for name in names:
        if not hasattr(kind, name):
            setattr(kind, name, Missing(written, name))


VARIADIC = CO_VARARGS | CO_VARKEYWORDS
# Methods that each step calls, and what it makes: a wrapper would make it slower.
OF_A_STEP = set(
    "apply backward check holds keywords needed placed scale step chained factor_at rate unscale_ "
    "update values StepResult".split()
)
OF_LISTS = {*"append extend insert pop update".split()}  # what is no step's of modules' methods


def answer_arguments(place: Any, names: list[str] | None = None) -> None:
    """Let the functions of a module or class, constructors and methods refuse what they cannot use.

    names: of some; by default all that are there."""
    for name in names_in(place) if names is None else names:
        held: Any = vars(place).get(name)
        if isinstance(held, type) and held.__module__.startswith("minifp."):
            for base in {*held.__mro__} - {Tensor}:  # which each operation makes
                answer_methods(base)
        elif isfunction(held) and held.__module__.startswith("minifp."):
            home, function = sys.modules[held.__module__], answered(held)
            if vars(home).get(function.__name__) is held:  # by which it is pickled
                setattr(home, function.__name__, function)
            setattr(place, name, function)


def answer_methods(kind: type) -> None:
    """Let the constructor of a class refuse what it cannot use, and methods but those of a step."""
    names = {name for name in vars(kind) if name[0] != "_"}
    names = names & OF_LISTS if issubclass(kind, nn.Module) else names - OF_A_STEP
    for name in names if kind.__name__ in OF_A_STEP else {"__init__", *names}:
        method: Any = vars(kind).get(name)
        if isfunction(method) and method.__module__.startswith("minifp."):
            setattr(kind, name, answered(method))


@cache
def answered(function: Any) -> Any:
    """The function as `answering` makes it, once; one that takes nothing needs no answers."""
    code = unwrap(function).__code__
    of_self = code.co_varnames[:1] == ("self",) and function.__name__ != "__init__"
    own = code.co_argcount - of_self + code.co_kwonlyargcount
    takes_nothing = own == 0 and not code.co_flags & VARIADIC
    return function if hasattr(function, "answers") or takes_nothing else answering(function)


class NoModule:
    """The last finder of modules: one of PyTorch's is refused with what to write instead."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise ModuleNotFoundError for a name with advice; for others Python's own is raised."""
        parent, _, last = name.rpartition(".")
        if parent.split(".")[0] == "minifp" and last in INSTEAD:
            where = parent.replace("minifp.compat", "minifp")
            text = f"{where} has no module {last!r}; instead: {INSTEAD[last]}"
            raise ModuleNotFoundError(text, name=name)


for _written, _place in PLACES.items():
    answer_arguments(_place)
    if _place is not Tensor:
        attach(_place, _written)
        show_public_names(_place)
for _written, (_kind, _names) in CLASSES.items():
    _more = {*INSTEAD, *names_in(functional)} if _kind is Tensor else set()
    _lower = {name for name in _more if not name[0].isupper()}
    attach_to_class(_written, _kind, {*_names.split(), *_lower})
    # Of an optimizer's methods that a step calls, `step` alone answers.
    answer_arguments(_kind, ["step"] if _kind is optim.Optimizer else None)
for _name in [n for n in sys.modules if n.split(".")[:2] == ["minifp", "compat"]]:
    if _name.split(".")[2:3] and _name.split(".")[2] in ALIASES:
        sys.modules[_name.replace("minifp.compat.", "minifp.", 1)] = sys.modules[_name]
sys.meta_path.append(NoModule)
