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

/** The calls that have no document. */
const EXCHANGES = ["rates", "signature", "findings", "compare", "tests"];

/** The kind of a call, among these. */
const exchangeOf = (call) => EXCHANGES.find((name) => isOf(call, name));

/** True if JavaScript strings can hold the call. Other bytes are only for the faces that take bytes. */
export const isText = (call) =>
  ["document", "request", ...EXCHANGES].every((name) => !isOf(call, name) || sent(call, name) !== NO_STRING);

/** The expected answer in the framing of every face: `0` and the JSON of `ok`, or `1` and that of the error. */
export const expected = (answer) => ("ok" in answer ? `0${JSON.stringify(answer.ok)}` : `1${JSON.stringify(answer.error)}`);

/** A call through wasm-bindgen's glue. */
export function throughGlue(glue, call) {
  const exchange = exchangeOf(call);
  if (exchange !== undefined) return glue[exchange](sent(call, exchange));
  const prepared = glue.Prepared.prepare(call.prepare, sent(call, "document"));
  if (!(prepared instanceof glue.Prepared)) return `1${JSON.stringify(prepared)}`;
  try {
    if ("evaluateMany" in call) return prepared.evaluateManyText(call.evaluateMany, sent(call, "request"));
    return "evaluate" in call ? prepared.evaluateText(call.evaluate, sent(call, "request")) : "0null";
  } finally {
    prepared.free();
  }
}

/** A call through the package's instance of the module. */
export function throughInstance(instance, call) {
  let handle;
  try {
    const exchange = exchangeOf(call);
    if (exchange !== undefined) return `0${JSON.stringify(instance[exchange](sent(call, exchange)))}`;
    handle = instance.prepare(`${call.prepare}\n`, sent(call, "document"));
    if ("evaluateMany" in call) return `0${JSON.stringify(instance.many(handle, `${call.evaluateMany}\n`, sent(call, "request")))}`;
    if (!("evaluate" in call)) return "0null";
    const [, explain, line] = /^(explain )?(.*)$/s.exec(call.evaluate);
    const ask = explain === undefined ? "evaluate" : "explain";
    return `0${JSON.stringify(instance[ask](handle, `${line}\n`, sent(call, "request")))}`;
  } catch (error) {
    return framed(error);
  } finally {
    if (handle !== undefined) instance.release(handle);
  }
}

/**
 * The same value in JavaScript's types: objects are Maps, arrays without repeated elements Sets, integers BigInts, and each
 * remaining object has an undefined member.
 */
export function inJavaScript(value, depth = 0) {
  if (Number.isSafeInteger(value)) return BigInt(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const elements = value.map((element) => inJavaScript(element, depth + 1));
    return new Set(elements).size === elements.length ? new Set(elements) : elements;
  }
  const members = Object.entries(value).map(([name, member]) => [name, inJavaScript(member, depth + 1)]);
  return depth % 2 ? new Map(members) : Object.fromEntries([...members, ["not there", undefined]]);
}

/** A call whose documents have JavaScript's types. */
export function withValues(call) {
  const documents = ["document", "findings", "compare", "tests"].filter((name) => name in call);
  const values = documents.map((name) => [name, inJavaScript(call[name])]);
  return { ...call, ...Object.fromEntries(values) };
}

/** A call through the package's API; undefined if the API cannot express it. */
export function throughPackage({ Catalog, calculate, compare, findings, runTests }, call) {
  try {
    if ("rates" in call && Object.keys(call.rates ?? {}).join() === "calls") {
      return `0${JSON.stringify({ answers: calculate(call.rates.calls) })}`;
    }
    if ("findings" in call) return `0${JSON.stringify({ findings: findings(call.findings) })}`;
    if ("compare" in call && Object.keys(call.compare ?? {}).filter((name) => call.compare[name] !== undefined).join() === "before,after") {
      return `0${JSON.stringify(compare(call.compare.before, call.compare.after))}`;
    }
    if ("tests" in call) return `0${JSON.stringify(runTests(call.tests))}`;
    if (call.prepare !== "catalog" || !("document" in call)) return undefined;
    const catalog = new Catalog(call.document);
    if (!("evaluate" in call) && !("evaluateMany" in call)) return "0null";
    if (!("request" in call)) return undefined;
    if ("evaluateMany" in call) return manyThroughPackage(catalog, call);
    const [, explained, line] = /^(explain )?(.*)$/s.exec(call.evaluate);
    const options = explained && { explain: true };
    const [, id] = /^condition (.*)$/s.exec(line) ?? [];
    if (id !== undefined) return `0${JSON.stringify(catalog.evaluateCondition(id, call.request, options))}`;
    if (line === "project") return `0${JSON.stringify(catalog.evaluateProjectRestrictions(call.request, options))}`;
    if (line === "basket") return `0${JSON.stringify(catalog.evaluateBasket(call.request, options))}`;
    return undefined;
  } catch (error) {
    return framed(error);
  }
}

/** Rows through the package's API, which returns an outcome for each: shared ones are written as one. */
function manyThroughPackage(catalog, { evaluateMany, request }) {
  const [, kind, id] = /^(condition|project) (.*)$/s.exec(evaluateMany) ?? [];
  if (kind === undefined || Object.keys(request ?? {}).join() !== "rows") return undefined;
  const answered = catalog.evaluateMany({ [`${kind}Id`]: id }, request.rows);
  const outcomes = [...new Set(answered)];
  return `0${JSON.stringify({ outcomes, rows: answered.map((outcome) => outcomes.indexOf(outcome)) })}`;
}

function framed(error) {
  if (!("faults" in error)) throw error;
  const { code, path, faults } = error;
  const [{ message }] = faults;
  return `1${JSON.stringify({ code, path, message, faults })}`;
}
