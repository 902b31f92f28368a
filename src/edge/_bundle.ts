/** `deno task bundle:edge [file]`: writes `main.ts`, and all it needs at the edge, as one module. */

const ROOT = new URL("../..", import.meta.url).pathname;

/**
 * What an edge never evaluates, by how it is imported: the way of a process, native code, sockets. Each is imported
 * late; in its place the bundle has an error.
 */
const LEFT_OUT = [
  "./src/client/mod.ts",
  "./file_store.ts",
  "./database_file.ts",
  "./smtp/mod.ts",
  "./guarded_http.ts",
  "./resolve_host.ts",
];

/** The modules of Node that the bundle imports; `nodejs_compat` of workerd has them all. */
export const EDGE_NODE_MODULES = ["node:crypto", "node:net", "node:path"];

/** How large the bundle may be, in bytes: as it is, and compressed, which is what platforms limit. */
export const MAX_EDGE_BUNDLE = { plain: 3_500_000, gzip: 1_000_000 };

/** What was written. */
export interface EdgeBundle {
  path: string;
  bytes: number;
  gzipBytes: number;
  /** What it imports from its runtime. */
  imports: string[];
}

/** Bundles `main.ts` for workerd and its like. Throws where something got in that an edge can't load. */
export async function bundleEdge(path: string): Promise<EdgeBundle> {
  const external = [...LEFT_OUT, "node:*"].flatMap((name) => ["--external", name]);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", "--minify", ...external, "-o", path, "main.ts"],
    cwd: ROOT,
    stdout: "null",
  }).output();
  if (!success) throw new Error(`Cannot bundle main.ts: ${new TextDecoder().decode(stderr)}`);

  let text = await Deno.readTextFile(path);
  for (const name of LEFT_OUT) {
    const written = `import("${name}")`;
    if (!text.includes(written)) throw new Error(`Cannot leave out ${name}: nothing imports it late any more`);
    text = text.replaceAll(written, `Promise.reject(new Error("${name} is not part of the edge bundle"))`);
  }
  const imports = [...new Set([...text.matchAll(/\bfrom"([^"\s]+)";/g)].map((match) => match[1]!))].sort();
  const foreign = imports.filter((name) => !EDGE_NODE_MODULES.includes(name));
  if (foreign.length > 0) {
    throw new Error(`Cannot bundle main.ts for the edge: it imports ${foreign.join(", ")}`);
  }
  const bytes = new TextEncoder().encode(text);
  await Deno.writeFile(path, bytes);
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  const gzipBytes = (await new Response(packed).arrayBuffer()).byteLength;
  return { path, bytes: bytes.length, gzipBytes, imports };
}

if (import.meta.main) {
  const path = Deno.args[0] ?? `${ROOT}dist/purser_edge.js`;
  await Deno.mkdir(path.replace(/[^/]*$/, "") || ".", { recursive: true });
  const { bytes, gzipBytes, imports } = await bundleEdge(path);
  const kilobytes = (count: number) => `${Math.round(count / 1000)} kB`;
  console.log(`${path}: ${kilobytes(bytes)}, ${kilobytes(gzipBytes)} compressed; imports ${imports.join(", ")}`);
}
