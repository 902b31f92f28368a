import { join } from "node:path";
import { NOBODY, type Postgres, POSTGRES_USER } from "./postgres.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

/** The reason why tests against a real PgBouncer can't run on this machine, or undefined if they can. */
export const pgbouncerMissing: string | undefined =
  await Deno.stat(PROGRAM).then(({ isFile }) => isFile, () => false)
    ? undefined
    : "Debian's package pgbouncer is not installed";

/** True if tests of a real PgBouncer are skipped; in the full gate they run, and fail. */
export const skipPgbouncer: boolean = pgbouncerMissing !== undefined &&
  Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** A pooler that runs for a test. */
export interface Pgbouncer extends AsyncDisposable {
  /** Returns the address of a database through the pooler. */
  through(url: string): string;
  /** Kills it (SIGKILL), and starts it again on its port. */
  replace(): Promise<void>;
}

/** Starts a pooler with few connections to a server. */
export async function startPgbouncer(
  { port: serverPort }: Postgres,
  settings: readonly string[],
): Promise<Pgbouncer> {
  if (pgbouncerMissing) throw new Error(`Cannot start PgBouncer: ${pgbouncerMissing}`);
  const directory = await Deno.makeTempDir({ prefix: "purser-pgbouncer-" });
  const port = 16_000 + Math.floor(Math.random() * 16_000);
  const path = (name: string) => join(directory, name);
  await Deno.writeTextFile(path("users.txt"), `"${POSTGRES_USER}" ""\n"strict" ""\n`);
  await Deno.writeTextFile(
    path("pgbouncer.ini"),
    [
      ...["[databases]", `* = host=127.0.0.1 port=${serverPort}`, "[pgbouncer]", "listen_addr = 127.0.0.1"],
      ...[
        `listen_port = ${port}`,
        "unix_socket_dir =",
        "auth_type = trust",
        `auth_file = ${path("users.txt")}`,
      ],
      ...["max_client_conn = 200", ...settings],
    ].join("\n"),
  );
  if (Deno.uid() === 0) {
    await Deno.chmod(directory, 0o755);
    for (const name of ["users.txt", "pgbouncer.ini"]) await Deno.chown(path(name), NOBODY, NOBODY);
  }
  const start = async () => {
    const user = Deno.uid() === 0
      ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
      : [];
    const [program, ...args] = [...user, PROGRAM, path("pgbouncer.ini")];
    const child = new Deno.Command(program!, {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "null",
      cwd: "/",
    })
      .spawn();
    let hasEnded = false;
    child.status.then(() => hasEnded = true);
    for (;;) {
      try {
        (await Deno.connect({ hostname: "127.0.0.1", port })).close();
        return child;
      } catch {
        if (hasEnded) throw new Error("Cannot start PgBouncer: it ended");
        await new Promise((resolve) => setTimeout(resolve, 10)); // not listening yet
      }
    }
  };
  let child = await start();
  const end = async () => {
    child.kill("SIGKILL");
    await child.status;
  };
  return {
    through: (url) => url.replace(/:\d+\//, `:${port}/`),
    async replace() {
      await end();
      child = await start();
    },
    async [Symbol.asyncDispose]() {
      await end();
      await Deno.remove(directory, { recursive: true });
    },
  };
}
