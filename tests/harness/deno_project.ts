import { ROOT } from "../../build/run_deno.ts";
import { said } from "./node.ts";

/** Makes a Deno project in a folder that links this checkout, as `docs/library.md` says, and installs its packages. */
export async function linkCheckout(folder: string, args: readonly string[] = []): Promise<void> {
  const document = await Deno.readTextFile(`${ROOT}docs/library.md`);
  const config = /```json\n([^]*?)```/.exec(document)![1]!.replace("../purser", ROOT);
  await Deno.writeTextFile(`${folder}/deno.json`, config);
  await said(Deno.execPath(), ["install", "--quiet", ...args], folder);
}
