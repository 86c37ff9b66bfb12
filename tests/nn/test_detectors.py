"""SSD300 and Faster R-CNN: as large as published, as torchvision's, trained, and asked."""

import numpy as np
import pytest
from minifp.models.ssd import SSDBackbone
from refusals import each_refused, refuses
from watching import Flow

import minifp as fp
from minifp import models, nn, optim
from minifp.errors import ArgumentError
from minifp.nn import detection

SMALL = {
    "SSD300": {"size": (32, 40), "stem": "smaller", "width": 1 / 8},
    "FasterRCNN": {"stem": "smaller", "width": 1 / 16, "dropout": 0.0, "anchor_sizes": (8, 16)},
}
DETECTORS = tuple(SMALL)


def scenes(count, size=(32, 40), seed=0, most=2):
    """Pictures with up to so many squares, red or green, and where they are."""
    rng, (height, width) = np.random.default_rng(seed), size
    images, targets = rng.normal(0.3, 0.05, (count, 3, height, width)).astype(np.float32), []
    for image in images:
        boxes, labels = [], []
        for _ in range(rng.integers(1, most + 1)):
            side, color = rng.integers(8, 17), rng.integers(2)
            x, y = rng.integers(0, width - side + 1), rng.integers(0, height - side + 1)
            image[color, y : y + side, x : x + side] += 0.6
            boxes.append([x, y, x + side, y + side])
            labels.append(color + 1)
        targets.append({"boxes": np.array(boxes, np.float32), "labels": np.array(labels)})
    return images, targets


def small(name, precision="float32", classes=3, **more):
    with fp.precision(precision):
        fp.manual_seed(0)
        return getattr(models, name)(classes=classes, **{**SMALL[name], **more})


def trained(model, steps, batch=4, lr=2e-3, fixed=True):
    optimizer, losses = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=lr)), []
    for step in range(steps):
        images, targets = scenes(batch, seed=0 if fixed else step)
        loss = sum(model(fp.tensor(images, dtype="float32"), targets).values())
        optimizer.minimize(loss)
        losses.append(loss.item())
    return losses


def test_detectors_are_as_large_as_published():
    """Of 20 classes; torchvision counts 35,641,826 weights of SSD300 with 91 classes."""
    found = fp.summary(models.SSD300, (3, 300, 300), precisions=["mixed"])
    assert (found.parameters, found.multiply_adds) == (26_285_486, 31_373_537_792)
    assert not found.unknown
    with fp.precision(fp.numerics.policy.shapes_only(fp.get_precision())):
        others = models.SSD300(classes=91), models.FasterRCNN()
    counts = [sum(p.numel() for p in model.parameters()) for model in others]
    assert counts == [35_641_826, 137_073_622]


def test_ssd300_has_the_published_maps_and_boxes():
    with fp.precision(fp.numerics.policy.shapes_only(fp.get_precision())):
        maps = SSDBackbone(3, "large", 1.0, False)(fp.zeros(1, 3, 300, 300))
        model = models.SSD300()
    assert [x.shape[1:] for x in maps] == [
        *((512, 38, 38), (1024, 19, 19), (512, 10, 10), (256, 5, 5), (256, 3, 3), (256, 1, 1))
    ]
    assert len(model.default_boxes((300, 300), [x.shape[2:] for x in maps])) == 8732


@pytest.mark.parametrize("precision", ["float32", "mixed,loss_scale=8", "float16,loss_scale=8"])
@pytest.mark.parametrize("name", DETECTORS)
def test_small_ones_are_trained(name, precision):
    losses = trained(small(name, precision), 6)
    assert np.isfinite(losses).all() and losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("name", DETECTORS)
def test_what_is_stored_is_float16_and_losses_float32(name):
    model, (images, targets) = small(name, "mixed"), scenes(2)
    with Flow() as flow:
        losses = model(fp.tensor(images, dtype="float32"), targets)
    seen = [(op, {out.dtype.name for out in outputs}) for _, op, outputs in flow]
    kinds = {op for op, _ in seen}
    assert not kinds & {"box_iou", "encode_boxes", "decode_boxes", "sigmoid", "softmax", "cast"}
    assert {"conv2d", "cross_entropy", "smooth_l1_loss", "getitem"} <= kinds
    scalars = {"cross_entropy", "smooth_l1_loss", "binary_cross_entropy_with_logits", "div"}
    assert {d for op, dtypes in seen if op not in scalars for d in dtypes} == {"float16"}
    assert {loss.dtype.name for loss in losses.values()} == {"float32"}


def test_the_same_anchors_count_in_every_precision(monkeypatch):
    sampler, drawn = detection.BalancedSampler, {}
    plain = sampler.__call__

    def noted(self, labels):
        found = plain(self, labels)
        if self.purpose == "rpn sampling":
            drawn[precision].append(np.concatenate(found).tolist())
        return found

    monkeypatch.setattr(sampler, "__call__", noted)
    for precision in ("float32", "mixed", "float16"):
        drawn[precision] = []
        images, targets = scenes(1)
        model = small("FasterRCNN", precision, rpn_batch_size_per_image=32)
        for _ in range(2):
            model(fp.tensor(images, dtype="float32"), targets)
    one, *others = drawn.values()
    assert len(one) == 2 and one[0] != one[1]  # the second step draws others
    assert all(other == one for other in others)


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_pictures_without_objects_are_trained_on(name, precision):
    model = small(name, precision)
    images, targets = scenes(2)
    nothing = {"boxes": np.zeros((0, 4), np.float32), "labels": np.zeros(0, np.int64)}
    for mine in ([targets[0], nothing], [nothing, nothing]):
        losses = model(fp.tensor(images, dtype="float32"), mine)
        sum(losses.values()).backward()
        assert all(np.isfinite(loss.item()) for loss in losses.values())
    assert all(np.isfinite(p.grad.array).all() for p in model.parameters())


def test_a_small_ssd_finds_squares():
    model = small("SSD300")
    losses = trained(model, 60, batch=8, fixed=False)
    assert losses[-1] < 0.5 * losses[0]
    model.eval()
    images, targets = scenes(8, seed=1000, most=1)
    found, hits = model(fp.tensor(images, dtype="float32")), 0
    for detected, target in zip(found, targets):
        best = detected["boxes"][:1]
        overlap = nn.functional.box_iou(best, fp.tensor(target["boxes"])).numpy()
        hits += overlap.max() > 0.5 and detected["labels"].numpy()[0] == target["labels"][0]
    assert hits >= 6


@pytest.mark.parametrize("name", DETECTORS)
def test_what_is_detected_lies_in_the_picture_that_was_given_and_is_sorted(name):
    model = small(name, "mixed", score_thresh=0.0, detections_per_img=20).eval()
    images = [fp.randn(3, 32, 40).float(), fp.randn(3, 50, 30).float()]
    with fp.no_grad():
        found = model(images)
    for detected, (height, width) in zip(found, ((32, 40), (50, 30))):
        boxes, labels, scores = (detected[k].numpy() for k in ("boxes", "labels", "scores"))
        assert boxes.dtype == scores.dtype == np.float32 and labels.dtype == np.int64
        assert 0 < len(boxes) <= 20 and boxes.shape == (len(boxes), 4)
        assert (boxes >= 0).all() and (boxes <= np.array([width, height] * 2) + 1e-4).all()
        assert (np.diff(scores) <= 0).all() and {*labels} <= {1, 2}
        assert boxes[:, 2].max() > 0.8 * width and boxes[:, 3].max() > 0.8 * height


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("whole", [False, True])
def test_a_network_of_nan_detects_nothing_and_says_so(name, whole):
    """In the last layers, or in all, where no region is proposed either."""
    model = small(name).eval()
    head = model.head if name == "SSD300" else model.roi_heads.box_predictor
    for p in (model if whole else head).parameters():
        p.data = np.full(p.shape, np.nan, np.float32)
    with pytest.warns(UserWarning, match="logits are NaN"):
        found = model(fp.tensor(scenes(1)[0]))
    assert found[0]["boxes"].shape == (0, 4)


@pytest.mark.parametrize("name", DETECTORS)
def test_boxes_that_cannot_be_are_refused_with_the_pictures_number(name):
    model, (images, targets) = small(name), scenes(2)
    targets[1]["boxes"] = targets[1]["boxes"] + np.float32(30)
    refuses(ArgumentError, r"targets\[1\]: box .* is not inside", model, fp.tensor(images), targets)
    refuses(ArgumentError, "training needs targets", model, fp.tensor(images))


@pytest.mark.parametrize("size, stem, cells", [
    ((32, 32), "smaller", [(8, 8), (4, 4), (2, 2)]),
    ((120, 160), "small", [(30, 40), (15, 20), (8, 10)]),
])  # fmt: skip
def test_small_pictures_have_cells_of_4_8_and_16_pixels(size, stem, cells):
    model = models.SSD300(3, 1, size, stem, 1 / 16, norm=True, scales=(0.1, 0.2, 0.4, 0.6))
    assert [x.shape[2:] for x in model.backbone(fp.zeros(2, 1, *size))] == cells
    losses = model(fp.randn(2, 1, *size), [{"boxes": [[4, 4, 20, 24]], "labels": [1]}] * 2)
    sum(losses.values()).backward()
    assert all(np.isfinite(p.grad.array).all() for p in model.parameters())
    assert model.default_boxes.scales == (0.1, 0.2, 0.4, 0.6)


def test_a_small_faster_rcnn_takes_pictures_as_large_as_they_are_unless_it_is_told():
    images = [fp.randn(1, 50, 41), fp.randn(1, 30, 64)]
    model = models.FasterRCNN(3, 1, "small", 1 / 16, norm=True)
    batch = model.transform(images)
    assert batch.sizes == batch.original and batch.images.shape == (2, 1, 56, 64)
    assert model.backbone(batch.images).shape == (2, 32, 7, 8)
    told = models.FasterRCNN(3, 1, "small", 1 / 16, min_size=100, max_size=160).transform
    assert told(images).sizes == [(121, 100), (75, 160)]


test_what_cannot_be_built_is_refused = each_refused(
    (lambda: models.SSD300(stem="tiny"), "'large', 'small', 'smaller'"),
    (lambda: models.SSD300(size=(300, 300, 3), stem="small"), "expected a number, or"),
    (lambda: models.SSD300(classes=1, stem="small"), "classes=1"),
    (lambda: models.SSD300(stem="small", aspect_ratios=((2,),), width=1 / 8), "has 3"),
    (lambda: models.FasterRCNN(pool="max"), "'pool', 'align'"),
    error=ArgumentError,
)


def loaded(mine, their):
    mine.load_state_dict({key: value.numpy() for key, value in their.state_dict().items()})
    return mine


def drawn_scene(pictures, size, classes, seed=0):
    rng, (height, width) = np.random.default_rng(seed), size
    targets = []
    for _ in range(pictures):
        corner = rng.uniform(0, 0.6, (3, 2)) * [width, height]
        sides = rng.uniform(0.15, 0.4, (3, 2)) * [width, height]
        boxes = np.concatenate([corner, corner + sides], 1)
        targets.append({"boxes": boxes, "labels": rng.integers(1, classes, 3)})
    return rng.random((pictures, 3, *size)), targets


def losses_alike(mine, their, images, targets, rtol):
    """Hold losses and all gradients of ours against theirs, on the same weights, in float64."""
    import torch

    tensors = [{k: torch.from_numpy(v) for k, v in target.items()} for target in targets]
    fp.manual_seed(1)
    expected = their([torch.from_numpy(image) for image in images], tensors)
    sum(expected.values()).backward()
    fp.manual_seed(1)
    found = mine(fp.tensor(images), targets)
    sum(found.values()).backward()
    assert found.keys() == expected.keys()
    for name, loss in expected.items():
        assert found[name].item() == pytest.approx(loss.item(), rel=rtol), name
    weights = dict(mine.named_parameters())
    for key, p in their.named_parameters():
        atol, grad = 1e-10 * p.grad.abs().max().item(), weights[key].grad.numpy()
        np.testing.assert_allclose(grad, p.grad.numpy(), rtol=0, atol=atol, err_msg=key)


def detections_alike(mine, their, images):
    """Hold what both detect against each other: their ratios of pictures' sizes are float32."""
    import torch

    mine.eval(), their.eval()
    with fp.no_grad(), torch.no_grad():
        pairs = list(zip(mine(fp.tensor(images)), their([torch.from_numpy(i) for i in images])))
    for found, expected in pairs:
        assert len(expected["boxes"])
        for key, values in expected.items():
            np.testing.assert_allclose(found[key].numpy(), values.numpy(), 2.0**-24, 1e-9)


@pytest.mark.slow
def test_ssd300_is_torchvisions(torchvision):
    import torch

    torch.manual_seed(0)
    build = torchvision.models.detection.ssd300_vgg16
    their = build(weights=None, weights_backbone=None, num_classes=21).double().train()
    with fp.precision("float64"):
        mine = loaded(models.SSD300(), their)
        images, targets = drawn_scene(1, (300, 300), 21)
        losses_alike(mine, their, images, targets, rtol=1e-12)
        if torchvision.extension._has_ops():
            mine.score_thresh = their.score_thresh = 0.2
            detections_alike(mine, their, drawn_scene(1, (200, 260), 21)[0])


class TheirSampler:
    def __init__(self, count, fraction, purpose):
        self.sampler = detection.BalancedSampler(count, fraction, purpose)

    def __call__(self, labels):
        import torch

        masks = ([], [])
        for of_picture in labels:
            for mask, places in zip(masks, self.sampler(of_picture.numpy())):
                mask.append(torch.zeros(len(of_picture), dtype=torch.uint8))
                mask[-1][places] = 1
        return masks


def their_faster_rcnn(torchvision, features, hidden):
    """Theirs on the layers of a small VGG-16, that samples as ours does."""
    import torch

    rcnn, pool = torchvision.models.detection.faster_rcnn, torchvision.ops.MultiScaleRoIAlign
    layers = [  # of PyTorch
        torch.nn.Conv2d(a.in_channels, a.out_channels, 3, padding=1)
        if isinstance(a, nn.Conv2d)
        else torch.nn.ReLU()
        if isinstance(a, nn.ReLU)
        else torch.nn.MaxPool2d(2)
        for a in features
    ]
    backbone = torch.nn.Sequential(*layers)
    channels = backbone.out_channels = layers[-2].out_channels
    their = rcnn.FasterRCNN(
        backbone, min_size=96, max_size=128, box_roi_pool=pool(["0"], 7, 2),
        rpn_anchor_generator=rcnn.AnchorGenerator(((16, 32, 64),), ((0.5, 1.0, 2.0),)),
        box_head=rcnn.TwoMLPHead(channels * 49, hidden), rpn_pre_nms_top_n_train=12000,
        box_predictor=rcnn.FastRCNNPredictor(hidden, 5), rpn_pre_nms_top_n_test=6000,
        rpn_post_nms_top_n_test=300, box_score_thresh=0.2,
    )  # fmt: skip
    their.rpn.fg_bg_sampler = TheirSampler(64, 0.5, "rpn sampling")
    their.roi_heads.fg_bg_sampler = TheirSampler(32, 0.25, "roi sampling")
    return their.double().train()


def test_faster_rcnn_is_torchvisions(torchvision):
    """Losses, gradients and what is detected, on its weights, with the same anchors and regions
    sampled. Its labels of anchors are float32, and so rounds it their entropy."""
    import torch

    if not torchvision.extension._has_ops():
        pytest.skip("torchvision's own nms does not fit to the PyTorch there is")
    torch.manual_seed(0)
    settings = {"stem": "small", "width": 1 / 16, "pool": "align", "dropout": 0.0}
    counts = {"rpn_batch_size_per_image": 64, "box_batch_size_per_image": 32}
    with fp.precision("float64"):
        mine = models.FasterRCNN(5, score_thresh=0.2, **settings, **counts)
        hidden = mine.roi_heads.box_head.fc7.weight.shape[0]
        their = their_faster_rcnn(torchvision, mine.backbone, hidden)
        loaded(mine, their)
        images, targets = drawn_scene(2, (96, 128), 5)
        losses_alike(mine, their, images, targets, rtol=1e-7)
        detections_alike(mine, their, images)
