"""Convolutions by cuDNN: the graphs that are asked for, and what becomes of them.

The frontend itself is asked on machines without a GPU whether it takes the graphs: that needs no
more of cuDNN than its version. What comes after is imitated: `Imitated` is the frontend's module
as far as minifp uses it, and computes what the graph says on the arrays that it is pointed to.
Where there is a GPU and cuDNN, these are real.
"""

import ctypes
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import build
import numpy as np
import pytest
from bounds import Call
from checked import NAMES, SEEDS, check, check_all, normal
from layer_shapes import PLAIN, convolved
from real_gpu import IMITATED
from refusals import refuses
from shapes import Numbers
from test_capture import assert_same, trained

import minifp as fp
from minifp import nn
from minifp.errors import ArgumentError, DeviceError
from minifp.ops.windows import window_count
from minifp.runtime.cuda import capturing, cudnn, math_modes
from minifp.runtime.cuda.arrays import cupy, to_device, to_host
from minifp.runtime.cuda.cudnn import Geometry

STEPS = cudnn.Steps((1, 1), (0, 0), (1, 1))
CASES = [  # pictures, weights, what is not one
    ((2, 3, 9, 8), (4, 3, 3, 3), {"padding": (1, 1)}),
    ((3, 4, 9, 7), (6, 2, 2, 3), {"groups": 2, "stride": (2, 3), "dilation": (3, 2)}),
    ((2, 6, 7, 7), (5, 6, 1, 1), {"stride": (2, 2)}),
    ((2, 3, 5, 5), (4, 3, 2, 2), {"padding": (4, 3), "stride": (3, 3)}),
    ((2, 6, 8, 5), (12, 1, 3, 3), {"padding": (1, 1), "groups": 6}),
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((3, 4, 19), (5, 4, 3), {"stride": (2,), "padding": (2,), "dilation": (2,)}),  # sequences
]


class NotSupported(Exception):
    """What the frontend raises where no engine is left."""


class Tensor:
    def __init__(self, dim=None, stride=None, data_type=None, uid=None):
        self.dim, self.stride, self.data_type, self.uid = dim, stride, data_type, uid
        self.is_output = False

    def __getattr__(self, name):
        if not name.startswith("set_"):
            raise AttributeError(name)

        def set_it(value):
            setattr(self, "is_output" if name == "set_output" else name[4:], value)
            return self

        return set_it

    def at(self, pointer):
        expected = np.empty(self.dim, self.data_type)
        assert self.stride == [s // expected.itemsize for s in expected.strides]
        assert pointer % 16 == 0
        memory = (ctypes.c_char * expected.nbytes).from_address(pointer)
        return np.frombuffer(memory, self.data_type).reshape(self.dim)


class Graph:
    """The frontend's pygraph. `asked` is what it was told, in order."""

    def __init__(self, module, **settings):
        self.module, self.settings, self.asked, self.nodes = module, settings, [], []
        module.graphs.append(self)

    tensor = staticmethod(Tensor)

    def conv_fprop(self, image, weight, **geometry):
        return self._node("conv_forward", geometry, image, weight)

    def conv_dgrad(self, loss, filter, **geometry):
        return self._node("conv_dx", geometry, loss, filter)

    def conv_wgrad(self, image, loss, **geometry):
        return self._node("conv_dw", geometry, loss, image)

    def bias(self, input, bias):
        return self._node("bias", {}, input, bias)

    def _node(self, kind, geometry, *inputs):
        self.nodes.append((kind, geometry, inputs, Tensor()))
        return self.nodes[-1][-1]

    def __getattr__(self, name):
        known = "validate build_operation_graph create_execution_plans check_support build_plans "
        if name not in known + "deselect_numeric_notes deselect_workspace_greater_than":
            raise AttributeError(name)

        def ask(*args):
            assert not cupy().cuda.get_current_stream().is_capturing()
            self.asked.append((name, *args))
            if name == self.module.fails_at:
                raise self.module.error("no engine is left")

        return ask

    def get_workspace_size(self):
        return self.module.workspace

    def execute(self, pointers, workspace, handle):
        assert self.asked[-1][0] == "build_plans"
        stream = cupy().cuda.get_current_stream()
        assert self.module.streams[handle] == stream.ptr
        self.module.executed.append((self, workspace))
        sys.modules["cupy"]._do(lambda: self.compute(pointers, workspace))

    def compute(self, pointers, workspace):
        """Do it, each node rounded once to its tensor's format."""
        if workspace:
            ctypes.memset(workspace, 0xAB, self.module.workspace)
        held = {}
        for kind, geometry, inputs, result in self.nodes:
            a, b = (held[t] if t in held else t.at(pointers[t.uid]) for t in inputs)
            y = computed(kind, a.astype(float), b.astype(float), result.dim, **geometry)
            held[result] = y.astype(result.data_type or self.settings["intermediate_data_type"])
        assert [t for t in held if t.is_output] == [result]
        result.at(pointers[result.uid])[...] = held[result]


def computed(kind, a, b, shape, **geometry):
    """The result of a node, of this shape, in float64: the references'."""
    if kind == "bias":
        return a + b
    args = {"conv_forward": (a, b, None)}.get(kind, (a, b))
    channels = {"conv_forward": a, "conv_dw": b}.get(kind, np.empty(shape)).shape[1]
    of_each = {"conv_dw": shape}.get(kind, b.shape)[1]
    sizes = {"conv_forward": ("counts", 2), "conv_dx": ("x_sizes", 2), "conv_dw": ("w_shape", 0)}
    name, start = sizes[kind]
    params = {**geometry, "groups": channels // of_each, name: tuple(shape[start:])}
    (y,), _ = Call(NAMES[f"conv.{kind}"], args, params, (), None).exact()
    return y


class Imitated:
    """The module of the frontend. fails_at: the call that raises `error`."""

    data_type = SimpleNamespace(HALF="float16", FLOAT="float32")
    numerical_note = SimpleNamespace(**{name: name for name in (*cudnn.FORBIDDEN, "TENSOR_CORE")})
    heur_mode = SimpleNamespace(A="A", FALLBACK="FALLBACK")
    build_plan_policy = SimpleNamespace(HEURISTICS_CHOICE="HEURISTICS_CHOICE")
    cudnnGraphNotSupportedError = NotSupported

    def __init__(self):
        self.graphs, self.executed, self.streams, self.workspace = [], [], {}, 4096
        self.fails_at, self.error = None, NotSupported

    def backend_version(self):
        return 92800

    def pygraph(self, **settings):
        return Graph(self, **settings)

    def create_handle(self):
        self.streams[len(self.streams) + 1] = None
        return len(self.streams)

    def set_stream(self, handle, stream):
        self.streams[handle] = stream


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch):
    """Each test begins without a choice, plans and places."""
    monkeypatch.setattr(cudnn, "chosen", None)
    monkeypatch.setattr(cudnn, "plans", {})
    monkeypatch.delenv("MINIFP_CONVOLUTIONS", raising=False)
    cudnn.place.cache_clear()
    yield
    cudnn.place.cache_clear()


@pytest.fixture
def library(monkeypatch):
    """cuDNN is chosen: an imitated one where the GPU is."""
    if IMITATED:
        monkeypatch.setitem(sys.modules, "cudnn", Imitated())
    try:
        cudnn.use(True)
    except DeviceError as error:
        pytest.skip(str(error))
    return sys.modules["cudnn"]


only_imitated = pytest.mark.skipif(not IMITATED, reason="looks into the imitation")


def all_three(case, dtype="float16", bias=None, to=None):
    shape, w_shape, given = case
    return check_all(convolved(Numbers(None), shape, w_shape, dtype, bias, to, **given))


FORMATS = [
    *(("float16", "float16", "float16"), ("float16", "float32", "float32")),
    *(("float32", "float16", "float32"), ("float32", None, "float16")),
]


@pytest.mark.parametrize("case", CASES)
def test_results_are_within_the_bound_as_those_of_products_are(case, library):
    for formats in FORMATS:
        by_cudnn = all_three(case, *formats)
        cudnn.use(False)
        by_products = all_three(case, *formats)
        cudnn.use(True)
        for (ours,), (theirs,) in zip(by_cudnn, by_products, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), formats
    if IMITATED:
        used = {id(graph) for graph, _ in library.executed}
        assert len(library.graphs) == 3 * len(FORMATS) == len(used)
        assert not cudnn.refused()


def test_a_bias_is_added_before_the_only_rounding_and_sums_may_be_beyond_the_largest_half(library):
    x, w = np.ones((1, 3, 2, 2), "float16"), np.float16([2048, 0.5, 0.5]).reshape(1, 3, 1, 1)
    given = {**PLAIN, "counts": (2, 2), "to": ("float16",)}
    (y,) = check("conv.conv_forward", x, w, np.float16([1]), **given)
    assert (y == 2050).all()  # 2049, rounded before it, would be 2048, and so would the result
    x, w = np.full((1, 64, 4, 4), 60000, "float16"), np.ones((2, 64, 1, 1), "float16")
    w[0, 1::2] = -1
    (y,) = check("conv.conv_forward", x, w, None, counts=(4, 4), to=("float16",), **PLAIN)
    assert not y[:, 0].any() and np.isposinf(y[:, 1]).all()


def test_arrays_in_another_order_or_place_are_copied(library):
    x, w = to_device(normal(8, 7, 3, 5)), to_device(normal(65, seed=1))
    x, w = x.transpose(3, 2, 0, 1), w[1:49].reshape(4, 3, 2, 2)
    y = cudnn.convolution("fprop", x, w, None, (5, 4, 7, 6), np.dtype("float16"), STEPS)
    assert y is not None or not IMITATED
    if y is not None:
        given = {**PLAIN, "counts": (7, 6), "to": ("float16",)}
        (same,) = check("conv.conv_forward", to_host(x.copy()), to_host(w.copy()), None, **given)
        assert np.array_equal(to_host(y), same)


@only_imitated
def test_a_plan_is_made_once_for_each_geometry_and_device(library):
    for case in (*CASES[:2], *CASES[:2]):
        all_three(case)
    assert len(library.graphs) == 6 and len(library.executed) == 4 * 3 * len(SEEDS)
    assert [device for device, _ in cudnn.plans] == [0] * 6


@only_imitated
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_what_would_break_the_promise_of_float32_sums_is_struck_out(dtype, library):
    all_three(CASES[0], dtype)
    for graph in library.graphs:
        assert graph.settings["compute_data_type"] == "float32"
        assert graph.settings["intermediate_data_type"] == "float32"
        names = [name for name, *_ in graph.asked]
        listed, struck, built = map(
            names.index, ("create_execution_plans", "deselect_numeric_notes", "check_support")
        )
        assert listed < struck < built  # before, the frontend would forget it
        notes = set(graph.asked[struck][1])
        assert notes >= {"NONDETERMINISTIC", "REDUCED_PRECISION_REDUCTION", "DOWN_CONVERT_INPUTS"}
        assert ("TENSOR_CORE" in notes) == (dtype == "float32")  # as they round float32


@only_imitated
@pytest.mark.parametrize(("mode", "allowed"), [
    ("tensor_cores", {"float16"}), ("no_tensor_cores", set()), ("tf32", {"float16", "float32"}),
])  # fmt: skip
def test_a_math_mode_says_which_formats_have_tensor_cores(mode, allowed, library, monkeypatch):
    monkeypatch.setattr(math_modes, "_chosen", None)
    found = set()
    for chosen in ("no_tensor_cores", mode):  # a plan of another mode is not taken
        math_modes.set_gpu_math(chosen)
        for dtype in ("float16", "float32"):
            library.graphs.clear()
            all_three(CASES[0], dtype)
            for graph in library.graphs:
                struck = {name: given for name, *given in graph.asked}["deselect_numeric_notes"]
                if "TENSOR_CORE" not in struck[0]:
                    found.add(dtype)
    assert found == allowed


@only_imitated
@pytest.mark.parametrize("error", [NotSupported, RuntimeError])
@pytest.mark.parametrize("step", ["build_operation_graph", "check_support", "build_plans"])
def test_what_cudnn_does_not_know_goes_to_products_and_is_remembered(step, error, library):
    library.fails_at, library.error = step, error
    ours = all_three(CASES[0])
    cudnn.use(False)
    for (one,), (other,) in zip(ours, all_three(CASES[0]), strict=True):
        assert one.tobytes() == other.tobytes()
    assert len(library.graphs) == 3 and not library.executed
    why = cudnn.refused()
    assert [g.kind for g in why] == ["fprop", "dgrad", "wgrad"]
    assert {*why.values()} == {"no engine is left"}


@only_imitated
def test_what_it_does_not_do_is_left_without_a_graph(library):
    def asked(x="float16", w="float16", b=None, to="float16", shape=(2, 4, 6, 6), pictures=2):
        x, w = normal(pictures, 3, 8, 8, dtype=x), normal(4, 3, 3, 3, dtype=w)
        b = b if b is None else to_device(normal(4, dtype=b))
        args = to_device(x), to_device(w), b, shape, np.dtype(to), STEPS
        return cudnn.convolution("fprop", *args)

    assert asked() is not None
    before = len(library.graphs)
    assert asked(x="float32") is None
    assert asked(x="float64", w="float64", to="float64") is None
    assert asked(b="float64") is None and asked(to="float64") is None
    assert asked(pictures=0, shape=(0, 4, 6, 6)) is None
    assert asked(shape=(2, 4, 5, 6)) is None
    assert len(library.graphs) == before


@only_imitated
def test_each_stream_has_a_handle_and_memory_of_its_own(library):
    x, w = to_device(normal(2, 3, 8, 8)), to_device(normal(4, 3, 3, 3))
    streams = [cupy().cuda.Stream(non_blocking=True) for _ in range(2)]
    for stream in [*streams, *streams]:
        with stream:
            cudnn.convolution("fprop", x, w, None, (2, 4, 6, 6), np.dtype("float16"), STEPS)
    assert [*library.streams.values()] == [stream.ptr for stream in streams]
    first, second, *again = [workspace for _, workspace in library.executed]
    assert first != second and again == [first, second] and len(library.graphs) == 1


@only_imitated
def test_memory_that_grows_is_not_given_back():
    here, of_a_graph = cudnn.Place(Imitated(), 0), cupy().cuda.MemoryPool()
    with cupy().cuda.using_allocator(of_a_graph.malloc):
        one, two, three, none = map(here.workspace, (100, 5000, 3000, 0))
    assert not of_a_graph.used_bytes()  # which other graphs' steps must not write into
    assert one != two == three and none == 0
    assert [len(memory) for memory in here.memory] == [100, 5000]


def small_net():
    layers = nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, stride=2)
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(6 * 9, 5))


def test_a_captured_step_is_the_same_bit_for_bit(library):
    random = np.random.default_rng(0)
    data = [(random.normal(size=(6, 1, 8, 8)), random.integers(0, 5, 6)) for _ in range(8)]
    data = [(fp.tensor(x, "float32"), fp.tensor(t)) for x, t in data]
    eager = trained(False, net=small_net, data=data)
    graphs = len(library.graphs) if IMITATED else 0
    assert_same(eager, trained(True, net=small_net, data=data))
    if IMITATED:
        # Two convolutions forward, two for weights, one for what enters the second.
        assert graphs == len(library.graphs) == 5 and not cudnn.refused()
        assert len(library.executed) == 8 * 5 + 4 * 5  # three steps before, one that is captured


@only_imitated
def test_no_plan_is_made_while_a_stream_captures(library):
    x, w = to_device(normal(2, 3, 8, 8)), to_device(normal(4, 3, 3, 3))
    asked = "fprop", x, w, None, (2, 4, 6, 6), np.dtype("float16"), STEPS
    with capturing.noting(capturing.Notes(captures=True)):
        assert cudnn.convolution(*asked) is None
    assert not library.graphs and not cudnn.plans
    with capturing.noting(capturing.Notes(captures=False)) as notes:
        assert cudnn.convolution(*asked) is not None
    assert notes.launches[0][0] == "cudnn.fprop" and len(notes.launches[0][1]) == 18


def test_products_are_the_default_and_need_no_cudnn(monkeypatch):
    monkeypatch.setitem(sys.modules, "cudnn", None)
    all_three(CASES[0])
    assert not cudnn.is_chosen()


@pytest.mark.parametrize("value, expected", [("", False), ("gemm", False), ("cudnn", True)])
def test_the_environment_chooses(value, expected, library, monkeypatch):
    monkeypatch.setattr(cudnn, "chosen", None)
    monkeypatch.setenv("MINIFP_CONVOLUTIONS", value)
    assert cudnn.is_chosen() is expected
    cudnn.use(not expected)
    assert cudnn.is_chosen() is not expected  # the program's word is the last


def test_another_value_is_an_error_that_names_both(monkeypatch):
    monkeypatch.setenv("MINIFP_CONVOLUTIONS", "cuDNN")
    refuses(ArgumentError, "MINIFP_CONVOLUTIONS='cuDNN': expected gemm or cudnn", cudnn.is_chosen)
    refuses(ArgumentError, "expected True or False", cudnn.use, "cudnn")


@pytest.mark.parametrize("missing", ["the frontend", "cuDNN itself"])
def test_what_is_missing_is_named_with_the_line_that_installs_it(missing, monkeypatch):
    def no_symbol():
        raise RuntimeError("Unable to find symbol cudnnGetVersion")

    found = None if missing == "the frontend" else SimpleNamespace(backend_version=no_symbol)
    monkeypatch.setitem(sys.modules, "cudnn", found)
    refuses(DeviceError, r'pip install "minifp\[cudnn13\]"', cudnn.use, True)
    assert not cudnn.is_chosen()
    monkeypatch.setattr(cudnn, "chosen", None)
    monkeypatch.setenv("MINIFP_CONVOLUTIONS", "cudnn")
    refuses(DeviceError, "MINIFP_CONVOLUTIONS=cudnn", all_three, CASES[0])


# All that a graph is asked before cuDNN itself is.
STUB = 'extern "C" __SIZE_TYPE__ cudnnGetVersion() { return 92800; }'
ASK = """
import ctypes, json, sys
import cudnn
stub = ctypes.CDLL(sys.argv[1])
cudnn._pybind_module._set_dlhandle_cudnn(stub._handle)
from minifp.runtime.cuda import cudnn as ours

def told(geometry):
    graph = ours.graph_of(cudnn, geometry, 0)
    graph.validate()
    y = graph.query_tensor_attributes_of_uid(ours.RESULT)
    return y.get_dim(), y.get_stride(), y.get_data_type().name

answers, shaped = [], ours._shape
for given in json.load(sys.stdin):
    geometry = ours.Geometry(*[tuple(v) if isinstance(v, list) else v for v in given])
    answers.append([*told(geometry), None])
    if geometry.kind == "fprop":  # the shape that the frontend finds by itself
        ours._shape = lambda tensor, shape: tensor
        answers[-1][-1] = told(geometry)[0]
        ours._shape = shaped
notes = [getattr(cudnn.numerical_note, name).name for name in (*ours.FORBIDDEN, "TENSOR_CORE")]
modes = [cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK, cudnn.build_plan_policy.HEURISTICS_CHOICE]
known = [name for name in dir(cudnn.pygraph) + dir(cudnn) if not name.startswith("_")]
json.dump([answers, notes, known], sys.stdout)
"""


def geometries():
    for shape, w_shape, given in CASES:
        given, one = {**PLAIN, **given}, (1,) * (4 - len(shape))
        x, w = shape[:2] + one + shape[2:], w_shape[:2] + one + w_shape[2:]
        stride, dilation = one + given["stride"][-2:], one + given["dilation"][-2:]
        padding = (0,) * len(one) + given["padding"]
        each = zip(x[2:], w[2:], stride[-2:], padding[-2:], dilation[-2:])
        y = (x[0], w[0], *(window_count(n, k, s, p, d) for n, k, s, p, d in each))
        for dtype, bias, to in FORMATS:
            steps = stride[-2:], padding[-2:], dilation[-2:]
            yield Geometry("fprop", x, w, y, dtype, to, bias, *steps, True)
            yield Geometry("dgrad", y, w, x, dtype, to, None, *steps, True)
            yield Geometry("wgrad", x, y, w, dtype, to, None, *steps, True)


def test_the_frontend_takes_all_graphs_and_finds_the_shapes_that_minifp_stores():
    if find_spec("cudnn") is None:
        fails = os.environ.get("CI") and sys.platform != "darwin"
        (pytest.fail if fails else pytest.skip)(
            "cuDNN's frontend is not installed: pip install minifp[cuda-test]"
        )
    asked = [*geometries()]
    assert all(g.is_usual for g in asked)
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(build.built(STUB))],
        input=json.dumps(asked), capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers, notes, known = json.loads(done.stdout)
    for g, (dim, stride, data_type, inferred) in zip(asked, answers, strict=True):
        stored = np.empty(g.result, g.out)
        assert tuple(dim) == g.result and data_type == cudnn.FORMATS[g.out]
        assert stride == [s // stored.itemsize for s in stored.strides]
        assert inferred is None or tuple(inferred) == g.result
    assert notes == [*cudnn.FORBIDDEN, "TENSOR_CORE"]
    used = "create_handle set_stream backend_version execute get_workspace_size check_support "
    used += "build_operation_graph create_execution_plans build_plans deselect_numeric_notes "
    assert {*used.split(), "deselect_workspace_greater_than"} <= {*known}
