"""Checkpoints: training goes on bit for bit, and no file is ever half written or half believed."""

import json
import os
import pickle
import struct
import tempfile
from functools import cache, partial, reduce
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from snapshots import frozen, snapshot

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.numerics.policy import NAMED
from minifp.optim import lr_scheduler
from minifp.saving import tensor_file

PRECISIONS = [
    *NAMED,
    *("mixed,master_weights=off", "mixed,loss_scale=128", "mixed,loss_scale=lognormal"),
    *("mixed,optimizer_state=float16", "mixed,norm_parameters=float16", "mixed,storage=e5m7"),
    "bfloat16,master_weights=off,update_rounding=stochastic",
    *("bfloat16,master_weights=off,compensated=on", "mixed;0=bfloat16;1=float32;4=float16"),
    "mixed,loss_scale=dynamic+init_scale=1048576+growth_interval=3",  # the first steps overflow
    "mixed,optimizer_state=float8_e4m3fn,second_moment=float16,optimizer_state_scale=block:32",
]
X = np.random.default_rng(0).normal(0, 1, (90, 6)).astype("float32")
T = np.arange(90) % 3
refused = partial(refuses, fp.CheckpointError)
COSINE = partial(lr_scheduler.CosineAnnealingLR, T_max=40)  # of tests about something else


class Training:
    def __init__(self, precision, rule=optim.Adam, accumulate=1, schedule=COSINE, **settings):
        self.precision, self.accumulate = precision, accumulate
        with fp.precision(precision):
            first = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3)
            self.model = fp.assign_precision(nn.Sequential(*first, nn.Linear(8, 3)))
            plain = rule(self.model.parameters(), lr=1e-2)
            self.optimizer = fp.MixedOptimizer(plain, **settings)
        self.scheduler = schedule(self.optimizer)
        data = fp.data.TensorDataset(X, T)
        self.loader = fp.data.DataLoader(data, batch_size=20, shuffle=True)
        self.losses, self.seen = [], 0
        self.source = self.batches()

    def batches(self):
        while True:
            yield from self.loader

    def run(self, batches):
        with fp.precision(self.precision):
            for _ in range(batches):
                x, t = next(self.source)
                loss = F.cross_entropy(self.model(x), t)
                self.optimizer.backward(loss)
                self.losses.append(loss.item())
                self.seen += 1
                if self.seen % self.accumulate == 0:
                    self.optimizer.step()
                    plateau = isinstance(self.scheduler, lr_scheduler.ReduceLROnPlateau)
                    self.scheduler.step(*[loss.item()] * plateau)
                    self.optimizer.zero_grad()
        return self

    @property
    def parts(self):
        return self.model, self.optimizer, self.scheduler, self.loader

    def save(self, path):
        fp.save(path, *self.parts, extra={"seen": self.seen})

    def load(self, path):
        self.seen = fp.load(path, *self.parts)["seen"]
        return self

    def state(self):
        streams = fp.get_state()
        states = self.model.state_dict(), self.scheduler.state_dict(), self.loader.state_dict()
        rest = streams, self.losses[-5:], fp.operand_histories(self.model)
        return snapshot(self.optimizer), frozen(states), *map(frozen, rest)


def went_on(tmp_path, before, after, **settings):
    """(the state of a run without a stop, that of one that was stopped and resumed)."""
    fp.manual_seed(1)
    whole = Training(**settings).run(before + after).state()
    fp.manual_seed(1)
    Training(**settings).run(before).save(tmp_path / "c.safetensors")
    fp.manual_seed(2)  # nothing of what follows may come from here
    again = Training(**settings)
    fp.manual_seed(3)
    return whole, again.load(tmp_path / "c.safetensors").run(after).state()


RULES = {
    "SGD with momentum": partial(optim.SGD, momentum=0.9, nesterov=True),
    "Adam with amsgrad": partial(optim.Adam, amsgrad=True),
    "RMSprop": partial(optim.RMSprop, momentum=0.5, centered=True),
    **{name: getattr(optim, name) for name in ("SGD", "AdamW", "NAdam", "RAdam", "Adagrad")},
    **{name: getattr(optim, name) for name in ("Adadelta", "Adamax", "LAMB")},
}
SAVED_OPERANDS = "float8,operand_scale=delayed,saved=operands"
SCHEDULES = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 3),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=1),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda n: 1 / (1 + n)),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, 0.5, 4), lr_scheduler.ExponentialLR(o, 0.9)]
    ),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, total_iters=5), COSINE(o)], [5]
    ),
}
CASES = {  # so many batches before and after, and what is trained
    **{f"{p}, after {n}": (n, 11, {"precision": p}) for p in PRECISIONS for n in (1, 7)},
    **{f"{name} in {p}": (6, 6, {"precision": p, "rule": RULES[name]})
       for name in RULES for p in ("float32", "mixed", "float16")},
    **{name: (7, 9, {"precision": "mixed", "schedule": SCHEDULES[name]}) for name in SCHEDULES},
    # 8 micro-batches are two updates of three, and two gradients that the next one adds to
    **{f"{p}, accumulating": (8, 7, {"precision": p, "accumulate": 3})
       for p in ("float32", "mixed", "autocast", SAVED_OPERANDS)},
}  # fmt: skip


@pytest.mark.parametrize("before, after, settings", CASES.values(), ids=CASES)
def test_training_goes_on_as_if_it_had_never_stopped(tmp_path, before, after, settings):
    whole, resumed = went_on(tmp_path, before, after, **settings)
    assert resumed == whole


@pytest.mark.parametrize("before", [6, 8])
def test_scales_of_earlier_steps_go_on_between_steps_and_micro_batches(tmp_path, before):
    """Which no other file has to tell, so one of before there were any begins anew."""
    scaled = {"precision": "float8,operand_scale=delayed:3", "accumulate": 3}
    whole, resumed = went_on(tmp_path, before, 10, **scaled)
    assert resumed == whole
    arrays, tree = tensor_file.read(tmp_path / "c.safetensors")
    del tree["amaxes"]
    tensor_file.write(tmp_path / "c.safetensors", arrays, tree)
    again = Training(**scaled).run(4).load(tmp_path / "c.safetensors")
    assert fp.operand_histories(again.model) == []
    assert again.run(10).state() != whole


def test_scales_of_earlier_steps_go_on_between_backward_and_step(tmp_path):
    def goes_on(run):
        run.optimizer.step()
        run.optimizer.zero_grad()
        return fp.operand_histories(run.model), run.run(1).state()[0]

    fp.manual_seed(1)
    scaled = {"precision": "float8,operand_scale=delayed", "accumulate": 9}
    run = Training(**scaled).run(1)
    goes_on(run)
    run.save(tmp_path / "c.safetensors")
    whole = goes_on(run)
    assert goes_on(Training(**scaled).load(tmp_path / "c.safetensors")) == whole
    assert len(whole[0][0].amaxes) == 2


def test_what_fits_is_taken_up_also_in_the_run_that_wrote_it(tmp_path):
    """To go back to the best weights, say."""
    run = Training("mixed").run(5)
    run.save(tmp_path / "best")
    before = run.state()[:3]
    run.run(4)
    run.load(tmp_path / "best")
    assert run.state()[:3] == before
    fp.save(tmp_path / "m", model=nn.Linear(2, 3))
    model = nn.Sequential(nn.Linear(2, 3))
    refused("missing: 0.weight.*unexpected: weight", fp.load, tmp_path / "m", model=model)
    with pytest.warns(fp.MisuseWarning, match="nothing was loaded"):
        fp.load(tmp_path / "m", model=model, strict=False)


def test_several_models_and_optimizers_by_name(tmp_path):
    def make():
        with fp.precision("mixed"):
            models = {"g": nn.Linear(2, 3), "d": nn.Linear(3, 1)}
            each = [optim.SGD(m.parameters(), momentum=0.9) for m in models.values()]
            return models, {"both": fp.MixedOptimizer(each)}

    def step(models, optimizers):
        x = fp.tensor(X[:4, :2])
        optimizers["both"].minimize(models["d"](models["g"](x)).square().mean())

    models, optimizers = make()
    step(models, optimizers)
    fp.save(tmp_path / "gan", model=models, optimizer=optimizers)
    names = set(tensor_file.read(tmp_path / "gan")[0])
    assert names == {"g.weight", "g.bias", "d.weight", "d.bias"}
    again = make()
    fp.load(tmp_path / "gan", model=again[0], optimizer=again[1])
    for pair in ((models, optimizers), again):
        step(*pair)
    assert snapshot(again[1]["both"]) == snapshot(optimizers["both"])
    alone = nn.Linear(2, 3)
    refused("missing: weight .*unexpected: g.weight", fp.load, tmp_path / "gan", model=alone)
    with pytest.raises(fp.CheckpointError, match=r"holds optimizer \['both'\], expected \[''\]"):
        fp.load(tmp_path / "gan", optimizer=again[1]["both"])


def test_a_model_is_written_unrounded_or_in_the_format_asked_for(tmp_path):
    run = Training("mixed").run(3)
    weight = run.model[0].weight
    for dtype, expected in (
        (None, weight.exact),
        ("float16", weight.array),
        ("float64", weight.exact.astype("float64")),
    ):
        fp.save(tmp_path / "m", model=run.model, dtype=dtype)
        arrays, _ = tensor_file.read(tmp_path / "m")
        assert arrays["0.weight"].dtype == expected.dtype
        np.testing.assert_array_equal(arrays["0.weight"], expected)
        assert arrays["1.num_batches_tracked"].dtype == np.int64
    with fp.precision("float16"):
        narrow = nn.Linear(2, 2)
    fp.MixedOptimizer(optim.SGD(narrow.parameters())).minimize(narrow(fp.ones(1, 2)).sum())
    fp.save(tmp_path / "m", model=narrow)
    assert {a.dtype for a in tensor_file.read(tmp_path / "m")[0].values()} == {np.dtype("float32")}


def test_masters_are_written_once_and_a_model_alone_leaves_the_rest_as_it_is(tmp_path):
    with fp.precision("mixed"):
        model = nn.Linear(300, 300)
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters()))
    optimizer.minimize(model(fp.ones(1, 300)).sum())
    fp.save(tmp_path / "c", model, optimizer)
    assert os.path.getsize(tmp_path / "c") < 1.1 * 4 * 300 * 300
    run = Training("mixed").run(3)
    run.save(tmp_path / "c")
    fp.manual_seed(9)
    with fp.precision("float32"):
        other = Training("float32").model
    before = fp.get_state()
    assert (fp.load(tmp_path / "c", model=other), fp.get_state()) == ({"seen": 3}, before)
    np.testing.assert_array_equal(other[0].weight.array, run.model[0].weight.exact)


def test_weights_leave_to_pytorch_and_come_back(tmp_path):
    torch = pytest.importorskip("torch", reason="exchange is with PyTorch")
    from safetensors.torch import load_file, save_file

    run = Training("mixed").run(5)
    fp.save(tmp_path / "ours.safetensors", model=run.model)
    tnn = torch.nn
    first = tnn.Linear(6, 8), tnn.BatchNorm1d(8), tnn.ReLU(), tnn.Dropout(0.3)
    theirs = tnn.Sequential(*first, tnn.Linear(8, 3))
    theirs.load_state_dict(load_file(tmp_path / "ours.safetensors"), strict=True)
    ours = Training("float32").model.eval()
    fp.load(tmp_path / "ours.safetensors", model=ours)
    logits = theirs.eval()(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(ours(fp.tensor(X)).array, logits, rtol=1e-5, atol=1e-6)

    with torch.no_grad():
        theirs[0].weight.mul_(2)
    for name, state in (("theirs", theirs.state_dict()), ("half", theirs.bfloat16().state_dict())):
        save_file(state, tmp_path / name)
        assert fp.load(tmp_path / name, model=ours) is None
        np.testing.assert_array_equal(ours[0].weight.array, state["0.weight"].float().numpy())
    with pytest.raises(fp.CheckpointError, match="holds no optimizer; it has tensors alone"):
        fp.load(tmp_path / "theirs", model=ours, optimizer=run.optimizer)


def test_what_does_not_fit_is_refused_before_anything_is_changed(tmp_path):
    Training("mixed").run(4).save(tmp_path / "c")
    other, narrow = Training("mixed").run(2), nn.Linear(3, 3)
    plain = fp.MixedOptimizer(optim.SGD(Training("mixed").model.parameters()))
    small = fp.data.DataLoader(fp.data.TensorDataset(X[:50], T[:50]), 20)
    wrong = {
        "model": (narrow, "missing: weight .*unexpected: 0.weight"),
        "optimizer": (plain, "group with settings"),
        "loader": (small, "does not fit the data set"),
        "scheduler": (
            SCHEDULES["StepLR"](Training("mixed").optimizer),
            "StepLR: the state of another",
        ),
    }
    for kind, (thing, problem) in wrong.items():
        parts = dict(zip(("model", "optimizer", "scheduler", "loader"), other.parts))
        before = other.state()
        refused(problem, fp.load, tmp_path / "c", **{**parts, kind: thing})
        assert other.state() == before, kind


def test_objects_without_a_state_and_extra_that_is_not_plain_are_refused(tmp_path):
    for thing in (3, nn.Linear, "model"):
        for call in (fp.save, fp.load):
            with pytest.raises(fp.ArgumentError, match="optimizer is a .*state_dict"):
                call(tmp_path / "c", optimizer=thing)
    for extra, place in (({"a": [1, print]}, "extra/a/1"), ({"s": {1, 2}}, "extra/s")):
        refuses(fp.ArgumentError, f"cannot save {place}, a", fp.save, tmp_path / "c", extra=extra)
    refuses(fp.ArgumentError, "array of object", fp.save, tmp_path / "c", extra=np.array([None]))
    assert not list(tmp_path.iterdir())


def test_missing_foreign_and_newer_files_are_refused_by_what_they_are(tmp_path):
    contents = {
        "pickle": (pickle.dumps({"a": 1}), r"pickle.*torch.save\(model.state_dict\(\)"),
        "empty": (b"", "0 bytes"),
        "text": (b"hello, world, this is text", "no safetensors file"),
    }
    for name, (content, problem) in contents.items():
        (tmp_path / name).write_bytes(content)
        refused(problem, fp.load, tmp_path / name)
    refused("No such file", fp.load, tmp_path / "nothing")
    refused("directory|denied", fp.load, tmp_path)
    fp.save(tmp_path / "c", extra=1)
    header, data = parts_of((tmp_path / "c").read_bytes())
    for version, problem in (("2", "newer.*upgrade"), ("x", "format version"), ("0", "version")):
        header["__metadata__"]["minifp.version"] = version
        (tmp_path / "c").write_bytes(assembled(header, data))
        refused(problem, fp.load, tmp_path / "c")


def parts_of(content):
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def assembled(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@cache
def saved_bytes():
    with tempfile.TemporaryDirectory() as folder:
        Training("mixed").run(2).save(os.path.join(folder, "c"))
        return Path(folder, "c").read_bytes()


def loads(content, tmp_path_factory):
    """Take up a file with this content; return what then differs from before."""
    path = tmp_path_factory.mktemp("edited") / "c"
    path.write_bytes(content)
    run = Training("mixed").run(1)
    before = run.state()
    try:
        fp.load(path, *run.parts)
    except fp.CheckpointError as error:
        assert str(path) in str(error)
        assert run.state() == before
        return False
    return True


@given(st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_refused(tmp_path_factory, part):
    content = saved_bytes()
    assert not loads(content[: int(part * len(content))], tmp_path_factory)


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_file_with_one_byte_changed_is_refused(tmp_path_factory, place, change):
    content = bytearray(saved_bytes())
    header_end, i = 8 + struct.unpack("<Q", content[:8])[0], int(place * len(content))
    content[i] ^= change
    accepted = loads(bytes(content), tmp_path_factory)
    assert not accepted or i < header_end  # there, the word "format" or a space may differ


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(TREES)
def test_a_damaged_tree_is_refused_and_nothing_else_is_raised(tmp_path_factory, tree):
    """As somebody could write it who knows the checksum: another tree in place of the real one."""
    folder = tmp_path_factory.mktemp("damaged")
    tensor_file.write(folder / "c", {}, tree)
    run = Training("mixed")
    before = run.state()
    refused("checkpoint", fp.load, folder / "c", *run.parts)
    assert run.state() == before


def places(tree, path=()):
    yield path
    if isinstance(tree, (dict, list, tuple)):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(value, (*path, key))


def changed(tree, path, value):
    if not path:
        return value
    if isinstance(tree, dict):
        return {k: changed(v, path[1:], value) if k == path[0] else v for k, v in tree.items()}
    first, *rest = path
    return type(tree)(changed(v, rest, value) if i == first else v for i, v in enumerate(tree))


ODD = TREES | st.sampled_from([10**400, np.zeros(0), np.ones(3), np.array(1.5), np.ones((2, 2, 2))])


@settings(max_examples=200)
@given(data=st.data(), value=ODD)
def test_with_one_value_changed_all_is_taken_up_or_refused(tmp_path_factory, data, value):
    """By somebody who knows the checksum."""
    folder = tmp_path_factory.mktemp("changed")
    (folder / "c").write_bytes(saved_bytes())
    arrays, tree = tensor_file.read(folder / "c")
    path = data.draw(st.sampled_from(sorted(places(tree), key=str)))
    tensor_file.write(folder / "c", arrays, changed(tree, path, value))
    run = Training("mixed").run(1)
    before = run.state()
    try:
        fp.load(folder / "c", *run.parts)
    except fp.CheckpointError:
        assert run.state() == before, path


def test_what_is_spelt_alike_is_kept_apart(tmp_path):
    extra = {1: np.array([1.0]), "1": np.array([2.0]), "a": {"b": np.ones(3)}, "a/b": np.zeros(3)}
    fp.save(tmp_path / "c", extra=extra)
    assert frozen(fp.load(tmp_path / "c")) == frozen(extra)
    models = {"a": nn.ModuleDict({"b": nn.Linear(1, 1)}), "a.b": nn.Linear(1, 1)}
    with pytest.raises(fp.ArgumentError, match="'a.b' cannot be the name of one of several"):
        fp.save(tmp_path / "c", model=models)
    with pytest.raises(fp.ArgumentError, match="expected a floating format"):
        fp.save(tmp_path / "c", model=nn.Linear(1, 1), dtype="int32")


def test_what_cannot_be_written_is_refused(tmp_path):
    deep = reduce(lambda inner, _: [inner], range(5000), 1)
    for extra in ({"a": [10**5000]}, {"\ud800": np.ones(1)}, deep):
        refuses(fp.ArgumentError, "cannot save", fp.save, tmp_path / "c", extra=extra)
    assert not list(tmp_path.iterdir())


HEADERS = [
    {"__metadata__": None},
    {"a": {"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}},
    {"a": {"dtype": "F32", "shape": [1] * 100, "data_offsets": [0, 4]}},
    {"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
    [],
]


def test_absurd_headers_are_refused(tmp_path):
    for header in HEADERS:
        (tmp_path / "c").write_bytes(assembled(header, b"1234"))
        refused("checkpoint", fp.load, tmp_path / "c", model=nn.Linear(1, 1))


@pytest.mark.parametrize("first", ["float32", "mixed", "bfloat16", "autocast"])
def test_an_optimizer_goes_on_in_another_precision_from_the_same_numbers(first, tmp_path):
    source = Training(first).run(2)
    source.save(tmp_path / "c")
    weights, before = source.model.state_dict(), source.optimizer.state_dict()["optimizers"][0]
    for then in ("float32", "mixed", "mixed,accumulate=float16", "bfloat16", "autocast"):
        run = Training(then).load(tmp_path / "c")
        now = run.optimizer.state_dict()["optimizers"][0]
        assert frozen(run.model.state_dict()) == frozen(weights), then
        assert now["steps"] == before["steps"]
        pairs = zip(now["state"].values(), before["state"].values(), run.model.parameters())
        for mine, saved, p in pairs:
            assert all(frozen(mine[n]) == frozen(saved[n]) for n in ("exp_avg", "exp_avg_sq"))
            assert "master" not in mine or frozen(mine["master"]) == frozen(p.exact)
        run.run(1)


def test_states_are_saved_and_loaded_in_pytorchs_order_too(tmp_path):
    path = tmp_path / "c"
    with fp.precision("mixed"):
        net, other = nn.Linear(2, 2), nn.Linear(2, 2)
    state, optimizer = net.state_dict(), fp.MixedOptimizer(optim.Adam(net.parameters()))
    whole = {"net": state, "optimizer": optimizer.state_dict(), "epoch": 3}
    for words in ((state, path), (path, state), (path, net), (whole, path)):
        fp.save(*words)
        held, other.weight.data = fp.load(path), np.zeros((2, 2), np.float32)
        other.load_state_dict(held["net"] if words[0] is whole else held)
        np.testing.assert_array_equal(other.weight.numpy(), net.weight.numpy())
    optimizer.load_state_dict(held["optimizer"])
    refuses(fp.ArgumentError, r"fp\.save\(path, model=...\) writes the weights", fp.save, net, path)
    fp.save(path, optimizer=optimizer)
    refused(r"no weights .*fp\.load\(path, optimizer=...\)", fp.load, path)


@given(TREES)
def test_extra_comes_back_as_it_was(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("extra") / "c"
    fp.save(path, extra=tree)
    assert repr(fp.load(path)) == repr(tree)  # in which types are told apart, and NaN is NaN


@pytest.mark.parametrize("dtype", "float16 float32 float64 int64 uint8 bool >f4".split())
def test_arrays_and_tensors_in_extra_keep_shape_format_and_kind(tmp_path, dtype):
    for shape in ((), (0, 3), (2, 3)):
        array = np.asarray(np.arange(np.prod(shape)).reshape(shape) % 2, dtype)
        native = array.dtype.newbyteorder("=")
        extra = {"$array": 1, "a": array.T, "t": fp.Tensor(array.astype(native))}
        fp.save(tmp_path / "c", extra=extra)
        found = fp.load(tmp_path / "c")
        assert found["$array"] == 1
        assert (found["a"].shape, found["a"].dtype) == (array.T.shape, native)
        np.testing.assert_array_equal(found["a"], array.T)
        assert isinstance(found["t"], fp.Tensor)
        assert found["a"].flags.writeable
