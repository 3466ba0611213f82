/** Base64 with padding, as in envelopes, Basic credentials and certificates. */

/** Returns the bytes; undefined if the text is not base64 or contains anything else, such as white space. */
export function fromBase64(text) {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
