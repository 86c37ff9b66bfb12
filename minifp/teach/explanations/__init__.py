"""What the lessons say once it is known what came out: a file for each, read by texts.py.

A section has a name: of a prediction, for what is said of its answer, or of a figure, for its
caption. It may begin with code, which sees the notebook's names, checks what the text says, and
calls what came out `answer`. In the text {{...}} is a value, written as in an f-string.
"""
