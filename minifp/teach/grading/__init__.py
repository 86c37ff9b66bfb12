"""Grading: a student's code runs in a process of its own, and its answers come back as plain
numbers, to be judged in this one."""
