"""What generated requests need beside the document."""

import os

import schemathesis
from schemathesis.generation import GenerationMode


@schemathesis.serializer("application/zip")
def as_bytes(context, value):
    """Any text stands for an archive: it must be refused as none."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def filter_case(context, case):
    """The client that asks is not removed or revoked half-way, by itself."""
    own = os.environ["OWN_CLIENT"]
    named = [str(value) for value in (case.path_parameters or {}).values()]
    return own not in named and not _is_only_taken(case)


def _is_only_taken(case):
    """Whether a body that must be refused has null where a member may be left out. The documents do not say that null is taken for
    that, since generators of clients do not understand members that may be null."""
    meta = case.meta
    return meta is not None and meta.generation.mode == GenerationMode.NEGATIVE and _has_null(case.body)


def _has_null(value):
    if isinstance(value, dict):
        return any(_has_null(member) for member in value.values())
    if isinstance(value, list):
        return any(_has_null(element) for element in value)
    return value is None
