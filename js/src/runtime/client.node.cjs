// `tillgate/client` for CommonJS in Node.

module.exports = require("./client.node.js");
