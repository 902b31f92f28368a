/** Purser's version, the one of `deno.json`; a test compares them. */
export const VERSION = "0.1.0";
