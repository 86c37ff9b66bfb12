"""Files: written aside and renamed; tensors as safetensors, checkpoints."""
