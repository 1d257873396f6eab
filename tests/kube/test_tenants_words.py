"""T25: what Kwicket reads of an object that a tenant writes names no other namespace.

The only one it ever learns is where the object itself is, which the API server says.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from kwicket.kube import wire
from kwicket.kube.webhook import job as mutated
from kwicket.kube.webhook import judgement

READ: list[tuple[Any, set[str], set[str]]] = [
    (wire.Job, {"metadata.namespace"}, {"metadata.managedFields"}),
    (judgement.ReviewedJob, {"metadata.namespace"}, {"metadata.managedFields"}),
    (wire.Pod, {"metadata.namespace"}, set()),
    (
        mutated.MutatedJob,
        set(),
        {"spec", "metadata.ownerReferences[]", "metadata.managedFields[].fieldsV1"},
    ),
    (mutated.Spec, set(), {"template.spec"}),
    (mutated.PodSpec, set(), {"containers[].env[]{}", "initContainers[].env[]{}"}),
]
"""What is decoded of a tenant's object: where a namespace is read, and what is kept undecoded."""


def leaves(of: inspect.Type, path: str = "") -> Iterator[tuple[str, inspect.Type]]:
    """Every field that is decoded, by its way from the top, with its type."""
    match of:
        case inspect.StructType(fields=fields):
            for field in fields:
                yield from leaves(field.type, f"{path}.{field.encode_name}".lstrip("."))
        case inspect.UnionType(types=types):
            for one in types:
                yield from leaves(one, path)
        case inspect.ListType(item_type=item):
            yield from leaves(item, f"{path}[]")
        case inspect.DictType(value_type=value):
            yield from leaves(value, f"{path}{{}}")
        case _:
            yield path, of


@pytest.mark.parametrize(("kind", "places", "undecoded"), READ)
def test_t25_of_a_tenants_object_only_its_own_namespace_is_read(
    kind: Any, places: set[str], undecoded: set[str]
) -> None:
    found = list(leaves(inspect.type_info(kind)))
    assert {path for path, _ in found if "namespace" in path.lower()} == places
    assert {path for path, of in found if isinstance(of, inspect.RawType | inspect.AnyType)} == (
        undecoded
    )


@pytest.mark.parametrize("kind", [wire.Job, wire.Pod])
def test_t25_owners_are_known_by_their_uid_alone(kind: Any) -> None:
    """A name or a kind could lead to an object of somebody else."""
    found = {path for path, _ in leaves(inspect.type_info(kind)) if "ownerReferences" in path}
    assert {path for path in found if "[]." in path} == {
        "metadata.ownerReferences[].uid",
        "metadata.ownerReferences[].controller",
    }


def test_t25_a_namespace_in_a_spec_would_be_noticed() -> None:
    class Reference(msgspec.Struct):
        namespace: str

    class Spec(msgspec.Struct):
        template: list[Reference]

    assert [path for path, _ in leaves(inspect.type_info(Spec))] == ["template[].namespace"]
