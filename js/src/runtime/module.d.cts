// `tillgate/module`: the module itself.

/** The bytes of the module, as a host of the same release decides with. */
export function bytes(): Promise<Uint8Array>;

/** The version of the package and of its module. */
export const version: string;

/** The SHA-256 of the module. */
export const sha256: string;
