/** `tillgate/client` for workers that compile their modules at deployment. */

import "./workerd.js";

export * from "../catalog/client.js";
