/**
 * Signs in at an identity provider, with OpenID Connect: authorization code with PKCE, as a public client. `oauth4webapi`
 * makes and checks the protocol's messages. Tokens are kept in memory only, and renewed with a refresh token if the provider
 * gives one. Another page gets its own from the provider. Loaded on demand.
 */

import { TillgateError } from "../../js/src/index.js";
import * as oauth from "../vendor/oauth4webapi.js";
import { forget, packed } from "./memory.js";
import { HOST } from "./caller.js";
import { keepTrip, providerSettings, takeTrip } from "./sign-in-trip.js";

/** The provider sends people back to this page after they have signed in or out. */
const PAGE = `${HOST}/`;

/** How long the provider may take to answer, and how far its clock may differ from this machine's. */
const ANSWER_MS = 10_000;
const CLOCK_SECONDS = 300;

/** How long before its end a token is renewed. */
const MARGIN_MS = 60_000;

const { issuer, name, clientId, scope, resource } = providerSettings();

const client = { client_id: clientId, [oauth.clockTolerance]: CLOCK_SECONDS };

/** The host makes sure that a provider without TLS is on this machine. */
const isPlain = issuer.startsWith("http:");

const options = () => ({ [oauth.allowInsecureRequests]: isPlain, signal: AbortSignal.timeout(ANSWER_MS) });

/** The audience of the token, for providers that read it from the request. */
const wanted = resource ? { resource, audience: resource } : {};

async function discover() {
  const url = new URL(issuer);
  return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, options()));
}

/** The URL of an endpoint with these parameters; undefined if the provider has no safe one. */
function urlOf(endpoint, parameters) {
  if (!URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  if (url.protocol !== "https:" && !(isPlain && url.protocol === "http:")) return undefined;
  for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value);
  return url.href;
}

/** Leaves the page to sign in. Returns when the person comes back to the page unchanged. */
export const begin = () => leave();

/** Signs in as another person: the provider offers a choice, or forgets the current user at `signOutUrl`. */
export async function beginAsAnother(signOutUrl) {
  const { prompt_values_supported: prompts = [] } = await discover().catch(() => ({}));
  if (!signOutUrl || prompts.includes("select_account")) return leave({ prompt: "select_account" });
  location.assign(signOutUrl);
  return back();
}

/** Signs in without a question, in place of the page in the history. Does nothing if that is impossible. */
export async function renew() {
  try {
    await leave({ prompt: "none" });
  } catch {}
}

async function leave(asking = {}) {
  const isSilent = asking.prompt === "none";
  try {
    if (!isSecureContext) throw refusal(`Signing in at ${name} needs this page to be opened with https.`);
    const provider = await discover();
    const verifier = oauth.generateRandomCodeVerifier();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const challenge = { code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" };
    const request = { client_id: clientId, redirect_uri: PAGE, response_type: "code", scope, state, nonce, ...challenge, ...wanted, ...asking };
    const url = urlOf(provider.authorization_endpoint, request);
    if (!url) throw refusal(`${name} does not say where people sign in.`);
    // The input is restored when the person comes back, so leaving the page asks nothing.
    if (keepTrip({ verifier, state, nonce, place: location.hash, isSilent }, packed())) forget();
    if (isSilent) location.replace(url);
    else location.assign(url);
  } catch (error) {
    throw explained(error);
  }
  await back();
  takeTrip();
}

/** Waits for the person to come back to the unchanged page. A new page is shown too. */
const back = () => new Promise((resolve) => addEventListener("pageshow", ({ persisted }) => persisted && resolve()));

/** Gets the tokens for an answer of the provider, to open a session with. */
export async function finish(answer, trip) {
  try {
    if (!trip) throw refusal(strange());
    const provider = await discover();
    const checked = oauth.validateAuthResponse(provider, client, answer, trip.state);
    const response = await oauth.authorizationCodeGrantRequest(provider, client, oauth.None(), checked, PAGE, trip.verifier, { ...options(), additionalParameters: wanted });
    const granted = await oauth.processAuthorizationCodeResponse(provider, client, response, { expectedNonce: trip.nonce, requireIdToken: true });
    const grant = new Grant(provider, granted);
    return { token: (request) => grant.token(request), person: personOf(provider, granted) };
  } catch (error) {
    throw explained(error);
  }
}

/** The signed-in person: their name, if the provider tells it, and where to sign out at the provider, if possible. */
function personOf(provider, granted) {
  const claims = oauth.getValidatedIdTokenClaims(granted);
  const names = [claims.name, claims.preferred_username, claims.email];
  const parameters = { id_token_hint: granted.id_token, client_id: clientId, post_logout_redirect_uri: PAGE };
  return {
    name: names.find((each) => typeof each === "string" && each.trim() !== ""),
    signOutUrl: urlOf(provider.end_session_endpoint, parameters),
  };
}

/** The provider's grant: an access token and, from some, a refresh token to renew it. */
class Grant {
  #provider;
  #access;
  #refresh;
  #renewAt;
  #endsAt;
  #renewal;

  constructor(provider, granted) {
    this.#provider = provider;
    this.#take(granted);
  }

  /** A token source: the access token, renewed before its end, or now if it was refused. */
  async token({ fresh = false } = {}) {
    const now = performance.now();
    if (!fresh && (now < this.#renewAt || !this.#refresh)) return this.#access;
    if (!this.#refresh) throw new TillgateError({ code: "unauthenticated", message: `the token of ${name} has expired` });
    this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined));
    try {
      await this.#renewal;
    } catch (error) {
      if (fresh || !error.isTemporary || now >= this.#endsAt) throw error;
    }
    return this.#access;
  }

  async #renew() {
    try {
      const response = await oauth.refreshTokenGrantRequest(this.#provider, client, oauth.None(), this.#refresh, { ...options(), additionalParameters: wanted });
      this.#take(await oauth.processRefreshTokenResponse(this.#provider, client, response));
    } catch (cause) {
      const isRefused = cause instanceof oauth.ResponseBodyError && cause.status < 500;
      throw new TillgateError({ code: isRefused ? "unauthenticated" : "unavailable", message: `${name} has not renewed the token`, cause });
    }
  }

  #take({ access_token: access, refresh_token: refresh, expires_in: seconds = Infinity }) {
    if (access.split(".").length !== 3) throw refusal(`${name} gives tokens that the host cannot read. It must be set up to give this page access tokens that are JWTs, for the audience of the host.`);
    const now = performance.now();
    this.#access = access;
    // A provider that sends no new one still accepts the old one.
    this.#refresh = refresh ?? this.#refresh;
    this.#renewAt = now + Math.max(seconds * 1000 - MARGIN_MS, seconds * 500);
    this.#endsAt = now + seconds * 1000;
  }
}

const refusal = (message, cause) => new TillgateError({ code: "refused", message, cause });

const strange = () => `The answer from ${name} does not belong to a sign-in started in this tab, so it was ignored. Sign in again.`;

/** An error of the provider or of the protocol, in plain words. */
function explained(error) {
  if (error instanceof TillgateError) return error;
  if (error.error === "access_denied") return refusal(`${name} did not sign you in: you declined, or your account may not use this page.`, error);
  if (error.error) return refusal(`${name} did not sign you in: ${(error.error_description ?? error.error).replace(/\.$/, "")}.`, error);
  const isUnreachable = (error instanceof TypeError && error.code === undefined) || error.name === "TimeoutError";
  if (isUnreachable) return refusal(`${name} cannot be reached. Try again in a moment. If this goes on, it may not accept requests from ${location.origin}.`, error);
  if (error.code === oauth.RESPONSE_IS_NOT_CONFORM) return refusal(`${name} cannot sign you in right now. Try again in a moment.`, error);
  return error.code ? refusal(strange(), error) : refusal(`${name} did not sign you in: ${error.message}`, error);
}
