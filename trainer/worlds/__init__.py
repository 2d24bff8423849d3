"""Worlds: tools, state and verifiers, each in a folder, run in processes of their own."""
