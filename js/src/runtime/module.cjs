// `tillgate/module` for CommonJS in Node.

module.exports = require("./module.js");
