// A port for a program that listens later, or for none.

import { createServer } from "node:net";

/**
 * A free port: above those of the Redis servers of other tests (`redis.rs`), and below those that the system gives to
 * connections, so that nobody takes it meanwhile.
 */
export const freePort = () =>
  new Promise((resolve) => {
    const port = 30_000 + Math.floor(Math.random() * 2_700);
    const server = createServer().once("error", () => resolve(freePort()));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(port)));
  });
