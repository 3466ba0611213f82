"""Random rules, small enough to try all their values, for findings.py to ask the module about. A seed repeats them."""

import json

from decisions import AGE, LICENSE, RESTRICTIONS

TEXTS = ["x", "y", "X", "x ", "", "true", "False", "é", "e\u0301", "ö\u0308"]
IDS = ["i", "j", "I", " j"]


def random_restriction(random):
    type_ = random.choice(list(RESTRICTIONS))
    member, values_member, _, _ = RESTRICTIONS[type_]
    target = {member: random.choice(["p", "q", "itemId", "P"][:random.choice([1, 2, 4])])} if member else {}
    few = random.choice([1, 2, 4])
    if type_ == "BOOLEAN":
        values = random.random() < 0.5
    else:
        of = IDS if member is None else [*TEXTS[:few], True, False][:random.choice([few, few + 2])]
        values = [random.choice(of if random.random() < 0.9 else TEXTS[1:]) for _ in range(random.choice([0, 1, 1, 2, 3]))]
    flags = random.choice([{}, {"exclusive": False}, {"exclusive": True}])
    return {"type": type_, **target, values_member: values, **flags}


def random_project(random):
    return {"restrictions": [random_restriction(random) for _ in range(random.choice([0, 1, 2, 3, 4, 6]))]}


def changed(project, random):
    """A project that differs slightly, or not at all."""
    restrictions = json.loads(json.dumps(project["restrictions"]))
    random.shuffle(restrictions)
    if restrictions and random.random() < 0.6:
        restrictions[random.randrange(len(restrictions))] = random_restriction(random)
    if random.random() < 0.3:
        restrictions += json.loads(json.dumps(restrictions[:1]))
    return {"restrictions": restrictions}


def random_condition(random, scope):
    rule = random.choice([AGE, AGE, LICENSE])
    value = {"minimum_age": random.choice([0, 1, 17, 18, 120, 121, 149, 150])} if rule == AGE else {}
    return {"id": "c", "rule": rule, "scope": scope, "enabled": random.random() < 0.7, "condition_value": value}


def random_draft(random):
    scopes = random.choice([["TENANT", "GLOBAL"], ["GLOBAL", "TENANT"]])
    condition, other = (random_condition(random, scope) for scope in scopes)
    return {"condition": condition, "other": random.choice([other, None])}


def random_calls(random):
    project, draft = random_project(random), random_draft(random)
    yield "findings", {"project": project}
    yield "findings", draft
    versions = [{"project": project}, {"project": changed(project, random)}]
    yield "compare", dict(zip(("before", "after"), versions))
    versions = [draft, random.choice([random_draft(random), None, {"condition": None, "other": draft["other"]}])]
    random.shuffle(versions)
    yield "compare", dict(zip(("before", "after"), versions))
