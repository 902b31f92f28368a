/** A program on a terminal, as a test controls it. */
interface OnTerminal {
  /** Types keys. */
  type(keys: string): Promise<void>;
  /** Changes the size, as a user who drags the window. */
  resize(columns: number, rows: number): Promise<void>;
}

/**
 * Runs a command line on a terminal of 80 columns and 24 rows, and returns everything that the terminal got. `onOutput` is
 * called after each output with all of it so far.
 */
export async function onTerminal(
  line: string,
  env: Record<string, string>,
  onOutput: (out: string, terminal: OnTerminal) => Promise<void> | void = () => {},
): Promise<string> {
  const device = await Deno.makeTempFile({ prefix: "purser-tty-" });
  const child = new Deno.Command("script", {
    args: ["-qec", `tty >${device}; stty cols 80 rows 24; ${line}`, "/dev/null"],
    clearEnv: true,
    env: { ...env, TERM: "xterm" },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const terminal: OnTerminal = {
    type: (keys) => writer.write(new TextEncoder().encode(keys)),
    async resize(columns, rows) {
      const path = (await Deno.readTextFile(device)).trim();
      const size = ["cols", String(columns), "rows", String(rows)];
      const { success } = await new Deno.Command("stty", { args: ["-F", path, ...size] }).output();
      if (!success) throw new Error(`Cannot resize ${path}`);
    },
  };
  let out = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    out += text;
    await onOutput(out, terminal);
  }
  await writer.close().catch(() => {});
  await child.status;
  await Deno.remove(device);
  return out;
}
