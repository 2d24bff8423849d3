"""Which dialogue sits in which row of the cache, and what was read of it.

The dialogues of a batch are brought to the first rows, in the batch's order; in a rollout they
mostly are there already. When rows run out, the dialogue not used for longest is forgotten.
What was read is trusted only as far as it equals what is asked for now.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainer.policy.cache import KeyValueCache


class DialogueMemory:
    """Rows of a cache, by dialogue.

    Args:
        cache: The cache whose rows are given out.
        max_rows: Dialogues to remember at once.
    """

    def __init__(self, cache: KeyValueCache, *, max_rows: int) -> None:
        self.cache = cache
        self._max_rows = max_rows
        self._sitting: list[str | None] = []
        self._read: dict[str, list[int]] = {}

    def seat(self, dialogues: Sequence[str]) -> None:
        """Bring these dialogues to rows 0, 1, ... in this order, new ones with nothing read.

        Args:
            dialogues: Distinct keys, at most as many as there are rows.
        """
        wanted = set(dialogues)
        # Last used, last in the dict: the first keys are the ones to forget.
        for dialogue in dialogues:
            self._read[dialogue] = self._read.pop(dialogue, [])
        excess = max(len(self._read) - self._max_rows, 0)
        self.forget([key for key in self._read if key not in wanted][:excess])
        row_of = {key: row for row, key in enumerate(self._sitting) if key is not None}
        free = [row for row, key in enumerate(self._sitting) if key is None]
        for dialogue in dialogues:
            if dialogue not in row_of:
                if not free:
                    free.append(len(self._sitting))
                    self._sitting.append(None)
                row_of[dialogue] = free.pop(0)
                self._sitting[row_of[dialogue]] = dialogue
        first = [row_of[dialogue] for dialogue in dialogues]
        taken = set(first)
        self.cache.reserve(len(self._sitting), 0)
        # Whoever sat in a row that is needed moves to one that became free.
        rest = [row for row in range(len(self._sitting)) if row not in taken]
        self.arrange([*first, *rest], max(map(len, self._read.values())))

    def arrange(self, order: Sequence[int], width: int) -> None:
        """Permute the first rows, of which `width` columns are in use.

        Row i becomes what row `order[i]` was.
        """
        self.cache.arrange(order, width)
        self._sitting[: len(order)] = [self._sitting[row] for row in order]

    def keep(self, dialogue: str, ids: Sequence[int]) -> int:
        """Return how many of these ids need no reading, and forget what differs from them.

        At least one token is always left to read, since the next one follows from it.
        """
        read = self._read[dialogue]
        known = _common_prefix(read, ids)
        del read[min(known, len(ids) - 1) :]
        return len(read)

    def add(self, dialogue: str, ids: Sequence[int]) -> None:
        """Note that these ids were read next."""
        self._read[dialogue].extend(ids)

    def forget(self, dialogues: Sequence[str]) -> None:
        """Free the rows of these dialogues; unknown keys are ignored."""
        gone = set(dialogues)
        self._sitting = [None if key in gone else key for key in self._sitting]
        for dialogue in gone:
            self._read.pop(dialogue, None)


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many ids the two share from the start."""
    shared = min(len(left), len(right))
    if list(left[:shared]) == list(right[:shared]):
        return shared
    return next(i for i in range(shared) if left[i] != right[i])
