// An endpoint that accepts deliveries, and can be broken and repaired.

import { createServer } from "node:http";

/**
 * Starts one on loopback: `{ url, got, answer, end }`. `got` lists the requests, `{ head, headers, body }`; `answer` sets the
 * status of later answers, with a text.
 */
export async function receiver() {
  const got = [];
  let reply = [204, ""];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const headers = request.rawHeaders.reduce((text, value, at) => text + value + (at % 2 === 0 ? ": " : "\n"), "");
    got.push({ head: `${request.method} ${request.url} HTTP/1.1\n${headers}`, headers: request.headers, body });
    response.writeHead(reply[0], { "Content-Type": "text/plain" }).end(reply[1]);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    got,
    answer(status, text = "") {
      reply = [status, text];
    },
    end() {
      server.close();
      server.closeAllConnections();
    },
  };
}
