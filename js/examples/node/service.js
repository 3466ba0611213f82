// A service that decides locally with the rules of a Tillgate host, which it keeps up to date:
//
//     TILLGATE_URL=http://127.0.0.1:8080 CLIENT_ID=... CLIENT_SECRET=... node service.js
//     curl -d '{"item":{"id":"beer-0.5l"},"context":{"customer":{"customer_age":17}}}' localhost:3000/alcohol

import { createServer } from "node:http";
import { json } from "node:stream/consumers";

import { TillgateError } from "tillgate";
import { CatalogClient, clientCredentials } from "tillgate/client";

const { TILLGATE_URL, CLIENT_ID, CLIENT_SECRET, PORT = "3000" } = process.env;

const client = new CatalogClient({
  url: TILLGATE_URL,
  token: clientCredentials({
    tokenUrl: `${TILLGATE_URL}/oauth2/token`,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    audience: "https://api.tillgate.example",
  }),
});
client.addEventListener("state", ({ state }) => console.error(`the catalog is ${state}`));
client.addEventListener("error", ({ error }) => console.error(`the catalog cannot be updated: ${error}`));

const server = createServer(async (request, response) => {
  const reply = (status, body) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  try {
    reply(200, await client.evaluateCondition(request.url.slice(1), await json(request)));
  } catch (error) {
    if (error instanceof TillgateError) reply(error.status ?? 503, { code: error.code, faults: error.faults });
    else reply(400, { code: "invalid", faults: [{ path: "$", message: error.message }] });
  }
});

await client.ready();
server.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));

process.on("SIGTERM", () => {
  client.close();
  server.close();
  server.closeAllConnections();
});
