"""Tests of the API over HTTP, and of what it stands on."""
