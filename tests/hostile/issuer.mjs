// Identity providers that the host trusts: one with its keys in a file, and one that never answers.

import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:net";

const AUDIENCE = "tillgate";
const KID = "known";

const base64url = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts a server that accepts every connection and answers none; `dialled()` returns their number. */
export async function silentServer() {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.on("error", () => {}).resume().unref();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", 1_024, resolve));
  server.unref();
  return { port: server.address().port, dialled: () => count };
}

/** Returns the files of a host that trusts two issuers, and functions that make their tokens. */
export async function issuers() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: KID, alg: "ES256", use: "sig" };
  const { port } = await silentServer();
  const trusted = (issuer, jwks) => `
[[trusted_issuers]]
issuer = "${issuer}"
jwks = "${jwks}"
audiences = ["${AUDIENCE}"]
tenant_claim = "tenant"
groups_claim = "groups"
groups = { "shop" = ["ecs.editor", "ecs.evaluator"] }
`;
  const [known, silent] = ["https://login.example", "https://silent.example"];
  return {
    files: {
      "keys.json": JSON.stringify({ keys: [jwk] }),
      "tillgate.toml": trusted(known, "file:keys.json") + trusted(silent, `http://127.0.0.1:${port}/keys`),
    },
    /** A token of a user of a tenant. */
    token: (tenant, { issuer = known, kid = KID } = {}) => {
      const now = Math.floor(Date.now() / 1_000);
      const claims = { iss: issuer, aud: AUDIENCE, sub: randomUUID(), tenant, groups: ["shop"], iat: now, nbf: now - 5, exp: now + 3_600 };
      const signed = `${base64url({ alg: "ES256", typ: "JWT", kid })}.${base64url(claims)}`;
      const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
      return `${signed}.${signature.toString("base64url")}`;
    },
    /** A token of an unknown key. */
    unknownKey: (issuer) => {
      const kid = createHash("sha256").update(randomUUID()).digest("hex");
      const header = base64url({ alg: "ES256", typ: "JWT", kid });
      const now = Math.floor(Date.now() / 1_000);
      return `${header}.${base64url({ iss: issuer, aud: AUDIENCE, sub: "x", tenant: "x", exp: now + 3_600 })}.${"A".repeat(86)}`;
    },
    known,
    silent,
  };
}
