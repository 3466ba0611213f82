// `tillgate` for CommonJS in Node.

module.exports = require("./node.js");
