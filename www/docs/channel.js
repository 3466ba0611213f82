/**
 * A channel of events: who sends what on it, with the schema and examples of each message.
 */

import { h } from "../shared/dom.js";
import { follow } from "./documents.js";
import { contentsOf, pathText } from "./operation.js";
import { folded, prose } from "./prose.js";
import { rows, schemaTree } from "./tree.js";

export function channelView(document, { title, address, description, operations, messages, parameters = {} }) {
  const members = Object.entries(parameters).map(([name, given]) => ({ name, schema: { type: "string", ...follow(document, given) }, isRequired: true }));
  const element = h(
    "div",
    { class: "channel" },
    h(
      "article",
      { class: "stack" },
      h("div", { class: "operation-head" }, h("p", { class: "kicker" }, "messages"), h("h1", { tabindex: "-1" }, title), address && h("p", { class: "route" }, pathText(address))),
      description && h("div", { class: "prose" }, prose(description)),
      operations.map(operationText),
      members.length > 0 && h("section", { class: "stack tight" }, h("h2", {}, "In the address"), rows(document, members)),
      messages.map((message) => messagePart(document, message)),
    ),
  );
  return { title, element, refresh() {}, close() {} };
}

/** Says whether this host sends what others receive, or takes what they send. */
const operationText = ({ action, summary, description }) =>
  h("div", { class: "prose" }, h("p", {}, h("b", {}, action === "send" ? "The host sends this." : "The host receives this."), summary && ` ${summary.replace(/\.$/, "")}.`), description && prose(description));

function messagePart(document, { title, summary, description, contentType = "application/json", payload, headers, examples }) {
  const sent = headers !== undefined && folded("Headers", schemaTree(document, headers));
  const about = [summary, description].filter(Boolean).map((text) => h("div", { class: "prose" }, prose(text)));
  return h("section", { class: "card stack tight", "aria-label": title }, h("h2", {}, title), about, contentsOf(document, { [contentType]: { schema: payload, examples } }, title), sent);
}
