"""What tasks.py trains, in minifp: of each task what a batch and a loss are."""

import minifp as fp
import minifp.nn.functional as F

from .ours_training import Training
from .tasks import REAL


class Detection(Training):
    """A detector: the sum of its losses."""

    def taken(self, pictures, objects):
        """As detectors take them."""
        targets = [{"boxes": boxes, "labels": labels} for boxes, labels in objects]
        return fp.tensor(pictures, dtype="float32"), targets

    def loss_of(self, pictures, targets):
        """See above."""
        return sum(self.model(pictures, targets).values())


class Speech(Training):
    """A recogniser: CTC, of float32 log-probabilities."""

    def taken(self, x, lengths, labels):
        """Features are stored as the tape stores them."""
        return fp.tensor(x), lengths, labels

    def loss_of(self, x, lengths, labels):
        """See above."""
        logits, steps = self.model(x, lengths)
        log_probs = F.log_softmax(logits, -1, dtype="float32")
        return F.ctc_loss(log_probs, labels, steps, (labels > 0).sum(1))


class Translation(Training):
    """A translator: the cross entropy of the next code."""

    def taken(self, source, lengths, target, labels):
        """Codes as tensors."""
        return fp.tensor(source), lengths, fp.tensor(target), fp.tensor(labels.reshape(-1))

    def loss_of(self, source, lengths, target, labels):
        """See above."""
        scores = self.model(source, lengths, target)
        return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels)


class Language(Training):
    """A language model with a loss of its own."""

    def loss_of(self, codes, targets):
        """See above."""
        return self.model.loss(codes, targets)[0]


class Adversarial(Training):
    """A generator and a discriminator, each with its loss, updated together."""

    def step(self):
        """As exhibits/gan.py does it."""
        pictures, noise = self.batches[self.count % len(self.batches)]
        self.count += 1
        self.optimizer.zero_grad()
        yield "zero_grad"
        made, n, say = self.model.generator(noise), len(pictures), self.model.discriminator
        bce = F.binary_cross_entropy_with_logits
        self.loss = bce(say(pictures), fp.full((n,), REAL)) + bce(say(made.detach()), fp.zeros(n))
        yield "forward"
        self.optimizer.backward(self.loss)
        held = [p.requires_grad_(False) for p in say.parameters()]
        self.optimizer.backward(bce(say(made), fp.ones(n)))
        for p in held:
            p.requires_grad_(True)
        yield "backward"
        self.skipped += self.optimizer.step().skipped
        yield "update"


TASKS = {
    "detection": Detection, "speech": Speech, "translation": Translation, "language": Language,
    "adversarial": Adversarial,
}  # fmt: skip
