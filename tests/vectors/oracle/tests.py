"""Runs the tests of the vectors a second time, from the prose of the contract alone (`conditions.md`, "Beyond an answer").

    python3 tests/vectors/oracle/tests.py tests/vectors/tests.json

`decisions.py`, which knows nothing of the engine, decides the request of a test. Answers are compared as in that program,
including the sentences about the expected and the actual decision.
"""

import json
import pathlib
import sys

import decisions
from decisions import Reader, Refused, WORST, inside, read, sent

MAX = {"tests": 200, "bytes": 64 << 10, "name": 256, "levels": 16}
REASONS = ({reason for rows in decisions.DECISIONS.values() for _, _, reason in rows}
           | {reason for *_, reason in decisions.RESTRICTIONS.values()} | {"project_restriction.project_unreachable"})
KINDS = ["condition", "project", "catalog"]
MEMBERS = {"test": ["name", "request", "expect"], "expect": ["decision", "reasons"]}


# ---------------------------------------------------------------------------------------------------------------------
# Reading

def levels(value):
    if isinstance(value, dict):
        return 1 + max(map(levels, value.values()), default=0)
    return 1 + max(map(levels, value), default=0) if isinstance(value, list) else 0


def is_uuid(text):
    reader = Reader()
    reader.uuid(text, "$")
    return not reader.paths


def is_control(char):
    return ord(char) < 32 or 127 <= ord(char) < 160


class Tests(Reader):
    """Compares a document and its tests with the contract; `project_id` is the id that a project's requests may have."""

    project_id = None

    def known(self, value, path, kind):
        self.exactly(value, path, *MEMBERS[kind])

    def beside(self, document, path, request):
        if not isinstance(document, dict) or "tests" not in document:
            return
        at, list_ = inside(path, "tests"), document["tests"]
        if not self.expect(isinstance(list_, list), at):
            return
        before = len(self.paths)
        self.expect(len(list_) <= MAX["tests"], at)
        for position, test in enumerate(list_[:MAX["tests"]]):
            self.test(test, f"{at}[{position}]", request)
            names = [each.get("name") for each in list_[:position] if isinstance(each, dict)]
            if isinstance(test, dict) and isinstance(test.get("name"), str):
                self.expect(test["name"] not in names, f"{at}[{position}].name")
        if len(self.paths) == before:
            written = [{key: test[key] for key in MEMBERS["test"]} for test in list_]
            # The text of a fraction is unknown here: no vector near the limit has one.
            text = json.dumps(written, ensure_ascii=False, separators=(",", ":"), default=lambda _: 0)
            self.expect(len(text.encode()) <= MAX["bytes"], at)

    def test(self, test, path, request):
        if not self.object(test, path):
            return
        self.known(test, path, "test")
        self.required(test, path, "name", lambda name, at: self.expect(
            isinstance(name, str) and 1 <= len(name) <= MAX["name"] and not any(map(is_control, name)), at))
        self.required(test, path, "request", request)
        self.required(test, path, "expect", self.expectation)

    def expectation(self, value, path):
        if self.object(value, path):
            self.known(value, path, "expect")
            self.required(value, path, "decision", lambda decision, at: self.expect(decision in WORST, at))
            self.optional(value, path, "reasons", self.array(lambda reason, at: self.expect(
                isinstance(reason, str) and reason in REASONS, at)))

    def shallow(self, value, path):
        self.expect(levels(value) <= MAX["levels"], path)

    def of_condition(self, value, path):
        self.shallow(value, path)
        self.condition_request(value, path)

    def of_project(self, value, path):
        self.shallow(value, path)
        if not self.object(value, path):
            return
        if "projectId" in value:
            before = len(self.paths)
            self.uuid(value["projectId"], inside(path, "projectId"))
            if len(self.paths) == before and isinstance(self.project_id, str):
                self.expect(value["projectId"].lower() == self.project_id.lower(), inside(path, "projectId"))
        self.required(value, path, "item", self.item)

    def call(self, value, path):
        if not self.object(value, path) or not self.expect(sum(key in value for key in KINDS) == 1, path):
            return
        if "catalog" in value:
            self.whole_catalog(value["catalog"], inside(path, "catalog"))
            return
        if "project" in value:
            self.project_document(value["project"], inside(path, "project"))
            return
        condition, at = value["condition"], inside(path, "condition")
        self.condition(condition, at)
        if isinstance(condition, dict):
            self.optional(condition, at, "scope", lambda scope, to: self.expect(scope in ("GLOBAL", "TENANT"), to))
        self.beside(condition, at, self.of_condition)
        self.optional(value, path, "other", self.other(condition), null=True)

    def whole_catalog(self, value, path):
        self.catalog(value, path)
        for key, id_, holds in (("global", "id", decisions.is_condition_id), ("tenant", "id", decisions.is_condition_id),
                                ("projects", "projectId", is_uuid)):
            elements = value.get(key) if isinstance(value, dict) and isinstance(value.get(key), list) else []
            for at, element in enumerate(elements):
                # A document without an id has that fault.
                if isinstance(element, dict) and isinstance(element.get(id_), str) and holds(element[id_]):
                    self.project_id = element[id_]
                    self.beside(element, f"{path}.{key}[{at}]", self.of_condition if id_ == "id" else self.of_project)

    def other(self, condition):
        def read_other(value, path):
            before = len(self.paths)
            self.condition(value, path)
            if len(self.paths) == before and isinstance(condition, dict) and "id" in condition:
                self.expect(value["id"] == condition["id"], inside(path, "id"))
        return read_other

    def project_document(self, project, path):
        self.project(project, path)
        if isinstance(project, dict):
            before = len(self.paths)
            self.optional(project, path, "projectId", self.uuid)
            self.project_id = project.get("projectId") if len(self.paths) == before else None
            self.beside(project, path, self.of_project)


# ---------------------------------------------------------------------------------------------------------------------
# Running

def verdict(results):
    worst = max((WORST.index(result["decision"]) for result in results), default=0)
    reasons = dict.fromkeys(result["reason"] for result in results if result["reason"])
    return {"decision": WORST[worst], "reasons": list(reasons)}


def decided(document, request):
    if "project" in document:
        return verdict(decisions.decide_project(document["project"], request["item"]))
    condition, other = document["condition"], document.get("other")
    both = {"tenant": [condition], "global": [other] if other else []}
    if condition.get("scope") == "GLOBAL":
        both = {"tenant": both["global"], "global": both["tenant"]}
    in_force = decisions.resolve(both, condition["id"])
    return in_force and verdict([decisions.decide_condition(in_force, request["context"])])


def because(reasons):
    return f" with {' and '.join(reasons)}" if reasons else " without a reason"


def failure(index, test, actual):
    expected = test["expect"]
    message = f"expected {expected['decision']}"
    if actual is None:
        actual, message = {"decision": "NOT_FOUND", "reasons": []}, message + ", but the condition is not in force"
    elif actual["decision"] != expected["decision"]:
        message += f", is {actual['decision']}"
    elif "reasons" in expected and set(expected["reasons"]) != set(actual["reasons"]):
        message += f"{because(expected['reasons'])}, is {actual['decision']}{because(actual['reasons'])}"
    else:
        return None
    return {"index": index, "name": test["name"], "expected": {key: expected[key] for key in MEMBERS["expect"] if key in expected},
            "actual": actual, "message": message}


def documents(document):
    """The tested documents, each with its name in failures."""
    if "catalog" not in document:
        return [(document, {})]
    catalog, found = document["catalog"], []
    for scope, opposite in (("global", "tenant"), ("tenant", "global")):
        for condition in catalog[scope]:
            other = next((each for each in catalog[opposite] if each["id"] == condition["id"]), None)
            about = {"condition": {**condition, "scope": scope.upper()}, "other": other}
            found.append((about, {"kind": "condition", "id": condition["id"]}))
    return found + [({"project": project}, {"kind": "project", "id": project["projectId"]})
                    for project in catalog.get("projects", [])]


def answer(call):
    try:
        document, reader = read(sent(call, "tests")), Tests()
        reader.call(document, "$")
        if reader.paths:
            raise Refused(reader.code(), reader.paths)
    except Refused as refused:
        return {"error": {"code": refused.code, "paths": refused.paths}}
    count, failed = 0, []
    for about, name in documents(document):
        tests = (about.get("condition") or about.get("project")).get("tests", [])
        found = [failure(index, test, decided(about, test["request"])) for index, test in enumerate(tests)]
        failed += [{**name, **each} for each in found if each]
        count += len(tests)
    return {"ok": {"passed": count - len(failed), "failed": failed}}


if __name__ == "__main__":
    decisions.answer = answer
    file = pathlib.Path(sys.argv[1])
    sys.exit(decisions.check_files([file]))
