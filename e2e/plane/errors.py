"""What can go wrong with a plane, each a sentence for the person who started it."""


class PlaneError(Exception):
    """The plane could not do what was asked; `str()` is one sentence, `exit_code` the CLI's."""

    exit_code = 1


class MissingError(PlaneError):
    """Something the plane needs is absent and cannot be made; the sentence names the way out."""

    exit_code = 2
