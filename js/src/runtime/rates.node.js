/** `tillgate/rates` for Node: the module is ready on import. */

import "./node.js";

export * from "../rates/client.js";
