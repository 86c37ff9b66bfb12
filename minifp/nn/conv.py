"""Convolutions, and their transposes."""

import math
from collections.abc import Callable

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.checks import arguments_in, check_choice, check_flag
from minifp.errors import ArgumentError, ShapeError
from minifp.nn import initial
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.ops.windows import as_sizes
from minifp.typing import Ints


class _Conv(Module):
    """weight and bias: U(-1/sqrt(n), 1/sqrt(n)), n the product of weight's sizes but the first."""

    ndim, transposed = 2, False
    convolve: Callable[..., Tensor]
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]  # or "same" or "valid"
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]

    def _set_up(self, in_channels, out_channels, groups, bias, padding_mode, **sizes):
        positive(in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"groups={groups} must divide {in_channels} and {out_channels} channels"
            )
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        check_choice("padding_mode", padding_mode, modes)
        check_flag("bias", bias)
        self.padding_mode = padding_mode
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        for name, value in sizes.items():
            least = 0 if "padding" in name else 1
            text = name == "padding" and value in ("same", "valid") and not self.transposed
            setattr(self, name, value if text else as_sizes(value, name, least, self.ndim))
        channels = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *self.kernel_size)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(initial.uniform(shape, bound))
        self.bias = Parameter(initial.uniform((out_channels,), bound)) if bias else None

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"groups={self.groups}, bias={self.bias is not None}"
            + (f", output_padding={self.output_padding}" if self.transposed else "")
            + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")
        )


class _Straight(_Conv):
    convolve = staticmethod(ops.conv2d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints | str = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        self._set_up(**arguments_in(locals()))
        if self.padding == "same" and set(self.stride) != {1}:
            raise ArgumentError(f'padding="same" with stride={self.stride}: expected 1')

    def forward(self, x: Tensor) -> Tensor:
        """x (N, in, ...) or (in, ...): the result is (N, out, ...) or (out, ...)."""
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = ops.pad(x, self._widths(), self.padding_mode), 0
        return self.convolve(
            x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def _widths(self):
        """Those of `F.pad`: before and after each axis, the last first."""
        both = [d * (k - 1) for k, d in zip(self.kernel_size, self.dilation)]
        if self.padding != "same":
            both = [0] * self.ndim if self.padding == "valid" else [2 * n for n in self.padding]
        return [n for width in reversed(both) for n in (width // 2, width - width // 2)]


class Conv1d(_Straight):
    """1-D convolution of (N, in, L) or (in, L).   weight: (out, in/groups, K)  bias: (out).

    padding: an integer, "same" or "valid". padding_mode: of what: "zeros", or "reflect",
    "replicate" or "circular", as in `F.pad`.
    """

    ndim = 1
    convolve = staticmethod(ops.conv1d)


class Conv2d(_Straight):
    """2-D convolution of (N, in, H, W) or (in, H, W).   weight: (out, in/groups, KH, KW).

    bias: (out). padding: an integer, a pair, "same" or "valid". padding_mode: as of Conv1d.
    """


class _Transposed(_Conv):
    transposed = True
    convolve = staticmethod(ops.conv_transpose2d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
        padding_mode: str = "zeros",
    ) -> None:
        self._set_up(**arguments_in(locals()))

    def forward(self, x: Tensor, output_size: Ints | None = None) -> Tensor:
        """x (N, in, ...) or (in, ...): the result is (N, out, ...) or (out, ...).

        output_size: its last sizes, or all of them, among those that the stride leaves open.
        Raises ShapeError for others.
        """
        added = self.output_padding if output_size is None else self._added(x, output_size)
        return self.convolve(
            x, self.weight, self.bias, self.stride, self.padding, added, self.groups, self.dilation
        )

    def _added(self, x, output_size):
        """The output_padding that gives output_size: its last sizes, or all of the result's."""
        sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,)
        wanted = as_sizes(sizes[-self.ndim :], "output_size", 1, self.ndim)
        given = zip(
            x.shape[-self.ndim :], self.kernel_size, self.stride, self.padding, self.dilation
        )
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k, s, p, d in given]
        added = tuple(w - n for w, n in zip(wanted, least))
        most = [max(s, d) - 1 for s, d in zip(self.stride, self.dilation)]
        if len(sizes) > x.ndim or any(not 0 <= a <= m for a, m in zip(added, most)):
            raise ShapeError(
                f"{type(self).__name__}: output_size={output_size} for input of shape {x.shape}: "
                f"expected from {least} to {[n + m for n, m in zip(least, most)]}"
            )
        return added


class ConvTranspose1d(_Transposed):
    """1-D transposed convolution of (N, in, L) or (in, L).   weight: (in, out/groups, K).

    bias: (out). Called with output_size, a size that the stride leaves open, it takes that one.
    """

    ndim = 1
    convolve = staticmethod(ops.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """2-D transposed convolution of (N, in, H, W) or (in, H, W).   weight: (in, out/groups, KH, KW)

    bias: (out). Called with output_size, sizes that the stride leaves open, it takes those.
    """
