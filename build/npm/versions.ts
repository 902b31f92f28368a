/**
 * The compiler of the npm package and the types that it checks against. It is not the `typescript` that other libraries
 * need: version 5 leaves some dynamic imports unchanged, in spite of `rewriteRelativeImportExtensions`.
 */
export const TYPESCRIPT = "typescript@7.0.2";
export const NODE_TYPES = "@types/node@22.20.5";
