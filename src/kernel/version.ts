/** Purser's version, as in `deno.json`; a test compares them. */
export const VERSION = "0.1.0";
