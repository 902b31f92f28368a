import { join } from "node:path";
import { ROOT, runDeno } from "./run_deno.ts";

/**
 * Modules that an edge never evaluates, by the end of their import specifier: process control, native code, sockets. Each is
 * imported lazily; the bundle has an error in its stead.
 */
const LEFT_OUT = [
  "client/mod.ts",
  "sqlite_store.ts",
  "postgres_store.ts",
  "database_file.ts",
  "read_file.ts",
  "call_spool.ts",
  "node_server.ts",
  "smtp/mod.ts",
  "guarded_http.ts",
  "bills/import/mod.ts",
  "bills/reconcile/mod.ts",
];

/** The modules of Node that the bundle imports: a runtime needs `nodejs_compat` for them. */
export const NODE_MODULES = ["node:buffer", "node:crypto", "node:net", "node:path"];

/** The size limits of the bundle in bytes: plain and compressed. Cloudflare takes 3 MB compressed, as of 2026-11. */
export const MAX_BYTES = { plain: 4_650_000, gzip: 1_150_000 };

/** The files that were written. */
export interface EdgeBundle {
  path: string;
  bytes: number;
  gzipBytes: number;
  /** Its imports from the runtime. */
  imports: string[];
}

/** Bundles `main.ts`, with all it needs at the edge, as one module. Throws if an edge could not load it. */
export async function bundleEdge(path: string): Promise<EdgeBundle> {
  const external = ["node:*", ...LEFT_OUT.map((name) => `*/${name}`)].flatMap((name) => ["--external", name]);
  await runDeno([
    ...["bundle", "--quiet", "--platform", "browser", "--minify", ...external],
    ...["-o", path, join(ROOT, "main.ts")],
  ]);

  let text = await Deno.readTextFile(path);
  for (const name of LEFT_OUT) {
    const lazyImport = new RegExp(`\\bimport\\("\\.\\.?/(?:[^"]*/)?${name.replaceAll(".", "\\.")}"\\)`, "g");
    if (!lazyImport.test(text)) {
      throw new Error(`Cannot leave out ${name}: nothing imports it lazily any more`);
    }
    text = text.replaceAll(lazyImport, `Promise.reject(new Error("${name} is not part of the edge bundle"))`);
  }
  const imports = [...new Set([...text.matchAll(/\bfrom"([^"\s]+)";/g)].map((match) => match[1]!))].sort();
  const foreign = imports.filter((name) => !NODE_MODULES.includes(name));
  if (foreign.length > 0) {
    throw new Error(`Cannot bundle main.ts for the edge: it imports ${foreign.join(", ")}`);
  }
  const bytes = new TextEncoder().encode(text);
  await Deno.writeFile(path, bytes);
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  const gzipBytes = (await new Response(packed).arrayBuffer()).byteLength;
  return { path, bytes: bytes.length, gzipBytes, imports };
}
