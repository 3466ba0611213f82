"""Generates a client of /openapi.json with openapi-python-client, which then makes the calls of an evening to a host: token,
condition, decision, basket, project, business unit, rate, conversion, import, webhook, event, deliveries.

    python tests/generated/clients.py [--program target/debug/tillgate]

The last line is "N passed, N failed": one for the generator, which must understand every schema, and one for each call.
"""

import argparse
import importlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from run import Host, finish

PROJECT = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90"
DAY = "Date, USD, SEK, \n20 November 2026, 1.0842, 11.05, \n"

# A body that generated clients cannot send. The form of the same route remains.
UNSUPPORTED = {f"Unsupported content type {kind}" for kind in ("application/xml", "application/zip", "text/csv")}


def generate(host, folder):
    """Generates the client; returns True if the generator understood everything."""
    (Path(folder) / "openapi.json").write_bytes(host.get("/openapi.json"))
    command = [Path(sys.executable).with_name("openapi-python-client"), "generate", "--path", "openapi.json", "--output-path", "client"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    told = run.stdout + run.stderr
    lacks = {line for line in told.splitlines() if re.match("Unsupported|Cannot|Unable|Failure|Attempted", line)} - UNSUPPORTED
    print("FAILED: the generator: " + (", ".join(lacks) or told) if lacks or run.returncode else "the client was generated", flush=True)
    sys.path.insert(0, str(Path(folder, "client")))
    return run.returncode == 0 and not lacks


class Evening:
    def __init__(self, client):
        self.client = client
        self.results = []

    def ask(self, tag, operation, wanted, *path, holds=lambda answer: True, **rest):
        """Makes a call; returns the answer as the generated code parsed it."""
        module = importlib.import_module(f"tillgate_client.api.{tag}.{operation}")
        answer = module.sync_detailed(*path, client=self.client, **rest)
        is_right = answer.status_code == wanted and holds(answer.parsed)
        print(f"{operation}: {answer.status_code}" if is_right else f"FAILED: {operation}: {answer.status_code}, not {wanted}: {answer.content[:400]}", flush=True)
        self.results.append(is_right)
        return answer.parsed


def body(name, members):
    """A body of a generated type."""
    module = importlib.import_module("tillgate_client.models." + re.sub("(?<!^)(?=[A-Z])", "_", name).lower())
    return getattr(module, name).from_dict(members)


def evening(url, client):
    it = Evening(client)
    rule = {"rule": "AGE_RESTRICTION", "condition_value": {"minimum_age": 16}}
    expect = {"name": "fifteen", "request": {"item": {"id": "a"}, "context": {"customer": {"customer_age": 15}}}, "expect": {"decision": "HARD_DENY"}}
    it.ask("conditions", "put_condition", 201, "cider", body=body("AgeRestrictionPut", {**rule, "tests": [expect]}))
    it.ask("conditions", "get_condition", 200, "cider", holds=lambda found: found.condition_value.minimum_age == 16)
    it.ask("conditions", "list_conditions", 200, holds=lambda found: [each.id for each in found] == ["cider"])
    it.ask("conditions", "get_condition", 404, "perry", holds=lambda found: found.code == "condition_not_found" and '"perry"' in found.detail)
    request = body("ConditionRequest", {"item": {"id": "a"}, "context": {"customer": {"customer_age": 15, "licenses": ["x", {"id": "y"}]}}})
    it.ask("decisions", "evaluate_condition", 200, "cider", body=request, explain=True, holds=lambda found: found.results[0].reason == "age_restriction.underage")
    listed = {"type": "WHITELIST", "propertyName": "group", "allowedValues": ["drinks", True]}
    items = {"type": "BLACKLISTEDITEMS", "itemIds": ["b"]}
    it.ask("projects", "put_project", 201, PROJECT, body=body("ProjectPut", {"name": "Evening", "restrictions": [listed, items]}))
    it.ask("projects", "get_project", 200, PROJECT, holds=lambda found: found.restrictions[0].allowed_values == ["drinks", True])
    item = {"id": "a", "conditionIds": ["cider"], "additionalProperties": {"group": "drinks", "litres": 0.5}}
    basket = body("BasketRequest", {"items": [item, {"id": "b"}], "projectId": PROJECT, "context": {}})
    it.ask("decisions", "evaluate_basket", 200, body=basket, holds=lambda found: found.decision == "HARD_DENY")
    it.ask("business_units", "put_business_unit", 201, "nordic", body=body("BusinessUnitPut", {"type": "COMPANY", "markupPercentage": 2.5, "tolerancePercentage": 10}))
    it.ask("business_units", "put_business_unit", 201, "shop", body=body("BusinessUnitPut", {"type": "STORE", "parentId": "nordic"}))
    it.ask("business_units", "list_business_units", 200, limit=10, holds=lambda found: len(found.items) == 2)
    it.ask("exchange_rates", "put_rate", 201, "nordic", "SALES", "SEK", "EUR", body=body("RatePut", {"rateValue": 11.05}))
    it.ask("exchange_rates", "list_used_rates", 200, business_unit="nordic", holds=lambda found: len(found) == 2)
    conversion = {"businessUnitId": "nordic", "exchangeRateType": "SALES", "amount": 10, "from": "EUR", "to": "SEK"}
    it.ask("exchange_rates", "convert_amount", 200, body=body("Conversion", conversion), holds=lambda found: found.amount == 110.5)
    slip = body("RatePut", {"rateValue": 1105})
    it.ask("exchange_rates", "put_rate", 409, "nordic", "SALES", "SEK", "EUR", body=slip, holds=lambda found: found.code == "rate_deviates" and len(found.deviations) > 0)
    form = body("ReferenceRatesForm", {"businessUnitId": "nordic", "exchangeRateTypes": "PURCHASE", "source": "ECB", "document": DAY})
    it.ask("exchange_rates", "import_reference_rates", 200, body=form, holds=lambda found: found.created == 2)
    settings = {"name": "ERP", "callbackUrl": f"{url}/erp", "eventTypes": ["x.receipts.v1"], "authentication": {"type": "BEARER"}, "sharedKey": "generate"}
    made = it.ask("webhooks", "create_webhook", 201, body=body("WebhookSettings", settings), holds=lambda found: found.authentication.type_ == "BEARER")
    it.ask("webhooks", "list_webhooks", 200, holds=lambda found: found[0].id == made.id)
    it.ask("events", "publish_event", 202, body=body("NewEvent", {"type": "x.receipts.v1", "id": "receipt-1", "data": {"shop": "shop", "lines": [1, 2]}}))
    found = it.ask("deliveries", "list_deliveries", 200, holds=lambda found: found.items[0].event_id == "receipt-1")
    it.ask("deliveries", "get_delivery", 200, found.items[0].id, holds=lambda found: found.event_type == "x.receipts.v1")
    it.ask("webhooks", "delete_webhook", 204, made.id)
    it.ask("conditions", "delete_condition", 204, "cider")
    return it.results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/debug/tillgate")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(arguments.program).resolve(), folder, TILLGATE_WEBHOOKS__ALLOW_HTTP="true", TILLGATE_WEBHOOKS__ALLOW_PRIVATE='["127.0.0.0/8"]')
        try:
            results.append(generate(host, folder))
            from tillgate_client import AuthenticatedClient
            token = host.token(host.operator["clientId"], host.operator["clientSecret"])
            results += evening(host.url, AuthenticatedClient(base_url=host.url, token=token))
        finally:
            results.append(host.end() == 0)
    finish(results)


if __name__ == "__main__":
    main()
