"""What detectors are made of: boxes to start from, matching, sampling, losses, proposals.

Boxes are (K, 4) as x1, y1, x2, y2 in pixels, NumPy arrays of float32 (see coordinates.py); what is
stored in the formats of the precision are activations, logits, and the rows of four numbers by
which boxes are moved and scaled.
"""

from minifp.nn.detection.anchors import AnchorGenerator
from minifp.nn.detection.default_boxes import DefaultBoxes
from minifp.nn.detection.heads import FastRCNNPredictor, RPNHead, TwoMLPHead
from minifp.nn.detection.matching import Matcher, match_default_boxes
from minifp.nn.detection.multibox_loss import MultiBoxLoss
from minifp.nn.detection.region_proposals import RegionProposalNetwork
from minifp.nn.detection.roi_heads import RoIHeads
from minifp.nn.detection.roi_pooling import RoIAlign, RoIPool
from minifp.nn.detection.sampling import BalancedSampler, hard_negatives
from minifp.nn.detection.targets import Objects, as_objects
from minifp.nn.detection.transform import DetectionTransform

__all__ = ["AnchorGenerator", "BalancedSampler", "DefaultBoxes", "DetectionTransform"]
__all__ += ["FastRCNNPredictor", "Matcher", "MultiBoxLoss", "Objects", "RPNHead"]
__all__ += ["RegionProposalNetwork", "RoIAlign", "RoIHeads", "RoIPool", "TwoMLPHead", "as_objects"]
__all__ += ["hard_negatives", "match_default_boxes"]
