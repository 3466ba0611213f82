// A receiver of webhooks: verifies each delivery and handles each event once.
//
//     CALLBACK_URL=https://till.example/hook ISSUER=https://host.example SENDER_EMAIL=webhooks@host.example \
//         CERTIFICATES_URL=https://host.example/oauth2/v1/certs SHARED_KEY=... node receiver.js

import { createServer } from "node:http";

import { WebhookError, WebhookVerifier } from "tillgate/webhook";

import { Handled } from "./handled.js";

const { CALLBACK_URL, ISSUER, SENDER_EMAIL, CERTIFICATES_URL, SHARED_KEY, PORT = "3000" } = process.env;

const MAX_BODY_BYTES = 1024 * 1024;
const STOP_MS = 10_000;

const verifier = new WebhookVerifier({
  scheme: "BEARER",
  audience: CALLBACK_URL,
  issuer: ISSUER,
  email: SENDER_EMAIL,
  certificatesUrl: CERTIFICATES_URL,
  sharedKey: SHARED_KEY,
  requireBodySignature: true,
  maxBodyBytes: MAX_BODY_BYTES,
});
const path = new URL(CALLBACK_URL).pathname;
const handled = new Handled();

/** Put your handling of an event here. The sender waits 5 seconds: queue whatever takes longer. */
async function handle(event) {
  console.log(`${event.type} ${event.id} ${JSON.stringify(event.data)}`);
}

const server = createServer(async (request, response) => {
  const { status, headers } = await answer(request);
  response.writeHead(status, { "Content-Length": 0, ...headers }).end();
});

async function answer(request) {
  if (request.url !== path) return { status: 404 };
  if (request.method !== "POST") return { status: 405, headers: { Allow: "POST" } };
  try {
    const body = await readBody(request);
    if (body === undefined) return { status: 413, headers: { Connection: "close" } };
    // The raw headers also include those that Node drops because they occur twice.
    const event = await verifier.verify({ headers: request.rawHeaders, body });
    await handled.once(event.id, () => handle(event));
    return { status: 204 };
  } catch (error) {
    if (!(error instanceof WebhookError)) {
      console.error(error);
      return { status: 500 };
    }
    console.error(`refused with ${error.status}: ${error.code}`);
    const { status, retryAfterMs } = error;
    if (status === 401) return { status, headers: { "WWW-Authenticate": "Bearer" } };
    return { status, headers: retryAfterMs && { "Retry-After": Math.ceil(retryAfterMs / 1000) } };
  }
}

/** Returns the bytes of the body; undefined if there are too many. */
function readBody(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    let size = 0;
    request.on("data", (chunk) => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}

server.requestTimeout = 10_000;
server.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    // Requests that have begun are answered; the sender delivers all others again.
    server.close();
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), STOP_MS).unref();
  });
}
