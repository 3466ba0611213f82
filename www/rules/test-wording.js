/**
 * The words of a rule's tests: what a test asks, what it expects, and the actual decision.
 */

import { describe } from "../../js/src/index.js";
import { isolated, withoutIsolates } from "../shared/locale.js";
import { valueText } from "../shared/messages.js";
import { ANY_ITEM } from "./item.js";
import { DECISIONS } from "./wording.js";

/** The result of a test without a condition in force. */
const NOT_FOUND = "No decision, because the rule is not in force";

/** The request of a test: the item, and for a condition the customer. */
export function askedText({ item, context }) {
  const texts = [item.id === ANY_ITEM ? "" : isolated(item.id), ...propertyTexts(item), context ? customerText(context) : ""];
  return texts.filter((text) => text !== "").join(", ") || "an item without properties";
}

/** A name for a test: the request and the decision. An item's id decides nothing about a condition. */
export function defaultName(request, decision) {
  const asked = request.context ? customerText(request.context) : askedText(request);
  return `${withoutIsolates(asked)}: ${DECISIONS[decision].title.toLowerCase()}`;
}

/** What a test expects, in short. */
export const expectedText = ({ decision }) => DECISIONS[decision].title;

/** The expectation of a failing test, and the decision: `[expected, actual]`. Reasons are named if only they differ. */
export function failureTexts({ expected, actual }) {
  const isAbout = expected.decision === actual.decision ? "reasons" : "decision";
  return [expected, actual].map((each) => (isAbout === "reasons" ? withReasons(each) : decisionText(each)));
}

const decisionText = ({ decision }) => DECISIONS[decision]?.title ?? NOT_FOUND;

const withReasons = ({ reasons = [], ...each }) => {
  const said = reasons.map((reason) => (describe(reason) ?? reason).replace(/\.$/, ""));
  return `${decisionText(each)} (${said.length > 0 ? said.join(", ") : "no reason"})`;
};

const propertyTexts = ({ additionalProperties = {} }) => Object.entries(additionalProperties).map(([name, value]) => `${isolated(name)} ${valueText(value)}`);

/** A license is an id, or an object that has one. */
export const licenseIds = (licenses) => licenses.map((license) => license?.id ?? license);

function customerText({ customer }) {
  const { customer_age: age, licenses } = customer ?? {};
  const held = licenses && licenseIds(licenses);
  const known = [
    Number.isInteger(age) && `${age} years old`,
    held && (held.length > 0 ? `license ${held.join(" and ")}` : "no license"),
  ].filter(Boolean);
  return known.length > 0 ? known.join(", ") : "customer not asked";
}
