// Token sources.

/** Returns a token; with `fresh`, a new one, because the last one was refused. */
export type TokenSource = (options?: { fresh?: boolean }) => string | Promise<string>;

/** A token source that exchanges the credentials of a client when a token is needed. */
export function clientCredentials(options: {
  tokenUrl: string | URL;
  clientId: string;
  clientSecret: string;
  audience: string;
  fetch?: typeof fetch;
}): (options?: { fresh?: boolean }) => Promise<string>;
