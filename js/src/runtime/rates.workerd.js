/** `tillgate/rates` for workers that compile their modules at deployment. */

import "./workerd.js";

export * from "../rates/client.js";
