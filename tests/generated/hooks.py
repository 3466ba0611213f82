"""What generated requests need beside the document."""

import os

import schemathesis


@schemathesis.serializer("application/zip")
def as_bytes(context, value):
    """Any text stands for an archive: it must be refused as none."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def filter_case(context, case):
    """The client that asks is not removed or revoked half-way, by itself."""
    own = os.environ["OWN_CLIENT"]
    named = [str(value) for value in (case.path_parameters or {}).values()]
    return own not in named
