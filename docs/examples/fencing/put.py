"""Replace an object in a store that has conditional writes, unless a higher token was there."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ATTEMPTS = 20
SECONDS = 30  # for one request


class StaleTokenError(Exception):
    """A later start of the Job does the work: stop, and do not try again."""


def put(url: str, content: object, token: int) -> None:
    """Make the object `{"token": token, "content": content}`."""
    for _ in range(ATTEMPTS):
        seen, condition = _look(url)
        if token < seen:
            raise StaleTokenError(f"token {token} is too old for {url}: {seen} was here")
        if _replace(url, json.dumps({"token": token, "content": content}), condition):
            return
    raise TimeoutError(f"{url} changed {ATTEMPTS} times meanwhile: have fewer pods write to it")


def _look(url: str) -> tuple[int, dict[str, str]]:
    """The token in the object, and the condition that it is still that object."""
    try:
        with urlopen(url, timeout=SECONDS) as answer:
            return json.load(answer)["token"], {"If-Match": answer.headers["ETag"]}
    except HTTPError as error:
        with error:
            if error.code == 404:
                return 0, {"If-None-Match": "*"}
            raise


def _replace(url: str, text: str, condition: dict[str, str]) -> bool:
    """Whether it was replaced; if not, somebody else was faster."""
    headers = {"Content-Type": "application/json", **condition}
    try:
        with urlopen(Request(url, text.encode(), headers, method="PUT"), timeout=SECONDS):
            return True
    except HTTPError as error:
        with error:
            if error.code in {404, 409, 412}:  # gone, being written, or not what we saw
                return False
            raise
