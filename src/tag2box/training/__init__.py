"""The loop, memory, schedules, checkpoints."""
