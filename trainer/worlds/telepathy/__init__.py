"""The telepathy world: yes or no questions until the thing thought of is guessed."""
