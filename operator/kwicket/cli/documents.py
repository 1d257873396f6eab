"""YAML documents that remember where they were written, so that a problem names its line.

What kubectl takes is taken: several documents a file, empty ones, and lists as `kubectl get -o
yaml` prints them. A field that is written twice is a problem, and a date is text.
"""

from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from kwicket.kube.schemas import Place

_TEXT = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")


class Problem(Struct, frozen=True):
    """One thing that is wrong in a file; `document` counts from 1, 0 is the file as a whole."""

    file: str
    line: int
    document: int
    why: str

    def __str__(self) -> str:
        document = f"document {self.document}: " if self.document else ""
        return f"{self.file}:{self.line}: {document}{self.why}"


class Document(Struct, frozen=True):
    """One object of a file: its value, and the nodes that know the lines."""

    file: str
    number: int
    node: Node
    value: Any
    within: Place = ()
    """Where it stands in its document: an item of a list."""

    def problem(self, place: Place, why: str) -> Problem:
        """What is wrong at a place in it."""
        line = _line(self.node, (*self.within, *place))
        at = path(place)
        return Problem(self.file, line, self.number, f"{at}: {why}" if at else why)


def path(place: Place) -> str:
    """The place as it is usually written: `spec.priority[0].weight`."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def documents(file: str, text: str) -> tuple[list[Document], list[Problem]]:
    """The objects in a file, and what keeps others from being read."""
    found: list[Document] = []
    problems: list[Problem] = []
    number = 0
    try:
        loader = _Loader(text)
        while loader.check_node():
            number += 1
            node = loader.get_node()
            assert node is not None  # noqa: S101  # check_node says so
            for line, key in _repeated(node, set()):
                problems.append(Problem(file, line, number, f"{key} is written twice"))
            found += _objects(
                Document(file, number, node, loader.construct_object(node, deep=True))
            )
    except (yaml.YAMLError, RecursionError) as error:
        problems.append(Problem(file, _line_of(error, text), number, _words(error)))
    return found, problems


def _objects(document: Document) -> Iterator[Document]:
    """The document itself, nothing if it is empty, or the items of a List."""
    value = document.value
    if value is None:
        return
    if isinstance(value, dict) and value.get("kind") == "List":
        for number, item in enumerate(value.get("items") or ()):
            place = ("items", number)
            yield Document(document.file, document.number, document.node, item, place)
    else:
        yield document


class _Loader(yaml.SafeLoader):
    """Plain data as JSON has it: keys are text, and so are dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # as the class above declares it
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _TEXT]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        """By the text of its keys."""
        self.flatten_mapping(node)
        return {_key(key): self.construct_object(value, deep=deep) for key, value in node.value}


def _key(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        raise yaml.MarkedYAMLError(problem="a key is text", problem_mark=node.start_mark)
    return str(node.value)


def _repeated(node: Node, seen: set[int]) -> Iterator[tuple[int, str]]:
    """Keys that their mapping has before, each with its line."""
    if id(node) in seen or isinstance(node, ScalarNode):
        return
    seen.add(id(node))
    below = node.value
    if isinstance(node, MappingNode):
        keys: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in keys:
                yield _number(key), key.value
            keys.add(str(key.value))
        below = [value for _, value in node.value]
    for inner in below:
        yield from _repeated(inner, seen)


def _line(node: Node, place: Place) -> int:
    """The line of a place; of what is nearest above it if it is not there."""
    line = _number(node)
    for step in place:
        match node, step:
            case MappingNode(), str(name):
                pairs = [pair for pair in node.value if pair[0].value == name]
                if not pairs:
                    return line
                key, node = pairs[-1]
                line = _number(key)
            case SequenceNode(), int(position) if position < len(node.value):
                node = node.value[position]
                line = _number(node)
            case _:
                return line
    return line


def _number(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _line_of(error: Exception, text: str) -> int:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        return int(mark.line) + 1 if mark else 1
    return text.count("\n", 0, getattr(error, "position", 0)) + 1


def _words(error: Exception) -> str:
    match error:
        case yaml.MarkedYAMLError():
            return f"is no YAML: {error.problem or error.context}"
        case yaml.reader.ReaderError():
            return f"is no YAML: it has the character {chr(error.character)!a}"
    return "is nested too deeply"
