// A request as a line for bash.

/** Uses the quotes of bash that know escapes, if a text needs them. */
function quoted(text) {
  if (/^[ -&(-~]*$/.test(text)) return `'${text}'`;
  const escaped = [...Buffer.from(text)].map((byte) => (byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`));
  return `$'${escaped.join("")}'`;
}

/** `request` has the form that `ask` takes. Tokens and secrets are left out: `who` says whose they are. */
export function curl(port, { method, path, headers = {}, body }, who) {
  const all = Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => [name, value]));
  const shown = all.map(([name, value]) => (name === "authorization" && value.length > 60 ? [name, `${value.split(" ")[0]} $${who.toUpperCase()}`] : [name, value]));
  if (body !== undefined && !("content-type" in headers)) shown.push(["content-type", "application/json"]);
  const parts = ["curl -i --path-as-is -g", `-X ${method}`, quoted(`http://127.0.0.1:${port}${path}`)];
  parts.push(...shown.map(([name, value]) => (value.includes("$") ? `-H "${name}: ${value}"` : `-H ${quoted(`${name}: ${value}`)}`)));
  if (body !== undefined) parts.push(`--data-binary ${quoted(typeof body === "string" ? body : JSON.stringify(body))}`);
  return parts.join(" ");
}
