// The real module with a memory limit, to test its behavior without memory.

/** The module's bytes with a maximum, in pages of 64 KiB, in its memory section. */
export function limited(bytes, maximum) {
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at];
      at += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  for (;;) {
    const begin = at;
    const section = bytes[at];
    at += 1;
    const length = number();
    const content = at;
    if (section === 5) {
      at += 2; // One memory, and whether it has a maximum.
      const minimum = number();
      const body = [1, 1, ...leb(minimum), ...leb(maximum)];
      return Buffer.concat([bytes.subarray(0, begin), Uint8Array.of(5, body.length, ...body), bytes.subarray(content + length)]);
    }
    at = content + length;
  }
}

function leb(value) {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)];
}
