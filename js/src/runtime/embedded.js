/** The default source of `init`: the module in this package's code, which every bundler includes. */

import { loadFrom } from "../shared/load.js";
import { bytes } from "./module.js";

loadFrom(bytes);
