"""The bars that the figures of a GPU are held against: met, missed, or not measured."""

from dataclasses import dataclass

from . import gpu_bandwidth, gpu_conv, gpu_optimizer, gpu_steps

LSTMS = ("lstm", "lstm650", "lstm1500")


@dataclass
class Bar:
    """A limit, and the figure of a measurement; None where there is none."""

    what: str
    where: str
    limit: float
    value: float | None
    least: bool = False  # whether the limit is from below

    @property
    def state(self):
        """What came of it, in words."""
        if self.value is None:
            return "not measured"
        is_met = self.value >= self.limit if self.least else self.value <= self.limit
        return "met" if is_met else "missed"


def bars(rows):
    """All Bars; rows: by section."""
    return [
        *_products(rows.get("gemm", [])),
        *_convolutions(rows.get("conv", [])),
        *_kernels(rows.get("bandwidth", [])),
        *_optimizer(rows.get("optimizer", [])),
        *_steps({row["workload"]: row for row in rows.get("steps", [])}),
        *_compiled({row["workload"]: row for row in rows.get("compiled", [])}),
    ]


def _products(rows):
    what = "float16 product, rate / PyTorch's"
    found = [r for r in rows if r["kind"] == "float16" and r["size"] >= 1024]
    for row in found:
        yield Bar(what, f"{row['size']:,}", 0.97, row["times"], least=True)
    if not found:
        yield Bar(what, "1,024 and up", 0.97, None, least=True)


def _convolutions(rows):
    """Of the faster of PyTorch's layouts."""
    means = gpu_conv.means(rows)
    for network in gpu_conv.NETWORKS:
        rates = means.get(network, {})
        value = quotient(rates.get(gpu_conv.THEIR16), rates.get(gpu_conv.TENSOR))
        yield Bar("float16 convolutions, time / PyTorch's", network, 1.1, value)


def _kernels(rows):
    """Of each kind and format the kernel that is farthest from a copy."""
    for kind in ("elementwise", "norm"):
        for format in gpu_bandwidth.FORMATS:
            here = [r for r in rows if r["kind"] == kind and r["format"] == format]
            here = [r for r in here if r["share"] is not None]
            worst = min(here, key=lambda r: r["share"], default=None)
            met = sum(r["share"] >= 0.8 for r in here)
            where = f"{met} of {len(here)}; least: {worst['name']}" if worst else "none"
            what = f"{kind} kernels, {format}, bandwidth / a copy's"
            yield Bar(what, where, 0.8, worst and worst["share"], least=True)


def _optimizer(rows):
    for name in (gpu_optimizer.EAGER, gpu_optimizer.CAPTURED):
        what = f"optimizer step, {name} / fused Adam with GradScaler"
        for row in rows:
            where = f"{row['parameters']:,} parameters"
            yield Bar(what, where, 1.0, row[f"{name} / PyTorch"])
        if not rows:
            yield Bar(what, "none", 1.0, None)


def seconds(row, side):
    """The time of one side of a row, None if it was not measured."""
    return row["sides"].get(side, {}).get("seconds") if row else None


def quotient(a, b):
    """a / b, None where one is missing."""
    return a / b if a and b else None


def _steps(rows):
    over_amp = {"lenet": 0.15, "lstm": 1.1, "resnet20-128": 0.7, "resnet20-512": 1.0}
    over_amp["resnet50-224"] = 1.1
    for name, limit in over_amp.items():
        value = rows.get(name, {}).get("over_amp", {}).get(gpu_steps.CAPTURED)
        yield Bar("captured mixed step / PyTorch's eager AMP", name, limit, value)
    for name in ("lstm1500", "vgg"):
        row = rows.get(name)
        own = seconds(row, gpu_steps.CAPTURED32)
        faster = quotient(own, seconds(row, gpu_steps.CAPTURED))
        yield Bar("captured float32 / captured mixed step", name, 2.0, faster, least=True)
        value = quotient(own, seconds(row, "PyTorch float32"))
        yield Bar("captured float32 / PyTorch's float32", name, 1.1, value)
    sides = rows.get("resnet20-512", {}).get("sides", {})
    for end in ("", ", captured"):
        peaks = [sides.get(f"minifp {p}{end}", {}).get("peak") for p in ("mixed", "float32")]
        yield Bar(f"peak memory, mixed / float32{end}", "resnet20-512", 0.6, quotient(*peaks))


def _compiled(rows):
    for name in LSTMS:
        value = rows.get(name, {}).get("over_compiled")
        yield Bar("captured mixed step / PyTorch's reduce-overhead", name, 1.0, value)
