/**
 * Runs programs where no name resolves and only this machine answers. On Linux that is a network namespace with nothing but
 * loopback, which shows that a program needs no network at all. Where there are none, proxies that don't answer stand in:
 * what honors them (Deno's and npm's downloads, `fetch`) fails, and a socket that a program opens itself does not.
 */
export interface WithoutNetwork {
  kind: "namespace" | "proxies";
  /** Comes before the program and its arguments. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
}

const ENTER = 'ip link set lo up; exec "$@"';
const NOWHERE = "http://127.0.0.1:1";

/** Returns the strongest of both that works on this machine. */
export async function withoutNetwork(): Promise<WithoutNetwork> {
  for (const flags of [["--net"], ["--map-root-user", "--net"]]) {
    const command = ["unshare", ...flags, "sh", "-c", ENTER, "sh"];
    const works = await new Deno.Command(command[0]!, {
      args: [...command.slice(1), "true"],
      stdout: "null",
      stderr: "null",
    }).output().then(({ success }) => success, () => false);
    if (works) return { kind: "namespace", command, env: {} };
  }
  return {
    kind: "proxies",
    command: ["env"],
    env: {
      ...{ HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, ALL_PROXY: NOWHERE },
      ...{ NO_PROXY: "127.0.0.1,localhost", NODE_USE_ENV_PROXY: "1" },
    },
  };
}
