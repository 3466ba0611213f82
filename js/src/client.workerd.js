/** `tillgate/client` for workers whose modules are compiled when they are deployed. */

import "./workerd.js";

export * from "./client.js";
