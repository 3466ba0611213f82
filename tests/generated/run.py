"""Sends requests generated from /openapi.json to a host (schemathesis, all checks): as a client that may do everything, and as one
that may do nothing.

    python tests/generated/run.py [--program target/debug/tillgate] [--seed N] [--examples N]

No answer may be a 500, have a status or a body that the document does not have, or accept a request that its schema forbids. The last line is
"N passed, N failed": one for each client, and one for the number of requests.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from base64 import b64encode
from pathlib import Path

HERE = Path(__file__).parent
LEAST = 2_000


class Host:
    """A host on a store in memory, with its operator."""

    def __init__(self, program, folder, **settings):
        self.operator_file = Path(folder, "operator.json")
        arguments = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--operator-file", self.operator_file]
        self.log = open(Path(folder, "log"), "w+")
        # Without a decision log, decisions that are uploaded are refused with 503.
        environment = {**os.environ, "TILLGATE_DECISIONS__LOG": "decisions.jsonl", **settings}
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=self.log, text=True, cwd=folder, env=environment)
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()
        self.operator = json.loads(self.operator_file.read_text())

    def get(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return answer.read()

    def call(self, method, path, token, body=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def token(self, client_id, secret):
        form = {"grant_type": "client_credentials", "audience": self.operator["audience"]}
        basic = b64encode(f"{client_id}:{secret}".encode()).decode()
        request = urllib.request.Request(self.url + "/oauth2/token", urllib.parse.urlencode(form).encode(), {"Authorization": f"Basic {basic}"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["access_token"]

    def client_without_permissions(self, operator):
        """The id and a token of a client of another tenant that has no role."""
        software = {"softwareId": "nothing", "softwareVersion": "1"}
        self.call("POST", "/v1/tenants/acme/templates", operator, {**software, "name": "Nothing", "claimsSchema": {}, "roles": []})
        new = {**software, "usingGlobalTemplate": False, "tenantId": "acme", "claims": {}}
        client = self.call("POST", "/v1/registration", operator, new)
        self.call("PUT", f"/v1/tenants/acme/clients/{client['clientId']}/authorize", operator)
        return client["clientId"], self.token(client["clientId"], client["clientSecret"])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def generate(host, who, client_id, token, seed, examples):
    """Runs schemathesis; returns True if all checks hold, and the number of requests."""
    print(f"== {who}", flush=True)
    command = [Path(sys.executable).with_name("st"), "--config-file", HERE / "schemathesis.toml", "run", f"{host.url}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {token}", "--checks", "all", "--no-color", "--max-examples", examples, "--seed", seed]
    # Its database of earlier runs must not be where tests run.
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "OWN_CLIENT": client_id, "PYTHONPATH": str(HERE)}
    run = subprocess.run([str(part) for part in command], env=environment, cwd=HERE, capture_output=True, text=True)
    made = re.search(r"([\d,]+) generated", run.stdout)
    made = int(made[1].replace(",", "")) if made else 0
    print(run.stdout if run.returncode else f"{made} requests", run.stderr, flush=True)
    if run.returncode:
        print(f"FAILED: requests of {who}", flush=True)
    return run.returncode == 0, made


def finish(results):
    """Prints the last line, and ends."""
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/debug/tillgate")
    parser.add_argument("--seed", default="2026")
    parser.add_argument("--examples", default="6")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(arguments.program).resolve(), folder)
        try:
            operator = host.token(host.operator["clientId"], host.operator["clientSecret"])
            client_id, nobody = host.client_without_permissions(operator)
            callers = [("a client without a permission", client_id, nobody), ("an operator", host.operator["clientId"], operator)]
            made = 0
            for who, client_id, token in callers:
                holds, count = generate(host, who, client_id, token, arguments.seed, arguments.examples)
                results.append(holds)
                made += count
            # The last token is valid until the end, so an operator got all answers.
            host.call("GET", "/v1/tenants", operator)
            print(f"{made} requests in all, at least {LEAST} wanted")
            results.append(made >= LEAST)
            if made < LEAST:
                print("FAILED: there were too few requests", flush=True)
        finally:
            results.append(host.end() == 0)
    finish(results)


if __name__ == "__main__":
    main()
