"""Known mistakes: wrong answers of exercises that many give, each with a hint of its own."""
