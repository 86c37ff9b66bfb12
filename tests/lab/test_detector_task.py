"""A detector as a Task: trained on scenes in several precisions, judged, and what it sees drawn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from boxed_pictures import detections
from refusals import refuses

import minifp as fp
from minifp import nn, optim
from minifp.data import BoxedPictures, detection_collate, digit_scenes
from minifp.data.transforms import RandomHorizontalFlip
from minifp.lab import (
    CocoEvaluation,
    Comparison,
    DetectionEvaluation,
    Metric,
    coco_map,
    compare,
    detection_f1,
    draw_comparison,
    draw_detections,
    voc_map,
)
from minifp.lab.detection import drawing as boxes_drawn
from minifp.lab.detection.evaluating import as_rows, from_rows
from minifp.lab.evaluation import count, together
from minifp.lab.results import store
from minifp.lab.run import train
from minifp.nn import functional as F
from minifp.report import drawing


class OneBox(nn.Module):
    """Says of each picture one box and the scores of two classes, one and several digits."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(24 * 24, 16), nn.ReLU())
        self.where, self.what = nn.Linear(16, 4), nn.Linear(16, 2)

    def forward(self, pictures):
        h = self.features(fp.stack(list(pictures)))
        where, what = fp.sigmoid(self.where(h)), self.what(h)
        if self.training:
            return where, what
        scores = F.softmax(what, dim=1).numpy().astype(np.float32)
        corners = 24 * np.sort(where.numpy().astype(np.float32).reshape(-1, 2, 2), 1).reshape(-1, 4)
        return [
            {
                "boxes": b[None],
                "scores": s.max(keepdims=True),
                "labels": s.argmax(keepdims=True) + 1,
            }
            for b, s in zip(corners, scores)
        ]


def around(scenes):
    targets = []
    for t in scenes.targets:
        box = np.concatenate([t["boxes"][:, :2].min(0), t["boxes"][:, 2:].max(0)])
        number = np.array([len(t["boxes"])])
        targets.append({"boxes": box[None], "labels": number, "image_id": t["image_id"]})
    classes = ("__background__", "one", "two")
    return BoxedPictures(scenes.pictures, targets, name=scenes.name, classes=classes)


def step(state, batch):
    pictures, targets = batch
    where, what = state.model(pictures)
    expected = fp.cat([t["boxes"] for t in targets])
    assert expected.dtype == np.float32
    loss = F.smooth_l1_loss(where, expected / 24.0) * 10.0
    loss = loss + F.cross_entropy(what, fp.cat([t["labels"] for t in targets]) - 1)
    state.optimizer.minimize(loss)
    return loss


METRICS = {"AP": coco_map, "F1": detection_f1}


def task(**changes):
    fields = {
        "name": "scenes", "model": OneBox,
        "data": lambda: tuple(around(part) for part in digit_scenes(48, 12, size=24)), "loss": None,
        "step": step, "evaluate": DetectionEvaluation(METRICS, keep=3), "metric": None,
        "metric_name": "AP", "metric_unit": "%", "metrics": [Metric("F1", unit="%")],
        "collate": detection_collate, "transform": RandomHorizontalFlip(),
        "optimizer": lambda parameters: optim.Adam(parameters, lr=0.01), "batch_size": 16,
        "steps": 12,
    }  # fmt: skip
    return fp.Task(**{**fields, **changes})


@pytest.fixture(scope="module")
def made():
    return compare(task(), ("float32", "mixed"), 1, progress=False)


def test_a_detector_is_trained_in_every_precision_and_judged(made):
    for run in made.runs:
        assert run.finished and 0 <= run.metrics["AP"][-1] <= 100 and 0 <= run.metrics["F1"][-1]
        assert run.history["loss"][-1] < run.history["loss"][0]
    assert train(task(), "mixed", made.runs[1].seed).metrics == made.runs_of("mixed")[0].metrics
    assert "RandomHorizontalFlip(p=0.5)" in made.config["augmentation"]
    assert "coco_map" in made.config["evaluation"] and " at 0x" not in made.config["evaluation"]


def test_what_each_precision_sees_is_drawn_from_its_folder(made, tmp_path):
    _, test_set = task().data()
    first = draw_comparison(tmp_path / "seen.svg", made, test_set, count=2).read_bytes()
    in_folder = replace(made, runs=[replace(run) for run in made.runs], out=tmp_path)
    for run in in_folder.runs:
        store.save_run(tmp_path, run, made.config)
    in_folder.save(tmp_path)
    loaded = Comparison.load(tmp_path)
    assert loaded.runs[0].kept["detections"].endswith("detections.npy")
    assert draw_comparison(tmp_path / "again.svg", loaded, test_set, count=2).read_bytes() == first
    for text in (b"true boxes", b"float32", b"mixed", b"of 1 found"):
        assert text in first
    png = draw_comparison(tmp_path / "seen.png", made, test_set, count=1, least=0.9)
    assert png.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(fp.ArgumentError, match="no run with the seed 99 has kept detections"):
        draw_comparison(tmp_path / "none.svg", made, test_set, 99)
    (tmp_path / loaded.runs[0].kept["detections"]).unlink()
    draw_comparison(tmp_path / "one.svg", loaded, test_set, count=1)
    assert b"no detections" in (tmp_path / "one.svg").read_bytes()


def test_a_detector_whose_outputs_are_not_finite_has_diverged_and_all_numbers_are_kept():
    def evaluate(state, test_set):
        for p in state.model.parameters():
            p.array[...] = np.nan
        return DetectionEvaluation(METRICS)(state, test_set)

    run = train(task(evaluate=evaluate, steps=2), "float32", 0)
    assert run.metrics["AP"] == [None] and run.status == "diverged"
    evaluation = DetectionEvaluation({"all": lambda y, t: CocoEvaluation(y, t).stats}, keep=0)
    run = train(task(evaluate=evaluation, metrics=(), steps=2), "float32", 0)
    assert {"AP", "AP50", "AR_100"} <= {*run.metrics} and run.kept["detections"].shape == (0, 7)
    outputs, _ = detections(5, most_found=4)
    rows = as_rows(outputs)
    assert rows.shape == (sum(len(o["scores"]) for o in outputs), 7)
    for one, other in zip(outputs, from_rows(rows, 5)):
        for key in ("boxes", "scores", "labels"):
            np.testing.assert_array_equal(one[key], other[key])


def test_detectors_are_judged_without_an_evaluation_of_their_own_too():
    """Outputs and targets are lists with a dict for each picture, in batches of several sizes."""

    class Always(OneBox):
        def forward(self, pictures):
            outputs = super().forward(pictures)
            return outputs if isinstance(outputs, list) else [{"where": w} for w in outputs[0]]

    def loss(outputs, targets):
        assert len(outputs) == len(targets)
        if "where" in outputs[0]:
            return fp.stack([F.mse_loss(o["where"], o["where"] * 0.0) for o in outputs]).mean()
        return fp.tensor(float(len(targets)))

    plain = task(
        model=Always, step=None, evaluate=None, loss=loss, metric=voc_map, metric_name="AP50",
        metrics=[Metric("F1", detection_f1, "%")], batch_size=2, accumulate=3, steps=2,
    )  # fmt: skip
    run = train(plain, "mixed", 0)
    assert {*run.metrics} == {"AP50", "F1"} and run.metrics["F1"][-1] is not None
    assert run.evaluations[-1][2] == pytest.approx((8 * 8 + 4 * 4) / 12)  # batches of 8 and 4


def test_lists_of_dicts_have_one_for_each_example():
    batches = [[{"boxes": np.ones((n, 4))} for n in (1, 2)], [{"boxes": np.ones((0, 4))}]]
    assert [len(d["boxes"]) for d in together(batches)] == [1, 2, 0]
    fields = together([{"centre": np.ones((2, 3)), "kind": np.arange(2)} for _ in range(2)])
    assert fields["centre"].shape == (4, 3) and fields["kind"].tolist() == [0, 1, 0, 1]
    pictures = [np.ones((3, 5, 5))] * 2
    assert count((pictures, batches[0])) == count((pictures, tuple(batches[0]))) == 2
    assert count(batches[0]) == 2 and count(np.ones((7, 2))) == 7
    assert count(({"x": np.ones(3)}, {"x": np.ones(3)})) == 3  # a tuple of fields


def test_nan_in_a_target_is_found_and_no_boxes_are_no_error():
    def data():
        train_set, test_set = (around(part) for part in digit_scenes(20, 6, size=24))
        train_set.targets[3]["boxes"] = np.full((1, 4), np.nan, np.float32)
        test_set.targets[0] |= {"boxes": np.zeros((0, 4), np.float32), "labels": np.zeros(0, int)}
        return train_set, test_set

    with pytest.raises(fp.DataError, match=r"NaN or Inf in the field \[1\]\[\d+\]\['boxes'\] of"):
        train(task(data=data, transform=None), "float32", 0)


def test_settings_that_cannot_be_are_refused():
    for settings, message in (
        ({"metrics": [coco_map]}, "metrics=.*: expected a dict of functions of .outputs, targets."),
        ({"metrics": {"AP": 3}}, "expected a dict of functions"),
        ({"batch_size": 0}, "batch_size=0: expected an integer, at least 1"),
        ({"keep": -1}, "keep=-1"),
    ):
        refuses(fp.ArgumentError, message, DetectionEvaluation, **settings)
    wrong = DetectionEvaluation(detect=lambda model, pictures: 3)
    with pytest.raises(fp.ArgumentError, match="outputs: expected a list with a dict of boxes"):
        train(task(evaluate=wrong, metrics=()), "float32", 0)


def drawn(found, *, pictures=None, **settings):
    pictures = pictures or [np.zeros((3, 20, 30), np.float32), np.ones((1, 12, 10), np.float32)]
    targets = [
        {"boxes": np.float32([[2, 3, 9, 12]]), "labels": np.array([1])},
        {"boxes": np.zeros((0, 4), np.float32), "labels": np.zeros(0, int)},
    ]
    classes = ("__background__", "cat")
    return boxes_drawn.detections_figure(pictures, targets, found, classes, **settings), targets


SEEN = {
    "boxes": np.float32([[2, 3, 9, 12], [12, 3, 19, 12], [1, 1, 5, 5]]),
    "scores": np.array([0.9, 0.6, 0.2]),
    "labels": np.array([1, 7, 1]),
}
EMPTY = {"boxes": np.zeros((0, 4)), "scores": np.zeros(0), "labels": np.zeros(0, int)}
BOTH = {"float32": [SEEN, EMPTY], "mixed,loss_scale=1": None}


def test_a_figure_has_boxes_where_they_are_with_classes_and_scores():
    figure, targets = drawn(BOTH)
    panels = np.reshape(figure.axes, (2, 3))
    assert [axes.get_title("left") for axes in panels.flat] == [
        "true boxes", "float32\n1 of 1 found, 1 wrong", "mixed,loss_scale=1\nno detections",
        "", "0 of 0 found", "no detections",
    ]  # fmt: skip
    true, seen, none = ([p.get_bbox().extents.tolist() for p in axes.patches] for axes in panels[0])
    assert true == [[2, 3, 9, 12]] and seen == SEEN["boxes"][:2].tolist() and none == []
    assert [t.get_text() for t in panels[0, 1].texts] == ["cat 90%", "7 60%"]
    styles = [patch.get_linestyle() for patch in panels[0, 1].patches]
    assert styles[0] != styles[1]
    # the picture lies where boxes are measured from
    assert panels[0, 0].images[0].get_extent() == [0, 30, 20, 0]
    assert panels[0, 0].get_ylim() == (20, 0)
    assert boxes_drawn.detections_text(targets, BOTH) == (
        "float32: picture 1: 1 of 1 found, 1 wrong; picture 2: 0 of 0 found.\n"
        "mixed,loss_scale=1: no detections."
    )
    figure, _ = drawn(BOTH, least=0.1)
    assert len(figure.axes[1].patches) == 3


def test_files_are_the_same_every_time_and_go_into_pages(tmp_path):
    arguments = [np.zeros((3, 20, 30))], drawn(BOTH)[1][:1], {"float32": [SEEN]}, None
    paths = [tmp_path / name for name in ("a.svg", "b.svg", "c.pdf")]
    first, again, pdf = (draw_detections(path, *arguments).read_bytes() for path in paths)
    assert first == again and first.startswith(b"<?xml") and pdf.startswith(b"%PDF")
    inline = drawing.inline_svg(drawn(BOTH)[0], "seen", "Seen", "What is seen.")
    assert inline.count("<image") == 6 and 'id="seen-title"' in inline


def test_what_does_not_fit_together_is_refused(tmp_path, monkeypatch):
    held = {"pictures": [np.zeros((3, 4, 4))] * 2, "targets": drawn(BOTH)[1], "found": BOTH}
    for name, changes, message in (
        ("a.jpg", {}, "expected a name that ends in .png, .svg, .pdf"),
        ("a.png", {"pictures": [np.zeros((3, 4, 4))]}, "1 pictures, 2 targets"),
        ("a.png", {"pictures": [np.zeros((2, 4, 4))] * 2}, "expected .1, H, W. or .3, H, W."),
        ("a.png", {"found": {"x": [SEEN]}}, "outputs of 1 pictures, targets of 2"),
        ("a.png", {"least": math.nan}, "least=nan"),
    ):
        refuses(fp.ArgumentError, message, draw_detections, tmp_path / name, **{**held, **changes})
    monkeypatch.setattr(drawing, "is_available", lambda: False)
    refuses(fp.MinifpError, "pip install matplotlib", drawn, BOTH)
