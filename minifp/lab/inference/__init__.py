"""Trained models judged again, in other number formats: what a format does where nothing learns."""
