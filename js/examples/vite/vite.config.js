// The development server must not pre-bundle the package, so that the module is found beside it.
export default { optimizeDeps: { exclude: ["tillgate"] } };
