// `tillgate/rates` for CommonJS in Node.

module.exports = require("./rates.node.js");
