// Waiting for the clients that follow the host.

/** For how long is waited. The client itself goes on. */
export interface ReadyOptions {
  signal?: AbortSignal | undefined;
  /** Without it there is no limit. */
  timeoutMs?: number | undefined;
}
