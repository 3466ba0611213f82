/**
 * Signs in the documents of the API, which the page opens in another tab: they ask the page for a token whenever they need
 * one. No token is stored or put into an address, and none goes to another host's page.
 */

import { TillgateError } from "../../js/src/shared/error.js";

const QUESTION = "a token";

/** How long the page may take to answer: it may have to get a token first. */
const ANSWER_MS = 20_000;

/** Answers a page of this host that this page opened: with a token of the session, if there is one, and the session's id. */
export async function answer({ data, source, ports: [port] }, session) {
  if (data?.question !== QUESTION || source?.opener !== window) return;
  const token = await session?.token({ fresh: data.fresh }).catch(() => undefined);
  port.postMessage(token && { token, session: session.id });
}

/** A source of tokens, which asks the opener. Once its user has signed out, it gives none of the next user. */
export function tokensOfOpener() {
  let first;
  return async (options) => {
    const { token, session } = (await ask(options)) ?? {};
    first ??= session;
    if (token && session === first) return token;
    throw new TillgateError({ code: "unauthenticated", message: "nobody is signed in on the page that has opened this one" });
  };
}

async function ask({ fresh } = {}) {
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    setTimeout(resolve, opener?.closed === false ? ANSWER_MS : 0);
  });
  opener?.postMessage({ question: QUESTION, fresh }, location.origin, [port2]);
  return answered.finally(() => port1.close());
}
