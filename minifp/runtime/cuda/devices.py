"""The table of GPU generations: what each can do, and which CUDA compiles for it.

Sources: NVIDIA's CUDA C++ programming guide (compute capabilities), the release notes of CUDA 9 to
13 (which architectures came and went), and the cuBLAS reference, `cublasSetWorkspace`, for the size
of the workspace. Tensor cores multiply the formats that are listed and add in float32.
"""

from dataclasses import dataclass

from minifp.errors import ArgumentError, DeviceError

MIB = 2**20
TENSOR_FORMATS = "float16", "bfloat16", "tf32", "float8"  # that tensor cores may take, oldest first


@dataclass(frozen=True)
class Generation:
    """One generation of GPUs.

    capability: the compute capability, (major, minor). first_cuda, last_cuda: the major versions of
    CUDA that compile for it; None: still does. tensor_cores: the formats they take. workspace:
    bytes that cuBLAS recommends for its own use. half_arithmetic: whether sums and products of
    float16 numbers are instructions.
    """

    name: str
    capability: tuple[int, int]
    first_cuda: int
    last_cuda: int | None
    tensor_cores: tuple[str, ...]
    workspace: int
    half_arithmetic: bool = True

    def __str__(self):
        return f"{self.name} (compute capability {self.capability[0]}.{self.capability[1]})"


GENERATIONS = (
    Generation("Volta", (7, 0), 9, 12, TENSOR_FORMATS[:1], 4 * MIB),
    Generation("Turing", (7, 5), 10, None, TENSOR_FORMATS[:1], 4 * MIB),
    Generation("Ampere", (8, 0), 11, None, TENSOR_FORMATS[:3], 4 * MIB),
    Generation("Ampere", (8, 6), 11, None, TENSOR_FORMATS[:3], 4 * MIB),
    Generation("Ada", (8, 9), 11, None, TENSOR_FORMATS, 4 * MIB),
    Generation("Hopper", (9, 0), 11, None, TENSOR_FORMATS, 32 * MIB),
    Generation("Blackwell", (10, 0), 12, None, TENSOR_FORMATS, 32 * MIB),
    Generation("Blackwell", (12, 0), 12, None, TENSOR_FORMATS, 32 * MIB),
)


def generation(capability: tuple[int, int] | str) -> Generation:
    """The generation of a compute capability: (9, 0), or "90" as CuPy gives it.

    One that is not in the table is taken for the next older one that is. Raises DeviceError for
    what is older than Volta.
    """
    if isinstance(capability, str):
        capability = int(capability[:-1]), int(capability[-1])
    found = [g for g in GENERATIONS if g.capability <= tuple(capability)]
    if not found:
        raise DeviceError(
            f"this GPU has compute capability {capability[0]}.{capability[1]}: minifp needs 7.0 "
            "(Volta) or later, with tensor cores that multiply float16 matrices with float32 "
            "sums; use device 'cpu'"
        )
    return found[-1]


def lacks(generation: Generation, feature: str | int) -> str | None:
    """Why a generation cannot have a feature, as a sentence; None if it can.

    feature: a format that tensor cores multiply ("float16", "bfloat16", "tf32", "float8"), or a
    major version of CUDA. Raises ArgumentError for another word.
    """
    if isinstance(feature, int):
        if feature < generation.first_cuda:
            return (
                f"CUDA {feature} is older than {generation}: use CUDA "
                f"{generation.first_cuda} or later"
            )
        if generation.last_cuda is not None and feature > generation.last_cuda:
            last = generation.last_cuda
            return (
                f"CUDA {feature} no longer compiles for {generation}: use CUDA {last} "
                f"(pip install cupy-cuda{last}x)"
            )
        return None
    if feature not in TENSOR_FORMATS:
        raise ArgumentError(f"feature {feature!r}: expected one of {', '.join(TENSOR_FORMATS)}")
    if feature in generation.tensor_cores:
        return None
    first = next(g for g in GENERATIONS if feature in g.tensor_cores)
    return f"{generation} has no tensor cores for {feature}: they came with {first}"
