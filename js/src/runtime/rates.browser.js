/** `tillgate/rates` for browsers and for unknown runtimes: the module is loaded when a client starts. */

import "./embedded.js";

export * from "../rates/client.js";
