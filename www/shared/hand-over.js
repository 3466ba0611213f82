/**
 * Signing in the documents of the API, which the page opens in another tab: they ask the page for a token whenever they need one.
 * No token is in an address or stored, and none goes to a page of another host.
 */

import { TillgateError } from "../../js/src/shared/error.js";

const QUESTION = "a token";

/** How long the page may take to answer. */
const ANSWER_MS = 5000;

/** Answers a page of this host that this one has opened: with a token of the session, if there is one. */
export async function answer({ data, source, ports: [port] }, session) {
  if (data?.question !== QUESTION || source?.opener !== window) return;
  port.postMessage(await session?.token({ fresh: data.fresh }).catch(() => undefined));
}

/** Asks the page that has opened this one: a source of tokens. */
export async function askForToken({ fresh } = {}) {
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    setTimeout(resolve, ANSWER_MS);
  });
  opener?.postMessage({ question: QUESTION, fresh }, location.origin, [port2]);
  const token = await answered;
  port1.close();
  if (!token) throw new TillgateError({ code: "unauthenticated", message: "nobody is signed in on the page that has opened this one" });
  return token;
}
