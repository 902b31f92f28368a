import {
  type Connection,
  type Receiver,
  startReceiver,
} from "../../src/delivery/channels/testing/conformance.ts";

/** A mail that the fake server accepted. */
export interface TakenMail {
  from: string;
  to: string[];
  raw: string;
}

/** A fake server that records mails and commands. */
export interface FakeServer extends Receiver {
  mails: TakenMail[];
  commands: string[];
}

/** The reply to a command, or undefined for the usual one. */
export type Reply = (command: string) => string | undefined;

/** Starts an SMTP server without TLS that accepts every mail, unless `reply` returns another reply. */
export async function startFakeServer(reply: Reply = () => undefined): Promise<FakeServer> {
  const mails: TakenMail[] = [];
  const commands: string[] = [];
  const receiver = await startReceiver(async (connection, arrived) => {
    const write = (line: string) => connection.write(`${line}\r\n`);
    await write(reply("CONNECT") ?? "220 fake ESMTP");
    arrived();
    let mail: TakenMail = { from: "", to: [], raw: "" };
    let isData = false;
    for await (const line of readLines(connection)) {
      if (isData) {
        if (line !== ".") {
          mail.raw += `${line.replace(/^\./, "")}\r\n`;
          continue;
        }
        isData = false;
        const said = reply("END") ?? "250 queued";
        if (said.startsWith("2")) mails.push(mail);
        await write(said);
        continue;
      }
      commands.push(line);
      const [verb = "", address = ""] = /^(?:MAIL FROM|RCPT TO|\w+)/i.exec(line)
        ? [/^(?:MAIL FROM|RCPT TO|\w+)/i.exec(line)![0].toUpperCase(), /<(.*?)>/.exec(line)?.[1]]
        : [];
      const said = reply(line) ?? usualReply(verb);
      if (verb === "MAIL FROM") mail = { from: address, to: [], raw: "" };
      if (verb === "RCPT TO" && said.startsWith("2")) mail.to.push(address);
      isData = verb === "DATA" && said.startsWith("3");
      await write(said);
      if (verb === "QUIT" || said.startsWith("421")) return;
    }
  });
  return Object.defineProperties(receiver, {
    mails: { value: mails },
    commands: { value: commands },
  }) as FakeServer;
}

function usualReply(verb: string): string {
  if (verb === "EHLO") return "250-fake\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME";
  if (verb === "AUTH") return "235 welcome";
  if (verb === "DATA") return "354 start mail input";
  if (verb === "STARTTLS") return "502 5.5.1 no TLS here";
  return verb === "QUIT" ? "221 bye" : "250 ok";
}

async function* readLines(connection: Connection): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const chunk = await connection.read();
    if (chunk === null) return;
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\r\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
