"""Parts of a precision: what modules store, compute in and hand on, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
from cases import LAYERS
from refusals import refuses
from watching import Kernels

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.autograd.backward import toposort
from minifp.errors import ArgumentError, PrecisionError
from minifp.nn.assign_precision import may_multiply
from minifp.numerics.formats import bfloat16, float16, float32
from minifp.numerics.policy import Precision, shapes_only


class Translator(nn.Module):
    def __init__(self):
        self.encoder = nn.LSTM(6, 8, batch_first=True)
        self.decoder = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.BatchNorm1d(8))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        h, _ = self.encoder(x)
        h, _ = self.attention(h, h, h)
        return self.head(F.relu(self.decoder(h[:, -1])))


def made(precision, build=Translator):
    fp.manual_seed(0)
    with fp.precision(precision):
        return fp.assign_precision(build())


def batches(count, shape=(4, 5, 6)):
    numbers = np.random.default_rng(0)
    return [
        (fp.tensor(numbers.normal(0, 1, shape).astype("f4")), numbers.integers(0, 3, shape[0]))
        for _ in range(count)
    ]


def trainer(model):
    return fp.MixedOptimizer(optim.Adam(model.parameters(), lr=0.01))


def train(model, optimizer, data):
    losses = []
    for x, t in data:
        losses.append(F.cross_entropy(model(x), t))
        assert optimizer.minimize(losses[-1]).stepped
    return [loss.item() for loss in losses]


def formats(model, of=lambda p: p.dtype):
    """Of each module with parameters, what is said of these."""
    named = {}
    for name, p in model.named_parameters():
        named.setdefault(name.rpartition(".")[0], set()).add(of(p))
    return {name: kinds.pop() if len(kinds) == 1 else kinds for name, kinds in named.items()}


def test_lenet_with_its_last_layer_in_float32():
    model, plain = made("mixed;fc2=float32", fp.models.LeNet), made("float32", fp.models.LeNet)
    names = dict.fromkeys(("conv1", "conv2", "fc1"), float16)
    assert formats(model) == formats(model, lambda p: p.gradient_dtype) == names | {"fc2": float32}
    assert str(model.precision) == "mixed;fc2=float32" and str(model.fc2.precision) == "float32"
    # From the unrounded numbers, not from those that float16 has kept.
    np.testing.assert_array_equal(model.fc2.weight.array, plain.fc2.weight.array)
    optimizer, logits = trainer(model), model(fp.ones(2, 1, 28, 28))
    assert logits.dtype == float32 and logits.node.parents[0][0].op == "cast"  # at the door
    optimizer.backward(F.cross_entropy(logits, np.array([1, 2])))
    assert formats(model, lambda p: p.grad.dtype) == names | {"fc2": float32}
    narrow = sum(p.numel() for p in model.parameters() if p.dtype == float16)
    assert optimizer.memory()["masters"] == 4 * narrow > 0


def test_operations_compute_and_store_as_the_part_of_their_module_says():
    text = "mixed;decoder=bfloat16,accumulate=float16;decoder.0=float32;attention=bfloat16"
    model = made(text)
    ((x, t),) = batches(1)
    y, seen = model(x), {}
    for node in toposort([F.cross_entropy(y, t).gradient_node]):
        if getattr(node, "module", None):  # not a leaf
            path = node.module.removeprefix("Translator.")
            seen.setdefault(path, {})[node.op] = (node.formats[0], str(node.precision))
    assert seen["encoder"]["lstm"] == (float16, str(Precision.parse(text)))
    assert seen["decoder.0"]["layer_norm"] == (float32, "float32")
    assert seen["decoder.1"]["linear"] == (bfloat16, "bfloat16,accumulate=float16")
    assert seen["decoder.2"]["batch_norm"][0] == bfloat16
    assert {format for format, _ in seen["attention"].values()} == {bfloat16}
    assert seen["head"]["linear"] == (float16, str(Precision.parse(text)))


def test_a_part_holds_inside_later_ones_win_and_a_copy_has_them():
    inside = "float32;decoder=mixed;decoder.2=float16;*=bfloat16"
    assert {*formats(made(inside)).values()} == {bfloat16, float32}  # norms: norm_parameters
    model = made("float32;*=bfloat16;decoder=mixed;decoder.2=float16")
    assert formats(model)["decoder.1"] == formats(model)["decoder.2"] == float16
    assert formats(model)["decoder.0"] == float32 and formats(model)["encoder"] == bfloat16
    norm = model.decoder[2]
    assert norm.running_mean.dtype == norm.running_var.dtype == float16
    assert formats(made("mixed;decoder.*=float32"))["decoder.1"] == float32
    model = made(MANY)
    same = copy.deepcopy(model)
    assert formats(same) == formats(model) and str(same.head.precision) == "float16"
    assert train(same, trainer(same), batches(2)) == train(model, trainer(model), batches(2))


def test_what_a_named_tuple_or_a_state_has_inside_enters_as_well():
    class Sentences(nn.Module):
        def __init__(self):
            self.layer = nn.LSTM(4, 4)

        def forward(self, packed, state):
            return self.layer(packed, state)

    model = made("float32;layer=mixed", Sentences)
    packed = nn.utils.rnn.pack_sequence([fp.ones(3, 4), fp.ones(2, 4)])
    y, (h, c) = model(packed, (fp.ones(1, 2, 4), fp.ones(1, 2, 4)))
    assert {y.data.dtype, h.dtype, c.dtype} == {float16}


def test_narrow_parts_have_masters_and_a_loss_scale_and_are_not_assigned_under_an_optimizer():
    optimizer = trainer(made("float32;head=mixed"))
    assert optimizer.master_weights and optimizer.scale == 2**16
    model = made("float32")
    optimizer = trainer(model)
    fp.assign_precision(model, "mixed;head=float32")
    refuses(PrecisionError, "was stored in float32 .*when the", train, model, optimizer, batches(1))


@pytest.mark.parametrize("everywhere", ["mixed;*=float32", "float16;?*=float32;*=float32"])
def test_float32_everywhere_by_parts_is_float32_to_the_last_bit(everywhere):
    ends = []
    for precision in ("float32", everywhere):
        model = made(precision)
        losses = train(model, trainer(model), batches(5))
        ends.append((losses, {n: t.numpy().tolist() for n, t in model.state_dict().items()}))
    assert ends[0] == ends[1]


MANY = "mixed;attention=bfloat16;decoder.1=float32;head=float16"


def test_a_model_without_parts_takes_up_the_unrounded_numbers_of_one_with():
    model, loaded = made(MANY), made("float32")
    train(model, trainer(model), batches(3))
    loaded.load_state_dict(model.state_dict())  # masters, where there are some
    for mine, theirs in zip(loaded.parameters(), model.parameters()):
        exact = theirs.array if theirs.exact is None else theirs.exact
        np.testing.assert_array_equal(mine.array, np.asarray(exact, np.float32))


def test_a_part_changes_one_product_of_its_modules_and_nothing_else():
    text = "mixed;decoder=float16;*.wgrad:accumulate=bfloat16;head.wgrad:accumulate=chunked:8"
    model, plain = made(text), made("mixed;decoder=float16")
    assert formats(model) == formats(plain)
    assert str(model.encoder.precision) == "mixed,wgrad:accumulate=bfloat16"
    assert str(model.decoder[1].precision) == "float16,wgrad:accumulate=bfloat16"
    assert str(model.head.precision) == "mixed,wgrad:accumulate=chunked:8"
    assert model.head.precision.whole == Precision.parse(text)
    again = pickle.loads(pickle.dumps(model.head.precision))
    assert again == model.head.precision and again.part_of("wgrad", "accumulate").pattern == "head"
    flagged = shapes_only(model.decoder.precision)
    assert flagged.base == model.decoder.precision.base and flagged.has_door
    reset = made("mixed;*.wgrad:accumulate=float16;head=float32")
    assert str(reset.head.precision) == "float32" and reset.head.precision.products == ()
    ((x, t),) = batches(1)
    losses = [F.cross_entropy(m(x), t) for m in (model, plain)]
    assert losses[0].item() == losses[1].item()  # fprop
    for loss in losses:
        loss.backward()
    for (name, mine), theirs in zip(model.named_parameters(), plain.parameters()):
        same = np.array_equal(mine.grad.array, theirs.grad.array)
        assert np.isfinite(mine.grad.array).all()
        assert same == (mine.ndim == 1), name  # of biases and norms no products are summed


def test_a_part_of_a_product_is_no_door_and_shares_weights_with_others():
    class Adds(nn.Module):
        def forward(self, x):
            return x + x

    kept = fp.tensor(np.ones((2, 3)), dtype=float32)
    for text, expected in (("", float32), ("*=mixed,accumulate=float16;", float16)):
        model = made(
            f"mixed;{text}*.wgrad:accumulate=float16;1.dgrad:accumulate=float16",
            lambda: nn.Sequential(Adds(), nn.Sequential(Adds())),
        )
        assert model(kept).dtype == expected
    tied = made("float32", Translator)
    tied.decoder[1].weight = tied.attention.out_proj.weight
    fp.assign_precision(tied, "mixed;decoder.wgrad:accumulate=float16")
    assert str(tied.decoder[1].precision) == "mixed,wgrad:accumulate=float16"


@pytest.mark.parametrize(("make", "shape"), LAYERS.values(), ids=LAYERS)
def test_layers_say_whether_they_multiply(make, shape):
    layer = make(nn)
    with Kernels() as calls:
        layer(fp.ones(*shape))
    multiplies = any(kernel.rule.role == "dot" for kernel, *_ in calls)
    assert any(map(may_multiply, layer.modules())) == multiplies


def test_a_model_without_its_parts_neither_computes_nor_trains():
    with fp.precision("mixed;head=float32"):
        model = Translator()
        optimizer_of = [nn.Parameter(np.ones(2))], model.parameters(), model.head.parameters()
        F.relu(fp.ones(2)) + nn.MSELoss()(fp.ones(2), fp.ones(2))  # of no parameters
    for part in (model, model.head):
        refuses(PrecisionError, r"fp.assign_precision\(model\) once", part, fp.ones(4, 5, 6))
    for parameters in optimizer_of:
        refuses(PrecisionError, "fp.assign_precision", optim.Adam, parameters)
    outside = Translator()
    with (
        fp.precision("mixed;head=float32"),
        pytest.raises(PrecisionError, match="assign_precision"),
    ):
        outside(fp.ones(4, 5, 6))
    assert formats(fp.assign_precision(outside, "mixed;head=float32"))["head"] == float32


def test_what_cannot_be_assigned_is_refused_and_nothing_changed():
    model = made("float32")
    before = formats(model)
    with pytest.raises(PrecisionError, match=r"'haed' .*no module: there are head"):
        fp.assign_precision(model, "mixed;haed=float32")
    with pytest.raises(PrecisionError, match=r"encoder, decoder, decoder.0.*named_modules"):
        fp.assign_precision(model, "mixed;zzz=float32")
    for part in ("decoder.0.wgrad:accumulate", "decoder.[02].fprop:accumulate"):
        with pytest.raises(PrecisionError, match=r"layers without products: decoder.0 \(Layer"):
            fp.assign_precision(model, f"mixed;{part}=float16")
    with pytest.raises(PrecisionError, match=r"'haed.wgrad:acc.* no module: there are head"):
        fp.assign_precision(model, "mixed;haed.wgrad:accumulate=float16")
    with pytest.raises(PrecisionError, match=r"part head.wgrad:operand_scale=row: .*without oper"):
        fp.assign_precision(model, "mixed;head.wgrad:operand_scale=row")
    model.tied = model.head
    with pytest.raises(PrecisionError, match=r'tied is head too, which has "float32", and it'):
        fp.assign_precision(model, "mixed;head=float32")
    del model.tied
    model.decoder[1].weight = model.attention.out_proj.weight
    with pytest.raises(PrecisionError, match=r"attention.out_proj.weight is decoder.1.weight too"):
        fp.assign_precision(model, "mixed;decoder=float32")
    with pytest.raises(PrecisionError, match="has parts, which change"):
        model.precision = "mixed;head=float32"
    with pytest.raises(ArgumentError, match="critic is a list: expected a Module"):
        fp.assign_precision({"critic": []}, "mixed")
    assert formats(model) == before


def test_several_models_have_their_names_before_their_paths():
    both = {"first": nn.Linear(2, 2), "second": nn.Sequential(nn.Linear(2, 2))}
    fp.assign_precision(both, "mixed;second.0=float32")
    assert both["first"].weight.dtype == float16 and both["second"][0].weight.dtype == float32
