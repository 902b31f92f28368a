/**
 * The compiler of the npm package and the types that it checks against. It is not the `typescript` that other libraries
 * need: version 5 leaves some dynamic imports unchanged, in spite of `rewriteRelativeImportExtensions`.
 */
export const TYPESCRIPT = "typescript@7.0.2";
export const NODE_TYPES = "@types/node@22.20.5";
/** The npm that lists, audits and checks the packages that Purser ships. Deno runs it, so that no Node is needed. */
export const NPM = "npm@11.6.2";
