"""The exercises, a file for each lesson: a judge of answers is all that is here, and no answer.

tests/teach/answers has right and typical wrong ones of each.
"""
