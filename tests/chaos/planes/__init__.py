"""What clients do to each plane: one module a plane, one class of acts in it.

A client has an instance of each. An act is one write or read over HTTP and the note of it in the
history; it answers whether it counts, and `WEIGHTS` says how often each is chosen.
"""
