"""One run with checkpoints: `minifp train`. Interrupted or killed, it goes on bit for bit."""

from minifp.errors import ArgumentError, CheckpointError, MinifpError
from minifp.lab.final_weights import extra_of
from minifp.lab.results import schema, store
from minifp.lab.results.origin import NOWHERE, origin_of
from minifp.lab.run import Run, evaluation_steps, total_steps, train
from minifp.lab.settings import adjusted, canonical, check_data, settings
from minifp.lab.tasks import load_task
from minifp.optim.lr_scheduler import LRScheduler
from minifp.runtime.device import default_device
from minifp.saving import checkpoint, files, tensor_file

DEFAULT_PRECISION, DEFAULT_SEED = "mixed", 0


def train_one(
    task,
    precision=None,
    seed=None,
    epochs=None,
    steps=None,
    dial=None,
    *,
    save=None,
    every=None,
    resume=None,
    progress=True,
    device=None,
    graph=None,
) -> Run:
    """Train a task once, and return its Run.

    task, epochs, steps, dial: as `compare` takes them, the epochs and steps that are done already
    included. precision, seed, dial, steps: by default those of the checkpoint, or else "mixed", 0
    and the task's. save: the checkpoint's path (by default `resume`'s), tried at once and written
    after every `every` steps (by default at each evaluation, about once an epoch) and at the end.
    resume: the checkpoint of the same task to go on from, on any device; with other epochs or steps
    than it was meant for, the schedule is from there on that of the new length, at the count of
    steps that are done. device: by default MINIFP_DEVICE's. graph: on a GPU, whether steps are
    captured as a CUDA graph (see fp.capture); None: where the step allows it.
    Raises ArgumentError for invalid arguments, CheckpointError for a checkpoint that cannot be
    read, belongs to another run or has done more steps, FileError for a full disk.
    """
    if every is not None and (isinstance(every, bool) or not isinstance(every, int) or every < 1):
        raise ArgumentError(f"every={every!r}: expected a number of steps, at least 1")
    if every is not None and save is None and resume is None:
        raise ArgumentError(f"every={every} without save: give a file: save='run.safetensors'")
    path = resume if save is None else save
    if path is not None:
        files.check_writable(path)
    before, held = {}, {}
    if resume is not None:
        saved = saved_extra(resume)
        before, held = saved["run"], saved["settings"]
    if epochs is None and steps is None:
        steps = held.get("steps")
    base = load_task(task)
    task = adjusted(base, epochs, steps, held.get("dial") if dial is None else dial)
    precision = before.get("precision", DEFAULT_PRECISION) if precision is None else precision
    precision = canonical(precision)[0]
    seed = before.get("seed", DEFAULT_SEED) if seed is None else seed
    data = check_data(task.data())
    total = total_steps(task, data[0])
    checkpoints = Checkpoints(settings(task, data), path, every, resume, origin_of(base, device))
    look = {"desc": task.name, "unit": "step", "mininterval": 0.5, "disable": not progress}
    from minifp.runtime.bars import tqdm

    with tqdm(total=total, initial=min(before.get("steps", 0), total), **look) as bar:

        def on_step(run):
            bar.update()
            if run.history["loss"]:
                bar.set_postfix(loss=f"{run.history['loss'][-1]:.4g}", refresh=False)

        bar.set_postfix_str(f"{precision}, seed {seed}")
        with default_device(device):
            return train(task, precision, seed, data, on_step, checkpoints, graph)


def saved_run(path) -> dict:
    """The Run, as a dict, in a checkpoint that `train_one` wrote. Raises CheckpointError."""
    return saved_extra(path)["run"]


def saved_extra(path) -> dict:
    """The run, as a dict, its settings, and by what its task is found. Raises CheckpointError for
    another's checkpoint."""
    return checked_extra(path, tensor_file.read(path)[1])


def checked_extra(path, tree) -> dict:
    """The same, from what was read of the file."""
    try:
        extra = {"run": dict(tree["extra"]["run"]), "settings": dict(tree["extra"]["settings"])}
        extra["origin"] = dict(tree["extra"].get("origin") or {})  # older ones have none
        extra["averaged"] = {n: dict(a) for n, a in tree["extra"].get("averaged", {}).items()}
        if not all(isinstance(extra["origin"].get(k), str | None) for k in ("task", "data")):
            raise TypeError
        history = extra["run"]["history"]
        extra["run"]["history"] = {name: column.tolist() for name, column in history.items()}
        schema.check(as_in_folder(extra), schema.RUN_FILE, path)
        run = Run(**extra["run"])
        store.check_arms(path, [(run.precision, run.seed)])
        store.check_history(run.history)
    except MinifpError as error:
        raise CheckpointError(f"checkpoint {error}") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CheckpointError(
            f"checkpoint {str(path)!r} was not written by `minifp train`: in your own program, "
            "continue it with fp.load"
        ) from None
    return extra


def as_in_folder(extra: dict) -> dict:
    """Settings and run as a folder's file of the run has them."""
    triples = [list(triple) for triple in extra["run"].get("evaluations", [])]
    return {"config": extra["settings"], "run": {**extra["run"], "evaluations": triples}}


class Lengthened:
    """A schedule of another length: it takes up the count of steps, and keeps its own settings."""

    def __init__(self, scheduler):
        self.scheduler = scheduler

    def state_dict(self):
        """That of the schedule."""
        return self.scheduler.state_dict()

    def check_state_dict(self, state):
        """Raise ArgumentError for a state that does not fit."""
        self.scheduler.check_state_dict({**state, **self.scheduler.described()})

    def load_state_dict(self, state):
        """Go on at the count of a schedule that was meant for another length."""
        self.scheduler.load_state_dict({**state, **self.scheduler.described()})


class Checkpoints:
    """When and where a run is saved, and what it goes on from."""

    def __init__(self, settings, path=None, every=None, resume=None, origin=NOWHERE):
        self.settings, self.every, self.resume = settings, every, resume
        self.path, self.origin = path, origin

    def begin(self, training):
        """Take up the checkpoint, if there is one to resume. Raises CheckpointError."""
        if self.resume is None:
            return
        extra = saved_extra(self.resume)
        run = Run(**extra["run"])
        differing = {
            name: (before, self.settings.get(name))
            for name, before in extra["settings"].items()
            if before != self.settings.get(name)
        }
        parts, schedulers = training.parts(), training.state.schedulers
        if "steps" in differing and all(isinstance(s, LRScheduler) for s in schedulers.values()):
            del differing["steps"]
            longer = {name: Lengthened(s) for name, s in schedulers.items()}
            parts |= {"scheduler": longer.get("", longer)} if longer else {}
        for name in ("precision", "seed"):
            if getattr(run, name) != getattr(training.run, name):
                differing[name] = getattr(run, name), getattr(training.run, name)
        if "task" in differing:
            differing = {"task": differing["task"]}
        if differing:
            texts = (f"{n}: {was!r} then, {now!r} now" for n, (was, now) in differing.items())
            changes = "; ".join(texts)
            raise CheckpointError(f"checkpoint {str(self.resume)!r} is of another run: {changes}")
        if run.steps > training.total:
            epochs = -(-run.steps // len(training.loader))
            raise CheckpointError(
                f"checkpoint {str(self.resume)!r} has done {run.steps} steps, more than the "
                f"{training.total} of this run: give at least steps={run.steps} or "
                f"epochs={epochs}; or give neither, for the original "
                f"{extra['settings'].get('steps')} steps"
            )
        checkpoint.load(self.resume, **parts)
        training.run = run
        if training.averages:
            try:
                training.averages.load(extra["averaged"], run.steps)
            except ArgumentError as error:
                place = f"checkpoint {str(self.resume)!r}"
                raise CheckpointError(f"{place}: averages: {error}") from error

    def after_step(self, training):
        """Save, if it is time."""
        if self.path is None:
            return
        steps, total = training.run.steps, training.total
        due = evaluation_steps(total, len(training.loader))
        if steps in due if self.every is None else steps % self.every == 0 or steps == total:
            training.read()
            averaged = training.averages.weights() if training.averages else {}
            extra = extra_of(training.run, self.settings, self.origin, averaged)
            checkpoint.save(self.path, **training.parts(), extra=extra)
