"""Operations that make one number of many."""
