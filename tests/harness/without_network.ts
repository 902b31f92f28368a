/**
 * Runs programs without DNS and without any host but this one. On Linux it is a network namespace with loopback only, which
 * shows that a program needs no network. Elsewhere proxies that refuse connections stand in: requests that honor them fail
 * (downloads of Deno and npm, `fetch`); a socket that a program opens itself still connects.
 */
export interface WithoutNetwork {
  kind: "namespace" | "proxies";
  /** The prefix of a program and its arguments. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
}

const ENTER = 'ip link set lo up; exec "$@"';
const NOWHERE = "http://127.0.0.1:1";

/** Returns the namespace if this machine allows one, else the proxies. */
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
