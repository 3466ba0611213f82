// `tillgate/webhook` for CommonJS in Node.

module.exports = require("./webhook.node.js");
