export { minify } from "npm:terser@5.51.4";
