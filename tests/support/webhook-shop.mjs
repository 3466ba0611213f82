// A tenant's integrator on the real program, whose webhooks may be on this machine, and receivers to deliver to.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

import { clientWith, configuredHost } from "./program.mjs";
import { until } from "./wait.mjs";

/** The issuer of the host, by default. */
export const ISSUER = "https://identity.tillgate.example";
export const EMAIL = "dispatcher@tillgate.example";

export const SIGNATURE_HEADERS = ["X-Service-Signature", "X-Existing-Signature"];

/** The data of events. */
export const DATA = { order: 4711, note: "ö, 漢 and 🛒" };

const CONFIG = `
[webhooks]
allow_http = true
allow_private = ["127.0.0.0/8"]
signature_headers = ${JSON.stringify(SIGNATURE_HEADERS)}
`;

/** Starts a host and registers an integrator; `settings` are environment variables of the host. */
export async function shop(settings = {}) {
  const host = await configuredHost(CONFIG, settings);
  const integrator = await clientWith(host, ["exe.editor", "exe.publisher"], "acme");
  const asked = async (status, method, path, body) => {
    const answer = await integrator.api(method, path, body);
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text && JSON.parse(text);
  };
  let webhooks = 0;
  return {
    ...host,
    integrator,
    asked,
    /** The published certificates: a map from key id to certificate. */
    certificates: async () => (await fetch(`${host.url}/oauth2/v1/certs`)).json(),
    /** Creates a webhook for events of its own type. */
    webhook: (callbackUrl, more) => {
      webhooks += 1;
      const settings = { name: "ERP", callbackUrl, eventTypes: [`x.orders-${webhooks}.v1`], authentication: { type: "BEARER" } };
      return asked(201, "POST", "/api/v1/webhooks", { ...settings, ...more });
    },
    /** Publishes an event of a webhook's type. */
    publish: ({ eventTypes: [type] }, more) => asked(202, "POST", "/api/v1/events", { type, data: DATA, ...more }),
    /** The delivery of an event to a webhook, after this many attempts. */
    attempted: async (webhook, event, times = 1) => {
      const path = `/api/v1/deliveries?webhookId=${webhook.id}`;
      const find = async () => (await asked(200, "GET", path)).items.find(({ eventId, attemptCount }) => eventId === event.id && attemptCount === times);
      const { id } = await until(find, `event ${event.id} is delivered to ${webhook.callbackUrl}`);
      return asked(200, "GET", `/api/v1/deliveries/${id}`);
    },
  };
}

/** The asserted parts of a delivery: its status, and the statuses that the receiver answered. */
export const outcome = ({ status, attempts }) => [status, ...attempts.map((attempt) => attempt.status)];

/**
 * Starts a receiver: `{ url, received, end }`. `answer` gets a request, `{ headers, distinct, body }`, and returns a status,
 * or `{ status, headers, body }`.
 */
export async function receiver(answer = () => 204) {
  const received = [];
  const server = createServer(async (request, response) => {
    const { headers, headersDistinct: distinct, method, url } = request;
    const delivery = { method, path: url, headers, distinct, body: await buffer(request) };
    received.push(delivery);
    const answered = await answer(delivery);
    const { status, headers: sent, body } = typeof answered === "number" ? { status: answered } : answered;
    response.writeHead(status, sent).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/hook`,
    received,
    end() {
      server.close();
      server.closeAllConnections();
    },
  };
}
