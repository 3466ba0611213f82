// `tillgate/module` for ES modules: the same declarations as for CommonJS, which both can import.

export * from "./module.cjs";
