import { join } from "node:path";
import pg from "pg";
import { BINARIES, NOBODY, postgresMissing } from "../harness/postgres.ts";

/** The reason why no cluster can be started on this machine, or undefined if one can. */
export const patroniMissing: string | undefined = postgresMissing ?? await missingOf(["patroni", "etcd"]);

async function missingOf(programs: readonly string[]): Promise<string | undefined> {
  for (const program of programs) {
    const isThere = await Deno.stat(`/usr/bin/${program}`).then(({ isFile }) => isFile, () => false);
    if (!isThere) return `Debian's package of ${program} is not installed`;
  }
}

/** A member of a cluster: a Patroni process with its PostgreSQL. */
export interface Member {
  readonly name: string;
  readonly host: string;
  /** The port of PostgreSQL. */
  readonly port: number;
}

/** A cluster of PostgreSQL servers on this machine, which Patroni leads by a key in etcd. */
export interface PatroniCluster extends AsyncDisposable {
  readonly members: readonly Member[];
  /** The address of a database with all members, of which one is the leader. */
  urlOf(database: string): string;
  /** Waits until there is a leader, with a synchronous standby. */
  leader(): Promise<Member>;
  /** Waits until all members are there: one leader, and the others streaming from it. */
  whole(): Promise<void>;
  /** Sends a signal to Patroni and PostgreSQL of a member; `SIGKILL` ends both at once. */
  signal(member: Member, signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** Starts the processes of a member that was killed. */
  start(member: Member): void;
  /** Makes another member the leader, as an operator does. */
  switchover(): Promise<void>;
  /** Cuts a member off from all others, etcd and clients, or joins it again; in a cluster with networks of its own. */
  cut(member: Member, isCut: boolean): Promise<void>;
  /** Leaves no room on the disk of a member, or frees it; in a cluster with small disks. */
  fill(member: Member, isFull: boolean): Promise<void>;
}

const USER = "purser";
const MEMBERS = 3;

interface Running extends Member {
  rest: number;
  folder: string;
  patroni?: Deno.ChildProcess;
}

/** Runs a program as a user who is not root: PostgreSQL refuses it; `network` is the namespace that it runs in. */
function spawn(program: string, args: readonly string[], log: string, network?: string): Deno.ChildProcess {
  const script = `exec >>"$0" 2>&1; exec "$@"`;
  const within = network === undefined ? [] : ["ip", "netns", "exec", network];
  const user = Deno.uid() === 0
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
    : [];
  return new Deno.Command("sh", {
    args: ["-c", script, log, ...within, ...user, program, ...args],
    stdin: "null",
    cwd: "/",
    env: { HOME: "/nonexistent", PATRONI_LOG_LEVEL: "INFO" },
  }).spawn();
}

/** The size of a small disk: a new server with the settings below takes a sixth of it, and what fifty faults write must fit in. */
const DISK_BYTES = 1_500_000_000;

/** Begins new files of a member's write-ahead log, until it has no room for one: it has some that it uses again. */
async function useUpLog({ host, port }: Running): Promise<void> {
  const client = new pg.Client({ host, port, user: USER, password: "purser", database: "postgres" });
  client.on("error", () => {}); // the server ends
  try {
    await client.connect();
    for (;;) await client.query("SELECT pg_logical_emit_message(false, 'filler', 'x'), pg_switch_wal()");
  } catch {
    // it has ended
  } finally {
    await client.end().catch(() => {});
  }
}

const given = new Set<number>();

/** Returns a port that no other part of a cluster has, and that nothing listens on. */
function freePort(): number {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (given.has(port)) continue;
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
    } catch {
      continue; // another test has it
    }
    given.add(port);
    return port;
  }
}

/** The options of `startCluster()`. */
export interface ClusterOptions {
  /** Each member has a network namespace of its own, so that it can be cut off; only root can make one. */
  hasNetworks?: boolean;
  /** Each member has a small disk of its own; only root can make one. */
  hasSmallDisks?: boolean;
}

/** The network of a cluster: a bridge, with a namespace for each member. */
const SUBNET = "10.251.77";

const ip = (command: string) => asRoot("ip", command);

async function asRoot(program: string, args: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args: args.split(" ") }).output();
  if (!success) throw new Error(`${program} ${args}: ${new TextDecoder().decode(stderr)}`);
}

async function addNetworks(members: readonly Running[]): Promise<void> {
  await ip("link add purser0 type bridge");
  await ip(`addr add ${SUBNET}.1/24 dev purser0`);
  await ip("link set purser0 up");
  for (const { name, host } of members) {
    await ip(`netns add ${name}`);
    await ip(`link add v${name} type veth peer name eth0 netns ${name}`);
    await ip(`link set v${name} master purser0`);
    await ip(`link set v${name} up`);
    await ip(`-n ${name} addr add ${host}/24 dev eth0`);
    await ip(`-n ${name} link set eth0 up`);
    await ip(`-n ${name} link set lo up`);
  }
}

async function removeNetworks(members: readonly Running[]): Promise<void> {
  for (const { name } of members) await ip(`netns del ${name}`).catch(() => {});
  await ip("link del purser0").catch(() => {});
}

/** Starts etcd and three members, and waits until one leads and a standby is synchronous. */
export async function startCluster(
  { hasNetworks = false, hasSmallDisks = false }: ClusterOptions = {},
): Promise<PatroniCluster> {
  if (patroniMissing) throw new Error(`Cannot start a cluster: ${patroniMissing}`);
  const folder = await Deno.makeTempDir({ prefix: "purser-patroni-" });
  await Deno.chmod(folder, 0o755);
  const owned = async (path: string) => {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    if (Deno.uid() === 0) await Deno.chown(path, NOBODY, NOBODY);
    return path;
  };
  const [client, peer] = [freePort(), freePort()];
  const etcdHost = hasNetworks ? `${SUBNET}.1` : "127.0.0.1";
  const members: Running[] = [];
  for (let number = 1; number <= MEMBERS; number++) {
    const name = `member${number}`;
    const host = hasNetworks ? `${SUBNET}.${number + 1}` : "127.0.0.1";
    members.push({ name, host, port: freePort(), rest: freePort(), folder: await owned(join(folder, name)) });
  }
  if (hasNetworks) await addNetworks(members);
  if (hasSmallDisks) {
    for (const { folder } of members) {
      await asRoot(
        "mount",
        `-t tmpfs -o size=${DISK_BYTES},uid=${NOBODY},gid=${NOBODY},mode=0700 tmpfs ${folder}`,
      );
    }
  }
  const etcd = spawn("etcd", [
    ...["--data-dir", await owned(join(folder, "etcd")), "--name", "etcd", "--enable-v2"],
    ...["--listen-client-urls", `http://${etcdHost}:${client}`, "--advertise-client-urls"],
    ...[`http://${etcdHost}:${client}`, "--listen-peer-urls", `http://127.0.0.1:${peer}`],
    ...["--initial-advertise-peer-urls", `http://127.0.0.1:${peer}`],
    ...["--initial-cluster", `etcd=http://127.0.0.1:${peer}`],
  ], join(folder, "etcd.log"));
  for (const member of members) {
    const path = join(member.folder, "patroni.json"); // JSON is YAML
    await Deno.writeTextFile(path, JSON.stringify(configOf(member, `${etcdHost}:${client}`)));
    if (Deno.uid() === 0) await Deno.chown(path, NOBODY, NOBODY);
  }
  const start = (member: Running) => {
    member.patroni = spawn(
      "patroni",
      [join(member.folder, "patroni.json")],
      join(folder, `${member.name}.log`),
      hasNetworks ? member.name : undefined,
    );
  };
  // The first initializes the cluster, the others copy it.
  start(members[0]!);
  const cluster = clusterOf(members, start, async () => {
    for (const member of members) await kill(member);
    etcd.kill("SIGKILL");
    await etcd.status;
    if (hasNetworks) await removeNetworks(members);
    if (hasSmallDisks) { for (const { folder } of members) await asRoot("umount", `-l ${folder}`); }
    await Deno.remove(folder, { recursive: true });
  });
  try {
    await waitFor("a first leader", async () => (await roleOf(members[0]!)) === "leader", 90_000);
    for (const member of members.slice(1)) start(member);
    await cluster.whole();
    return cluster;
  } catch (error) {
    const log = await Deno.readTextFile(join(folder, "member1.log")).catch(() => "");
    await cluster[Symbol.asyncDispose]();
    throw new Error(`${(error as Error).message}\n${log.slice(-3_000)}`);
  }
}

function configOf({ name, host, port, rest, folder }: Running, etcd: string): unknown {
  const login = { username: USER, password: "purser" };
  return {
    scope: "purser",
    name,
    etcd: { host: etcd },
    restapi: { listen: `${host}:${rest}`, connect_address: `${host}:${rest}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        maximum_lag_on_failover: 1024 * 1024,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, wal_keep_size: "256MB", wal_log_hints: "on" },
        },
      },
      initdb: [{ encoding: "UTF8" }, { locale: "C.UTF-8" }, "data-checksums"],
      pg_hba: [`host all all ${host}/24 trust`, `host replication all ${host}/24 trust`],
    },
    postgresql: {
      listen: `${host}:${port}`,
      connect_address: `${host}:${port}`,
      data_dir: join(folder, "data"),
      bin_dir: BINARIES,
      pgpass: join(folder, "pgpass"),
      authentication: { superuser: login, replication: login, rewind: login },
      parameters: { unix_socket_directories: "" },
    },
  };
}

/** Returns the role that Patroni reports; undefined where it doesn't answer. */
async function roleOf({ host, rest }: Running): Promise<"leader" | "sync_standby" | "replica" | undefined> {
  try {
    const answer = await fetch(`http://${host}:${rest}/patroni`, { signal: AbortSignal.timeout(1_000) });
    const { role, state, sync_standby: isSynchronous } = await answer.json();
    if (state !== "running") return undefined;
    if (role === "master" || role === "primary") return "leader";
    return isSynchronous ? "sync_standby" : "replica";
  } catch {
    return undefined;
  }
}

/** The time for which a cluster has to be whole: longer than Patroni's `loop_wait`. */
const WHOLE_MS = 3_000;

/** Returns the number of standbys that stream from a leader. */
async function followersOf({ host, rest }: Running): Promise<number> {
  try {
    const answer = await fetch(`http://${host}:${rest}/patroni`, { signal: AbortSignal.timeout(1_000) });
    const { replication = [] } = await answer.json();
    return replication.filter(({ state }: { state: string }) => state === "streaming").length;
  } catch {
    return 0;
  }
}

/** A member asks its PostgreSQL for each answer, which takes processor time. */
const ASK_EVERY_MS = 500;

async function waitFor(what: string, isThere: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!await isThere()) {
    if (performance.now() > deadline) throw new Error(`Cannot continue: ${what} is not there`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS)); // another process's work
  }
}

/** Returns the processes of a member's PostgreSQL: that of its file, and those that it has started. */
async function pidsOf({ folder, patroni }: Running): Promise<number[]> {
  const pids = patroni ? [patroni.pid] : [];
  const text = await Deno.readTextFile(join(folder, "data/postmaster.pid")).catch(() => "");
  const postmaster = Number(text.split("\n")[0]);
  if (postmaster > 0) pids.push(postmaster, ...await childrenOf(postmaster));
  return pids;
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  return text.split(" ").map(Number).filter((child) => child > 0);
}

async function signalAll(member: Running, signal: Deno.Signal): Promise<void> {
  for (const pid of await pidsOf(member)) {
    try {
      Deno.kill(pid, signal);
    } catch {
      // it has ended
    }
  }
}

async function kill(member: Running): Promise<void> {
  await signalAll(member, "SIGKILL");
  await member.patroni?.status;
  member.patroni = undefined;
}

function clusterOf(
  members: readonly Running[],
  start: (member: Running) => void,
  dispose: () => Promise<void>,
): PatroniCluster {
  const rolesNow = () => Promise.all(members.map(roleOf));
  const running = ({ name }: Member) => members.find((each) => each.name === name)!;
  const ports = members.map(({ port }) => port).join(",");
  const hosts = members.map(({ host }) => host).join(",");
  const leader = async () => {
    let found: Running | undefined;
    await waitFor("a leader with a synchronous standby", async () => {
      const roles = await rolesNow();
      found = members[roles.indexOf("leader")];
      return found !== undefined && roles.includes("sync_standby");
    }, 120_000);
    return found!;
  };
  return {
    members,
    urlOf: (database) => `postgres://${USER}@cluster/${database}?host=${hosts}&port=${ports}`,
    leader,
    async whole() {
      let since = Infinity;
      await waitFor("the whole cluster", async () => {
        const roles = await rolesNow();
        const leading = members[roles.indexOf("leader")];
        const isWhole = leading !== undefined && roles.includes("sync_standby") &&
          await followersOf(leading) === MEMBERS - 1;
        since = isWhole ? Math.min(since, performance.now()) : Infinity;
        // A member may stream for a moment, and then be rewound from the one that the next fault stops.
        return performance.now() >= since + WHOLE_MS;
      }, 240_000);
    },
    async signal(member, signal) {
      if (signal === "SIGKILL") await kill(running(member));
      else await signalAll(running(member), signal);
    },
    start: (member) => start(running(member)),
    async switchover() {
      const from = running(await leader());
      const answer = await fetch(`http://${from.host}:${from.rest}/switchover`, {
        method: "POST",
        body: JSON.stringify({ leader: from.name }),
      });
      if (!answer.ok) throw new Error(`Cannot switch over: ${await answer.text()}`);
      await answer.body?.cancel();
    },
    cut: ({ name }, isCut) => ip(`link set v${name} ${isCut ? "down" : "up"}`),
    async fill(member, isFull) {
      const { folder } = running(member);
      const path = join(folder, "filler");
      if (!isFull) return await Deno.remove(path);
      using file = await Deno.open(path, { create: true, write: true });
      for (let block = new Uint8Array(1024 * 1024); block.length > 0;) {
        try {
          await file.write(block);
        } catch {
          block = block.subarray(block.length / 2 + 1); // the disk is full but for less than that
        }
      }
      await useUpLog(running(member));
    },
    [Symbol.asyncDispose]: dispose,
  };
}
