/**
 * Webhook signatures, made and verified by the module (`engine/src/signature/text.rs` lists the calls). The time is an
 * argument: there is no clock here.
 */

import { current, toText } from "../shared/engine.js";

/** Signs or verifies: `{ op, sharedKey, … }` to `{ signature }` or `{ valid, reason? }`. */
export const signature = (call) => current().signature(toText(call, "call"));
