"""The one error of the outside that the engine knows."""


class UnavailableError(Exception):
    """The other side could not be reached, was too slow or too busy; whether a write was applied
    is unknown. The caller reads back before it assumes anything.

    `retry_after` is the number of seconds that the other side asked to wait, 0 if it did not say.
    `failed` says that the other side has answered that nothing was done, and works on it no more.
    """

    def __init__(self, message: str, retry_after: float = 0, *, failed: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.failed = failed
