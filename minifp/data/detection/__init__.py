"""Pictures with boxes: data sets for detectors, and what they say is to be found."""
