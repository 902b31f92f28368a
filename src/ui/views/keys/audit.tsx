import { describeFields } from "../../../contract/definitions/describe_fields.ts";
import type { AuditEntry } from "../../../contract/service.ts";
import { AUDIT_KINDS } from "../../../contract/values.ts";
import { usePages } from "../../hooks/data.ts";
import { apiPath, hrefWith, uiPath, useRoute } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { Card } from "../../parts/card.tsx";
import { Search, Select } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";

/** The filters of the page, in the URL and in the API. */
const FILTERS = ["kind", "subject", "by"];

/** Who has changed which budget, rule, key, agent or price, when and from where, newest first. */
export function Audit() {
  const { query } = useRoute();
  const path = apiPath("/audit", {
    ...Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? undefined])),
    limit: 50,
  });
  const entries = usePages<AuditEntry>(path);
  return (
    <Card title="Changes of limits, keys and prices">
      <Loaded
        data={entries}
        empty={
          <Empty title="No such change">
            Names are those at the time of a change: an id finds all changes of what it names.
          </Empty>
        }
      >
        {(rows) => (
          <Table
            caption="Changes"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ position }) => String(position)}
            source={{ path, name: "audit" }}
            more={entries.more}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** The filters of the audit log. */
export function AuditFilters() {
  return (
    <>
      <Select
        name="kind"
        label="Kind"
        all="All kinds"
        choices={AUDIT_KINDS.map((kind) => ({ value: kind, label: kind }))}
      />
      <Search name="subject" label="Changed" hint="Changed: name or id" />
      <Search name="by" label="By" hint="By: key or user@host" />
    </>
  );
}

/** A link to the changes of a budget, a rule or a key, if the key that is signed in may read them. */
export function ChangesLink({ of }: { of: string }) {
  return useAccess().may("admin")
    ? <Link href={apiPath(uiPath("keys", "audit"), { subject: of })}>Changes</Link>
    : null;
}

const ACTORS: Readonly<Record<AuditEntry["actor"], string>> = {
  key: "API key",
  session: "dashboard",
  local: "command on the database",
  code: "program",
  anonymous: "before the first key",
};

const COLUMNS: Column<AuditEntry>[] = [
  {
    id: "position",
    title: "Time",
    sortBy: true,
    cell: ({ at }) => <Time at={at} as="utc" />,
  },
  {
    id: "actor_name",
    title: "By",
    sortBy: true,
    cell: ({ actor, actor_name, key_id, label, address }) => {
      const name = actor_name ?? key_id;
      return (
        <>
          {name !== null && (
            <Link href={hrefWith({ by: key_id ?? name })}>
              <Text>{name}</Text>
            </Link>
          )}
          <div class="sub">
            <Text>
              {[ACTORS[actor], address && `from ${address}`, label && `file ${label}`].filter(Boolean).join(
                ", ",
              )}
            </Text>
          </div>
        </>
      );
    },
  },
  { id: "action", title: "Change", sortBy: true, cell: ({ action }) => action },
  {
    id: "subject_name",
    title: "Of",
    sortBy: true,
    cell: ({ kind, subject_id, subject_name }) => (
      <>
        {kind !== subject_id && `${kind} `}
        <Link href={hrefWith({ subject: subject_id })}>
          <Text>{subject_name ?? subject_id}</Text>
        </Link>
      </>
    ),
  },
  { id: "fields", title: "Fields", cell: (entry) => <Fields of={entry} /> },
];

/** The fields of a raise. */
const FEW = 5;

function Fields({ of }: { of: AuditEntry }) {
  const lines = describeFields(of).map((line) => (
    <div key={line}>
      <Text>{line}</Text>
    </div>
  ));
  if ((of.before && of.after) || lines.length <= FEW) return <>{lines}</>;
  return (
    <details class="message">
      <summary>{lines.length} fields</summary>
      {lines}
    </details>
  );
}
