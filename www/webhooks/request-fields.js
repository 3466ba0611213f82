/**
 * The fields to paste a request as a receiver got it: its headers, or all of it, and its body.
 */

import { field, h } from "../shared/dom.js";
import { readHeaders, splitRequest, writeHeaders } from "./pasted-request.js";

const HEADERS_EXAMPLE = "Authorization: Bearer …\nX-Service-Signature: HS256=…";
const BODY_EXAMPLE = '{"id":"…","data":"…"}';

/** The fields; `onchange` is called after typing. */
export function requestFields(onchange) {
  const text = (properties) => h("textarea", { spellcheck: "false", autocomplete: "off", class: "pasted", ...properties });
  const head = text({ rows: 7, oninput: onhead, placeholder: HEADERS_EXAMPLE });
  const body = text({ rows: 5, oninput: () => onchange(), placeholder: BODY_EXAMPLE });
  const headField = field("Headers, or the whole request", head);

  /** Splits a whole request that was pasted as headers. */
  function onhead() {
    const split = splitRequest(head.value);
    if (split.body !== undefined) [head.value, body.value] = [split.head, split.body];
    onchange();
  }

  return {
    elements: [headField, field("Body", body)],
    /** The request, `{ headers, body }`, and whether there is none. A line that is no header is shown as a fault. */
    read() {
      const { headers, unread } = readHeaders(head.value);
      headField.showFault(unread.length > 0 ? `“${unread[0].slice(0, 60)}” is not a header. Each has a name, a colon and a value, on one line.` : undefined);
      return { headers, body: body.value, isEmpty: head.value.trim() === "" && body.value.trim() === "" };
    },
    /** Fills in the content of a delivery. */
    fill(request) {
      [head.value, body.value] = [writeHeaders(request.headers), request.body];
    },
  };
}
