// The page's text about an explained decision, and the changes that it offers to try, without a page.
//
//     node --test tests/page/why-text.test.mjs

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { explainedText, ordinary, triesOf } from "../../www/rules/why.js";

const whitelist = (explanation) => ({ reason: "project_restriction.whitelist_not_met", explanation: { restrictionIndex: 0, propertyName: "category", ...explanation } });
const boolean = (value, wants = [true]) => ({ reason: "project_restriction.boolean_not_met", explanation: { restrictionIndex: 0, propertyName: "indoor", value, wants, wantsCount: wants.length } });
const underage = (customerAge) => ({ reason: "age_restriction.underage", explanation: { minimumAge: 18, customerAge } });
const license = (licenses, licensesCount = licenses?.length ?? null) => ({ reason: "license_requirement.license_missing", explanation: { licenseId: "cigars", licenses, licensesCount } });
const ten = Array.from({ length: 10 }, (_, at) => `v${at}`);

const SENTENCES = [
  ["an age that is too low, by how much", underage(17), "The customer is 17 and must be 18: one year short."],
  ["more than a year", underage(12), "The customer is 12 and must be 18: 6 years short."],
  ["an age that was not asked", { reason: "age_restriction.missing_context", explanation: { minimumAge: 18, customerAge: null } }, "Ask for the customer’s age, which must be 18 or more."],
  ["licenses that are others", license(["a", "b"]), "The customer has the licenses “a” and “b”, but not “cigars”."],
  ["one license", license(["a"]), "The customer has the license “a”, but not “cigars”."],
  ["more licenses than are listed", license(ten, 12), `The customer has the licenses ${ten.map((id) => `“${id}”`).join(", ")} and 2 more, but not “cigars”.`],
  ["no license in the words that it has without", license([]), undefined],
  ["a value that is not allowed", whitelist({ value: "paint", wants: ["timber", "fasteners", "insulation"], wantsCount: 3 }), "The category paint is not timber, fasteners or insulation."],
  ["more values than are listed", whitelist({ value: "paint", wants: ten, wantsCount: 100 }), `The category paint is not ${ten.join(", ")} and 90 more.`],
  ["a property that is missing", whitelist({ value: null, wants: ["timber"], wantsCount: 1 }), "The item has no category, which must be timber."],
  ["a rule without values", whitelist({ value: "paint", wants: [], wantsCount: 0 }), "The rule of category has no values, so nothing is allowed."],
  ["a number, which is no text", whitelist({ value: 5, wants: ["5"], wantsCount: 1 }), "The category 5 (a number) is not “5” (a text)."],
  ["a value whose ends cannot be seen", whitelist({ value: "timber ", wants: ["timber"], wantsCount: 1 }), "The category “timber ” is not timber."],
  ["yes and no", boolean(false), "indoor is no, and must be yes."],
  ["a text that looks like yes", boolean("true"), "indoor is “true” (a text), and must be yes."],
  ["an item that is not in the list", whitelist({ propertyName: "itemId", value: "nails", wants: ["screws", "glue"], wantsCount: 2 }), "The item nails is not one of the 2 items that are allowed: screws or glue."],
  ["a value that is denied", { reason: "project_restriction.blacklist_met", explanation: { propertyName: "category", value: "paint", wants: ["paint"], wantsCount: 1 } }, "The category must not be paint."],
  ["an item that is denied", { reason: "project_restriction.blacklisted_item", explanation: { propertyName: "itemId", value: "foam", wants: ["foam"], wantsCount: 1 } }, "The item foam must never be bought."],
  ["an unknown project as without", { reason: "project_restriction.project_unreachable", explanation: null }, undefined],
  ["what is allowed as without", { reason: null, explanation: { minimumAge: 18, customerAge: 20 } }, undefined],
  ["a result that is not explained", { reason: "age_restriction.underage" }, undefined],
];

describe("the sentence names", () => {
  for (const [what, result, expected] of SENTENCES) test(what, () => assert.equal(explainedText(result), expected));
});

test("of a long list, fewer values can be named", () => {
  assert.equal(explainedText(whitelist({ value: "paint", wants: ten, wantsCount: 100 }), 2), "The category paint is not v0, v1 and 98 more.");
});

describe("what would change a denial", () => {
  const texts = (result) => triesOf(result).map(({ text }) => text);

  test("is the age, the license, a value of the list, or to have none that is denied", () => {
    assert.deepEqual(triesOf(underage(17)), [{ text: "Try with age 18", change: { age: 18 } }]);
    assert.deepEqual(triesOf(license(null)), [{ text: "Try with license cigars", change: { license: "cigars" } }]);
    assert.deepEqual(triesOf(boolean("true")), [{ text: "Try with indoor yes", change: { property: "indoor", value: true } }]);
    assert.deepEqual(texts(whitelist({ value: null, wants: ten, wantsCount: 10 })), ["Try with category v0", "Try with category v1", "Try with category v2"]);
    assert.deepEqual(texts(whitelist({ propertyName: "itemId", value: "x", wants: ["screws"], wantsCount: 1 })), ["Try with item screws"]);
    assert.deepEqual(texts({ reason: "project_restriction.blacklist_met", explanation: { propertyName: "category", value: "paint", wants: ["paint"], wantsCount: 1 } }), ["Try without category"]);
  });

  test("is nothing for an item that is denied by its id, for what is allowed, and without an explanation", () => {
    assert.deepEqual(triesOf({ reason: "project_restriction.blacklisted_item", explanation: { propertyName: "itemId", value: "foam", wants: ["foam"], wantsCount: 1 } }), []);
    assert.deepEqual(triesOf({ reason: null, explanation: { minimumAge: 18, customerAge: 20 } }), []);
    assert.deepEqual(triesOf({ reason: "project_restriction.project_unreachable", explanation: null }), []);
    assert.deepEqual(triesOf({ reason: "age_restriction.underage" }), []);
  });
});

test("what the host is compared with is the answer without its explanations, member for member", () => {
  const result = { id: "alcohol", rule: "AGE_RESTRICTION", allow: false, decision: "HARD_DENY", reason: "age_restriction.underage" };
  const item = { id: "beer", allow: false, results: [result] };
  const explained = { ...item, results: [{ ...result, explanation: { minimumAge: 18, customerAge: 17 } }] };
  assert.equal(JSON.stringify(ordinary(explained)), JSON.stringify(item));
  const basket = (line) => ({ allow: false, decision: "HARD_DENY", items: [{ ...line, errors: [{ conditionId: "x", status: 404 }] }] });
  assert.equal(JSON.stringify(ordinary(basket(explained))), JSON.stringify(basket(item)));
  const error = new Error("none");
  assert.equal(ordinary(error), error);
});
