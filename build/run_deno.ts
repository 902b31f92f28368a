import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Runs Deno itself in a folder, by default the repository's, and returns its output; throws with the output if it failed. */
export async function runDeno(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; mayFail?: boolean } = {},
): Promise<{ success: boolean; said: string }> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: options.cwd ?? ROOT,
    env: { NO_COLOR: "1", ...options.env },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  const said = [stdout, stderr].map((bytes) => decoder.decode(bytes)).join("");
  if (!success && !options.mayFail) throw new Error(`Cannot run deno ${args[0]}: ${said.trim()}`);
  return { success, said };
}
