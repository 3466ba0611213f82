/**
 * The words of a rule's tests: what a test asks, what it expects, and what is decided instead.
 */

import { describe } from "../../js/src/index.js";
import { isolated, withoutIsolates } from "../shared/locale.js";
import { valueText } from "../shared/messages.js";
import { ANY_ITEM } from "./item.js";
import { DECISIONS } from "./wording.js";

/** A test that a condition in force cannot decide, because there is none. */
const NOT_FOUND = "No decision, because the rule is not in force";

/** What a test asks: the item, and for a condition the customer. */
export function askedText({ item, context }) {
  const texts = [item.id === ANY_ITEM ? "" : isolated(item.id), ...propertyTexts(item), context ? customerText(context) : ""];
  return texts.filter((text) => text !== "").join(", ") || "an item without properties";
}

/** A name for a test: what is asked and decided. The id of an item decides nothing about a condition. */
export function defaultName(request, decision) {
  const asked = request.context ? customerText(request.context) : askedText(request);
  return `${withoutIsolates(asked)}: ${DECISIONS[decision].title.toLowerCase()}`;
}

/** What a test expects, in short. */
export const expectedText = ({ decision }) => DECISIONS[decision].title;

/** What a test that fails expected, and what is decided: `[expected, actual]`. Reasons are named when only they differ. */
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
