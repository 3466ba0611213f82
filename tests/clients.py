"""Third-party libraries use the real program: authlib gets and verifies tokens, readers of server-sent events follow it."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import httpx
import requests
import sseclient
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from httpx_sse import connect_sse
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/tillgate"

# The longest time for everything.
DEADLINE_S = 120


def late(*_):
    """Ends the current wait: the traceback shows which it is."""
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
    """`client_secret_post` is off by default."""
    form = {
        "grant_type": "client_credentials",
        "audience": operator["audience"],
        "client_id": operator["clientId"],
        "client_secret": operator["clientSecret"],
    }
    answer = requests.post(f"{url}/oauth2/token", data=form)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


# Shops of the demo.
HERE, ELSEWHERE = "SE-001", "NO-001"

TOPIC = "/api/v1/topics/cer.public.event.rates-changed.v1"
CATALOG_CHANGES = "/api/v1/catalog/changes"


def set_rate(client, shop, value):
    """Sets a rate that the demo does not have."""
    path = f"/api/v1/business-units/{shop}/exchange-rates/INTERCOMPANY/ISK/EUR"
    client.put(path, json={"rateValue": value}).raise_for_status()


def told(data):
    """The content of a message about that rate: the shop and the value; None for a message about the demo's own rates."""
    data = json.loads(data)["data"]
    rates = data.get("createdRates", []) + data.get("updatedRates", [])
    of = [rate for rate in rates if rate["exchangeRateType"] == "INTERCOMPANY" and rate["targetCurrencyCode"] == "EUR"]
    return (data["businessUnitId"], of[0]["rateValue"]) if of else None


def all_told(events, last):
    """The content of the events about that rate up to the last. Each event is a message, and has an id."""
    said = []
    for event in events:
        assert event.id and event.event == "message", event
        said += [told(event.data)] if told(event.data) else []
        if said[-1:] == [last]:
            return said
    raise AssertionError(f"the stream has ended after {said}")


def readers_of_events_see_the_messages_and_nothing_else(client):
    """httpx-sse yields an event at each empty line once it knows an id, unlike the standard."""
    def stream(query=None, last=None):
        headers = {"Last-Event-ID": last} if last else {}
        return connect_sse(client, "GET", TOPIC, params=query or {}, headers=headers)

    last = (HERE, 0.0067)
    with contextlib.ExitStack() as streams:
        # The host ends a stream that nobody reads after a while.
        read = streams.enter_context(concurrent.futures.ThreadPoolExecutor()).submit
        everywhere, here = (streams.enter_context(stream(query)) for query in ({}, {"businessUnitId": HERE}))
        catalog = streams.enter_context(connect_sse(client, "GET", CATALOG_CHANGES)).iter_sse()
        digests = [next(catalog).data]
        bearer = {"Authorization": client.headers["Authorization"]}
        plain = requests.get(f"{client.base_url}".rstrip("/") + TOPIC, headers=bearer, stream=True, timeout=60)
        streams.enter_context(plain)
        raw = streams.enter_context(client.stream("GET", TOPIC))
        events = everywhere.iter_sse(), here.iter_sse(), sseclient.SSEClient(plain).events()
        everywhere, here, plain = (read(all_told, of_stream, last) for of_stream in events)
        set_rate(client, HERE, 0.00668)
        set_rate(client, ELSEWHERE, 0.00669)
        # The others began earlier, so they have had a heartbeat too.
        assert any(line == ":heartbeat" for line in raw.iter_lines())
        set_rate(client, HERE, 0.0067)
        client.put("/api/v1/entity-conditions/httpx-sse", json={"rule": "LICENSE_REQUIREMENT", "condition_value": {}})
        said = everywhere.result()
        assert sorted(said) == sorted([(HERE, 0.00668), (ELSEWHERE, 0.00669), last])
        assert here.result() == [(HERE, 0.00668), last]
        assert plain.result() == said
        digests.append(next(catalog).data)
        assert len(set(digests)) == 2 and all(json.loads(digest)["digest"] for digest in digests), digests
    with stream({"after": "earliest"}) as earliest:
        for event in earliest.iter_sse():
            if told(event.data) == said[0]:
                break
    with stream(last=event.id) as resumed:
        assert all_told(resumed.iter_sse(), last) == said[1:]


WITH_AN_OPERATOR = [
    authlib_gets_a_token,
    authlib_reports_why_a_token_was_refused,
    credentials_in_the_body_are_refused,
]

IN_THE_DEMO = [readers_of_events_see_the_messages_and_nothing_else]


@contextlib.contextmanager
def running(*arguments):
    """Runs the program while it is needed; yields its address."""
    with subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, text=True) as program:
        try:
            yield program.stdout.readline().removeprefix("listening on ").strip()
        finally:
            program.terminate()


@contextlib.contextmanager
def an_operator(folder):
    """A host and its operator."""
    file = folder / "operator.json"
    with running("serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--operator-file", file) as url:
        yield url, json.loads(file.read_text())


@contextlib.contextmanager
def the_demo(folder):
    """A client of the demo's tenant."""
    file = folder / "demo.env"
    with running("demo", "--listen", "127.0.0.1:0", "--env-file", file) as url:
        # Written once everything is printed.
        while not file.exists():
            time.sleep(0.01)
        lines = (line.split("=", 1) for line in file.read_text().splitlines())
        env = {name: "".join(shlex.split(value)) for name, value in lines}
        form = {"grant_type": "client_credentials", "audience": env["AUDIENCE"]}
        token = requests.post(f"{url}/oauth2/token", data=form, auth=(env["CLIENT_ID"], env["CLIENT_SECRET"])).json()
        bearer = {"Authorization": f"Bearer {token['access_token']}"}
        with httpx.Client(base_url=url, headers=bearer, timeout=60) as client:
            yield (client,)


def main():
    passed, failed = 0, 0
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S, DEADLINE_S)
    for tests, setting in [(WITH_AN_OPERATOR, an_operator), (IN_THE_DEMO, the_demo)]:
        with tempfile.TemporaryDirectory() as folder, setting(pathlib.Path(folder)) as given:
            for test in tests:
                begin = time.monotonic()
                try:
                    test(*given)
                    passed += 1
                    print(f"test {test.__name__} ... ok <{time.monotonic() - begin:.3f}s>")
                except Exception as cause:
                    failed += 1
                    traceback.print_exc()
                    print(f"FAILED: {test.__name__}: {cause!r}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
