"""A model at a glance: layers, shapes, parameters, multiply-adds, bytes in each precision."""

from minifp.scope.summary.measuring import Summary, summary

__all__ = ["Summary", "summary"]
