"""Whose data is whose: attempts to see or change what belongs to another."""
