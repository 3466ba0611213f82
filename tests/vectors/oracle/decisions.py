"""Decides the vectors a second time, from the prose of the contract alone: tables and loops, independent of the engine.

    python3 tests/vectors/oracle/decisions.py tests/vectors/decisions              checks every answer there
    python3 tests/vectors/oracle/decisions.py tests/vectors/decisions --enumerate  rewrites enumerated.json

An `ok` must equal the oracle's answer, with its members in the same order. For an error the oracle knows the code and
the set of paths; the messages are the engine's, reviewed by people.
"""

import base64
import json
import pathlib
import re
import sys
import uuid

# ---------------------------------------------------------------------------------------------------------------------
# The tables

AGE, LICENSE = "AGE_RESTRICTION", "LICENSE_REQUIREMENT"

# rule: rows of (applies, decision, reason); the first that applies is the answer, ALLOW if none does.
DECISIONS = {
    AGE: [
        (lambda customer, _: customer.get("customer_age") is None, "SOFT_DENY", "age_restriction.missing_context"),
        (lambda customer, condition: customer["customer_age"] < condition["condition_value"]["minimum_age"],
         "HARD_DENY", "age_restriction.underage"),
    ],
    LICENSE: [
        (lambda customer, _: customer.get("licenses") is None, "SOFT_DENY", "license_requirement.missing_context"),
        (lambda customer, condition: condition["id"] not in map(license_id, customer["licenses"]),
         "HARD_DENY", "license_requirement.license_missing"),
    ],
}

# type: the member that names the checked property (None: the item's id), the member with values, whether it denies listed
# values (otherwise all others), the reason.
RESTRICTIONS = {
    "WHITELIST": ("propertyName", "allowedValues", False, "project_restriction.whitelist_not_met"),
    "BLACKLIST": ("propertyName", "deniedValues", True, "project_restriction.blacklist_met"),
    "BOOLEAN": ("propertyName", "value", False, "project_restriction.boolean_not_met"),
    "WHITELISTEDITEMS": (None, "itemIds", False, "project_restriction.whitelist_not_met"),
    "BLACKLISTEDITEMS": (None, "itemIds", True, "project_restriction.blacklisted_item"),
}

WORST = ["ALLOW", "SOFT_DENY", "HARD_DENY"]
MAX = {"age": 150, "depth": 32, "faults": 100, "items": 1_000, "conditionIds": 64, "restrictions": 1_000, "values": 100_000,
       "rows": 10_000, "shown": 10}


# ---------------------------------------------------------------------------------------------------------------------
# Deciding

def license_id(element):
    return element if isinstance(element, str) else element["id"]


def resolve(catalog, condition_id):
    """Enabled conditions only: the tenant's, else the global one."""
    for scope in ("tenant", "global"):
        for condition in catalog[scope]:
            if condition["id"] == condition_id and condition.get("enabled", True):
                return condition
    return None


def decide_condition(condition, context, explain=False):
    customer = context.get("customer") or {}
    decision, reason = next(((d, r) for applies, d, r in DECISIONS[condition["rule"]] if applies(customer, condition)),
                            ("ALLOW", None))
    result = {"id": condition["id"], "allow": reason is None, "decision": decision, "reason": reason,
              "rule": condition["rule"]}
    return result | ({"explanation": explain_condition(condition, customer)} if explain else {})


def explain_condition(condition, customer):
    if condition["rule"] == AGE:
        return {"minimumAge": condition["condition_value"]["minimum_age"], "customerAge": customer.get("customer_age")}
    held = customer.get("licenses")
    return {"licenseId": condition["id"],
            "licenses": None if held is None else [license_id(element) for element in held[:MAX["shown"]]],
            "licensesCount": None if held is None else len(held)}


def same(one, other):
    return type(one) is type(other) and one == other


def checks(restrictions):
    """
    Restrictions with the same type and target that are not exclusive are one check, at the position of the first. Each of its
    values has the position of its restriction.
    """
    joined = []
    for position, restriction in enumerate(restrictions):
        target_member, values_member, _, _ = RESTRICTIONS[restriction["type"]]
        target = restriction[target_member] if target_member else "itemId"
        values = restriction[values_member]
        values = [(value, position) for value in ([values] if isinstance(values, bool) else values)]
        exclusive = restriction.get("exclusive", False)
        there = [check for check in joined if check[:2] == (restriction["type"], target) and not check[3]]
        if there and not exclusive:
            there[0][2].extend(values)
        else:
            joined.append((restriction["type"], target, values, exclusive, position))
    return joined


def restriction_result(decision, reason, restriction):
    return {"allow": reason is None, "decision": decision, "reason": reason, "rule": "PROJECT_RESTRICTION",
            "source": "PROJECT_RESTRICTION", "restriction": restriction}


def decide_project(project, item, explain=False):
    if project is None:
        unreachable = restriction_result("SOFT_DENY", "project_restriction.project_unreachable", None)
        return [unreachable | ({"explanation": None} if explain else {})]
    results = []
    for type_, target, values, _, first in checks(project["restrictions"]):
        target_member, _, denies_listed, reason = RESTRICTIONS[type_]
        properties = item.get("additionalProperties", {})
        found = item["id"] if target_member is None else properties.get(target)
        listed_by = [position for value, position in values if same(found, value)]
        denied = bool(listed_by) == denies_listed
        result = (restriction_result("HARD_DENY", reason, target) if denied
                  else restriction_result("ALLOW", None, target))
        if explain:
            result["explanation"] = explain_check(target, found, values, min(listed_by, default=first))
        results.append(result)
    return results


def explain_check(target, found, values, position):
    distinct = []
    for value, _ in values:
        if not any(same(value, other) for other in distinct):
            distinct.append(value)
    return {"restrictionIndex": position, "propertyName": target, "value": found, "wants": distinct[:MAX["shown"]],
            "wantsCount": len(distinct)}


def item_decision(item, results):
    return {"id": item["id"], "allow": all(result["allow"] for result in results), "results": results}


def find_project(catalog, project_id):
    found = [project for project in catalog.get("projects", [])
             if uuid.UUID(project["projectId"]) == uuid.UUID(project_id)]
    return found[0] if found else None


def decide_basket(catalog, request, explain=False):
    items, worst = [], 0
    for item in request["items"]:
        results, errors = [], []
        for condition_id in item.get("conditionIds", []):
            condition = resolve(catalog, condition_id)
            if condition:
                results.append(decide_condition(condition, request["context"], explain))
            else:
                errors.append({"conditionId": condition_id, "status": 404})
        if "projectId" in request:
            results += decide_project(find_project(catalog, request["projectId"]), item, explain)
        answer = item_decision(item, results)
        worst = max([worst, 1 if errors else 0] + [WORST.index(result["decision"]) for result in results])
        if errors:
            answer |= {"allow": False, "errors": errors}
        items.append(answer)
    return {"allow": all(item["allow"] for item in items), "decision": WORST[worst], "items": items}


def decide_rows(rows, decide_row):
    """The distinct outcomes, in the order of their first appearance, and the one of each row."""
    outcomes, numbers = [], []
    for row in rows:
        results = decide_row(row)
        worst = max([0] + [WORST.index(result["decision"]) for result in results])
        outcome = {"allow": all(result["allow"] for result in results), "decision": WORST[worst], "results": results}
        if outcome not in outcomes:
            outcomes.append(outcome)
        numbers.append(outcomes.index(outcome))
    return {"outcomes": outcomes, "rows": numbers}


# ---------------------------------------------------------------------------------------------------------------------
# Reading: the faults of an input, as a set of paths

class Refused(Exception):
    def __init__(self, code, paths):
        super().__init__(code, paths)
        self.code, self.paths = code, paths


class Fraction:
    """A number that is not an integer: with a fraction or an exponent, or negative zero."""


class Members(list):
    """The members of an object, perhaps with duplicates."""


def read(data):
    def integer(text):
        return Fraction() if text == "-0" else int(text)

    def fraction(text):
        if float(text) in (float("inf"), float("-inf")):
            raise ValueError("a number beyond what is read")
        return int(text[: text.index(".")]) if re.fullmatch(r"-?[0-9]+\.0+", text) else Fraction()

    def refuse(text):
        raise ValueError(text)

    repeated = []

    def settle(value, path, depth):
        if isinstance(value, str):
            value.encode()
        if isinstance(value, list) and depth == MAX["depth"]:
            raise ValueError("too deep")
        if isinstance(value, Members):
            settled = {}
            for key, member in value:
                if key in settled:
                    repeated.append(inside(path, key))
                settle(key, path, depth)
                settled[key] = settle(member, inside(path, key), depth + 1)
            return settled
        if isinstance(value, list):
            return [settle(element, f"{path}[{at}]", depth + 1) for at, element in enumerate(value)]
        return value

    try:
        value = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode(), parse_int=integer, parse_float=fraction, parse_constant=refuse,
                           object_pairs_hook=Members)
        value = settle(value, "$", 0)
    except (ValueError, RecursionError):
        raise Refused("invalid", ["$"]) from None
    if repeated:
        raise Refused("invalid", repeated)
    return value


def inside(path, key):
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", key):
        return f"{path}.{key}"
    key = "".join("\ufffd" if ord(c) < 32 or 127 <= ord(c) < 160 else "\\" + c if c in "'\\" else c for c in key[:64])
    return f"{path}['{key}']"


class Reader:
    """Compares a value with the contract and collects the paths of the faults."""

    def __init__(self, lenient=False):
        self.paths = []
        self.unknown = []
        self.lenient = lenient

    def expect(self, holds, path):
        if not holds:
            self.paths.append(path)
        return holds

    def object(self, value, path):
        return self.expect(isinstance(value, dict), path)

    def only(self, value, path, *keys):
        """Allows no other members, unless unknown ones are ignored."""
        if not self.lenient:
            self.exactly(value, path, *keys)

    def exactly(self, value, path, *keys):
        for key in value:
            if not self.expect(key in keys, inside(path, key)):
                self.unknown.append(inside(path, key))

    def code(self):
        """If all faults are unknown members, the error has its own code."""
        return "unknown_member" if self.paths == self.unknown else "invalid"

    def required(self, value, path, key, check):
        if self.expect(key in value, inside(path, key)):
            check(value[key], inside(path, key))

    def optional(self, value, path, key, check, null=False):
        if key in value and not (null and value[key] is None):
            check(value[key], inside(path, key))

    def array(self, check, low=0, high=None):
        def read_array(value, path):
            if not self.expect(isinstance(value, list), path):
                return
            self.expect(low <= len(value) and (high is None or len(value) <= high), path)
            for at, element in enumerate(value[:high]):
                check(element, f"{path}[{at}]")
        return read_array

    def boolean(self, value, path):
        self.expect(isinstance(value, bool), path)

    def age(self, value, path):
        self.expect(type(value) is int and 0 <= value <= MAX["age"], path)

    def string(self, value, path):
        self.expect(isinstance(value, str), path)

    def name(self, value, path):
        self.expect(isinstance(value, str) and 1 <= len(value) <= 256, path)

    def short(self, value, path):
        self.expect(isinstance(value, str) and 1 <= len(value.encode()) <= 256, path)

    def listed_value(self, value, path):
        self.expect(isinstance(value, bool) or isinstance(value, str) and len(value.encode()) <= 256, path)

    def uuid(self, value, path):
        self.expect(isinstance(value, str) and re.fullmatch("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value),
                    path)

    def condition_id(self, value, path):
        self.expect(isinstance(value, str) and is_condition_id(value), path)

    # Documents to prepare.

    def condition(self, value, path):
        if not self.object(value, path):
            return
        self.only(value, path, "id", "rule", "scope", "enabled", "condition_value", "tests", "managedBy")
        self.required(value, path, "id", self.condition_id)
        self.optional(value, path, "enabled", self.boolean)
        self.required(value, path, "rule", lambda rule, at: self.expect(rule in (AGE, LICENSE), at))
        self.required(value, path, "condition_value", self.object)
        rule, demand = value.get("rule"), value.get("condition_value")
        if rule in (AGE, LICENSE) and isinstance(demand, dict):
            at = inside(path, "condition_value")
            self.exactly(demand, at, *(["minimum_age"] if rule == AGE else []))
            if rule == AGE:
                self.required(demand, at, "minimum_age", self.age)

    def restriction(self, value, path):
        if not self.object(value, path):
            return
        self.optional(value, path, "exclusive", self.boolean)
        self.required(value, path, "type",
                      lambda type_, at: self.expect(isinstance(type_, str) and type_ in RESTRICTIONS, at))
        if value.get("type") not in list(RESTRICTIONS):
            return
        target_member, values_member, _, _ = RESTRICTIONS[value["type"]]
        self.exactly(value, path, "type", "exclusive", values_member, *([target_member] if target_member else []))
        if target_member:
            self.required(value, path, target_member, self.short)
        self.required(value, path, values_member, {
            "value": self.boolean,
            "itemIds": self.array(self.short),
        }.get(values_member, self.array(self.listed_value)))

    def project(self, value, path):
        if not self.object(value, path):
            return
        self.only(value, path, "projectId", "name", "restrictions", "tests", "managedBy")
        self.optional(value, path, "name", self.name)
        self.required(value, path, "restrictions", self.array(self.restriction, high=MAX["restrictions"]))

    def catalog_project(self, value, path):
        if self.object(value, path):
            self.required(value, path, "projectId", self.uuid)
            self.project(value, path)

    def catalog(self, value, path):
        if not self.object(value, path):
            return
        self.only(value, path, "global", "tenant", "projects", "tenantId", "digest", "engine")
        self.required(value, path, "global", self.array(self.condition))
        self.required(value, path, "tenant", self.array(self.condition))
        self.optional(value, path, "projects", self.array(self.catalog_project))
        for key, id_, fold in (("global", "id", str), ("tenant", "id", str), ("projects", "projectId", str.lower)):
            elements = value.get(key) if isinstance(value.get(key), list) else []
            ids = [fold(element[id_]) if isinstance(element, dict) and isinstance(element.get(id_), str) else None
                   for element in elements]
            for at, name in enumerate(ids):
                self.expect(name is None or name not in ids[:at], f"{path}.{key}[{at}].{id_}")

    # Requests.

    def context(self, value, path):
        if self.object(value, path):
            self.only(value, path, "customer")
            self.optional(value, path, "customer", self.customer, null=True)

    def customer(self, value, path):
        if self.object(value, path):
            self.only(value, path, "customer_age", "licenses")
            self.known_of_customer(value, path)

    def known_of_customer(self, value, path):
        self.optional(value, path, "customer_age", self.age, null=True)
        self.optional(value, path, "licenses", self.array(self.license), null=True)

    def license(self, value, path):
        if isinstance(value, dict):
            self.required(value, path, "id", self.string)
        else:
            self.string(value, path)

    def condition_request(self, value, path):
        if self.object(value, path):
            self.only(value, path, "item", "context")
            self.required(value, path, "item", self.condition_item)
            self.required(value, path, "context", self.context)

    def condition_item(self, value, path):
        if self.object(value, path):
            self.only(value, path, "id")
            self.required(value, path, "id", self.name)

    def item(self, value, path, *more):
        if self.object(value, path):
            self.only(value, path, "id", "additionalProperties", *more)
            self.required(value, path, "id", self.name)
            self.optional(value, path, "additionalProperties", self.properties)

    def properties(self, value, path):
        if self.object(value, path):
            for key, member in value.items():
                self.expect(isinstance(member, (str, bool, int, Fraction)), inside(path, key))

    def project_request(self, value, path):
        if self.object(value, path):
            self.only(value, path, "projectId", "item")
            self.required(value, path, "projectId", self.uuid)
            self.required(value, path, "item", self.item)

    def basket_item(self, value, path):
        self.item(value, path, "conditionIds")
        if isinstance(value, dict):
            self.optional(value, path, "conditionIds", self.array(self.condition_id, high=MAX["conditionIds"]))

    def basket(self, value, path):
        if self.object(value, path):
            self.only(value, path, "items", "projectId", "context")
            self.required(value, path, "items", self.array(self.basket_item, low=1, high=MAX["items"]))
            self.optional(value, path, "projectId", self.uuid)
            self.required(value, path, "context", self.context)

    def condition_row(self, value, path):
        if self.object(value, path):
            self.only(value, path, "id", "additionalProperties", "customer_age", "licenses")
            self.required(value, path, "id", self.name)
            self.known_of_customer(value, path)

    def project_row(self, value, path):
        self.item(value, path, "customer_age", "licenses")

    def rows(self, value, path, row):
        if self.object(value, path):
            self.only(value, path, "rows")
            self.required(value, path, "rows", self.array(row, high=MAX["rows"]))

    def condition_rows(self, value, path):
        self.rows(value, path, self.condition_row)

    def project_rows(self, value, path):
        self.rows(value, path, self.project_row)


def is_condition_id(text):
    return re.fullmatch("[A-Za-z0-9_.:-]{1,64}", text) is not None


def valid(data, check, lenient=False):
    value, reader = read(data), Reader(lenient)
    check(reader, value, "$")
    if reader.paths:
        raise Refused(reader.code(), reader.paths)
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Calls

def sent(call, member):
    if member + "Base64" in call:
        return base64.b64decode(call[member + "Base64"])
    if member + "Text" in call:
        return call[member + "Text"].encode()
    return json.dumps(call[member], ensure_ascii=False).encode()


def answer(call):
    """The answer that a call must have: `{"ok": ...}`, or `{"error": {"code", "paths"}}`."""
    try:
        return {"ok": decide(call)}
    except Refused as refused:
        return {"error": {"code": refused.code, "paths": refused.paths}}


def decide(call):
    (prepared, tolerant), line = leniently(call["prepare"]), call.get("evaluate")
    if prepared not in ("catalog", "project"):
        raise Refused("invalid", ["$"])
    document = valid(sent(call, "document"), Reader.catalog if prepared == "catalog" else Reader.project, tolerant)
    if "evaluateMany" in call:
        return decide_many(prepared, document, call["evaluateMany"], sent(call, "request"))
    if line is None:
        return None
    line, lenient = leniently(line)
    explain, line = line.startswith("explain "), line.removeprefix("explain ")
    read(sent(call, "request"))
    if line == "project":
        request = valid(sent(call, "request"), Reader.project_request, lenient)
        project = document if prepared == "project" else find_project(document, request["projectId"])
        return item_decision(request["item"], decide_project(project, request["item"], explain))
    if prepared == "catalog" and line == "basket":
        return decide_basket(document, valid(sent(call, "request"), Reader.basket, lenient), explain)
    if prepared == "catalog" and line.startswith("condition "):
        request = valid(sent(call, "request"), Reader.condition_request, lenient)
        condition = in_force(document, line.removeprefix("condition "))
        return item_decision(request["item"], [decide_condition(condition, request["context"], explain)])
    raise Refused("invalid", ["$"])


def leniently(line):
    """A line without its prefix for ignoring unknown members, and whether it had one."""
    return line.removeprefix("lenient "), line.startswith("lenient ")


def in_force(catalog, condition_id):
    if not is_condition_id(condition_id):
        raise Refused("invalid", ["$.conditionId"])
    condition = resolve(catalog, condition_id)
    if condition is None:
        raise Refused("condition_not_found", ["$.conditionId"])
    return condition


def decide_many(prepared, document, line, request):
    """The line comes first: it decides which members of the rows are read."""
    project, (line, lenient) = document, leniently(line)
    if prepared == "catalog":
        kind, space, id_ = line.partition(" ")
        if not space or kind not in ("condition", "project"):
            raise Refused("invalid", ["$"])
        if kind == "condition":
            condition = in_force(document, id_)
            rows = valid(request, Reader.condition_rows, lenient)["rows"]
            return decide_rows(rows, lambda row: [decide_condition(condition, {"customer": row})])
        valid(json.dumps(id_).encode(), lambda reader, value, _: reader.uuid(value, "$.projectId"))
        project = find_project(document, id_)
    elif line != "project":
        raise Refused("invalid", ["$"])
    return decide_rows(valid(request, Reader.project_rows, lenient)["rows"], lambda row: decide_project(project, row))


# ---------------------------------------------------------------------------------------------------------------------
# Checking

def disagreement(vector):
    """Why the oracle disagrees with a vector, or None."""
    expected, there = answer(vector["call"]), vector["answer"]
    if list(there) == ["ok"]:
        if json.dumps(there) != json.dumps(expected):
            return f"the oracle answers {json.dumps(expected, ensure_ascii=False)}"
        return None
    error = there["error"]
    if list(error) != ["code", "path", "message", "faults"]:
        return "an error has code, path, message, faults, in this order"
    faults = error["faults"]
    if {"path": error["path"], "message": error["message"]} != faults[0]:
        return "path and message are those of the first fault"
    if "error" not in expected or error["code"] != expected["error"]["code"]:
        return f"the oracle answers {json.dumps(expected, ensure_ascii=False)}"
    listed, paths = [fault["path"] for fault in faults], expected["error"]["paths"]
    if len(paths) > MAX["faults"]:
        agree = len(listed) == MAX["faults"] + 1 and listed[-1] == "$" and set(listed[:-1]) <= set(paths)
    else:
        agree = sorted(listed) == sorted(paths)
    return None if agree else f"the oracle finds faults at {paths}"


def portable(value):
    """True if every language parses and writes the value as the same text; if not, it must be sent as Text."""
    if isinstance(value, dict):
        return all(not key.isdigit() and portable(member) for key, member in value.items())
    if isinstance(value, list):
        return all(map(portable, value))
    return not isinstance(value, float) and not (type(value) is int and abs(value) >= 2**53)


def check_files(files):
    count, wrong = 0, []
    for file in files:
        names = set()
        for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]:
            count += 1
            against = disagreement(vector)
            if not portable({key: value for key, value in vector["call"].items() if not key.endswith("Text")}):
                against = "a number or name that languages write differently: send it as Text"
            if vector["name"] in names:
                against = "another vector of this file has the name"
            names.add(vector["name"])
            if against:
                wrong.append(f"{file.name}: {vector['name']}\n  {against}\n  the vector: "
                             + json.dumps(vector["answer"], ensure_ascii=False))
    print("\n".join(wrong + [f"{count - len(wrong)} agree, {len(wrong)} do not"]))
    return 1 if wrong or not count else 0


# ---------------------------------------------------------------------------------------------------------------------
# Enumerating a small domain

ITEM = {"id": "i"}
PROJECT_ID = "00000000-0000-4000-8000-000000000001"
ABSENT = object()


def with_member(value, key, member):
    return value if member is ABSENT else {**value, key: member}


def age_condition(minimum, **more):
    return {"id": "c", "rule": AGE, "condition_value": {"minimum_age": minimum}, **more}


def ask_condition(catalog, customer):
    return {"prepare": "catalog", "document": {"global": [], "tenant": [], **catalog}, "evaluate": "condition c",
            "request": {"item": ITEM, "context": with_member({}, "customer", customer)}}


def ask_project(restrictions, item):
    return {"prepare": "project", "document": {"restrictions": restrictions}, "evaluate": "project",
            "request": {"projectId": PROJECT_ID, "item": item}}


def domain():
    """Every call of a small domain, with a name."""
    def show(value):
        return "absent" if value is ABSENT else json.dumps(value)

    ages = [None, 0, 1, 17, 18, 19, 149, 150]
    for minimum in (0, 1, 18, 150):
        for age in ages:
            yield (f"age {show(age)} against a minimum of {minimum}",
                   ask_condition({"tenant": [age_condition(minimum)]}, {"customer_age": age}))
    for rule, value in ((AGE, {"minimum_age": 18}), (LICENSE, {})):
        for customer in (ABSENT, None, {}):
            yield (f"customer {show(customer)} and {rule}",
                   ask_condition({"tenant": [{"id": "c", "rule": rule, "condition_value": value}]}, customer))
    for licenses in (None, [], ["c"], ["C"], ["c "], ["d"], ["d", "c"], ["c", "c"], [""], [{"id": "c"}], [{"id": "C"}],
                     [{"id": "d"}, "c"], [{"id": "c", "until": None}]):
        yield (f"licenses {show(licenses)} for the license c",
               ask_condition({"tenant": [{"id": "c", "rule": LICENSE, "condition_value": {}}]}, {"licenses": licenses}))

    states = {"no": None, "a disabled": {"enabled": False}, "an enabled": {"enabled": True}, "a bare": {}}
    for tenant_name, tenant in states.items():
        for global_name, global_ in states.items():
            for age in (17, 20, 21):
                yield (f"{tenant_name} tenant's condition (18), {global_name} global one (21), age {age}",
                       ask_condition({"global": [] if global_ is None else [age_condition(21, **global_)],
                                      "tenant": [] if tenant is None else [age_condition(18, **tenant)]},
                                     {"customer_age": age}))

    lists = [[], ["x"], ["X"], ["x "], [True], ["true"], ["x", True, False]]
    kinds = [ABSENT, "x", "y", "", True, False, "true", 1]
    for type_ in ("WHITELIST", "BLACKLIST"):
        for values in lists:
            for kind in kinds:
                item = ITEM if kind is ABSENT else {**ITEM, "additionalProperties": {"p": kind}}
                yield (f"{type_} of {show(values)} and a property {show(kind)}",
                       ask_project([{"type": type_, "propertyName": "p", RESTRICTIONS[type_][1]: values}], item))
    for demanded in ([True], [False], [True, False]):
        for kind in kinds:
            item = ITEM if kind is ABSENT else {**ITEM, "additionalProperties": {"p": kind}}
            yield (f"BOOLEAN of {show(demanded)} and a property {show(kind)}",
                   ask_project([{"type": "BOOLEAN", "propertyName": "p", "value": value} for value in demanded], item))
    for type_ in ("WHITELISTEDITEMS", "BLACKLISTEDITEMS"):
        for values in ([], ["i"], ["I"], ["i "], ["j", "i"], ["true"]):
            for id_ in ("i", "j", "true"):
                yield (f"{type_} of {show(values)} and the item {id_}",
                       ask_project([{"type": type_, "itemIds": values}], {"id": id_}))

    pairs = {
        "WHITELIST": [{"propertyName": "p", "allowedValues": ["x"]}, {"propertyName": "p", "allowedValues": ["y"]}],
        "BLACKLIST": [{"propertyName": "p", "deniedValues": ["x"]}, {"propertyName": "p", "deniedValues": ["y"]}],
        "BOOLEAN": [{"propertyName": "p", "value": True}, {"propertyName": "p", "value": False}],
        "WHITELISTEDITEMS": [{"itemIds": ["x"]}, {"itemIds": ["y"]}],
        "BLACKLISTEDITEMS": [{"itemIds": ["x"]}, {"itemIds": ["y"]}],
    }
    for type_, pair in pairs.items():
        for exclusive in ((False, False), (False, True), (True, False), (True, True)):
            for value in ((True, False) if type_ == "BOOLEAN" else ("x", "y", "z")):
                restrictions = [{"type": type_, **one, "exclusive": alone} for one, alone in zip(pair, exclusive)]
                item = ({"id": value} if RESTRICTIONS[type_][0] is None
                        else {**ITEM, "additionalProperties": {"p": value}})
                yield (f"two of {type_}, exclusive {show(list(exclusive))}, and {show(value)}",
                       ask_project(restrictions, item))


def enumerate_domain(file):
    not_found = [{"path": "$.conditionId", "message": "matches no enabled condition"}]
    vectors = []
    for name, call in domain():
        there = answer(call)
        if "error" in there:
            there = {"error": {"code": "condition_not_found", **not_found[0], "faults": not_found}}
        vectors.append({"name": name, "why": "conditions.md, enumerated by the oracle", "call": call, "answer": there})
    lines = ",\n".join("  " + json.dumps(vector, ensure_ascii=False) for vector in vectors)
    subject = "every case of a small domain; written by oracle/decisions.py"
    file.write_text(f'{{ "subject": {json.dumps(subject)}, "vectors": [\n{lines}\n] }}\n', encoding="utf-8")
    print(f"{len(vectors)} written to {file}")
    return 0


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    sys.exit(enumerate_domain(place / "enumerated.json") if "--enumerate" in sys.argv else check_files(sorted(place.glob("*.json"))))
