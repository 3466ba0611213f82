/** Where the module comes from when `init` is given nothing: from the code of this package, which every bundler has. */

import { loadFrom } from "../shared/load.js";
import { bytes } from "./module.js";

loadFrom(bytes);
