import { readEnvironment } from "../../src/config/mod.ts";
import { denoCacheVariables } from "./cache_variables.ts";
import { findCli } from "./installed_cli.ts";
import { TextLineStream } from "./text_lines.ts";

const [PROGRAM, ...ARGS] = await findCli();
const ANSWERS_AT = /Purser answers at (http:\/\/\S+) /;

/** A response of an instance, or the reason why there is none. */
export interface InstanceAnswer {
  /** 0 if there was no response. */
  status: number;
  // deno-lint-ignore no-explicit-any -- the body of any route, for a test to look into
  body: any;
}

/** A server of its own on a shared database. */
export interface Instance extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  /** The lines of its log so far. */
  readonly lines: readonly string[];
  send(method: string, path: string, body?: unknown): Promise<InstanceAnswer>;
  /** Kills it at once (SIGKILL). */
  kill(): Promise<void>;
}

/** The commands and servers of a test on one config. */
export interface Fleet extends AsyncDisposable {
  /** Starts one more server; its webhooks carry its name. */
  start(name: string): Promise<Instance>;
  /** Runs a command beside them, to its end. */
  command(...args: string[]): Promise<{ code: number; out: string; err: string }>;
}

/** Starts real processes with the settings of one config file; `hook` is the receiver of their alerts. */
export async function openFleet(
  settings: Record<string, unknown>,
  hook?: { url: string },
): Promise<Fleet> {
  const folder = await Deno.makeTempDir({ prefix: "purser_fleet_" });
  const { PATH = "", HOME = "" } = readEnvironment();
  const running: Instance[] = [];
  const spawn = async (name: string, args: string[]) => {
    const path = `${folder}/${name}.json`;
    const channel = { kind: "webhook", name: "ops", url: hook?.url, headers: { "x-instance": name } };
    const config = {
      ...settings,
      ...(hook && { channels: [channel], allow_private_networks: ["127.0.0.0/8"] }),
    };
    await Deno.writeTextFile(path, JSON.stringify(config));
    const env = { PATH, HOME, ...denoCacheVariables(), NO_COLOR: "1", PURSER_CONFIG: path };
    return new Deno.Command(PROGRAM, {
      args: [...ARGS, ...args],
      ...{ clearEnv: true, env, stdin: "null", stdout: "piped", stderr: "piped" },
    }).spawn();
  };
  return {
    async start(name) {
      const instance = await watch(name, await spawn(name, ["serve", "--port", "0"]));
      running.push(instance);
      return instance;
    },
    async command(...args) {
      const { code, stdout, stderr } = await (await spawn("command", args)).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, out: text(stdout), err: text(stderr) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((instance) => instance.kill()));
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Waits until a server prints its address; throws with its whole output if it ends before. */
async function watch(name: string, child: Deno.ChildProcess): Promise<Instance> {
  const lines: string[] = [];
  const started = Promise.withResolvers<string>();
  child.stdout.cancel();
  const heard = (async () => {
    const said = child.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of said) {
      lines.push(line);
      const url = ANSWERS_AT.exec(line)?.[1];
      if (url) started.resolve(url);
    }
  })();
  const ended = Promise.all([child.status, heard]).then(() =>
    started.reject(new Error(`${name} ended: ${lines.join("\n")}`))
  );
  const kill = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has already ended
    }
    await ended;
  };
  const url = await started.promise;
  return {
    ...{ name, url, lines, kill },
    send: (method, path, body) => send(url + path, method, body),
    [Symbol.asyncDispose]: kill,
  };
}

async function send(url: string, method: string, body: unknown): Promise<InstanceAnswer> {
  try {
    const response = await fetch(url, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  } catch (error) {
    return { status: 0, body: String(error) };
  }
}
