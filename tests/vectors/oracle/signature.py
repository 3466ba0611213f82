"""The webhook signatures with Python's own hmac, independent of the engine, to check the signature vectors.

    python3 tests/vectors/oracle/signature.py      # checks tests/vectors/signature.json

From webhooks.md, "A delivery", and the table of calls in engine/src/signature/text.rs.
"""

import base64
import binascii
import hashlib
import hmac
import json
import pathlib
import re
import sys

VECTORS = pathlib.Path(__file__).parent.parent / "signature.json"


def code(key, content):
    return "HS256=" + hmac.new(key.encode(), content.encode(), hashlib.sha256).hexdigest()


def standard(key, content):
    """The only text of a signature by Standard Webhooks."""
    return base64.b64encode(hmac.new(key.encode(), content.encode(), hashlib.sha256).digest()).decode()


def is_code(text):
    try:
        code = base64.b64decode(text.encode(), validate=True)
    except (ValueError, binascii.Error):
        return False
    return len(code) == 32 and base64.b64encode(code).decode() == text


def too_far(call, time):
    """Why a time is rejected, or None."""
    tolerance = call.get("toleranceSeconds")
    late = call["now"] - time
    if abs(late) <= (300 if tolerance is None else tolerance):
        return None
    return "too_old" if late > 0 else "too_new"


def standard_verdict(call):
    """Why the headers of Standard Webhooks are rejected, or None."""
    is_right = re.fullmatch("[A-Za-z0-9_-]{1,255}", call["id"], re.ASCII)
    is_right = is_right and re.fullmatch("0|[1-9][0-9]{0,19}", call["timestamp"], re.ASCII)
    is_right = is_right and int(call["timestamp"]) < 2**64 and re.fullmatch("[ -~]*", call["signature"], re.ASCII)
    sent = [one[3:] for one in call["signature"].split(" ") if one.startswith("v1,") and is_code(one[3:])]
    if not is_right or not sent:
        return "malformed"
    content = f"{call['id']}.{call['timestamp']}.{call['body']}"
    if standard(call["sharedKey"], content) not in sent:
        return "mismatch"
    return too_far(call, int(call["timestamp"]))


def verdict(call):
    """Why a signature is rejected, or None."""
    if call["op"] == "verifyStandard":
        return standard_verdict(call)
    header, body = call["signature"], call["op"] == "verifyBody"
    form = ("t=(0|[1-9][0-9]{0,19})," if body else "()") + "HS256=[0-9a-f]{64}"
    match = re.fullmatch(form, header, re.ASCII)
    if not match or body and int(match[1]) >= 2**64:
        return "malformed"
    if not body:
        return None if header == code(call["sharedKey"], call["data"]) else "mismatch"
    if header != f"t={match[1]}," + code(call["sharedKey"], f"{call['id']}.{match[1]}.{call['body']}"):
        return "mismatch"
    return too_far(call, int(match[1]))


SECONDS = "must be a whole number of seconds, 0 or more"
CHECKS = {
    "sharedKey": (
        lambda it: isinstance(it, str) and 16 <= len(it) <= 128 and all(c == " " or c.isprintable() for c in it),
        "must be 16 to 128 printable characters",
    ),
    "id": (lambda it: isinstance(it, str) and 1 <= len(it) <= 256, "must be a string of 1 to 256 characters"),
    **dict.fromkeys(("data", "body", "signature", "timestamp", "header id"), (lambda it: isinstance(it, str), "must be a string")),
    **dict.fromkeys(("t", "now", "toleranceSeconds"), (lambda it: type(it) is int and 0 <= it < 2**63, SECONDS)),
}
MEMBERS = {
    "sign": "sharedKey data",
    "signBody": "sharedKey id t body",
    "verify": "sharedKey data signature",
    "verifyBody": "sharedKey id body signature now",
    "verifyStandard": "sharedKey id timestamp body signature now",
}


def answer(call):
    faults = []
    if not isinstance(call, dict):
        faults = [("$", "must be an object")]
    elif "op" not in call:
        faults = [("$.op", "is required")]
    elif call["op"] not in MEMBERS:
        faults = [("$.op", "must be sign, signBody, verify, verifyBody or verifyStandard")]
    else:
        names = MEMBERS[call["op"]].split()
        if call["op"] in ("verifyBody", "verifyStandard") and call.get("toleranceSeconds") is not None:
            names.append("toleranceSeconds")
        for name in names:
            # A header may have any text.
            is_header = name == "id" and call["op"] == "verifyStandard"
            is_right, message = CHECKS["header id" if is_header else name]
            if name not in call:
                faults.append((f"$.{name}", "is required"))
            elif not is_right(call[name]):
                faults.append((f"$.{name}", message))
    if faults:
        faults = [{"path": path, "message": message} for path, message in faults]
        return {"error": {"code": "invalid", **faults[0], "faults": faults}}
    if call["op"] == "sign":
        return {"ok": {"signature": code(call["sharedKey"], call["data"])}}
    if call["op"] == "signBody":
        signature = code(call["sharedKey"], f"{call['id']}.{call['t']}.{call['body']}")
        return {"ok": {"signature": f"t={call['t']},{signature}"}}
    reason = verdict(call)
    return {"ok": {"valid": False, "reason": reason} if reason else {"valid": True}}


def expected(call):
    return answer(json.loads(call["signatureText"]) if "signatureText" in call else call["signature"])


def main():
    wrong = 0
    vectors = json.loads(VECTORS.read_text())["vectors"]
    for vector in vectors:
        if json.dumps(expected(vector["call"])) != json.dumps(vector["answer"]):
            wrong += 1
            print(f"{vector['name']}\n  oracle {expected(vector['call'])}\n  vector {vector['answer']}")
    print(f"{len(vectors)} vectors, {wrong} differ")
    return 1 if wrong or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
