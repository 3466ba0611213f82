/**
 * The checks of a receiver, in its order (`given.md`, 5.2 and 5.3): the credentials, then the signatures. Each check passes,
 * fails, or stays open if there is nothing to compare with.
 */

import { figure } from "../shared/locale.js";
import { basicChecks, bearerChecks } from "./authorization-checks.js";
import { signatureChecks } from "./signature-checks.js";

/**
 * Makes all checks of a request, `{ headers, body }`. `expected` is the receiver's knowledge, each optional: `certificates` (a
 * text), `audience`, `email`, `issuer`, `username`, `password`, `sharedKey` and `signatureHeader`. `now` is in milliseconds.
 * Returns `{ title, state, detail }` for each, where `state` is `pass`, `fail` or `open`.
 */
export async function check({ headers, body }, expected, now) {
  const authorization = only(headers, "Authorization");
  const signIn = authorization.fault
    ? [{ title: "Authorization header", state: "fail", detail: authorization.fault }]
    : await authorizationChecks(authorization.value, expected, now);
  return [...signIn, ...signatureChecks({ headers, body, only }, expected, now)];
}

async function authorizationChecks(value, expected, now) {
  const [, scheme, rest] = /^(\S+) +(.*)$/.exec(value) ?? [];
  const title = "Authorization header";
  if (/^bearer$/i.test(scheme ?? "")) return [{ title, state: "pass", detail: "A bearer token." }, ...(await bearerChecks(rest.trim(), expected, now))];
  if (/^basic$/i.test(scheme ?? "")) return [{ title, state: "pass", detail: "A user name and a password." }, ...basicChecks(rest.trim(), expected)];
  return [{ title, state: "fail", detail: "It must begin with “Bearer ” or “Basic ”." }];
}

/** The one value of a header, or its fault: `{ value }` or `{ fault }`. */
function only(headers, name) {
  const values = headers.get(name.toLowerCase()) ?? [];
  if (values.length === 1) return { value: values[0] };
  return { fault: values.length === 0 ? `There is no ${name} header.` : `The ${name} header occurs ${figure(values.length)} times. It must occur once.` };
}

/** The result of all checks: `{ state, text }`. */
export function verdict(checks) {
  const failed = checks.findIndex(({ state }) => state === "fail");
  if (failed >= 0) return { state: "fail", text: `A receiver rejects this. What fails: ${checks[failed].title.replace(/^./, (first) => first.toLowerCase())}.` };
  const open = checks.filter(({ state }) => state === "open").length;
  if (open > 0) return { state: "open", text: `Nothing is wrong so far. ${open === 1 ? "1 check is" : `${open} checks are`} still open.` };
  return { state: "pass", text: "Every check passes." };
}
