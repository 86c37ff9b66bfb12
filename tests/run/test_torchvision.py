"""torchvision's face: its results on the same draws, its data's files, and its models."""

import gzip
import pickle
import struct
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from claims import Claims
from refusals import refuses

import minifp as fp
from minifp.compat.torch import files
from minifp.compat.torchvision import datasets, models, ops, transforms, utils
from minifp.compat.torchvision.transforms import at_random, v2
from minifp.data import images

Image = pytest.importorskip("PIL.Image", reason="Pillow makes pictures")
RESULTS = """
T.ToTensor()(im) ; T.ToTensor()(grey) ; T.PILToTensor()(im) ; T.ToTensor()(np.array(im))
T.ToTensor()(im.convert("1")) ; T.ToTensor()(im.convert("I")) ; T.ToTensor()(im.convert("F"))
T.ToPILImage()(x) ; T.ToPILImage()(x[:1]) ; T.ToPILImage("YCbCr")(x) ; T.ToPILImage()(x - 0.7)
T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.7))(x) ; T.Normalize(0.5, 0.25)(x) ; T.Pad(3)(im)
T.Resize(20)(im) ; T.Resize((17, 50))(im) ; T.Resize(20, I.NEAREST)(im) ; T.Resize([20], 3)(im)
T.Resize(20, I.BICUBIC, max_size=25)(im) ; T.Resize(60, I.LANCZOS)(grey) ; T.Resize(40)(im)
T.CenterCrop(21)(im) ; T.CenterCrop((50, 20))(im) ; T.CenterCrop((51, 20))(x) ; T.Pad(2)(x)
T.Pad((1, 2), fill=(9, 8, 7))(im) ; T.Pad((1, 2, 3, 4), padding_mode="reflect")(im)
T.Pad(4, padding_mode="edge")(x) ; T.Pad((1, 2, 3, 4), 0.5)(x) ; T.Pad(2, 9, "symmetric")(grey)
T.Grayscale()(im) ; T.Grayscale(3)(im) ; T.RandomCrop(28, padding=4)(im) ; T.RandomCrop(9)(x)
T.RandomCrop((45, 40), pad_if_needed=True, fill=7)(im) ; T.RandomHorizontalFlip()(im)
T.RandomVerticalFlip(0.9)(x) ; T.RandomVerticalFlip(1)(im) ; T.RandomHorizontalFlip(1)(x)
T.RandomResizedCrop(24)(im) ; T.RandomResizedCrop((9, 12), (0.5, 0.9), (2, 3))(im)
T.RandomResizedCrop(8, (5, 6))(im) ; T.RandomRotation(30, I.BILINEAR, fill=(5, 6, 7))(im)
T.RandomRotation((10, 80), expand=True)(grey) ; T.RandomRotation(9, center=(3, 4))(im)
T.RandomGrayscale(0.9)(im) ; T.RandomApply([T.CenterCrop(9)], 0.7)(im)
T.ColorJitter(0.4, 0.4, 0.4, 0.1)(im) ; T.ColorJitter((0.5, 3), hue=(-0.5, 0.5))(im)
T.ColorJitter(hue=0.3)(grey) ; T.RandomErasing(1.0)(x) ; T.RandomErasing(1, value=(1, 2, 3))(x)
T.RandomErasing(1, (0.9, 1), (9, 9))(x) ; T.RandomAffine((0, 45), shear=(1, 9, 2, 8), fill=3)(grey)
T.RandomAffine(30, (0.2, 0.1), (0.8, 1.2), 10, I.BILINEAR, center=(3, 4), fill=(1, 2, 3))(im)
T.functional.crop(x, -3, 30, 20, 40) ; T.functional.crop(im, -3, 30, 20, 40) ; U.make_grid(x)
T.Compose([T.Resize(30), T.RandomCrop(24), T.ToTensor(), T.Normalize(0.5, 0.5)])(im)
U.make_grid(many) ; U.make_grid(many[:, :1], nrow=2, padding=3, pad_value=0.25)
U.make_grid(many, normalize=True) ; U.make_grid(many, 3, normalize=True, scale_each=True)
U.make_grid(many, normalize=True, value_range=(-0.5, 0.5)) ; U.make_grid([*many[:2]])
"""


def results(module, utilities, tensor, manual_seed, seed=3):
    numbers = np.random.default_rng(0)
    im = Image.fromarray(numbers.integers(0, 256, (21, 31, 3), np.uint8).repeat(2, 0)[:41])
    x, many = (tensor(numbers.random(s, np.float32)) for s in ((3, 41, 31), (5, 3, 6, 7)))
    names = {"T": module, "U": utilities, "I": module.InterpolationMode, "np": np}
    names |= {"im": im, "grey": im.convert("L"), "x": x, "many": many - 0.5}
    rows = RESULTS.strip().replace("\n", " ; ").split(" ; ")
    return {row: [manual_seed(seed), eval(row, names)][1] for row in rows}


def test_results_are_torchvisions_on_the_same_draws(torchvision):
    import torch as theirs

    draws = {
        "uniform": lambda low, high: theirs.empty(1).uniform_(low, high).item(),
        "integer": lambda low, high: theirs.randint(low, high, (1,)).item(),
        "order": lambda n: theirs.randperm(n).tolist(),
    }
    module, utilities, seeding = torchvision.transforms, torchvision.utils, theirs.manual_seed
    expected = results(module, utilities, theirs.tensor, seeding)
    with patch.multiple(at_random, **draws), Claims() as claims:
        for row, result in results(transforms, utils, fp.tensor, seeding).items():
            with claims("has torchvision's result", row):
                np.testing.assert_array_equal(np.asarray(result), np.asarray(expected[row]))
                assert isinstance(result, fp.Tensor) or result.mode == expected[row].mode


def test_a_seed_repeats_what_is_drawn_and_pictures_become_a_file(tmp_path, monkeypatch):
    each = [results(transforms, utils, fp.tensor, fp.manual_seed, seed) for seed in (1, 1, 2)]
    first, again, other = ({k: np.asarray(r).tobytes() for k, r in one.items()} for one in each)
    assert first == again
    changed = {row.split("(")[0] for row in first if first[row] != other[row]}
    assert {"T.RandomCrop", "T.ColorJitter", "T.RandomRotation", "T.RandomErasing"} < changed
    assert not changed & {"T.Resize", "T.Pad", "U.make_grid"}
    monkeypatch.setattr(files, "folder", str(tmp_path))  # as --compare leads what is saved
    utils.save_image(fp.tensor([[[0.1, 0.5], [2.0, -1.0]]]), "seen/one.png")
    saved = np.asarray(Image.open(tmp_path / "seen" / "one.png"))
    np.testing.assert_array_equal(saved[..., 0], [[26, 128], [255, 0]])


PYTHON_2 = (  # whose texts are bytes: a picture of 3,072 bytes and its class
    b"\x80\x02}(U\x0bbatch_labelU\x01aU\x06labels](K%ceU\x04datacnumpy.core.multiarray\n_reconstruct"
    b"\n(cnumpy\nndarray\n(K\x00tU\x01btR(K\x01(K\x01M\x00\x0ctcnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03"
    b"U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T\x00\x0c\x00\x00%stbu."
)


def test_cifars_pickles_are_read_and_nothing_in_them_runs(tmp_path):
    (folder := tmp_path / "cifar-10-batches-py").mkdir()
    x = np.arange(3072).astype(np.uint8)
    for i, name in enumerate(("test_batch", *(f"data_batch_{k}" for k in range(1, 6)))):
        (folder / name).write_bytes(PYTHON_2 % (i, x.tobytes()))
    (folder / name).write_bytes(pickle.dumps({"data": x[None] + 1, "labels": [9]}))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": [*"abcdefghij"]}))
    train = datasets.CIFAR10(tmp_path, transform=transforms.PILToTensor())
    assert train.targets == [1, 2, 3, 4, 9] and train.class_to_idx["j"] == 9
    np.testing.assert_array_equal([train[i][0].array.reshape(-1) for i in (2, 4)], [x, x + 1])
    for harm in (b"cos\nsystem\n(U\x02lstR.", b"", PYTHON_2 % (10, x.tobytes())):
        (folder / "test_batch").write_bytes(harm)
        refuses(fp.DataError, "test_batch: ", datasets.CIFAR10, tmp_path, False)


def test_mnist_is_read_where_torchvision_or_minifp_has_it(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "MNIST_COUNTS", {"train": 3, "t10k": 2})
    (raw := tmp_path / "root" / "MNIST" / "raw").mkdir(parents=True)
    for part, n in images.MNIST_COUNTS.items():
        x = np.arange(n * 784).astype(np.uint8).reshape(n, 28, 28)
        for kind, array in (("images-idx3", x), ("labels-idx1", np.arange(n, dtype=np.uint8))):
            head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
            (raw / f"{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(head + array.tobytes()))
    here = datasets.MNIST(tmp_path / "root", transform=transforms.ToTensor())
    assert (here.train_data.dtype, here.targets.tolist(), len([*here])) == (fp.uint8, [0, 1, 2], 3)
    y, _ = next(iter(fp.data.DataLoader(here, 3)))
    np.testing.assert_array_equal(y[:, 0], here.data.array / np.float32(255))
    monkeypatch.setattr(pytest.importorskip("pooch"), "os_cache", lambda name: tmp_path / name)
    monkeypatch.delenv("MINIFP_DATA", raising=False)
    refuses(fp.DataError, "not in .*download=True", datasets.MNIST, tmp_path / "none")
    monkeypatch.setenv("MINIFP_DATA", str(raw))
    assert datasets.MNIST(tmp_path / "none", False, download=True)[1][0].tobytes() == x[1].tobytes()


def test_pictures_in_folders_and_of_noise_are_items(tmp_path):
    for i, name in enumerate(("b/2.png", "a/deep/1.png", "a/x.PNG", "a/no.txt")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((2, 3), i, np.uint8)).save(tmp_path / name, "png")
    pets = datasets.ImageFolder(tmp_path, target_transform=str)
    assert [(np.asarray(p).max(), t) for p, t in pets] == [(2, "0"), (1, "0"), (0, "1")]
    assert pets.classes == ["a", "b"] and pets[0][0].mode == "RGB"
    every = datasets.DatasetFolder(tmp_path, str, (".txt", "png"))
    assert [Path(p).name for p, _ in every.samples] == ["no.txt", "x.PNG", "1.png", "2.png"]
    (tmp_path / "c").mkdir()
    refuses(fp.DataError, "no file in c", datasets.ImageFolder, tmp_path)
    assert len([*(noise := datasets.FakeData(3, (1, 4, 5), 2))]) == 3 and noise[2] == noise[2]


def test_a_resnet_has_torchvisions_modules_and_weights_are_refused():
    own, plain = models.resnet18(num_classes=3).eval(), fp.models.ResNet18(classes=3).eval()
    plain.load_state_dict(own.state_dict())
    names = "conv1 bn1 relu maxpool layer1 layer2 layer3 layer4 avgpool fc"
    assert [*dict(own.named_children())] == names.split()
    with fp.no_grad():
        np.testing.assert_array_equal(own(x := fp.randn(1, 3, 32, 32)), plain(x))
    layers = models.kind_of("vgg19")(2, width=1 / 16).features  # whole, half a GiB
    assert len([layer for layer in layers if isinstance(layer, fp.nn.Conv2d)]) == 16
    assert ops.clip_boxes_to_image(fp.tensor([[-1.0, 2, 9, 9]]), (4, 5)).tolist() == [[0, 2, 5, 4]]
    pixels = v2.ToDtype(fp.float32, scale=True)(v2.ToImage()(np.full((1, 2, 3), 255, np.uint8)))
    assert pixels.tolist() == [[[1, 1]]] * 3
    refuses(fp.ArgumentError, "weights are not downloaded", models.vgg16, weights="DEFAULT")
    refuses(fp.ArgumentError, r"\(norm_layer\): expected num_", models.resnet50, norm_layer=1)
    refuses(fp.ArgumentError, "p=2: expected .* 0 to 1", transforms.RandomHorizontalFlip(2), None)
    refuses(fp.ArgumentError, "hue=0.9: .* to 0.5", transforms.ColorJitter.get_params, 0, 0, 0, 0.9)
