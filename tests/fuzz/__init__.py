"""Generated and hostile input, at every door."""
