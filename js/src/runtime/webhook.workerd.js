/** `tillgate/webhook` for workers that compile their modules at deployment. */

import "./workerd.js";

export * from "../webhook/verifier.js";
