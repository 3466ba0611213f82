// Waiting for the clients that follow the host.

/** How long to wait. The client itself goes on. */
export interface ReadyOptions {
  signal?: AbortSignal | undefined;
  /** Without it there is no limit. */
  timeoutMs?: number | undefined;
}
