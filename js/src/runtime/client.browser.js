/** `tillgate/client` for browsers and for unknown runtimes: the module is loaded when a client starts. */

import "./embedded.js";

export * from "../catalog/client.js";
