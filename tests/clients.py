"""authlib gets tokens from the real program, and verifies them with the published keys."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import traceback

import requests
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/tillgate"

# How long all of it may take.
DEADLINE_S = 120


def late(*_):
    """Ends whatever is waited for: the traceback says what that is."""
    raise TimeoutError(f"not within {DEADLINE_S} s")


def verify(url, operator, token):
    """Verifies a token with the keys that the service publishes."""
    keys = KeySet.import_key_set(requests.get(f"{url}/.well-known/jwks.json").json())
    decoded = jwt.decode(token, keys, algorithms=["RS256"])
    audience = {"essential": True, "values": [operator["audience"]]}
    registry = jwt.JWTClaimsRegistry(iss={"essential": True, "value": f"{url}/"}, aud=audience)
    registry.validate(decoded.claims)
    assert decoded.claims["sub"] == decoded.claims["client_id"] == operator["clientId"]
    header, claims, signature = token.split(".")
    try:
        jwt.decode(f"{header}.{claims}.{signature[::-1]}", keys, algorithms=["RS256"])
    except BadSignatureError:
        return
    raise AssertionError("a changed signature was accepted")


def authlib_gets_a_token(url, operator):
    session = OAuth2Session(operator["clientId"], operator["clientSecret"])
    token = session.fetch_token(operator["tokenUrl"], grant_type="client_credentials", audience=operator["audience"])
    assert (token["expires_in"], token["scope"], token["token_type"]) == (3599, "", "bearer"), token
    assert session.get(f"{url}/v1/tenants").status_code == 200
    verify(url, operator, token["access_token"])


def authlib_reports_why_a_token_was_refused(url, operator):
    session = OAuth2Session(operator["clientId"], operator["clientSecret"])
    try:
        session.fetch_token(operator["tokenUrl"], grant_type="client_credentials")
    except OAuthError as refused:
        assert refused.error == "invalid_request", refused
        assert refused.description == f"audience must be {operator['audience']}", refused
        return
    raise AssertionError("a token was issued without an audience")


def credentials_in_the_body_are_refused(url, operator):
    """`client_secret_post` is not supported."""
    form = {
        "grant_type": "client_credentials",
        "audience": operator["audience"],
        "client_id": operator["clientId"],
        "client_secret": operator["clientSecret"],
    }
    answer = requests.post(f"{url}/oauth2/token", data=form)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


TESTS = [authlib_gets_a_token, authlib_reports_why_a_token_was_refused, credentials_in_the_body_are_refused]


def main():
    passed, failed = 0, 0
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S, DEADLINE_S)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "operator.json"
        flags = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--operator-file", file]
        with subprocess.Popen([PROGRAM, *flags], stdout=subprocess.PIPE, text=True) as program:
            try:
                url = program.stdout.readline().removeprefix("listening on ").strip()
                operator = json.loads(file.read_text())
                for test in TESTS:
                    try:
                        test(url, operator)
                        passed += 1
                    except Exception as cause:
                        failed += 1
                        traceback.print_exc()
                        print(f"FAILED: {test.__name__}: {cause!r}")
            finally:
                program.terminate()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
