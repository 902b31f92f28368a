import { join } from "node:path";
import { bundleEdge, type EdgeBundle } from "../../build/bundle_edge.ts";
import { sharedBuild } from "./shared_build.ts";

const MODULE = "purser_edge.js";

/** Returns the bundle for an edge, which is built once for all test files. */
export async function findEdgeBundle(): Promise<EdgeBundle> {
  const folder = await sharedBuild("edge", async (folder) => {
    const built = await bundleEdge(join(folder, MODULE));
    await Deno.writeTextFile(join(folder, "built.json"), JSON.stringify(built));
  });
  return { ...JSON.parse(await Deno.readTextFile(join(folder, "built.json"))), path: join(folder, MODULE) };
}
