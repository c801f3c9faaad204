"""From a user's facts to the served profile, with a real model in between: `make test-model`."""
