"""The worker process: does what is due, one piece at a time, away from any request."""
