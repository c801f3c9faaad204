"""Loom at half load for half an hour, with a verdict: `make soak`.

An installation of its own (`loom up`: API, worker, PostgreSQL) with a stand-in for a model works
for a fixed set of users over all planes. First the peak is measured, then the load is paced at half
of it, and every few seconds it is looked at what the processes and tables hold. Users are erased
and begin anew all the time, so that what is live is bounded: whatever still grows is a leak, bloat,
or one of the few records that are kept on purpose, which are told apart.
"""
