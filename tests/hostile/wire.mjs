// The requests of attackers and checks: from any address of 127.0.0.0/8, raw connections, and the count of answers.

import { Agent, request } from "node:http";
import { connect } from "node:net";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** The longest wait for an answer. */
const PATIENCE_MS = 60_000;

let addresses = 0;

/** An unused address of 127.0.0.0/8; `net` separates those of processes. */
export function freshAddress(net = 1 + (process.pid % 100)) {
  addresses += 1;
  return `127.${net}.${(addresses >> 8) & 255}.${1 + (addresses % 250)}`;
}

/** Reusable connections, all from one address. */
export const keepAlive = (connections = 1, from = freshAddress()) => new Agent({ keepAlive: true, maxSockets: connections, localAddress: from });

/** Keeps what a stream receives: all, or at least the first `keeps` bytes. */
function received(stream, keeps) {
  const chunks = [];
  let kept = 0;
  stream.on("data", (chunk) => {
    if (kept >= keeps) return;
    chunks.push(chunk);
    kept += chunk.length;
  });
  return () => Buffer.concat(chunks);
}

/**
 * Sends a request: `{ method, path, headers, body, token, agent, from, keeps }`, where `keeps` is the wanted length of the
 * body. Returns `{ status, headers, body, what }`, with status 0 and `why` if the connection ended without an answer. For a
 * stream of events, which has no end, the head is the answer.
 */
export function ask(host, { method = "GET", path, headers = {}, body, token, agent = false, from, patience = PATIENCE_MS, keeps = Infinity }) {
  const what = `${method} ${path.slice(0, 80)}`;
  const all = { ...headers };
  if (token) all.authorization = `Bearer ${token}`;
  let sent = body;
  if (body !== undefined && !(typeof body === "string" || Buffer.isBuffer(body))) sent = JSON.stringify(body);
  if (sent !== undefined) {
    all["content-type"] ??= "application/json";
    all["content-length"] ??= Buffer.byteLength(sent);
  }
  return new Promise((resolve) => {
    const lost = (error) => resolve({ status: 0, headers: {}, body: Buffer.alloc(0), what, why: error.code ?? error.message });
    const outgoing = request({ host: "127.0.0.1", port: host.port, method, path, headers: all, agent, localAddress: from, timeout: patience });
    outgoing.on("response", (response) => {
      const answered = (body) => resolve({ status: response.statusCode, headers: response.headers, body, what });
      if (response.headers["content-type"] === "text/event-stream") {
        response.destroy();
        answered(Buffer.alloc(0));
        return;
      }
      const read = received(response, keeps);
      finished(response).then(() => answered(read()), lost);
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer")));
    outgoing.on("error", lost);
    outgoing.end(sent);
  });
}

/** The JSON of an answer. */
export const json = (answer) => JSON.parse(answer.body.toString());

/**
 * A connection that accepts any bytes; `ended` resolves when it is closed, with the received bytes: all, or at least the first
 * `keeps`.
 */
export function open(host, { from = freshAddress(), reads = true, keeps = Infinity } = {}) {
  const socket = connect({ host: "127.0.0.1", port: host.port, localAddress: from, noDelay: true });
  const read = reads ? received(socket, keeps) : () => "";
  const text = () => read().toString("latin1");
  const ended = new Promise((resolve) => {
    socket.on("close", () => resolve(text()));
  });
  // A refused or dropped connection is an answer too.
  socket.on("error", () => {});
  if (!reads) socket.pause();
  return { socket, ended, received: text };
}

/** Writes bytes on a new connection and returns the answer until it is closed. */
export async function exchange(host, bytes, options) {
  const connection = open(host, options);
  connection.socket.write(bytes);
  const given = sleep(options?.patience ?? 30_000, null, { ref: false }).then(() => connection.socket.destroy());
  const text = await Promise.race([connection.ended, given.then(() => connection.ended)]);
  connection.socket.destroy();
  return text;
}

/** The statuses in the bytes received on a connection. */
export const statuses = (text) => [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status));

/** How long a check waits for connections to be dropped, which takes at most 10 seconds. */
export const DROP_PATIENCE_MS = 30_000;

/** Tells for each connection if it has ended, once all have, or after a while. */
export async function haveEnded(connections, ms) {
  const states = connections.map(() => false);
  const all = connections.map(({ ended }, at) => ended.then(() => (states[at] = true)));
  await Promise.race([Promise.all(all), sleep(ms, null, { ref: false })]);
  return states;
}

/** A request as it is on the wire. */
export function head(line, headers = {}) {
  const lines = Object.entries({ Host: "x", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** The largest body of an error. */
export const MAX_ERROR = 64 << 10;

/** The kept part of ignored answers: enough to see an error that is too large. */
export const LITTLE = 2 * MAX_ERROR;

/** Counts the answers to an attacker, and names those that nobody should get. */
export class Tally {
  counts = {};
  faults = new Map();

  /** Counts an answer of `ask`; returns it. */
  note(answer) {
    const { status, headers, body, what } = answer;
    this.count(status === 0 ? `no answer (${answer.why})` : status);
    const mayFail = status === 503 && headers["retry-after"];
    if (status >= 500 && !mayFail) this.fault(`${status} on ${what}`);
    if (status >= 400 && body.length > MAX_ERROR) this.fault(`an error of more than 64 KiB on ${what}`);
    return answer;
  }

  /** Counts the statuses of a connection. */
  noteText(text, what) {
    const all = statuses(text);
    if (all.length === 0) this.count("closed");
    for (const status of all) {
      this.count(status);
      if (status >= 500 && !(status === 503 && /retry-after/i.test(text))) this.fault(`${status} on ${what}`);
    }
  }

  count(outcome, times = 1) {
    this.counts[outcome] = (this.counts[outcome] ?? 0) + times;
  }

  fault(text) {
    this.faults.set(text, (this.faults.get(text) ?? 0) + 1);
  }

  toJSON() {
    return { counts: this.counts, faults: [...this.faults].map(([text, times]) => (times > 1 ? `${text}, ${times} times` : text)) };
  }
}

/** Runs `workers` loops of a step until a time, each with its number and its round's. */
export async function flood(workers, until, step) {
  const work = async (worker) => {
    for (let round = 0; performance.now() < until; round += 1) await step(worker, round);
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
}
