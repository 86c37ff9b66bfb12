"""Claims of the literature as programs, one a file: in a checkout in its folder exhibits/, once
installed here.

GROUPS: their exhibits, by the names that `gallery` takes. They use nothing of minifp but its public
names, as anybody's would.
"""

from minifp.runtime import late

late.from_checkout(__name__)

from minifp.exhibits import (
    classification,
    detection,
    gan,
    language,
    residual,
    scaling,
    speech,
    translation,
)

GROUPS = {
    "classification": classification.EXHIBITS,
    "detection": detection.EXHIBITS,
    "speech": speech.EXHIBITS,
    "translation": translation.EXHIBITS,
    "language": language.EXHIBITS,
    "gan": gan.EXHIBITS,
    "whole": residual.EXHIBITS,
    "scaling": scaling.EXHIBITS,
}
