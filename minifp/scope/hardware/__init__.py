"""What decides a step's time, here and on GPUs."""
