// An identity provider for tests of the page: `oidc-provider` on a free port, with one public client, and its own pages on
// which a person signs in, declines, and signs out.

import { createServer } from "node:http";

import * as jose from "jose";
import Provider from "oidc-provider";

/** The person who signs in. */
export const PERSON = "Ada Lovelace";

export const CLIENT_ID = "tillgate-page";

/** The audience of its tokens. */
export const RESOURCE = "https://till.example/api";

const KID = "one";

const page = (title, body) => `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>${body}</html>`;

const form = (action, text) => `<form method="post" action="${action}"><button>${text}</button></form>`;

/**
 * Starts the provider. `claims` are added to the usual ones of its access tokens, which last for `seconds`; with `refreshes`
 * it gives refresh tokens. Returns `{ issuer, settings, register, requests, end }`: `settings` is the configuration of a host
 * that trusts it, `register` tells it the address of the page, and `requests` are the bodies that its token endpoint received.
 */
export async function identityProvider({ claims, refreshes = false, seconds = 600 }) {
  const { publicKey, privateKey } = await jose.generateKeyPair("ES256", { extractable: true });
  const described = { kid: KID, alg: "ES256", use: "sig" };
  const [own, known] = [{ ...(await jose.exportJWK(privateKey)), ...described }, { ...(await jose.exportJWK(publicKey)), ...described }];
  const requests = [];
  let provider;
  const server = createServer((request, response) => answer(request, response).catch((error) => response.writeHead(500).end(String(error))));

  async function answer(request, response) {
    // The host asks for the keys when it starts, before the address of its page is known.
    if (request.url === "/keys") return response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ keys: [known] }));
    const [, step] = /^\/interaction\/[^/]+(\/\w+)?$/.exec(request.url) ?? [];
    if (request.url === "/favicon.ico") return response.writeHead(204).end();
    if (request.url.startsWith("/interaction/")) return interact(request, response, step);
    if (request.url === "/token" && request.method === "POST") return provider.callback()(noted(request), response);
    return provider.callback()(request, response);
  }

  /** The request, whose body is recorded as it is read. */
  function noted(request) {
    const chunks = [];
    const { emit } = request;
    request.emit = function (type, chunk, ...more) {
      if (type === "data") chunks.push(chunk);
      if (type === "end") requests.push(Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString())));
      return emit.call(this, type, chunk, ...more);
    };
    return request;
  }

  async function interact(request, response, step) {
    const { uid, params } = await provider.interactionDetails(request, response);
    if (step === "/decline") {
      const result = { error: "access_denied", error_description: "the person has declined" };
      return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    }
    if (step === "/accept") {
      const grant = new provider.Grant({ accountId: "ada", clientId: CLIENT_ID });
      grant.addOIDCScope(params.scope);
      grant.addResourceScope(RESOURCE, "till");
      const result = { login: { accountId: "ada" }, consent: { grantId: await grant.save() } };
      return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    }
    const choices = form(`/interaction/${uid}/accept`, `I am ${PERSON}`) + form(`/interaction/${uid}/decline`, "Decline");
    return response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page("Who are you?", choices));
  }

  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${server.address().port}`;

  /** Makes people who sign in come back to the page at an address. */
  function register(url) {
    const address = `${url}/`;
    const client = {
      client_id: CLIENT_ID,
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", ...(refreshes ? ["refresh_token"] : [])],
      redirect_uris: [address],
      post_logout_redirect_uris: [address],
    };
    provider = new Provider(issuer, configuration({ client, own, claims, refreshes, seconds }));
  }

  const settings = `
[[trusted_issuers]]
issuer = "${issuer}"
jwks = "${issuer}/keys"
audiences = ["${RESOURCE}"]
tenant_claim = "tenant"
groups_claim = "groups"
groups = { "rule-owners" = ["ecs.editor", "ecs.evaluator"] }

[page.sign_in]
issuer = "${issuer}"
client_id = "${CLIENT_ID}"
scopes = ["openid", "profile"]
resource = "${RESOURCE}"
`;
  const end = () => {
    server.close();
    server.closeAllConnections();
  };
  return { issuer, settings, register, requests, end };
}

function configuration({ client, own, claims, refreshes, seconds }) {
  const resource = { scope: "till", audience: RESOURCE, accessTokenTTL: seconds, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256", kid: KID } } };
  return {
    clients: [{ ...client, id_token_signed_response_alg: "ES256" }],
    jwks: { keys: [own] },
    cookies: { keys: ["a key of these tests"] },
    claims: { openid: ["sub"], profile: ["name"] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: PERSON }) }),
    extraTokenClaims: () => claims,
    issueRefreshToken: () => refreshes,
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    // Its own option needs a newer Node.
    clientBasedCORS: (_, origin, { redirectUris }) => redirectUris.includes(`${origin}/`),
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: { enabled: true, getResourceServerInfo: () => resource, useGrantedResource: () => true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, html) => (ctx.body = page("Sign out?", `${html}<button form="op.logoutForm" name="logout" value="yes">Sign out here</button>`)),
      },
    },
  };
}
