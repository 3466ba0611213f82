"""Writes `deliveries.json`: deliveries that a sender makes, and some that it never would, with the receiver's answers.

    python3 tests/receiver/write.py

Certificates and RSA signatures are openssl's, the rest is Python's own: no part of the engine or the package is used. Each
run makes new keys and discards them, so every token and the time change.
"""

import base64
import hashlib
import hmac
import json
import subprocess
import tempfile
import time
from pathlib import Path

AUDIENCE = "https://till.example/hook"
EMAIL = "dispatcher@host.example"
ISSUER = "https://identity.host.example"
KEY = "a shared key of 31 characters ok"
OTHER_KEY = "another shared key"
DAY = 86_400
NOW = int(time.time()) + 60

BEARER = {"scheme": "BEARER", "audience": AUDIENCE, "email": EMAIL, "issuer": ISSUER}
SIGNED = {**BEARER, "sharedKey": KEY}
VERIFIERS = {
    "usual": SIGNED,
    "without a shared key": BEARER,
    "with two shared keys": {**SIGNED, "sharedKey": [OTHER_KEY, KEY]},
    "that needs signed bodies": {**SIGNED, "requireBodySignature": True},
    "with another header": {**SIGNED, "signatureHeader": "X-Existing-Signature"},
    "with a second of tolerance": {**SIGNED, "toleranceSeconds": 1},
    "of small bodies": {**SIGNED, "maxBodyBytes": 1000},
    "of credentials": {
        "scheme": "BASIC",
        "credentials": [{"username": "till", "password": "old"}, {"username": "till", "password": "pässword: new"}],
    },
}

FOLDER = Path(tempfile.mkdtemp(prefix="tillgate-receiver-"))


def openssl(*arguments, stdin=b""):
    return subprocess.run(["openssl", *arguments], input=stdin, check=True, capture_output=True).stdout


def certificate(name, new="rsa:2048", days=30):
    """Makes a key and returns its certificate."""
    key, out = FOLDER / f"{name}.key", FOLDER / f"{name}.pem"
    openssl("req", "-x509", "-nodes", "-newkey", new, "-subj", "/CN=webhooks", "-days", str(days), "-keyout", key, "-out", out)
    return out.read_text()


CERTIFICATES = {"k-1": certificate("ours"), "k-short": certificate("short", "rsa:1024"), "k-brief": certificate("brief", days=1)}
certificate("other")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def base64url(content):
    content = content if isinstance(content, bytes) else content.encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def changed(members, changes):
    """Members with replacements; `None` removes one."""
    return {name: value for name, value in {**members, **changes}.items() if value is not None}


def rs256(key):
    return lambda text: openssl("dgst", "-sha256", "-sign", FOLDER / f"{key}.key", stdin=text.encode())


def token(header={}, claims={}, sign=None, now=NOW):
    header = changed({"alg": "RS256", "kid": "k-1", "typ": "JWT"}, header)
    if not isinstance(claims, str):
        usual = {"aud": AUDIENCE, "azp": "104029", "email": EMAIL, "email_verified": True, "exp": now + 3600, "iat": now}
        claims = compact(changed({**usual, "iss": ISSUER, "sub": "104029"}, claims))
    text = f"{base64url(compact(header))}.{base64url(claims)}"
    sign = sign or rs256("ours")
    return f"{text}.{base64url(sign(text))}"


def hs256(text, key=KEY):
    content = text if isinstance(text, bytes) else text.encode()
    return "HS256=" + hmac.new(key.encode(), content, hashlib.sha256).hexdigest()


def body_signature(body, t=NOW, id="e-1", key=KEY):
    body = body if isinstance(body, bytes) else body.encode()
    return f"t={t}," + hs256(f"{id}.{t}.".encode() + body, key)


def standard(body, t=NOW, id="e-1", keys=(KEY,)):
    """The headers of Standard Webhooks, with a signature under each key."""
    codes = (hmac.new(key.encode(), f"{id}.{t}.{body}".encode(), hashlib.sha256).digest() for key in keys)
    signatures = " ".join("v1," + base64.b64encode(code).decode() for code in codes)
    return {"webhook-id": id, "webhook-timestamp": str(t), "webhook-signature": signatures}


def envelope(changes={}):
    data = base64.b64encode(b'{"action":"CREATED","id":"beer"}').decode()
    usual = {
        "id": "e-1",
        "time": "2026-11-21T10:00:00.000Z",
        "type": "entity-conditions.events.v1",
        "datacontenttype": "application/json",
        "data": data,
        "dataencoding": "base64",
        "meta": {},
        "source": "host.example",
        "specversion": "1.0",
    }
    return changed(usual, changes)


def delivery(headers={}, body=None, event={}, key=KEY, now=NOW, authorization=None, **options):
    """An accepted delivery, unless something in it is replaced. `body` replaces the signed one."""
    sent = envelope(event)
    text = compact(sent)
    usual = {
        "Authorization": authorization or "Bearer " + token(now=now, **options),
        "Content-Type": "application/json",
        "Correlation-Id": "5b0e6f8e-2f0f-4d38-9a55-0f6b5e1f8a11",
        "X-Service-Signature": hs256(sent["data"], key) if "data" in sent else "",
        "X-Service-Body-Signature": body_signature(text, now, sent.get("id", ""), key),
    }
    received = text if body is None else body
    name, content = ("body", received) if isinstance(received, str) else ("bodyBase64", base64.b64encode(received).decode())
    return {"now": now, "headers": [list(pair) for pair in changed(usual, headers).items()], name: content}


def twice(name, value, made=None):
    made = made or delivery()
    made["headers"].append([name, value])
    return made


def changed_body(changes):
    return delivery(body=compact(envelope(changes)))


def changed_claims(claims):
    header, _, signature = token().split(".")
    return delivery(authorization=f"Bearer {header}.{base64url(compact(claims))}.{signature}")


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


def with_basic(authorization):
    return delivery(authorization=authorization, headers={"X-Service-Signature": None, "X-Service-Body-Signature": None})


def with_body_signature(signature):
    return delivery(headers={"X-Service-Body-Signature": signature})


TEXT = compact(envelope())


def with_standard(changes={}, body=None, headers={}, **options):
    """A delivery with the headers of Standard Webhooks. `body` replaces the signed one."""
    return delivery(body=body, headers={**headers, **changed(standard(TEXT, **options), changes)})


UNSIGNED = {"X-Service-Signature": None, "X-Service-Body-Signature": None}
ROWS = []


def accepted(name, made, verifier="usual"):
    ROWS.append({"name": name, "verifier": verifier, **made, "answer": {"id": "e-1"}})


def refused(code, name, made, verifier="usual", status=401):
    ROWS.append({"name": name, "verifier": verifier, **made, "answer": {"code": code, "status": status}})


accepted("a delivery as it is sent", delivery())
accepted("header names and the scheme in small letters", delivery(headers={"Authorization": None, "authorization": "bearer " + token()}))
accepted("no signature of the body where none is needed", delivery(headers={"X-Service-Body-Signature": None}))
accepted("no signatures where the webhook has no shared key", delivery(headers={"X-Service-Signature": None}), "without a shared key")
accepted("the second of two shared keys", delivery(), "with two shared keys")
accepted("the first of two shared keys", delivery(key=OTHER_KEY), "with two shared keys")
accepted("a signed body where one is needed", delivery(), "that needs signed bodies")
accepted("a signature in the header that the webhook names", delivery(headers={"X-Service-Signature": None, "X-Existing-Signature": hs256(envelope()["data"])}), "with another header")
accepted("a sender whose clock is a little ahead", delivery(claims={"iat": NOW + 200, "nbf": NOW + 200, "exp": NOW + 3800}))
accepted("an expiry with a fraction of a second", delivery(claims={"exp": NOW + 3600.5}))
accepted("members that are not known yet", delivery(event={"added": {"data": "x", "id": ["y"]}, "meta": {"deprecationNotice": {"removedAfter": "2027-01-31"}}}))
accepted("data that is text", delivery(event={"datacontenttype": "text/plain", "data": base64.b64encode("räksmörgås".encode()).decode()}))
accepted("a delivery of the last second of a token", delivery(claims={"exp": NOW + 1}))
accepted("credentials", with_basic(basic("till:old")), "of credentials")
accepted("credentials beyond ASCII, with a colon", with_basic(basic("till:pässword: new")), "of credentials")

accepted("Standard Webhooks beside the other signatures", with_standard())
accepted("Standard Webhooks alone", with_standard(headers=UNSIGNED))
accepted("Standard Webhooks alone, where a signed body is needed", with_standard(headers=UNSIGNED), "that needs signed bodies")
accepted("Standard Webhooks alone, with another header", with_standard(headers=UNSIGNED), "with another header")
accepted("both keys of a rotation, to a receiver of the old one", with_standard(keys=(OTHER_KEY, KEY)))
accepted("both keys of a rotation, to a receiver of the new one", delivery(key=OTHER_KEY, headers=standard(TEXT, keys=(KEY, OTHER_KEY))))
accepted("both keys of a rotation, to a receiver of both", with_standard(keys=(OTHER_KEY, KEY)), "with two shared keys")
accepted("an id that is a digest", with_standard(id="evt_3NwZAx-v9a4HCvorz6MK3f"))
accepted("Standard Webhooks with capitals in their names", delivery(headers={name.title(): value for name, value in standard(TEXT).items()}))
accepted("Standard Webhooks of five minutes ago", with_standard(t=NOW - 300))
accepted("Standard Webhooks where the webhook has no shared key", with_standard(keys=(OTHER_KEY,)), "without a shared key")

refused("missing_token", "no Authorization header", delivery(headers={"Authorization": None}))
refused("wrong_scheme", "credentials where a token is expected", delivery(authorization=basic("till:old")))
refused("wrong_scheme", "a token without its prefix", delivery(authorization=token()))
refused("wrong_scheme", "an empty Authorization header", delivery(headers={"Authorization": ""}))
refused("duplicate_header", "two Authorization headers", twice("authorization", "Bearer " + token()), status=400)
refused("duplicate_header", "two signatures", twice("X-Service-Signature", hs256("")), status=400)
refused("duplicate_header", "two signatures of the body", twice("x-service-body-SIGNATURE", "t=1,HS256=00"), status=400)
refused("oversized_token", "a token of 20,000 characters", delivery(authorization="Bearer " + 20_000 * "a"))
refused("malformed_token", "a token of two parts", delivery(authorization="Bearer " + token().rsplit(".", 1)[0]))
refused("malformed_token", "a token of four parts", delivery(authorization=f"Bearer {token()}.a"))
refused("malformed_token", "an empty token", delivery(authorization="Bearer "))
refused("malformed_token", "a space before the token", delivery(authorization="Bearer  " + token()))
refused("malformed_token", "padding behind a part", delivery(authorization="Bearer " + token().replace(".", "=.", 1)))
refused("malformed_token", "a token's header that is not base64url", delivery(authorization="Bearer a.e30.AA"))
refused("malformed_token", "a token's header that is not an object", delivery(authorization="Bearer WzFd.e30.AA"))
refused("malformed_token", "claims that are not an object", delivery(claims="[1]"))
refused("malformed_token", "claims that are not JSON", delivery(claims="aud"))
refused("malformed_token", "an issue time that is not a number", delivery(claims={"iat": "now"}))
refused("wrong_algorithm", "alg none, without a signature", delivery(header={"alg": "none"}, sign=lambda _: b""))
refused("wrong_algorithm", "alg none over a valid signature", delivery(header={"alg": "none"}))
refused("wrong_algorithm", "HS256 with the certificate as its key", delivery(header={"alg": "HS256"}, sign=lambda text: hmac.new(CERTIFICATES["k-1"].encode(), text.encode(), hashlib.sha256).digest()))
refused("wrong_algorithm", "RS512", delivery(header={"alg": "RS512"}))
refused("wrong_algorithm", "PS256", delivery(header={"alg": "PS256"}))
refused("wrong_algorithm", "RS256 in small letters", delivery(header={"alg": "rs256"}))
refused("wrong_algorithm", "no algorithm", delivery(header={"alg": None}))
refused("wrong_algorithm", "alg none and an unknown certificate: the algorithm comes first", delivery(header={"alg": "none", "kid": "k-9"}))
refused("forbidden_header", "an extension that must be understood", delivery(header={"crit": ["exp"], "exp": 1}))
refused("forbidden_header", "a payload that is not encoded", delivery(header={"b64": False, "crit": ["b64"]}))
refused("forbidden_header", "a token that brings its key", delivery(header={"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}, sign=rs256("other")))
refused("forbidden_header", "a token that says where its key is", delivery(header={"jku": "https://evil.example/jwks"}))
refused("forbidden_header", "a token that says where its certificate is", delivery(header={"x5u": "https://evil.example/x5u"}))
refused("forbidden_header", "a token that brings its certificate", delivery(header={"x5c": ["AA"]}))
refused("wrong_type", "an access token", delivery(header={"typ": "at+jwt"}))
refused("wrong_type", "a token without a type", delivery(header={"typ": None}))
refused("missing_kid", "no certificate is named", delivery(header={"kid": None}))
refused("missing_kid", "an empty id of a certificate", delivery(header={"kid": ""}))
refused("missing_kid", "a certificate's id that is a number", delivery(header={"kid": 1}))
refused("unknown_kid", "a certificate that is not published", delivery(header={"kid": "k-9"}))
refused("unknown_kid", "a member that every JavaScript object has", delivery(header={"kid": "__proto__"}))
refused("unknown_kid", "a method that every JavaScript object has", delivery(header={"kid": "toString"}))
refused("weak_key", "a key of 1,024 bits", delivery(header={"kid": "k-short"}, sign=rs256("short")))
refused("certificate_expired", "a certificate that has expired", delivery(header={"kid": "k-brief"}, sign=rs256("brief"), now=NOW + 3 * DAY))
refused("certificate_not_yet_valid", "a certificate of the future", delivery(now=NOW - DAY))
refused("bad_signature", "another key under the same id", delivery(sign=rs256("other")))
refused("bad_signature", "a token with an empty signature", delivery(sign=lambda _: b""))
refused("bad_signature", "a token whose signature is cut off", delivery(authorization="Bearer " + token()[:-8]))
refused("bad_signature", "claims that were changed", changed_claims({"aud": "https://evil.example"}))
refused("bad_signature", "another key and another audience: the signature comes first", delivery(sign=rs256("other"), claims={"aud": "x"}))
refused("wrong_audience", "another audience", delivery(claims={"aud": "https://other.example/hook"}))
refused("wrong_audience", "a slash more", delivery(claims={"aud": AUDIENCE + "/"}))
refused("wrong_audience", "several audiences", delivery(claims={"aud": [AUDIENCE, "https://other.example/hook"]}))
refused("wrong_audience", "one audience in an array", delivery(claims={"aud": [AUDIENCE]}))
refused("wrong_audience", "no audience", delivery(claims={"aud": None}))
refused("wrong_audience", "everything is wrong: the audience comes first", delivery(claims={"aud": "x", "email": "x", "iss": "x", "exp": 1}))
refused("wrong_email", "another service account", delivery(claims={"email": "other@host.example"}))
refused("wrong_email", "the address in capitals", delivery(claims={"email": EMAIL.upper()}))
refused("wrong_email", "no address, and another issuer", delivery(claims={"email": None, "iss": "x"}))
refused("email_not_verified", "an address that is not verified", delivery(claims={"email_verified": False}))
refused("email_not_verified", "an address that is verified as a text", delivery(claims={"email_verified": "true"}))
refused("wrong_issuer", "another issuer, and expired", delivery(claims={"iss": ISSUER + ".evil.example", "exp": 1}))
refused("missing_expiry", "no expiry", delivery(claims={"exp": None}))
refused("missing_expiry", "an expiry that is a text", delivery(claims={"exp": str(NOW + 60)}))
refused("expired", "an expiry of now", delivery(claims={"exp": NOW}))
refused("expired", "an expiry before the first second of 1970", delivery(claims={"exp": -1}))
refused("expired", "an expiry of an hour ago, and a wrong signature of the data", delivery(claims={"exp": NOW - 3600}, key=OTHER_KEY))
refused("not_yet_valid", "a token of tomorrow", delivery(claims={"nbf": NOW + DAY}))
refused("not_yet_valid", "a token that is issued in six minutes", delivery(claims={"iat": NOW + 360}))

refused("missing_signature", "no signature", delivery(headers={"X-Service-Signature": None}))
refused("missing_signature", "a signature in the header of another name", delivery(), "with another header")
refused("malformed_signature", "a signature without its algorithm", delivery(headers={"X-Service-Signature": hs256("")[6:]}))
refused("malformed_signature", "a signature in capitals", delivery(headers={"X-Service-Signature": hs256("").upper()}))
refused("malformed_signature", "a signature that is cut off", delivery(headers={"X-Service-Signature": hs256("")[:-1]}))
refused("malformed_signature", "an empty signature", delivery(headers={"X-Service-Signature": ""}))
refused("malformed_signature", "a signature beyond ASCII", delivery(headers={"X-Service-Signature": "HS256=ü"}))
refused("signature_mismatch", "another shared key", delivery(key=OTHER_KEY))
refused("signature_mismatch", "a third shared key", delivery(key="a third shared key"), "with two shared keys")
refused("signature_mismatch", "data that was changed", changed_body({"data": base64.b64encode(b'{"action":"DELETED"}').decode()}))
refused("missing_body_signature", "no signature of the body where one is needed", delivery(headers={"X-Service-Body-Signature": None}), "that needs signed bodies")
refused("malformed_body_signature", "a time with letters behind it", with_body_signature(body_signature(TEXT, f"{NOW}junk")))
refused("malformed_body_signature", "a time with a zero before it", with_body_signature(body_signature(TEXT, f"0{NOW}")))
refused("malformed_body_signature", "a signature of the body without a time", with_body_signature(hs256("")))
refused("body_signature_mismatch", "an event's type that was changed", changed_body({"type": "projects.events.v1"}))
refused("body_signature_mismatch", "an event's id that was changed", changed_body({"id": "e-2"}))
refused("body_signature_mismatch", "a space behind the body", delivery(body=TEXT + " "))
refused("body_signature_mismatch", "an old delivery with the time of now", with_body_signature(f"t={NOW}," + body_signature(TEXT, NOW - 3600).split(",")[1]))
refused("body_signature_too_old", "a delivery of six minutes ago", with_body_signature(body_signature(TEXT, NOW - 360)))
refused("body_signature_too_old", "a delivery of two seconds ago, with one second of tolerance", with_body_signature(body_signature(TEXT, NOW - 2)), "with a second of tolerance")
refused("body_signature_too_old", "a delivery of six minutes ago under the second key", with_body_signature(body_signature(TEXT, NOW - 360)), "with two shared keys")
refused("body_signature_too_new", "a delivery of the future", with_body_signature(body_signature(TEXT, NOW + 360)))

refused("signature_mismatch", "Standard Webhooks under another key", with_standard(keys=(OTHER_KEY,)))
refused("signature_mismatch", "Standard Webhooks under a third key", with_standard(keys=("a third shared key",)), "with two shared keys")
refused("signature_mismatch", "Standard Webhooks of another body", with_standard(body=TEXT + " "))
refused("signature_mismatch", "Standard Webhooks of another id", with_standard({"webhook-id": "e-2"}))
refused("signature_mismatch", "old Standard Webhooks with the time of now", with_standard({"webhook-timestamp": str(NOW)}, t=NOW - 3600))
refused("body_signature_too_old", "Standard Webhooks of six minutes ago", with_standard(t=NOW - 360))
refused("body_signature_too_old", "Standard Webhooks of two seconds ago, with one second of tolerance", with_standard(t=NOW - 2), "with a second of tolerance")
refused("body_signature_too_old", "Standard Webhooks of six minutes ago under the second key", with_standard(t=NOW - 360), "with two shared keys")
refused("body_signature_too_new", "Standard Webhooks of the future", with_standard(t=NOW + 360))
for name in standard(TEXT):
    refused("malformed_signature", f"Standard Webhooks without {name}", with_standard({name: None}))
    refused("malformed_signature", f"Standard Webhooks with an empty {name}", with_standard({name: ""}))
    refused("malformed_signature", f"Standard Webhooks with {name} beyond ASCII", with_standard({name: standard(TEXT)[name] + " ü"}))
    refused("duplicate_header", f"{name} twice", twice(name, "1", with_standard()), status=400)
refused("malformed_signature", "an id with a point", with_standard(id="e.1"))
refused("malformed_signature", "a time of Standard Webhooks with letters behind it", with_standard(t=f"{NOW}junk"))
refused("malformed_signature", "only another version of Standard Webhooks", with_standard({"webhook-signature": standard(TEXT)["webhook-signature"].replace("v1", "v1a")}))

for name, body in {
    "a body that is not JSON": "{",
    "an empty body": "",
    "a body that is not an object": "[]",
    "a body that is not UTF-8": b'{"id":"\xff"}',
    "data twice": TEXT.replace("{", '{"data":"e30=",', 1),
    "an id twice, once with escapes": TEXT.replace("{", '{"\\u0069d":"e-2",', 1),
    "data with escapes": TEXT.replace('"data":"e', '"data":"\\u0065'),
    "an id that no UTF-8 can hold": TEXT.replace("e-1", "\\ud800"),
    "something behind the envelope": TEXT + "{}",
}.items():
    refused("malformed_body", name, delivery(body=body), status=400)
for name, changes in {
    "data that is not base64": {"data": "e30"},
    "data with a line break": {"data": "e30=\n"},
    "data that is not a text": {"data": {}},
    "another encoding": {"dataencoding": "hex"},
    "no id": {"id": None},
    "an empty id": {"id": ""},
    "an id that is too long": {"id": 257 * "e"},
    "no type": {"type": None},
    "no time": {"time": None},
}.items():
    refused("malformed_body", name, changed_body(changes), status=400)
refused("body_too_large", "a body above the limit", delivery(body=1001 * " "), "of small bodies", 413)

refused("missing_credentials", "no Authorization header where credentials are expected", with_basic(" ") | {"headers": []}, "of credentials")
refused("wrong_scheme", "a token where credentials are expected", with_basic("Bearer a.b.c"), "of credentials")
refused("malformed_credentials", "credentials that are not base64", with_basic("Basic till:password"), "of credentials")
refused("malformed_credentials", "credentials without their padding", with_basic(basic("till:old").rstrip("=")), "of credentials")
refused("wrong_credentials", "another password", with_basic(basic("till:new")), "of credentials")
refused("wrong_credentials", "another username", with_basic(basic("tilt:old")), "of credentials")
refused("wrong_credentials", "no password", with_basic(basic("till:")), "of credentials")
refused("wrong_credentials", "a beginning of the password", with_basic(basic("till:ol")), "of credentials")
refused("wrong_credentials", "no colon", with_basic(basic("till")), "of credentials")
refused("wrong_credentials", "nothing", with_basic("Basic "), "of credentials")


def lines(members, indent):
    return ",\n".join(f"{indent}{member}" for member in members)


def main():
    names = [row["name"] for row in ROWS]
    repeated = {name for name in names if names.count(name) > 1}
    assert not repeated, repeated
    named = lambda members: lines((f"{compact(name)}: {compact(value)}" for name, value in members.items()), "    ")
    file = Path(__file__).with_name("deliveries.json")
    file.write_text(
        f'{{\n  "verifiers": {{\n{named(VERIFIERS)}\n  }},\n  "certificates": {{\n{named(CERTIFICATES)}\n  }},\n'
        f'  "deliveries": [\n{lines(map(compact, ROWS), "    ")}\n  ]\n}}\n',
        encoding="utf-8",
    )
    print(f"{len(ROWS)} deliveries")


main()
