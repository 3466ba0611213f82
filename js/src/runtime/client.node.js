/** `tillgate/client` for Node: the module is ready on import. */

import "./node.js";

export * from "../catalog/client.js";
