"""What lessons train and measure, so that their cells are about the question.

`teach.tasks.NAME.FUNCTION??` in a notebook shows the source of each.
"""
