/** `tillgate/webhook` for Node: the module is ready on import. */

import "./node.js";

export * from "../webhook/verifier.js";
