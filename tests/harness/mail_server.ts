import { join } from "node:path";

/** The programs of Debian's packages that the server needs. */
const MASTER = "/usr/lib/postfix/sbin/master";
const NEEDED = [MASTER, "/usr/sbin/saslpasswd2"];
const START_TIMEOUT_MS = 20_000;
const DELIVERY_TIMEOUT_MS = 20_000;

/** True if tests with a real mail server are skipped; in the full gate they run, and fail without one. */
export const skipMailServer: boolean = !await hasPostfix() && Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** A mail as stored in the mailbox. */
export interface StoredMail {
  /** The recipient that owns the mailbox. */
  to: string;
  raw: string;
}

/** Postfix on loopback, with STARTTLS and authentication required, and mailboxes at example.com for ops, boss, mallory. */
export interface MailServer extends AsyncDisposable {
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** Waits until there are so many mails in all the mailboxes, and reads them. */
  readMails(count: number): Promise<StoredMail[]>;
}

/** Starts the server over a temporary directory. Throws if Postfix isn't installed. */
export async function startMailServer(): Promise<MailServer> {
  if (!await hasPostfix()) {
    throw new Error("Cannot start a mail server: postfix or sasl2-bin is not installed");
  }
  const directory = await Deno.makeTempDir({ prefix: "purser-mail-" });
  const port = freePort();
  const [username, password] = ["purser@example.com", "p4ss w0rd/with+letters=ü"];
  await writeConfig(directory, port);
  const asRoot = Deno.uid() === 0 ? [] : ["sudo", "-n"];
  const [program, ...args] = [...asRoot, "sh", join(directory, "start.sh")];
  const child = new Deno.Command(program!, { args, stdin: "piped", stdout: "null", stderr: "null" }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(password));
  await input.close();
  const server: MailServer = {
    port,
    username,
    password,
    readMails: (count) => readMails(directory, count),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM"); // the master process ends its children
      await child.status;
      const [remove, ...rest] = [...asRoot, "rm", "-rf", directory];
      await new Deno.Command(remove!, { args: rest }).output();
    },
  };
  try {
    await untilItGreets(port, child);
    return server;
  } catch (error) {
    const log = await Deno.readTextFile(join(directory, "log")).catch(() => "");
    await server[Symbol.asyncDispose]();
    throw new Error(`${error instanceof Error ? error.message : error}\n${log}`);
  }
}

async function hasPostfix(): Promise<boolean> {
  const found = await Promise.all(NEEDED.map((path) => Deno.stat(path).then(() => true, () => false)));
  return found.every(Boolean);
}

async function writeConfig(directory: string, port: number): Promise<void> {
  const uid = Deno.uid() === 0 ? 65_534 : Deno.uid(); // Postfix delivers to no mailbox as root
  const mailboxes = ["ops", "boss", "mallory"].map((name) => `{ ${name}@example.com = ${name}/ }`).join(", ");
  const fixtures = new URL("../fixtures/tls/", import.meta.url);
  for (const name of ["server.pem", "server.key"]) {
    await Deno.copyFile(new URL(name, fixtures), join(directory, name));
    await Deno.chmod(join(directory, name), 0o600);
  }
  const files: Record<string, string> = {
    "main.cf": `
      compatibility_level = 3.6
      queue_directory = ${directory}/queue
      data_directory = ${directory}/data
      maillog_file = ${directory}/log
      maillog_file_prefixes = ${directory}
      myhostname = mail.test
      inet_interfaces = 127.0.0.1
      inet_protocols = ipv4
      mydestination =
      virtual_mailbox_domains = example.com
      virtual_mailbox_base = ${directory}/mail
      virtual_mailbox_maps = inline:{ ${mailboxes} }
      virtual_uid_maps = static:${uid}
      virtual_gid_maps = static:${uid}
      virtual_minimum_uid = 1
      smtpd_tls_security_level = encrypt
      smtpd_tls_auth_only = yes
      smtpd_tls_cert_file = ${directory}/server.pem
      smtpd_tls_key_file = ${directory}/server.key
      smtpd_error_sleep_time = 0
      smtpd_sasl_auth_enable = yes
      smtpd_sasl_type = cyrus
      smtpd_sasl_path = smtpd
      smtpd_sasl_security_options = noanonymous
      smtpd_relay_restrictions = permit_sasl_authenticated, reject
      smtpd_recipient_restrictions = permit_sasl_authenticated, reject
    `,
    "master.cf": [
      `127.0.0.1:${port} inet n - n - - smtpd`,
      "cleanup unix n - n - 0 cleanup",
      "qmgr unix n - n 300 1 qmgr",
      "tlsmgr unix - - n 1000? 1 tlsmgr",
      "rewrite unix - - n - - trivial-rewrite",
      ...["bounce", "defer", "trace"].map((name) => `${name} unix - - n - 0 bounce`),
      "proxymap unix - - n - - proxymap",
      ...["error", "retry"].map((name) => `${name} unix - - n - - error`),
      "virtual unix - n n - - virtual",
      "anvil unix - - n - 1 anvil",
      "postlog unix-dgram n - n - 1 postlogd",
    ].join("\n"),
    // Debian's Postfix looks for it here, regardless of the setting.
    "sasl/smtpd.conf": `pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: ${directory}/sasldb\n` +
      "mech_list: PLAIN LOGIN\n",
    "start.sh": `set -eu
      cd '${directory}'
      chmod 755 .
      mkdir queue data mail
      (cd queue && mkdir active bounce corrupt defer deferred flush hold incoming private public maildrop pid saved trace)
      chown -R postfix queue data
      chown root queue queue/pid
      chgrp postdrop queue/public queue/maildrop
      chown ${uid} mail
      saslpasswd2 -p -c -f sasldb -u example.com purser
      chown postfix sasldb
      chown root main.cf master.cf sasl server.key
      exec ${MASTER} -c '${directory}' -d
    `,
  };
  await Deno.mkdir(join(directory, "sasl"));
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(join(directory, name), text.replace(/^ {6}/gm, "").trimStart() + "\n");
  }
}

async function untilItGreets(port: number, child: Deno.ChildProcess): Promise<void> {
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!hasEnded && performance.now() < deadline) {
    try {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port });
      const length = await connection.read(new Uint8Array(512));
      if (length !== null) return;
    } catch {
      // not listening yet
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Cannot start a mail server: it ${hasEnded ? "ended" : "does not answer"}`);
}

async function readMails(directory: string, count: number): Promise<StoredMail[]> {
  const deadline = performance.now() + DELIVERY_TIMEOUT_MS;
  for (;;) {
    const mails: StoredMail[] = [];
    for await (const box of Deno.readDir(join(directory, "mail"))) {
      const folder = join(directory, "mail", box.name, "new");
      const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
      for (const { name } of entries) {
        mails.push({ to: `${box.name}@example.com`, raw: await Deno.readTextFile(join(folder, name)) });
      }
    }
    if (mails.length >= count) return mails.sort((a, b) => a.to < b.to ? -1 : 1);
    if (performance.now() > deadline) {
      const log = await Deno.readTextFile(join(directory, "log")).catch(() => "");
      throw new Error(`Cannot find ${count} mails: there are ${mails.length}\n${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
