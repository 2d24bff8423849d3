"""The function world: a hidden rule of four numbers, found by trying it."""
