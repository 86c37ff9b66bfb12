"""The section "conv": each convolution layer of four networks, forward and backward.

By minifp in float16 on tensor cores, the same without them, which is what the paper's first picture
compares with, and in float32; by PyTorch (cuDNN, which tries what is fastest) in float16 and
float32, in the faster of both layouts of pictures.
"""

from math import exp, log

import minifp as fp
from minifp.ops.convolution.conv import conv_dw, conv_dx, conv_forward

from .gpu_gemm import gpu_math
from .gpu_networks import NETWORKS, in_turn, tiny
from .gpu_timing import LAYOUTS, contest, fastest

WEIGHT, LIMIT = 75, 60
TENSOR, PLAIN, FLOAT32 = "minifp float16", "minifp float16, no tensor cores", "minifp float32"
THEIR16, THEIR32 = "PyTorch float16", "PyTorch float32"
SIDES = (TENSOR, PLAIN, FLOAT32, THEIR16, THEIR32)
PASSES = ("forward", "dx", "dw")
BY_UNIT = {f"{layer.network}, {layer.title}": layer for layer in in_turn()}


def units(settings):
    """Layers."""
    found = list(BY_UNIT)
    if settings.tiny:
        return found[:4]
    return found[:24] if settings.quick else found


def measure(unit, machine):
    """A row for each pass."""
    layer = BY_UNIT[unit]
    sizes = tiny(layer) if machine.settings.tiny else layer
    rows = []
    for which in PASSES[:1] + PASSES[2:] if layer.is_first else PASSES:
        mine = {
            TENSOR: lambda w=which: _mine(machine, sizes, w, "float16", "tensor_cores"),
            PLAIN: lambda w=which: _mine(machine, sizes, w, "float16", "no_tensor_cores"),
            FLOAT32: lambda w=which: _mine(machine, sizes, w, "float32", "tensor_cores"),
        }
        other = {
            THEIR16: lambda w=which: _theirs(machine, sizes, w, "float16"),
            THEIR32: lambda w=which: _theirs(machine, sizes, w, "float32"),
        }
        sides = contest(machine.sides(mine, other), min(3, machine.settings.repeat))
        for side in sides.values():
            if side.get("seconds"):
                side["tflops"] = 1e-12 * sizes.flops / side["seconds"]
        row = {"network": layer.network, "layer": layer.title, "pass": which}
        rows.append({**row, "count": layer.count, "flops": sizes.flops, "sides": sides})
        machine.tidy()
    return rows


def _shapes(layer):
    n, size, made = layer.batch, layer.size, layer.made
    x, w = (n, layer.inputs, size, size), (layer.outputs, layer.inputs, layer.kernel, layer.kernel)
    return x, w, (n, layer.outputs, made, made)


def _mine(machine, layer, which, stored, mode):
    ours, (x_shape, w_shape, y_shape) = machine.ours, _shapes(layer)
    geometry = {"stride": (layer.stride,) * 2, "padding": (layer.padding,) * 2}
    geometry |= {"dilation": (1, 1), "groups": 1}
    shapes = {"forward": (x_shape, w_shape), "dx": (y_shape, w_shape), "dw": (y_shape, x_shape)}
    a, b = (ours.values(shape, stored, -1, 1) for shape in shapes[which])

    def call():
        if which == "forward":
            return conv_forward(a, b, None, counts=y_shape[2:], to=stored, **geometry)
        if which == "dx":
            return conv_dx(a, b, x_sizes=x_shape[2:], to=stored, **geometry)
        return conv_dw(a, b, w_shape=w_shape, to=stored, **geometry)

    with fp.precision("mixed" if stored == "float16" else "float32"), gpu_math(mode):
        return ours.repeated(call, machine.settings.seconds / 20, 50)


def _theirs(machine, layer, which, stored):
    laid = {n: lambda n=n: _theirs_laid(machine, layer, which, stored, n) for n in LAYOUTS}
    return fastest(laid)


def _theirs_laid(machine, layer, which, stored, layout):
    theirs, torch = machine.theirs, machine.theirs.torch
    values = (theirs.values(shape, stored, -1, 1) for shape in _shapes(layer))
    x, w, dy = (theirs.laid(v, layout) for v in values)
    around = [layer.stride] * 2, [layer.padding] * 2
    if which == "forward":
        call = lambda: torch.nn.functional.conv2d(x, w, None, *around)  # noqa: E731
    else:
        wanted = [which == "dx", which == "dw", False]
        given = (None, *around, [1, 1], False, [0, 0], 1, wanted)
        call = lambda: torch.ops.aten.convolution_backward(dy, x, w, *given)  # noqa: E731
    return theirs.repeated(call, machine.settings.seconds / 20, 50)


# ---- what comes of the rows ---------------------------------------------------------------------


def by_layer(rows):
    """For each network a list of (layer, count, {side: TFLOP/s of all its passes together}).

    A side of which a pass is missing is left out there.
    """
    found: dict[str, dict] = {name: {} for name in NETWORKS}
    for row in rows:
        found[row["network"]].setdefault(row["layer"], []).append(row)
    return {
        network: [
            (title, passes[0]["count"], {name: r for name in SIDES if (r := _rate(passes, name))})
            for title, passes in of_network.items()
        ]
        for network, of_network in found.items()
        if of_network
    }


def _rate(passes, name):
    seconds = [row["sides"].get(name, {}).get("seconds") for row in passes]
    return 1e-12 * sum(row["flops"] for row in passes) / sum(seconds) if all(seconds) else None


def means(rows):
    """By network, {side: geometric mean of its layers' TFLOP/s}, each as often as it is there.

    Of layers that all sides have which are there at all, so that they can be compared.
    """
    found = {}
    for network, those in by_layer(rows).items():
        names = [n for n in SIDES if any(n in rates for _, _, rates in those)]
        whole = [(count, rates) for _, count, rates in those if all(n in rates for n in names)]
        total = sum(count for count, _ in whole)
        if total:
            found[network] = {
                n: exp(sum(count * log(rates[n]) for count, rates in whole) / total) for n in names
            } | {"layers": len(whole)}
    return found
