"""`minifp summary`."""

import importlib.util
import inspect
import json
from pathlib import Path

import click

from minifp import models
from minifp.errors import ArgumentError, DTypeError
from minifp.runtime.nearest import nearest
from minifp.scope.summary import summary as summary_of
from minifp.scope.summary.measuring import PRECISIONS, STATES
from minifp.shell import options


@click.command(cls=options.ManyValues)
@click.argument("model")
@click.option(
    "--input",
    "sizes",
    multiple=True,
    type=int,
    required=True,
    metavar="SIZE...",
    help="The shape of one example: 3 224 224.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE...",
    help="Arguments of MODEL: classes=10 stem=small width=0.25.",
)
@click.option("--batch", default=1, show_default=True, metavar="N", help="How many examples.")
@click.option(
    "--depth", default=3, show_default=True, metavar="N", help="How many levels of layers to show."
)
@click.option(
    "--integers", is_flag=True, help="The input is integers: indices of characters or words."
)
@click.option(
    "--optimizer",
    type=click.Choice([*STATES]),
    default="adam",
    show_default=True,
    help="The optimizer whose state counts in the bytes.",
)
@click.option(
    "--precision",
    "precisions",
    multiple=True,
    metavar="NAME...",
    help=f"Precisions to count bytes for.  [default: {' '.join(PRECISIONS)}]",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def summary(model, sizes, settings, batch, depth, integers, optimizer, precisions, as_json):
    """Print the layers of MODEL: shapes, parameters, multiply-adds, and bytes in each precision.

    MODEL is a class in minifp.models, such as ResNet50, or your own, as file.py:Name. No weights
    are allocated and nothing is computed, so networks of any size are shown at once.

    \b
    Examples:
      minifp summary ResNet50 --input 3 224 224
      minifp summary VGG16 --input 3 32 32 --set stem=small width=0.25 classes=10 --batch 32
      minifp summary LeNet --input 1 28 28 --precision mixed mixed,gradients=float8_e5m2
      minifp summary CharLSTM --input 64 --set characters=65 --integers --optimizer momentum
    """
    build, arguments = model_of(model), dict(map(setting, settings))
    check_arguments(model, build, arguments)
    how = {"optimizer": optimizer, "integers": integers, "precisions": precisions or PRECISIONS}
    try:
        result = summary_of(lambda: build(**arguments), sizes, batch, **how)
    except DTypeError as error:
        if integers or "expected integers" not in str(error):
            raise
        raise DTypeError(f"{error}: say --integers") from error
    click.echo(json.dumps(result.to_dict(), indent=1) if as_json else result.table(depth))


def model_of(name):
    """The class of minifp.models, or of a file."""
    path, colon, inside = name.rpartition(":")
    if colon and path.endswith(".py"):
        return of_file(Path(path).expanduser(), inside)
    if name not in models.__all__:
        near = " or ".join(nearest(name, models.__all__)) or ", ".join(models.__all__)
        raise ArgumentError(f"no model {name!r}: expected {near}, or file.py:Name")
    return getattr(models, name)


def check_arguments(name, build, arguments):
    """Raise ArgumentError where a model does not take these arguments, or needs others too."""
    try:
        inspect.signature(build).bind(**arguments)
    except TypeError as error:
        takes = ", ".join(str(p) for p in inspect.signature(build).parameters.values())
        raise ArgumentError(
            f"{name}: {error}. Set its arguments with --set NAME=VALUE; it takes {takes}"
        ) from error


def of_file(path, name):
    """What a Python file calls by a name."""
    if not path.is_file():
        raise ArgumentError(f"no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise ArgumentError(f"{path} has no class or function {name!r} that builds a model")
    return getattr(module, name)


def setting(text):
    """("width", 0.25) of "width=0.25": whole numbers, numbers, true and false, or words."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise click.BadParameter(f"{text!r}: expected name=value", param_hint="--set")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, {"true": True, "false": False, "none": None}.get(value.lower(), value)
