"""Transformers are PyTorch's, GPT is nanoGPT's, and names of layers of volumes refuse."""

import numpy as np
import pytest
from beside_torch import with_weights_of
from refusals import check_refusals, refuses

import minifp as fp
from minifp import models, nn, optim
from minifp.nn import functional as F

S, T, N, E = 5, 4, 3, 8
PADDING = np.arange(S) >= np.array([[5], [3], [4]])  # what is not read of each example
FUTURE = ~np.tri(T, dtype=bool)
NUMBERS = np.random.default_rng(1).normal(size=(T, S))
ALL = {"tgt_mask": FUTURE, "src_key_padding_mask": PADDING, "memory_key_padding_mask": PADDING}


def called(module, model, arrays, masks):
    """The inputs, and what comes of them."""
    xs = [module.tensor(a, requires_grad=True) for a in arrays]
    return xs, model(*xs, **{k: v if v is True else module.tensor(v) for k, v in masks.items()})


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # which PyTorch cannot use here
@pytest.mark.parametrize(("settings", "masks"), [
    ({}, {}), ({"batch_first": True, "norm_first": True}, ALL),
    ({"bias": False, "activation": "gelu"}, {"memory_mask": NUMBERS, "tgt_mask": FUTURE}),
    ({"activation": lambda x: x * x, "layer_norm_eps": 0.1}, ALL | {"tgt_is_causal": True}),
    ({"norm_first": True}, {"tgt_key_padding_mask": PADDING[:, :T], "src_mask": np.eye(S) > 0}),
])  # fmt: skip
def test_results_and_gradients_of_a_transformer_are_pytorchs(torch, settings, masks):
    theirs = torch.nn.Transformer(E, 2, 2, 2, 6, 0.0, **settings).double()
    random = np.random.default_rng(0)
    shapes = [(N, n, E) if "batch_first" in settings else (n, N, E) for n in (S, T)]
    arrays = [random.normal(size=shape) for shape in shapes]
    with fp.precision("float64"):
        ours = with_weights_of(theirs, nn.Transformer(E, 2, 2, 2, 6, 0.0, **settings))
        xs, y = called(fp, ours, arrays, masks)
        (y * y).sum().backward()
    ts, z = called(torch, theirs, arrays, masks)
    (z * z).sum().backward()
    close = {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(y.array, z.detach().numpy(), **close)
    for x, t in zip([*xs, *ours.parameters()], [*ts, *theirs.parameters()], strict=True):
        np.testing.assert_allclose(x.grad.array, t.grad.numpy(), **close)


def test_the_causal_mask_hides_what_comes_later_in_each_precision():
    future = nn.Transformer.generate_square_subsequent_mask
    for precision in ("float32", "mixed"):
        with fp.precision(precision):
            np.testing.assert_array_equal(future(T).array, np.where(FUTURE, -np.inf, 0))
            layer = nn.TransformerEncoderLayer(E, 2, 6).eval()
            x, other = fp.randn(T, E), fp.randn(1, E)
            y, z = (layer(a, future(T)) for a in (x, fp.cat([x[:-1], other])))
            np.testing.assert_array_equal(y.array[:-1], z.array[:-1])
    assert future(2, dtype="float64").dtype == np.float64


def test_layers_of_a_stack_begin_alike_and_those_of_a_transformer_are_drawn_anew():
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(E, 2, 6), 2)
    model = nn.Transformer(E, 2, 2, 0, 6, custom_decoder=nn.TransformerDecoder(
        nn.TransformerDecoderLayer(E, 2, 6, activation=nn.GELU()), 1
    ))  # fmt: skip
    for layers, alike in ((stack.layers, True), (model.encoder.layers, False)):
        first, second = (layer.linear1.weight.array for layer in layers)
        assert first is not second and (first == second).all() == alike
    assert model.decoder.norm is None and model(fp.randn(S, N, E), fp.randn(T, N, E)).ndim == 3


def test_what_is_no_transformer_and_layers_of_volumes_are_refused_when_they_are_made():
    check_refusals(r"""
    nn.Transformer(6, 4) -> ArgumentError: num_heads=4 must divide embed_dim=6
    nn.TransformerEncoderLayer(4, 2, activation="tanh") -> ArgumentError: expected 'relu', 'gelu', o
    nn.TransformerDecoderLayer(4, 2, norm_first=1) -> ArgumentError: norm_first=1: expected True
    nn.TransformerEncoderLayer(4, 2, dropout=2) -> ArgumentError: dropout=2: expected a probability
    nn.TransformerEncoder(nn.TransformerEncoderLayer, 2) -> ArgumentError: a type: expected a layer
    nn.TransformerDecoder(nn.Identity(), 0) -> ArgumentError: num_layers=0: expected a positive
    nn.Transformer.generate_square_subsequent_mask(-1) -> ArgumentError: sz=-1: expected a positive
    nn.Conv3d(1, 2, 3) -> ArgumentError: Conv3d: layers of volumes .* instead: nn.Conv2d of slices
    nn.BatchNorm3d(num_features=2) -> ArgumentError: instead: nn.BatchNorm2d of x.flatten\(2, 3\)
    nn.SyncBatchNorm(2) -> ArgumentError: statistics of several processes .*nn.BatchNorm2d
    nn.EmbeddingBag(5, 2, mode="sum") -> ArgumentError: bags .*nn.Embedding, and the sum, mean or
    nn.MaxPool3d(2) -> ArgumentError: nn.MaxPool2d of \(N D, C, H, W\), then nn.MaxPool1d along D
    """)
    assert not isinstance(nn.Conv2d(1, 1, 1), nn.Conv3d) and "Conv3d" not in dir(nn)
    assert nn.SyncBatchNorm.convert_sync_batchnorm(fp) is fp


def test_gpt_is_as_large_as_gpt2_and_begins_as_it():
    """124,439,808 weights: those of OpenAI's smallest, whose twelve blocks are alike."""
    with fp.precision("float16"):
        one, two = (
            fp.summary(lambda n=n: models.GPT(vocab_size=50257, n_layer=n), (8,), integers=True)
            for n in (1, 2)
        )
    assert one.parameters + 11 * (two.parameters - one.parameters) == 124_439_808
    model = models.GPT(models.GPTConfig(n_layer=2, n_head=2, n_embd=64), vocab_size=99, bias=False)
    state = model.state_dict()
    block = "ln_1 attn.c_attn attn.c_proj ln_2 mlp.c_fc mlp.c_proj".split()
    names = ["wte", "wpe", *(f"h.{i}.{n}" for i in (0, 1) for n in block), "ln_f"]
    assert [*state] == [*(f"transformer.{n}.weight" for n in names), "lm_head.weight"]
    assert model.transformer.wte.weight is model.lm_head.weight
    for name, std in (("lm_head", 0.02), (f"transformer.{names[4]}", 0.01)):
        assert state[f"{name}.weight"].array.std() == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_gpt_learns_and_writes_what_it_learned(precision):
    with fp.precision(precision):
        model = models.GPT(block_size=8, vocab_size=4, n_layer=1, n_head=2, n_embd=16, dropout=0.1)
    codes = np.arange(36).reshape(4, 9) % 4
    optimizer = fp.MixedOptimizer(optim.AdamW(model.parameters(), lr=0.02))
    for _ in range(60):
        optimizer.minimize(F.cross_entropy(model(fp.tensor(codes[:, :-1])), codes[:, 1:]))
    text = model.eval().generate(fp.tensor(codes[:1, :3]), 9, temperature=0.5, top_k=2)
    assert text.tolist() == [[i % 4 for i in range(12)]]
    refuses(fp.ShapeError, "GPT: 9 codes: expected at most block_size=8", model, fp.tensor(codes))
    refuses(fp.ArgumentError, "GPT: n_head=5 must divide n_embd=768", models.GPT, n_head=5)
