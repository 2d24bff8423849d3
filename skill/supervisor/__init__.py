"""The supervisor: ticks of a meta-agent at an interval, each inside a fence and checked after."""
