/**
 * An overview of the documents: the introduction, how to authenticate, and links to the documents themselves.
 */

import { h } from "../shared/dom.js";
import { AUDIENCE, HOST } from "./documents.js";
import { codeBlock, inline, prose } from "./prose.js";

export function overview({ info = {} }, tags) {
  const { title = "API", version, description } = info;
  const element = h(
    "div",
    {},
    h(
      "article",
      { class: "stack" },
      h("div", { class: "operation-head" }, h("p", { class: "kicker" }, version && `version ${version}`), h("h1", { tabindex: "-1" }, title)),
      description && h("div", { class: "prose" }, prose(description)),
      h(
        "section",
        { class: "stack tight" },
        h("h2", {}, "A token"),
        h("div", { class: "prose" }, h("p", {}, "Most requests need a token, which a client gets for its id and secret. The commands on this page read it from the shell variable ", h("code", {}, "TOKEN"), ":")),
        codeBlock("The command that gets a token", tokenCommand()),
      ),
      h("section", { class: "stack tight" }, h("h2", {}, "Contents"), h("dl", { class: "facts" }, tags.flatMap(({ name, description: about = "" }) => [h("dt", {}, name), h("dd", {}, inline(about))]))),
      h(
        "section",
        { class: "stack tight" },
        h("h2", {}, "The documents"),
        h("ul", { class: "points" }, document("openapi.json", "OpenAPI 3.1: the operations, for tools and client generators"), document("asyncapi.json", "AsyncAPI 3.0: the events and their messages")),
      ),
    ),
  );
  return { title: "API", element, refresh() {}, close() {} };
}

const document = (name, about) => h("li", {}, h("a", { href: `${HOST}/${name}`, download: name }, name), `, ${about}`);

/** The command that gets a token into a shell variable. */
const tokenCommand = () => `TOKEN=$(curl --silent --show-error --fail --user "$CLIENT_ID:$CLIENT_SECRET" '${HOST}/oauth2/token' \\
  --data grant_type=client_credentials --data-urlencode 'audience=${AUDIENCE.replaceAll("'", "'\\''")}' |
  sed -n 's/.*"access_token":"\\([^"]*\\)".*/\\1/p')`;
