import type { CommandContext } from "../command.ts";

/** Asks on a terminal, and returns the key of the answer. Returns undefined without a terminal. */
export async function ask(
  { terminal: { keys, stderr }, isJson }: Pick<CommandContext, "terminal" | "isJson">,
  question: string,
): Promise<string | undefined> {
  if (isJson || !keys || !stderr.isTerminal) return undefined;
  stderr.write(question);
  for await (const key of keys()) {
    stderr.write(`${key.length === 1 ? key : ""}\n`);
    return key;
  }
}
