"""Generates clients of /openapi.json with openapi-generator, in Python and in TypeScript (typescript-fetch), each of which
then makes the calls of an evening to a host.

    python tests/generated/openapi_generator.py [--program target/debug/tillgate]

The last line is "N passed, N failed": for each language one for its generator and one for each call, and in TypeScript one for the
compiler. The generator is a Java program; its package on PyPI includes the Java runtime.
"""

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from run import HERE, Host, finish

PROJECT = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90"
SETTINGS = {"TILLGATE_WEBHOOKS__ALLOW_HTTP": "true", "TILLGATE_WEBHOOKS__ALLOW_PRIVATE": '["127.0.0.0/8"]'}
TSC = HERE / "node_modules/typescript/bin/tsc"


def generate(folder, language, *options):
    command = [Path(sys.executable).with_name("openapi-generator-cli"), "generate", "-g", language, "-i", "openapi.json", "-o", language]
    run = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True)
    lacks = [line for line in run.stdout.splitlines() if "not yet supported" in line]
    print("\n".join(lacks), run.stdout[-2000:] if run.returncode else f"the client in {language} was generated", flush=True)
    return run.returncode == 0 and not lacks


def in_python(folder, url, token):
    results = [generate(folder, "python")]
    sys.path.insert(0, str(Path(folder, "python")))
    made = importlib.import_module("openapi_client")
    client = made.ApiClient(made.Configuration(host=url, access_token=token))

    def ask(tag, operation, *path, holds=lambda answer: True, **rest):
        try:
            answer = getattr(getattr(made, f"{tag}Api")(client), operation)(*path, **rest)
            is_right, told = holds(answer), repr(answer)
        except Exception as error:
            answer, is_right, told = None, False, f"{error!r} {error}"
        print(f"{operation}: answered" if is_right else f"FAILED: {operation}: {told[:400]}", flush=True)
        results.append(is_right)
        return answer

    body = lambda name, members: getattr(made, name).from_dict(members)
    rule = {"rule": "AGE_RESTRICTION", "condition_value": {"minimum_age": 16}}
    ask("Conditions", "put_condition", "cider", body("ConditionPut", rule))
    ask("Conditions", "get_condition", "cider", holds=lambda found: found.actual_instance.condition_value.minimum_age == 16)
    request = {"item": {"id": "a"}, "context": {"customer": {"customer_age": 15, "licenses": ["x", {"id": "y"}]}}}
    ask("Decisions", "evaluate_condition", "cider", body("ConditionRequest", request), explain=True, holds=lambda found: not found.allow)
    listed = [{"type": "WHITELIST", "propertyName": "group", "allowedValues": ["drinks", True]}, {"type": "BLACKLISTEDITEMS", "itemIds": ["b"]}]
    ask("Projects", "put_project", PROJECT, body("ProjectPut", {"name": "Evening", "restrictions": listed}))
    item = {"id": "a", "conditionIds": ["cider"], "additionalProperties": {"group": "drinks", "litres": 0.5}}
    basket = {"items": [item, {"id": "b"}], "projectId": PROJECT, "context": {}}
    ask("Decisions", "evaluate_basket", body("BasketRequest", basket), holds=lambda found: found.decision == "HARD_DENY")
    ask("BusinessUnits", "put_business_unit", "nordic", body("BusinessUnitPut", {"type": "COMPANY"}))
    ask("BusinessUnits", "put_business_unit", "shop", body("BusinessUnitPut", {"type": "STORE", "parentId": "nordic"}))
    ask("ExchangeRates", "put_rate", "nordic", "SALES", "SEK", "EUR", body("RatePut", {"rateValue": 11.05}))
    ask("ExchangeRates", "list_used_rates", "nordic", holds=lambda found: len(found) == 2)
    conversion = {"businessUnitId": "nordic", "exchangeRateType": "SALES", "amount": 10, "from": "EUR", "to": "SEK"}
    ask("ExchangeRates", "convert_amount", body("Conversion", conversion), holds=lambda found: float(found.amount) == 110.5)
    settings = {"name": "ERP", "callbackUrl": f"{url}/erp", "eventTypes": ["x.receipts.v1"], "authentication": {"type": "BEARER"}}
    webhook = ask("Webhooks", "create_webhook", body("WebhookSettings", {**settings, "sharedKey": "generate"}))
    ask("Events", "publish_event", body("NewEvent", {"type": "x.receipts.v1", "id": "receipt-1", "data": {"shop": "shop"}}))
    found = ask("Deliveries", "list_deliveries", holds=lambda found: found.items[0].event_id == "receipt-1")
    ask("Deliveries", "get_delivery", found.items[0].id)
    ask("Webhooks", "delete_webhook", webhook.id)
    ask("Conditions", "delete_condition", "cider")
    return results


def in_typescript(folder, url, token):
    # Without the last, the form of the import is used and not made.
    options = ["--global-property", "apis,models,supportingFiles,skipFormModel=false"]
    results = [generate(folder, "typescript-fetch", *options)]
    home = Path(folder, "typescript-fetch")
    shutil.copy(HERE / "evening.ts", home)
    options = ["--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom", "--module", "commonjs", "--outDir", "compiled"]
    compiled = subprocess.run(["node", TSC, *options, "evening.ts"], cwd=home, capture_output=True, text=True)
    print(compiled.stdout or "it compiles", flush=True)
    results.append(compiled.returncode == 0)
    ran = subprocess.run(["node", "compiled/evening.js"], cwd=home, env={**os.environ, "URL": url, "TOKEN": token}, capture_output=True, text=True)
    print(ran.stdout, ran.stderr[:2000], flush=True)
    lines = ran.stdout.splitlines()
    return results + [": answered" in line for line in lines] + [ran.returncode == 0 and len(lines) == 15]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/debug/tillgate")
    arguments = parser.parse_args()
    results = []
    for make_calls in (in_python, in_typescript):
        with tempfile.TemporaryDirectory() as folder:
            host = Host(Path(arguments.program).resolve(), folder, **SETTINGS)
            try:
                Path(folder, "openapi.json").write_bytes(host.get("/openapi.json"))
                token = host.token(host.operator["clientId"], host.operator["clientSecret"])
                results += make_calls(folder, host.url, token)
            finally:
                results.append(host.end() == 0)
    finish(results)


main()
