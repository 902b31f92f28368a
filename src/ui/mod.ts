/** The dashboard: one page, one script and one style, bundled by `deno task ui` from this folder, as strings. */
export { PAGE, SCRIPT, STYLE } from "./_bundle.ts";
