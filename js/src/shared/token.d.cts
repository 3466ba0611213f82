// Token sources.

/** Returns a token. With `fresh` it returns a new one, because the last one was refused. */
export type TokenSource = (options?: { fresh?: boolean }) => string | Promise<string>;

/** Returns a token source that exchanges a client's credentials when a token is needed. */
export function clientCredentials(options: {
  tokenUrl: string | URL;
  clientId: string;
  clientSecret: string;
  audience: string;
  fetch?: typeof fetch;
}): (options?: { fresh?: boolean }) => Promise<string>;
