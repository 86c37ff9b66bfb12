"""The data sets that come with minifp; where each is from, and its licence, is said beside it."""
