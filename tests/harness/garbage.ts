import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Collects all garbage, once the job in which weak references were read has ended: they hold until then. */
export async function collectGarbage(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  collect();
}
