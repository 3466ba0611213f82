"""Finds the faults of a rule, and compares two, a second time: by trying every value of a small domain, independent of the
engine's algebra. The decisions of a rule come from decisions.py, the oracle of decisions.

    python3 tests/vectors/oracle/findings.py tests/vectors                   checks findings.json and compare.json
    python3 tests/vectors/oracle/findings.py tests/vectors --random 2000     and what the module answers for random rules
                                                                             (needs Python's wasmtime and a built module)

A property's domain is: absent, true, false, a number, each listed text, and another one. Kinds, places, the values that a
message quotes and the permitted witnesses must be the oracle's; a witness must show the finding. The rest of a message is the
engine's, reviewed by people.
"""

import itertools
import json
import pathlib
import random
import sys

import decisions
from decisions import RESTRICTIONS, sent
from random_rules import random_calls

ABSENT = object()
NUMBER = 7
DENIES = ("BLACKLIST", "BLACKLISTEDITEMS")
ITEM = None  # the target of restrictions on the item's id
MOST_LISTED, MOST_QUOTED, MOST_BYTES, MOST_PROPERTIES = 100, 10, 60, 100


# ---------------------------------------------------------------------------------------------------------------------
# Deciding

def target_of(restriction):
    member = RESTRICTIONS[restriction["type"]][0]
    return restriction[member] if member else ITEM


def values_of(restriction):
    values = restriction[RESTRICTIONS[restriction["type"]][1]]
    return [values] if isinstance(values, bool) else values


def has(values, value):
    return any(decisions.same(one, value) for one in values)


def distinct(values):
    kept = []
    for value in values:
        if not has(kept, value):
            kept.append(value)
    return kept


def targets_of(restrictions):
    """The item's id first, then the properties in order of appearance."""
    properties = [target_of(one) for one in restrictions if target_of(one) is not ITEM]
    return [ITEM] + list(dict.fromkeys(properties))


def listed(restrictions, target):
    return distinct(value for one in restrictions if target_of(one) == target for value in values_of(one))


def unlisted(values):
    return next(text for text in map("other {}".format, itertools.count()) if not has(values, text))


def domain(restrictions, target):
    values = listed(restrictions, target)
    texts = [value for value in values if isinstance(value, str)] + [unlisted(values)]
    return texts if target is ITEM else [ABSENT, True, False, NUMBER] + texts


def item_of(values):
    """An item with these values of targets; without a given id, it has one that is listed nowhere."""
    properties = {name: value for name, value in values.items() if name is not ITEM and value is not ABSENT}
    return {"id": values.get(ITEM, "\U0010ffff"), "additionalProperties": properties}


def decision(project, item):
    results = decisions.decide_project(project, item)
    return max((result["decision"] for result in results), key=decisions.WORST.index, default="ALLOW")


def allows(restrictions, item):
    return decision({"restrictions": restrictions}, item) == "ALLOW"


def accepted(restrictions, target, values):
    """Which of these values the restrictions on a target accept."""
    own = [one for one in restrictions if target_of(one) == target]
    return [value for value in values if allows(own, item_of({target: value}))]


def in_force(draft):
    both = [condition for condition in (draft.get("condition"), draft.get("other")) if condition]
    scopes = scopes_of(draft)
    for scope in ("TENANT", "GLOBAL"):
        for condition in both:
            if condition.get("enabled", True) and scopes[id(condition)] == scope:
                return condition
    return None


def scopes_of(draft):
    """The scope of each condition: its own, else the one that the other does not have, else TENANT."""
    opposite = {"TENANT": "GLOBAL", "GLOBAL": "TENANT"}
    condition, other = draft.get("condition") or {}, draft.get("other") or {}
    own = condition.get("scope") or opposite.get(other.get("scope")) or "TENANT"
    return {id(condition): own, id(other): opposite[own]}


def customers(*ids):
    held = [ABSENT, []] + [[id_] for id_ in ids]
    for age, licenses in itertools.product([ABSENT, *range(151)], held):
        customer = {} if age is ABSENT else {"customer_age": age}
        yield customer if licenses is ABSENT else {**customer, "licenses": licenses}


def decided(condition, customer):
    if condition is None:
        return "NOT_FOUND"
    return decisions.decide_condition(condition, {"customer": customer})["decision"]


# ---------------------------------------------------------------------------------------------------------------------
# Comparing

def kind_of(draft):
    return None if draft is None else "project" if "project" in draft else "condition"


def compare(request, answer):
    """Why an answer to a comparison is wrong, or None."""
    before, after = request["before"], request["after"]
    if "project" in (kind_of(before), kind_of(after)):
        projects = [draft and draft["project"] for draft in (before, after)]
        differs = find_differing_item(*projects)
        decide = lambda project, witness: decision(project, witness["item"])
        versions = projects
    else:
        versions = [draft and in_force(draft) for draft in (before, after)]
        ids = [condition["id"] for condition in versions if condition]
        differs = any(decided(versions[0], customer) != decided(versions[1], customer) for customer in customers(*ids))
        decide = lambda condition, witness: decided(condition, witness["context"]["customer"])
    if not differs:
        return None if answer == {"same": True} else "they decide the same"
    if list(answer) != ["same", "witness", "before", "after"] or answer["same"] is not False:
        return "they do not decide the same"
    actual = [decide(version, answer["witness"]) for version in versions]
    if actual != [answer["before"], answer["after"]]:
        return f"the witness is decided {actual}"
    return None if actual[0] != actual[1] else "the witness is no difference"


def find_differing_item(before, after):
    """True if two projects decide an item differently, of all items in the domain of both."""
    restrictions = [one for project in (before, after) if project for one in project["restrictions"]]
    targets = targets_of(restrictions)
    domains = [domain(restrictions, target) for target in targets]
    size = 1
    for values in domains:
        size *= len(values)
    if size > 20_000:
        raise ValueError("too many items to try: make the vector smaller")
    for values in itertools.product(*domains):
        item = item_of(dict(zip(targets, values)))
        if decision(before, item) != decision(after, item):
            return True
    return False


# ---------------------------------------------------------------------------------------------------------------------
# Texts that look alike

BLANK = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200c)))
# Letters whose capitals are known.
CAPITALS = [(0x41, 0x5a), (0xc0, 0xde), (0x100, 0x12f), (0x132, 0x17f), (0x200, 0x21f), (0x222, 0x233), (0x386, 0x3ab),
            (0x3ac, 0x3ce), (0x400, 0x481), (0x48a, 0x4bf), (0x4c1, 0x4ce), (0x4d0, 0x52f), (0x1e00, 0x1e95), (0x1ea0, 0x1eff)]


def within(c, ranges):
    return any(low <= ord(c) <= high for low, high in ranges)


def look(text):
    return "".join(c.lower() if within(c, CAPITALS) else c for c in text.strip(BLANK))


def alike(texts):
    groups = {}
    for text in texts:
        groups.setdefault(look(text), []).append(text)
    return [group for group in groups.values() if len(group) > 1]


# ---------------------------------------------------------------------------------------------------------------------
# Finding

class Found:
    """A finding: its kind, its places, the values that its message quotes, and its expected witness."""

    def __init__(self, kind, places, quotes=None, witness=None):
        self.kind, self.places, self.quotes, self.witness = kind, places, quotes, witness

    def wrong(self, there):
        if there["kind"] != self.kind or there["places"] != self.places:
            return f"the oracle finds {self.kind} at {self.places}"
        members = ["kind", "message", "places"] + (["witness"] if self.witness else [])
        if list(there) != members:
            return f"the members of {self.kind} are {members}"
        if self.quotes is not None and not there["message"].endswith(quoted(self.quotes)):
            return f"the message quotes{quoted(self.quotes)}"
        if self.witness and not self.witness(there["witness"]):
            return f"the witness {there['witness']} of {self.kind} at {self.places} shows nothing"
        return None


def quoted(values):
    def one(value):
        if isinstance(value, bool):
            return str(value).lower()
        begin = value.encode()[:MOST_BYTES].decode(errors="ignore")
        return f'"{begin}…"' if begin != value else f'"{value}"'

    shown = [one(value) for value in values[:MOST_QUOTED]]
    if len(values) > MOST_QUOTED:
        return ": " + ", ".join(shown) + f" and {len(values) - MOST_QUOTED} more."
    return ": " + " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) + "."


class Target:
    """The restrictions on a target, and the result for every value of its domain."""

    def __init__(self, restrictions, target):
        self.name = target
        self.own = [(at, one) for at, one in enumerate(restrictions) if target_of(one) == target]
        rules = [one for _, one in self.own]
        self.domain = domain(rules, target)
        # In the order in which messages name them: booleans, and then texts as they appear.
        values = listed(rules, target)
        self.listed = [value for value in (True, False) if has(values, value)] + [v for v in values if isinstance(v, str)]
        self.lists = [one for one in rules if one["type"] not in DENIES]
        self.accepted = accepted(rules, target, self.domain)
        self.passing = accepted(self.lists, target, self.domain)

    def is_allowed(self, value):
        """True if every restriction that allows lists it."""
        return has(self.passing, value)

    def in_lists(self, value):
        return any(has(values_of(one), value) for one in self.lists)

    def is_denied(self, value):
        return any(one["type"] in DENIES and has(values_of(one), value) for _, one in self.own)

    def places(self, is_part):
        return [f"$.restrictions[{at}]" for at, one in self.own if is_part(one)]

    def with_any(self, values):
        return self.places(lambda one: any(has(values_of(one), value) for value in values))


def findings_of_project(project):
    restrictions = project["restrictions"]
    targets = [Target(restrictions, target) for target in targets_of(restrictions)]
    possible = [target for target in targets if target.accepted]
    has_witness = len(possible) == len(targets) <= MOST_PROPERTIES
    found = [unsatisfiable(target) for target in targets if not target.accepted]
    for target in possible:
        found += partly_dead(target, restrictions, has_witness)
    for target in possible:
        found += ineffective(target, restrictions, has_witness)
    for target in targets:
        found += suspicious(target)
    for names in alike([target.name for target in targets[1:]]):
        lines = [f"$.restrictions[{at}]" for at, one in enumerate(restrictions) if target_of(one) in names]
        found.append(Found("SUSPICIOUS", lines, names))
    return found


def unsatisfiable(target):
    def is_empty(one):
        joined = [one] if one.get("exclusive") else [
            other for other in target.lists if other["type"] == one["type"] and not other.get("exclusive")]
        return one["type"] not in DENIES and not any(map(values_of, joined))

    empty = target.places(is_empty)
    return Found("UNSATISFIABLE", empty or target.places(
        lambda one: one["type"] not in DENIES or any(map(target.is_allowed, values_of(one)))))


def partly_dead(target, restrictions, has_witness):
    def shows(dead):
        def check(witness):
            others = [one for one in restrictions if target_of(one) != target.name]
            item = witness["item"]
            value = item["id"] if target.name is ITEM else item.get("additionalProperties", {}).get(target.name)
            return has(dead, value) and not allows(restrictions, item) and allows(others, item)
        return check if has_witness else None

    both = [v for v in target.listed if target.in_lists(v) and target.is_denied(v) and target.is_allowed(v)]
    missing = [v for v in target.listed if target.in_lists(v) and not target.is_allowed(v)]
    found = [Found("PARTLY_DEAD", target.with_any(both), both, shows(both))] if both else []
    if missing:
        found.append(Found("PARTLY_DEAD", target.places(lambda one: one["type"] not in DENIES), missing, shows(missing)))
    return found


def ineffective(target, restrictions, has_witness):
    needless = [v for v in target.listed if target.is_denied(v) and not target.is_allowed(v)]
    found = []
    if needless:
        lines = target.places(lambda one: one["type"] in DENIES and any(has(needless, value) for value in values_of(one)))
        found.append(Found("INEFFECTIVE", lines, needless))

    def asks(one):
        return one["type"] == "BOOLEAN" and not one.get("exclusive")

    if {one["value"] for _, one in target.own if asks(one)} == {True, False}:
        shown = [value for value in (False, True) if has(target.accepted, value)]

        def shows(witness):
            value = witness["item"]["additionalProperties"][target.name]
            return isinstance(value, bool) and allows(restrictions, witness["item"])
        found.append(Found("INEFFECTIVE", target.places(asks), None, shows if shown and has_witness else None))

    def is_idle(one):
        values = values_of(one)
        is_named = (lambda v: has(needless, v)) if one["type"] in DENIES else (lambda v: not has(target.accepted, v))
        if values and all(map(is_named, values)):
            return False
        rest = [other for _, other in target.own if other is not one]
        return accepted(rest, target.name, target.domain) == target.accepted

    idle = target.places(is_idle)
    return found + ([Found("INEFFECTIVE", idle)] if idle else [])


def suspicious(target):
    texts = [value for value in target.listed if isinstance(value, str)]
    groups = alike(texts)
    alone = [text for text in texts if not any(text in group for group in groups)]
    found = groups + [[text for text in alone if text != text.strip(BLANK)],
                      [text for text in texts if any("\u0300" <= c <= "\u036f" for c in text)]]
    found = [Found("SUSPICIOUS", target.with_any(texts), texts) for texts in found if texts]
    booleans = [value for value in target.listed if isinstance(value, bool)]
    like = [text for text in texts if look(text) in ("true", "false")]
    if booleans and like:
        found.append(Found("SUSPICIOUS", target.with_any(booleans + like), like))
    return found


def findings_of_condition(draft):
    condition, other, found = draft["condition"], draft.get("other"), []
    minimum = condition["condition_value"].get("minimum_age")
    place = ["$.condition_value.minimum_age"]

    def decides(expected):
        return lambda witness: decided(condition, witness["context"]["customer"]) == expected

    if minimum == 0:
        found.append(Found("INEFFECTIVE", place, None, decides("ALLOW")))
    if minimum is not None and minimum > 120:
        found.append(Found("SUSPICIOUS", place, None, decides("HARD_DENY")))
    if other:
        def differs(customer):
            return decided(condition, customer) != decided(other, customer)

        differ = any(map(differs, customers(condition["id"])))
        places = ["$.id"] + ([] if condition.get("enabled", True) else ["$.enabled"])
        found.append(Found("SHADOWED", places, None, (lambda it: differs(it["context"]["customer"])) if differ else None))
    return found


def find(request, answer):
    """Why findings are wrong, or None."""
    project = kind_of(request) == "project"
    if project and request["project"] is None or not project and request["condition"] is None:
        found = []
    else:
        found = findings_of_project(request["project"]) if project else findings_of_condition(request)
    there = answer["findings"]
    if len(found) > MOST_LISTED:
        rest = found[MOST_LISTED:]
        found = found[:MOST_LISTED] + [Found(rest[0].kind, [])]
        if f" {len(rest)} more finding" not in there[-1]["message"]:
            return f"{len(rest)} are left out"
    if len(there) != len(found):
        return f"the oracle finds {[(one.kind, one.places) for one in found]}"
    for one, said in zip(found, there):
        if wrong := one.wrong(said):
            return wrong
        if not said["message"].endswith(".") or said["message"][0].islower() or "$" in said["message"].split(":")[0]:
            return "a message is a sentence, without a path"
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Faults

class Reader(decisions.Reader):
    def draft(self, value, path):
        if not self.object(value, path):
            return
        self.only(value, path, "condition", "other", "project")
        if not self.expect(("condition" in value) != ("project" in value), path):
            return
        if "project" in value:
            self.optional(value, path, "project", self.project, null=True)
            return
        faults = len(self.paths)
        for member in ("condition", "other"):
            self.optional(value, path, member, self.condition_of_scope, null=True)
        condition, other = value.get("condition"), value.get("other")
        if condition and other and len(self.paths) == faults:
            said = [one.get("scope") for one in (condition, other)]
            self.expect(condition["id"] == other["id"], path + ".other")
            self.expect(said[0] is None or said[0] != said[1], path + ".other")

    def condition_of_scope(self, value, path):
        if isinstance(value, dict):
            self.optional(value, path, "scope", lambda scope, at: self.expect(scope in ("GLOBAL", "TENANT"), at))
        self.condition(value, path)

    def versions(self, value, path):
        if not self.object(value, path):
            return
        self.only(value, path, "before", "after")
        for member in ("before", "after"):
            if self.expect(member in value, decisions.inside(path, member)) and value[member] is not None:
                self.draft(value[member], decisions.inside(path, member))
        kinds = {kind_of(draft) for draft in (value.get("before"), value.get("after")) if isinstance(draft, dict)}
        if not self.paths:
            self.expect(len(kinds) < 2, path + ".after")


def valid(name, data):
    """A request, and the code and the paths of its faults."""
    try:
        request, reader = decisions.read(data), Reader()
    except decisions.Refused as refused:
        return None, refused.code, refused.paths
    (reader.draft if name == "findings" else reader.versions)(request, "$")
    return request, reader.code() if reader.paths else None, reader.paths


def disagreement(name, data, answer):
    """Why the oracle disagrees with an answer, or None."""
    request, code, paths = valid(name, data)
    if paths:
        there = answer.get("error", {"faults": []})
        agree = there.get("code") == code and sorted(fault["path"] for fault in there["faults"]) == sorted(paths)
        return None if agree else f"there are faults at {paths}"
    if "ok" not in answer:
        return "there is no fault"
    return (find if name == "findings" else compare)(request, answer["ok"])


# ---------------------------------------------------------------------------------------------------------------------
# Checking

def check_random(count, root):
    sys.path.insert(0, str(root / "tests/vectors"))
    import abi
    engine, wrong, seen = abi.Engine(root / "js/engine/tillgate_bg.wasm"), [], 0
    for seed in range(count):
        for name, request in random_calls(random.Random(seed)):
            data = abi.compact(request)
            ok, answer = engine.call(name, data)
            seen += 1
            if against := disagreement(name, data, {"ok" if ok else "error": json.loads(answer)}):
                wrong.append(f"seed {seed}: {name}\n  {data.decode()}\n  {against}\n  the module: {answer.decode()}")
    print("\n".join(wrong[:10] + [f"{seen - len(wrong)} random answers agree, {len(wrong)} do not"]))
    return 1 if wrong or not seen else 0


def check(folder):
    count, wrong = 0, []
    for name in ("findings", "compare"):
        for vector in json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["vectors"]:
            count += 1
            if against := disagreement(name, sent(vector["call"], name), vector["answer"]):
                wrong.append(f"{name}.json: {vector['name']}\n  {against}\n  the vector: "
                             + json.dumps(vector["answer"], ensure_ascii=False))
    print("\n".join(wrong + [f"{count - len(wrong)} agree, {len(wrong)} do not"]))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    status = check(place)
    if "--random" in sys.argv:
        status |= check_random(int(sys.argv[sys.argv.index("--random") + 1]), place.resolve().parent.parent)
    sys.exit(status)
