// A receiver without this package, of which there are many: it only checks the signature of the data, which is in a header
// with a custom name. Give the webhook that name as its `signatureHeader`.
//
//     SHARED_KEY=... SIGNATURE_HEADER=X-Existing-Signature node plain.js

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

const { SHARED_KEY, SIGNATURE_HEADER, PORT = "3000" } = process.env;

const isSigned = (data, signature) => {
  const expected = Buffer.from(`HS256=${createHmac("sha256", SHARED_KEY).update(data).digest("hex")}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
};

const server = createServer(async (request, response) => {
  try {
    const body = await json(request);
    const signature = request.headers[SIGNATURE_HEADER.toLowerCase()] ?? "";
    if (!isSigned(body.data, signature)) return void response.writeHead(401).end();
    console.log(`${body.type} ${body.id} ${Buffer.from(body.data, "base64")}`);
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
