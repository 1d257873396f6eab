"""The random numbers of published simulations that drew theirs from ARC4 with a text as seed."""


class Arc4:
    """The cipher's stream read as numbers, as the JavaScript package seedrandom reads it.

    The first 256 bytes are thrown away. The same seed gives the same numbers everywhere.
    """

    def __init__(self, seed: str) -> None:
        self._box = list(range(256))
        self._i = self._j = 0
        self._shuffle(seed.encode())
        for _ in range(256):
            self._byte()

    def number(self) -> float:
        """The next number: 0 or more, less than 1, with at least 52 bits that count."""
        drawn, bits = 0, 0
        while bits < 48 or drawn < 2**52:
            drawn, bits = drawn * 256 + self._byte(), bits + 8
        beyond = max(drawn.bit_length() - 53, 0)
        return float((drawn >> beyond) / 2 ** (bits - beyond))

    def _shuffle(self, key: bytes) -> None:
        j = 0
        for i in range(256):
            j = (j + self._box[i] + key[i % len(key)]) % 256
            self._swap(i, j)

    def _byte(self) -> int:
        self._i = (self._i + 1) % 256
        self._j = (self._j + self._box[self._i]) % 256
        self._swap(self._i, self._j)
        return self._box[(self._box[self._i] + self._box[self._j]) % 256]

    def _swap(self, i: int, j: int) -> None:
        self._box[i], self._box[j] = self._box[j], self._box[i]
