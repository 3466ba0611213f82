// A web server for a folder, with a Content-Security-Policy, because the policy is part of the tests.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** The policy of every page (`engine.md`, "npm package"). */
export const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; img-src 'self' data:";

/** Serves a folder: `{ url, end }`. */
export async function serve(folder, { policy = POLICY, types = TYPES } = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const file = join(folder, path.endsWith("/") ? `${path}index.html` : path);
    try {
      const content = path === "/blank" ? "<!doctype html><title>blank</title>" : await readFile(file);
      const type = path === "/blank" ? TYPES[".html"] : (types[extname(file)] ?? "application/octet-stream");
      const headers = { "Content-Type": type };
      if (policy) headers["Content-Security-Policy"] = policy;
      response.writeHead(200, headers).end(content);
    } catch {
      response.writeHead(path === "/favicon.ico" ? 204 : 404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    end() {
      server.close();
      server.closeAllConnections();
    },
  };
}
