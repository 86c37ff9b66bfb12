"""What follows from the runs of a comparison. Every number on screen, page and disk is from here.

scores      what a run is judged by: its metrics, its test loss, steps to a target, the area
loss_margin what a margin of the test loss follows from
resolution  whether a metric can tell such a margin at all, and what decides if not
claims      each arm's difference in each score, with its tests and their p values
rows        a line for each arm: how it ended, the verdict, what it cost
controls    whether a difference is special, or what any perturbation does
courses     whether training had converged
planning    how many seeds it takes
sentences   verdicts in words
special     the controls' answer in words
notes       what must be known beside the table
"""
