// The development server must leave the package as it is, so that the module is found beside it.
export default { optimizeDeps: { exclude: ["tillgate"] } };
