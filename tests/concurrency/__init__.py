"""Races between real connections and processes. Who waits for whom is asked of the server."""
