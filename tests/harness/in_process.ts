import { main } from "../../src/cli/mod.ts";
import { memoryTerminal } from "./memory_terminal.ts";

/**
 * Runs a command line in this process, in an environment such as that of a process: what it reads, books, sends and prints is
 * the same, for a tenth of the processor time. Paths are relative to the folder of this process.
 */
export async function inProcess(
  { env }: { env: Record<string, string> },
  args: readonly string[],
  stdin?: string | Uint8Array<ArrayBuffer>,
): Promise<{ code: number; out: string; err: string }> {
  const terminal = memoryTerminal({ stdin });
  const code = await main(args, { terminal, env });
  return { code, out: terminal.out, err: terminal.err };
}
