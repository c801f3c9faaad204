"""The HTTP layer: it carries bytes between HTTP and `loom.call`, and decides nothing else."""
