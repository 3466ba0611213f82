// A till that shows prices in a second currency and keeps its last rates while the host cannot be reached:
//
//     TILLGATE_URL=http://127.0.0.1:8080 CLIENT_ID=... CLIENT_SECRET=... SHOP=se-001 node till.js
//
// Enter a price on each line. Stop the host and continue; then stop the till too, and start it without the host.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { RatesClient, clientCredentials } from "tillgate/rates";

const { TILLGATE_URL, CLIENT_ID, CLIENT_SECRET, SHOP, PRICES_IN = "SEK", ALSO_IN = "EUR", FILE = "rates.json" } = process.env;
const MINUTE_MS = 60_000;

const options = {
  url: TILLGATE_URL,
  token: clientCredentials({
    tokenUrl: `${TILLGATE_URL}/oauth2/token`,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    audience: "https://api.tillgate.example",
  }),
  businessUnitId: SHOP,
};

/** Returns a client with the rates of the last run, if there was one for this shop. */
function start() {
  try {
    return new RatesClient({ ...options, snapshot: JSON.parse(readFileSync(FILE, "utf8")) });
  } catch (error) {
    if (error.code !== "ENOENT") console.error(`the rates of the last run are not used: ${error}`);
    return new RatesClient(options);
  }
}

/** Keeps the rates for the next run. Renaming a finished file means that it is never half written. */
function save() {
  if (client.asOf === undefined) return;
  writeFileSync(`${FILE}.new`, JSON.stringify(client));
  renameSync(`${FILE}.new`, FILE);
}

function print(price) {
  try {
    const { amount } = client.convert({ amount: price, from: PRICES_IN, to: ALSO_IN, exchangeRateType: "SALES" });
    const age = client.state === "STALE" ? ` (offline, rates are ${Math.floor(client.ageMs / MINUTE_MS)} min old)` : "";
    console.log(`${price} ${PRICES_IN} = ${amount} ${ALSO_IN}${age}`);
  } catch (error) {
    console.log(`${price}: ${error}`);
  }
}

const client = start();
client.addEventListener("state", ({ state }) => console.error(`the rates are ${state}`));
client.addEventListener("error", ({ error }) => console.error(`the rates cannot be updated: ${error}`));
client.addEventListener("change", save);
// Saves regularly, because the age of the rates is kept too.
const saving = setInterval(save, MINUTE_MS);

await client.ready();
for await (const line of createInterface({ input: process.stdin })) print(line.trim());
clearInterval(saving);
save();
client.close();
