// Loads the module.

/** The sources that the module can be loaded from. */
export type ModuleSource = string | URL | Request | Response | ArrayBuffer | ArrayBufferView | CompiledModule;

/** A `WebAssembly.Module`, if the program's libraries declare it: those of Node alone do not. */
export type CompiledModule = typeof globalThis extends { WebAssembly: { Module: new (...bytes: never) => infer Module } } ? Module : never;

/** Loads the module. In Node, and in workers that compile at deployment, it is loaded on import and this does nothing. */
export function init(source?: ModuleSource | Promise<ModuleSource>): Promise<void>;

/** Loads the module synchronously. */
export function initSync(source: ArrayBuffer | ArrayBufferView | CompiledModule): void;
