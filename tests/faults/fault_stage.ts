import { answerTo } from "../harness/answers.ts";
import { type FakeProvider, startFakeProvider } from "../harness/fake_provider.ts";
import { type DatabaseServer, SERVER_KINDS, type ServerKind } from "../harness/database_servers.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../harness/webhook_receiver.ts";
import type { BooksWorker } from "./books_workers.ts";

/** A call on the bill of the provider. */
interface BilledCall {
  inputTokens: number;
  outputTokens: number;
}

/** The servers and processes that all scenes of a run of the suite share. */
export interface Stage extends AsyncDisposable {
  provider: FakeProvider;
  /** Each call that the provider has answered, by the id of its response. */
  bill: Map<string, BilledCall>;
  receiver: WebhookReceiver;
  server: (kind: ServerKind["name"]) => Promise<DatabaseServer>;
  /** Another server, without any data. */
  emptyServer: (kind: ServerKind["name"]) => Promise<DatabaseServer>;
  /** Processes without a database, which have loaded their modules. */
  idle: BooksWorker[];
}

/** Starts the provider, the receiver of webhooks, and the servers once they are needed. */
export async function openStage(): Promise<Stage> {
  const bill: Stage["bill"] = new Map();
  const provider = await startFakeProvider((request) => {
    const responseId = `bill_${bill.size + 1}`;
    const isMetered = request.model === "priced";
    const usage = {
      inputTokens: isMetered ? 100 : 200 + bill.size % 997,
      outputTokens: isMetered ? 50 : 1 + (bill.size * 7919) % 97,
    };
    const steps = request.body.messages.filter(({ role }: { role: string }) => role === "assistant").length;
    const reply = answerTo(request, {
      usage,
      ...(request.body.tools && steps < 2
        ? { toolCall: { id: `call_${bill.size}`, name: "calculator", input: { expression: "1 + 1" } } }
        : { text: "done" }),
    });
    bill.set(responseId, usage);
    return { answer: { ...reply.answer, body: { ...reply.answer.body as object, id: responseId } } };
  });
  const receiver = startWebhookReceiver();
  const servers = new Map<string, Promise<DatabaseServer>>();
  const server = (name: ServerKind["name"], use = "") => {
    const key = name + use;
    if (!servers.has(key)) servers.set(key, SERVER_KINDS.find((kind) => kind.name === name)!.start(true));
    return servers.get(key)!;
  };
  const idle: BooksWorker[] = [];
  return {
    provider,
    bill,
    receiver,
    server,
    emptyServer: (kind) => server(kind, " without data"),
    idle,
    async [Symbol.asyncDispose]() {
      await Promise.all(idle.map((worker) => worker.kill()));
      for (const started of servers.values()) await (await started)[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
      await provider.close();
    },
  };
}
