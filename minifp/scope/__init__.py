"""The microscope: see what each number format does to a training run."""
