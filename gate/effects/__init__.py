"""Effects: what a change did to a live run, and what may be said about it.

The one place that computes a verdict, so that no party with an interest in it does. Estimates take
plain numbers and give plain values; nothing here reads a file, moves a knob or rolls back. All of
it is pure Python except `gate.effects.simulation`, which alone loads numpy.
"""
