"""Additions to the document that generated requests need."""

import os

import schemathesis
from schemathesis.generation import GenerationMode


@schemathesis.serializer("application/zip")
def as_bytes(context, value):
    """Sends any text as an archive: it must be refused."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def filter_case(context, case):
    """Keeps the client from removing or revoking itself half-way."""
    own = os.environ["OWN_CLIENT"]
    named = [str(value) for value in (case.path_parameters or {}).values()]
    return own not in named and not _is_only_taken(case)


def _is_only_taken(case):
    """True if a body that must be refused has null for an optional member. The host accepts that, but the documents do not say so,
    because generators of clients do not understand members that may be null."""
    meta = case.meta
    return meta is not None and meta.generation.mode == GenerationMode.NEGATIVE and _has_null(case.body)


def _has_null(value):
    if isinstance(value, dict):
        return any(_has_null(member) for member in value.values())
    if isinstance(value, list):
        return any(_has_null(element) for element in value)
    return value is None
