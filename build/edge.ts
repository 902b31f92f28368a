/** `deno task bundle:edge [FILE]`: the API as one module for workerd and platforms based on it. */
import { dirname, join, resolve } from "node:path";
import { bundleEdge } from "./bundle_edge.ts";
import { ROOT } from "./run_deno.ts";

const path = Deno.args[0] === undefined ? join(ROOT, "dist", "purser_edge.js") : resolve(Deno.args[0]);
await Deno.mkdir(dirname(path), { recursive: true });
const { bytes, gzipBytes, imports } = await bundleEdge(path);
const kilobytes = (count: number) => `${Math.round(count / 1000)} kB`;
console.log(
  `${path}: ${kilobytes(bytes)}, ${kilobytes(gzipBytes)} compressed; imports ${imports.join(", ")}`,
);
