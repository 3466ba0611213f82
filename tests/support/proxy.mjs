// A proxy in front of a host whose connections can be cut and restored, like a network's.

import { connect, createServer } from "node:net";

/** Starts the proxy: `{ url, cut, restore, end }`. */
export async function proxy(url) {
  const { hostname, port } = new URL(url);
  const sockets = new Set();
  let isCut = false;
  const server = createServer((client) => {
    // A reset, because the first `fetch` of Node 20 may wait forever if its connection is only closed.
    if (isCut) return client.resetAndDestroy();
    const host = connect(Number(port), hostname);
    for (const [one, other] of [[client, host], [host, client]]) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => (sockets.delete(one), other.destroy()));
      one.pipe(other);
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut,
    restore: () => (isCut = false),
    end() {
      cut();
      server.close();
    },
  };
}
