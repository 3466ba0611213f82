// Runs the call of a vector through the faces in JavaScript (`vectors/README.md`), in Node and in browsers.

const NO_STRING = "a JavaScript string cannot hold these bytes";

/** The text of a member of a call, in any of its forms; `NO_STRING` when its bytes are not UTF-8. */
function sent(call, member) {
  if (`${member}Text` in call) return call[`${member}Text`];
  if (!(`${member}Base64` in call)) return JSON.stringify(call[member]);
  try {
    const bytes = Uint8Array.from(atob(call[`${member}Base64`]), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return NO_STRING;
  }
}

const isOf = (call, name) => ["", "Text", "Base64"].some((ending) => name + ending in call);

/** Whether JavaScript strings can hold the call. Other bytes are only for the faces that take bytes. */
export const isText = (call) =>
  ["document", "request", "rates", "signature"].every((name) => !isOf(call, name) || sent(call, name) !== NO_STRING);

/** The expected answer in the framing of every face: `0` and the JSON of `ok`, or `1` and that of the error. */
export const expected = (answer) => ("ok" in answer ? `0${JSON.stringify(answer.ok)}` : `1${JSON.stringify(answer.error)}`);

/** A call through wasm-bindgen's glue. */
export function throughGlue(glue, call) {
  if (isOf(call, "rates")) return glue.rates(sent(call, "rates"));
  if (isOf(call, "signature")) return glue.signature(sent(call, "signature"));
  const prepared = glue.Prepared.prepare(call.prepare, sent(call, "document"));
  if (!(prepared instanceof glue.Prepared)) return `1${JSON.stringify(prepared)}`;
  try {
    return "evaluate" in call ? prepared.evaluateText(call.evaluate, sent(call, "request")) : "0null";
  } finally {
    prepared.free();
  }
}

/** A call through the package's instance of the module. */
export function throughInstance(instance, call) {
  let handle;
  try {
    if (isOf(call, "rates")) return `0${JSON.stringify(instance.rates(sent(call, "rates")))}`;
    if (isOf(call, "signature")) return `0${JSON.stringify(instance.signature(sent(call, "signature")))}`;
    handle = instance.prepare(`${call.prepare}\n`, sent(call, "document"));
    if (!("evaluate" in call)) return "0null";
    return `0${JSON.stringify(instance.evaluate(handle, `${call.evaluate}\n`, sent(call, "request")))}`;
  } catch (error) {
    return framed(error);
  } finally {
    if (handle !== undefined) instance.release(handle);
  }
}

/** A call through the package's API; undefined if the API cannot express it. */
export function throughPackage({ Catalog, calculate }, call) {
  try {
    if ("rates" in call && Object.keys(call.rates ?? {}).join() === "calls") {
      return `0${JSON.stringify({ answers: calculate(call.rates.calls) })}`;
    }
    if (call.prepare !== "catalog" || !("document" in call)) return undefined;
    const catalog = new Catalog(call.document);
    if (!("evaluate" in call)) return "0null";
    if (!("request" in call)) return undefined;
    const [, id] = /^condition (.*)$/s.exec(call.evaluate) ?? [];
    if (id !== undefined) return `0${JSON.stringify(catalog.evaluateCondition(id, call.request))}`;
    if (call.evaluate === "project") return `0${JSON.stringify(catalog.evaluateProjectRestrictions(call.request))}`;
    if (call.evaluate === "basket") return `0${JSON.stringify(catalog.evaluateBasket(call.request))}`;
    return undefined;
  } catch (error) {
    return framed(error);
  }
}

function framed(error) {
  if (!("faults" in error)) throw error;
  const { code, path, faults } = error;
  const [{ message }] = faults;
  return `1${JSON.stringify({ code, path, message, faults })}`;
}
