"""What tasks.py trains, in PyTorch: of each task what a batch and a loss are; torchvision's
detectors."""

import torch
from torch.nn import functional as F

from .on_torch import module
from .tasks import REAL
from .theirs_training import NotThere, Training, begun


class Detection(Training):
    """torchvision's detector: the sum of its losses."""

    def built(self, model):
        """The network, with the weights of ours."""
        import torchvision

        if model.architecture == "SSD300":
            build = torchvision.models.detection.ssd300_vgg16
            network = build(weights=None, weights_backbone=None, num_classes=model.arguments[0])
        elif not torchvision.extension._has_ops():
            raise NotThere("torchvision's own operations do not fit to the PyTorch there is")
        else:
            network = faster_rcnn(torchvision, model)
        return begun(network.train())

    def taken(self, pictures, objects):
        """Lists, as torchvision takes them."""
        targets = [
            {"boxes": torch.from_numpy(boxes), "labels": torch.from_numpy(labels)}
            for boxes, labels in objects
        ]
        return [torch.from_numpy(p) for p in pictures], targets

    def loss_of(self, pictures, targets):
        """See above."""
        return sum(self.model(pictures, targets).values())


def faster_rcnn(torchvision, model):
    """torchvision's on a small VGG-16, with as many anchors and regions as ours."""
    rcnn, pool = torchvision.models.detection.faster_rcnn, torchvision.ops.MultiScaleRoIAlign
    given, (height, width) = model.keywords, model.shape[2:]
    stages = module("vgg16")["stages_of"](3, given["stem"], given["width"], count=4)
    backbone = torch.nn.Sequential(*[layer for stage in stages for layer in stage][:-1])
    channels = backbone.out_channels = backbone[-2].out_channels
    hidden = round(4096 * given["width"])
    network = rcnn.FasterRCNN(
        backbone, min_size=min(height, width), max_size=max(height, width),
        rpn_anchor_generator=rcnn.AnchorGenerator(((16, 32, 64),), ((0.5, 1.0, 2.0),)),
        box_roi_pool=pool(["0"], 7, 2), box_head=rcnn.TwoMLPHead(channels * 49, hidden),
        box_predictor=rcnn.FastRCNNPredictor(hidden, model.arguments[0]),
        rpn_pre_nms_top_n_train=12_000, box_batch_size_per_image=128,
    )  # fmt: skip
    network.transform.size_divisible = 8
    return network


class Speech(Training):
    """A recogniser: CTC."""

    def taken(self, x, lengths, labels):
        """Tensors, and how many labels there are."""
        labels = torch.from_numpy(labels)
        return torch.from_numpy(x), lengths, labels, (labels > 0).sum(1)

    def loss_of(self, x, lengths, labels, counts):
        """See above."""
        logits, steps = self.model(x, lengths)
        return F.ctc_loss(F.log_softmax(logits, -1), labels, steps, counts)


class Translation(Training):
    """A translator: the cross entropy of the next code."""

    def taken(self, source, lengths, target, labels):
        """Codes as tensors."""
        source, target, labels = map(torch.from_numpy, (source, target, labels.reshape(-1)))
        return source, lengths, target, labels

    def loss_of(self, source, lengths, target, labels):
        """See above."""
        return F.cross_entropy(self.model(source, lengths, target).flatten(0, 1), labels)


class Language(Training):
    """A language model with a loss of its own."""

    def taken(self, codes, targets):
        """Codes as tensors."""
        return torch.from_numpy(codes), torch.from_numpy(targets)

    def loss_of(self, codes, targets):
        """See above."""
        return self.model.loss(codes, targets)[0]


class Adversarial(Training):
    """A generator and a discriminator, each with its loss, updated together."""

    def taken(self, pictures, noise):
        """Tensors."""
        return self.side.laid(torch.from_numpy(pictures)), torch.from_numpy(noise)

    def step(self):
        """As in ours_tasks.py."""
        pictures, noise = self.batches[self.count % len(self.batches)]
        self.count += 1
        self.optimizer.zero_grad()
        yield "zero_grad"
        say, bce = self.model.discriminator, F.binary_cross_entropy_with_logits
        with self.side.autocast():
            made = self.model.generator(noise)
            true, false = say(pictures), say(made.detach())
            self.loss = bce(true, torch.full_like(true, REAL)) + bce(false, torch.zeros_like(false))
        yield "forward"
        self.loss.backward()
        self.model.discriminator.requires_grad_(False)
        with self.side.autocast():
            fooled = say(made)
            loss = bce(fooled, torch.ones_like(fooled))
        loss.backward()
        self.model.discriminator.requires_grad_(True)
        yield "backward"
        self.optimizer.step()
        yield "update"


TASKS = {
    "detection": Detection, "speech": Speech, "translation": Translation, "language": Language,
    "adversarial": Adversarial,
}  # fmt: skip
