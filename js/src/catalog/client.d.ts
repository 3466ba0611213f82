// `tillgate/client` for ES modules: the same declarations as for CommonJS, which both can import.

export * from "./client.cjs";
