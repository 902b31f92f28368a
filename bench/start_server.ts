import { TextLineStream } from "../tests/harness/text_lines.ts";
import { runArgs, type Version } from "./versions.ts";

/** A server of one version, as a process of its own. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** A config file, and the most descriptors that the process may have. */
interface ServerOptions {
  config?: string;
  descriptors?: number;
}

/** Starts a version's `serve` on a database, and waits until it prints its address. */
export async function startServer(
  version: Version,
  db: string,
  { config, descriptors }: ServerOptions = {},
): Promise<Server> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const args = [...runArgs(version, `${version.root}/cli.ts`), "serve", "--port", "0", "--db", db];
  if (config !== undefined) args.push("--config", config);
  const isLimited = descriptors !== undefined;
  const child = new Deno.Command(isLimited ? "sh" : Deno.execPath(), {
    args: isLimited ? ["-c", `ulimit -n ${descriptors} && exec "$0" "$@"`, Deno.execPath(), ...args] : args,
    env: { XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory, NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const end = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has already ended
    }
    await child.status;
    await Deno.remove(directory, { recursive: true });
  };
  const started = Promise.withResolvers<string>();
  const lines: string[] = [];
  (async () => {
    const said = child.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of said) {
      const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0];
      if (url) started.resolve(url);
      if (lines.length < 20) lines.push(line);
    }
    started.reject(new Error(`A server of ${version.root} has ended: ${lines.join("\n")}`));
  })();
  try {
    return { url: await started.promise, pid: child.pid, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}
