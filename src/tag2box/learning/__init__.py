"""Mining and losses: the equations of the paper."""
