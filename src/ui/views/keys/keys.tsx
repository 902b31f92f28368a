import type { CostRow } from "../../../contract/costs.ts";
import type { ApiKey, NewApiKey } from "../../../contract/keys.ts";
import { pathOf, textOf } from "../../forms/change_shown.ts";
import { commandOf, type Field, filledIn, textIn } from "../../forms/fields.ts";
import { formFields } from "../../forms/form_field.tsx";
import { AddButton, EditButton, RemoveButton } from "../../forms/resource_buttons.tsx";
import { KEY } from "../../forms/resources.ts";
import { plural } from "../../format/number.ts";
import { request } from "../../hooks/request.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { apiPath, uiPath, useRoute } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { Badge, Card, type Tone } from "../../parts/card.tsx";
import { Command } from "../../parts/command.tsx";
import { ActionButton } from "../../parts/confirm.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { ChangesLink } from "./audit.tsx";
import { costsHref } from "../links.ts";

/** The API keys, with the spending of each. */
export function Keys() {
  const { may, session } = useAccess();
  const status = useRoute().query.get("status") ?? undefined;
  const isAdmin = may("admin");
  const path = apiPath("/keys", { status, limit: 100 });
  const keys = usePages<ApiKey>(isAdmin ? path : undefined);
  const costs = useData<CostRow[]>(isAdmin ? apiPath("/costs", { group_by: "key", limit: 1000 }) : undefined);
  if (!isAdmin) {
    return (
      <Card title="API keys">
        <Empty
          title="Only a key with the scope admin lists the keys"
          command="purser keys add ops --scope admin"
        >
          You are signed in with a key of {session.scopes.join(", ")}.
        </Empty>
      </Card>
    );
  }
  const costOf = new Map(costs.value?.map(({ key_id, cost_usd }) => [key_id, cost_usd]));
  return (
    <Card
      title="API keys"
      aside={session.access === "signed_in" && (
        <AddButton
          resource={KEY}
          explanation="The name says whose key it is: costs, budgets and alerts show it."
          result={(key: NewApiKey) => <NewKey {...key} />}
        />
      )}
    >
      <Loaded
        data={keys}
        empty={status === undefined
          ? (
            <Empty title="No API keys yet" command="purser keys add ops --scope admin">
              Without one, the server answers this machine only. From the first key on, every request needs
              one.
            </Empty>
          )
          : <Empty title={`No key is ${status}`} />}
      >
        {(rows) => (
          <Table
            caption="API keys"
            columns={columnsOf(costOf, session.key_id)}
            rows={rows}
            keyOf={({ key_id }) => key_id}
            source={{ path, name: "keys" }}
            more={keys.more}
          />
        )}
      </Loaded>
    </Card>
  );
}

const TONES: Readonly<Record<ApiKey["status"], Tone>> = {
  active: "good",
  expired: "warning",
  revoked: "bad",
};

function columnsOf(
  costOf: ReadonlyMap<string | null | undefined, number | null>,
  own: string | null,
): Column<ApiKey>[] {
  return [
    {
      id: "name",
      title: "Key",
      sortBy: true,
      cell: ({ name, key_id, tags }) => (
        <span class="key">
          <span class="key-title">
            <span>
              <Text>{name}</Text>
            </span>
            {key_id === own && <Badge tone="accent">yours</Badge>}
          </span>
          <Id>{key_id}</Id>
          {Object.entries(tags).map(([tag, value]) => (
            <Link key={tag} href={costsHref({ tag: `${tag}:${value}` })}>
              <Text>{`${tag}=${value}`}</Text>
            </Link>
          ))}
          <ChangesLink of={key_id} />
        </span>
      ),
    },
    {
      id: "status",
      title: "Status",
      sortBy: true,
      cell: ({ status, revoked_at }) => (
        <>
          <Badge tone={TONES[status]}>{status}</Badge>
          {revoked_at !== null && (
            <span class="muted">
              {" "}
              <Time at={revoked_at} />
            </span>
          )}
        </>
      ),
    },
    {
      id: "scopes",
      title: "Scopes",
      sortBy: ({ scopes }) => scopes.join(),
      cell: ({ scopes, agent_id, models }) => (
        <span class="key-scopes">
          {scopes.join(", ")}
          {agent_id !== null && (
            <span class="muted">
              agent <Text>{agent_id}</Text>
            </span>
          )}
          {models !== null && (
            <span class="muted">
              models <Text>{models.join(", ")}</Text>
            </span>
          )}
        </span>
      ),
    },
    {
      id: "expires",
      title: "Expires",
      sortBy: ({ expires_at }) => expires_at,
      cell: ({ expires_at }) => <Time at={expires_at} />,
    },
    {
      id: "last_used",
      title: "Last used",
      sortBy: ({ last_used_at }) => last_used_at,
      cell: ({ last_used_at, web_sessions }) => (
        <>
          <Time at={last_used_at} />
          {web_sessions > 0 && <div class="sub">{plural(web_sessions, "browser")} signed in</div>}
        </>
      ),
    },
    {
      id: "cost_usd",
      title: "Spent",
      isMoney: true,
      sortBy: ({ key_id }) => costOf.get(key_id),
      cell: ({ key_id }) =>
        costOf.has(key_id)
          ? (
            <Link href={`${uiPath("costs")}?${new URLSearchParams({ key_id, span: "all" })}`}>
              <Money usd={costOf.get(key_id)} />
            </Link>
          )
          : <span class="muted">–</span>,
    },
    {
      id: "revoke",
      title: "",
      cell: (key) =>
        key.status === "revoked" ? null : (
          <span class="actions">
            <EditButton resource={KEY} of={key} />
            {key.status === "active" && key.key_id !== own && <RotateButton of={key} />}
            <RemoveButton
              resource={KEY}
              of={key}
              note={key.key_id === own && (
                <p>It is the key that you are signed in with: you will be signed out.</p>
              )}
            />
          </span>
        ),
    },
  ];
}

const GRACE: Field = {
  name: "grace_seconds",
  label: "Hours in which the present one is accepted too",
  kind: "number",
  hint: "Empty: it ends at once",
  option: { name: "grace" },
};

/** Gives another key a new secret: that of one's own would end the session that shows it. */
function RotateButton({ of }: { of: ApiKey }) {
  const { session } = useAccess();
  if (session.access !== "signed_in") return null;
  return (
    <ActionButton
      label="New secret"
      needsKey
      explanation={
        <p>
          The key{" "}
          <strong>
            <Text>{of.name}</Text>
          </strong>{" "}
          gets a new secret, and keeps its name, tags and budgets. Its sessions here end.
        </p>
      }
      fields={formFields([GRACE])}
      command={(form) => {
        const given = filledIn([GRACE], form).map(({ field, text }) => ({ field, text: `${text}h` }));
        return commandOf("keys", "rotate", of.name, given);
      }}
      run={async (form) => {
        const { value } = await request<NewApiKey>(`${pathOf(KEY, of)}/rotate`, {
          method: "POST",
          body: { grace_seconds: Number(textIn(GRACE, form)) * 3600 },
          apiKey: textOf(form, "api_key"),
        });
        return { text: `The key ${of.name} has a new secret`, shown: <NewKey {...value} /> };
      }}
    />
  );
}

/** A key that was added, or has a new secret, which is shown once. */
function NewKey({ name, key }: NewApiKey) {
  return (
    <>
      <p role="status">
        The key{" "}
        <strong>
          <Text>{name}</Text>
        </strong>{" "}
        is shown only now, and not stored: hand it to its holder.
      </p>
      <Command label="The new key">{key}</Command>
    </>
  );
}
