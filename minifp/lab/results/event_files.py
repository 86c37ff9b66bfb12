"""Event files for TensorBoard, one a run: its history, and its test metrics, as scalars.

    tensorboard --logdir runs/lenet/tensorboard

A step is a step; the time of an event is that since the run began, as the median step takes.
"""

import io
from pathlib import Path

from minifp.errors import MinifpError
from minifp.lab.results import store
from minifp.lab.results.tidy import metric_names, tests_by_step
from minifp.saving import files

FOLDER, NAME = "tensorboard", "events.out.tfevents.0.minifp"  # the zero stands for a time
HOW_TO_GET = "Event files need tensorboard: python -m pip install tensorboard"
TRAINING = {"loss": "train/loss", "scale": "train/loss_scale"}  # the others go by their names
VERSION = "brain.Event:2"  # what each file begins with


def check() -> None:
    """Raise MinifpError where tensorboard cannot be imported, with the line that installs it."""
    try:
        from tensorboard.compat.proto import event_pb2  # noqa: F401
        from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: F401
    except ImportError as error:
        raise MinifpError(f"{HOW_TO_GET} ({error})") from error


def place(folder: Path, arm: str, seed: int) -> Path:
    """Where the events of a run are."""
    return folder / FOLDER / store.run_path(folder, arm, seed).stem / NAME


def there(folder: Path) -> list[Path]:
    """The event files in a folder that minifp wrote."""
    return sorted((folder / FOLDER).glob(f"*/{NAME}"))


def save(comparison, folder) -> list[Path]:
    """Write the events of all runs. Raises MinifpError where there is no tensorboard."""
    check()
    folder, metrics = files.as_path(folder), metric_names(comparison)
    places = {place(folder, run.precision, run.seed): run for run in comparison.runs}
    contents: dict = {path: events(run, metrics) for path, run in places.items()}
    files.write_into(folder, contents)
    return list(contents)


def scalars(run, metrics) -> list[tuple[int, dict[str, float]]]:
    """What is known after each step, by the names that TensorBoard shows."""
    tests, each = tests_by_step(run, metrics, metrics[0]), []
    columns = {TRAINING.get(name, f"train/{name}"): c for name, c in run.history.items()}
    for i, step in enumerate(columns.pop("train/step")):
        values = {tag: column[i] for tag, column in columns.items()}
        measured = zip(("test/loss", *(f"test/{name}" for name in metrics)), tests.get(step, ()))
        each.append((step, {**values, **{tag: v for tag, v in measured if v is not None}}))
    return each


def events(run, metrics) -> bytes:
    """The content of an event file."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    content = io.BytesIO()
    writer = RecordWriter(content)
    writer.write(Event(wall_time=0.0, file_version=VERSION).SerializeToString())
    for step, values in scalars(run, metrics):
        summaries = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        at = step * (run.seconds_per_step or 0.0)
        event = Event(wall_time=at, step=step, summary=Summary(value=summaries))
        writer.write(event.SerializeToString())
    return content.getvalue()
