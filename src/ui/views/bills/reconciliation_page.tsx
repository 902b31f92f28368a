import type { Reconciliation } from "../../../contract/bills/reconciliations.ts";
import { escapeText } from "../../../kernel/text.ts";
import { Page } from "../../app/page.tsx";
import { shortUsd } from "../../format/money.ts";
import { count, plural } from "../../format/number.ts";
import { useData } from "../../hooks/data.ts";
import { request } from "../../hooks/request.ts";
import { apiPath, uiPath } from "../../hooks/route.ts";
import { Badge, Card, Grid, Stat, Stats } from "../../parts/card.tsx";
import { Command } from "../../parts/command.tsx";
import { ActionButton } from "../../parts/confirm.tsx";
import { Link } from "../../parts/link.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { countColumn, moneyColumn, Share } from "../cells.tsx";
import { Difference } from "../costs/difference.tsx";
import { costsHref } from "../links.ts";
import { useKeyNames } from "./key_names.tsx";
import { MonthButton, MonthButtons } from "./month_buttons.tsx";
import { StateBadge } from "./state_badge.tsx";
import { Variances } from "./variances.tsx";
import { Waterfall } from "./waterfall.tsx";

/** A comparison of a month's bill with the ledger. */
export function ReconciliationPage({ id }: { id: string }) {
  const path = `/reconciliations/${encodeURIComponent(id)}`;
  const found = useData<Reconciliation>(path);
  const nameKey = useKeyNames();
  const { source, account, month } = found.value ?? {};
  return (
    <Page
      title={escapeText([source, account, month].filter(Boolean).join(" ") || "Bill")}
      filters={found.value && <MonthButtons of={found.value} />}
      coverage={null}
    >
      <Loaded data={found}>
        {(of) => (
          <>
            <Figures of={of} />
            <Card title="Where the difference comes from">
              <Waterfall of={of} />
              <Split of={of} />
            </Card>
            <Grid>
              <Coverage of={of} />
              <Bypass of={of} nameKey={nameKey} />
              <Corrections of={of} path={path} />
              <Others of={of} />
            </Grid>
            <Variances path={path} nameKey={nameKey} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface Of {
  of: Reconciliation;
}

function Figures({ of }: Of) {
  const { source, account, month } = of;
  const end = new Date(`${month}-01T00:00Z`);
  end.setUTCMonth(end.getUTCMonth() + 1);
  const calls = costsHref({ from: `${month}-01T00:00:00.000Z`, to: end.toISOString() });
  const lines = apiPath(uiPath("bills", "lines"), { source, month, account });
  return (
    <>
      <p class="finding">
        <StateBadge state={of.state} /> The bill is final {of.is_final ? "since" : "on"}{" "}
        {of.final_on}; compared <Time at={of.created_at} />.
      </p>
      <Card title="The bill against the ledger">
        <Stats>
          <Stat label="Bill" note={<Link href={lines}>{plural(of.lines, "line")}</Link>}>
            <Money usd={of.bill_usd} />
          </Stat>
          <Stat label="Ledger" note={<Link href={calls}>{plural(of.calls, "call")}</Link>}>
            <Money usd={of.ledger_usd} />
          </Stat>
          <Stat label="Difference" note="the bill less the ledger">
            <Difference usd={of.difference_usd} zero="none" />
          </Stat>
          <Stat
            label="Unexplained"
            note={
              <>
                {of.is_within_limit ? "within its limit of" : <Badge tone="bad">over its limit</Badge>}{" "}
                <Money usd={of.limit_usd} />
              </>
            }
          >
            <Money usd={of.unexplained_usd} />
          </Stat>
        </Stats>
      </Card>
    </>
  );
}

/** The difference by what differs. */
function Split({ of: { split, rounding_bound_usd } }: Of) {
  const parts = [
    ["Volume", "other quantities", split.volume_usd],
    ["Price", "other prices", split.price_usd],
    ["Of no calls", "such as fees", split.other_usd],
    [
      "Rounding",
      `at most ${shortUsd(rounding_bound_usd)}`,
      split.rounding_usd,
    ],
  ] as const;
  return (
    <Stats>
      {parts.map(([label, note, usd]) => (
        <Stat key={label} label={label} note={note}>
          <Difference usd={usd} zero="none" />
        </Stat>
      ))}
    </Stats>
  );
}

interface Covered {
  name: string;
  share: number | null;
  usd: number;
}

const COVERAGE: Column<Covered>[] = [
  { id: "name", title: "Part", cell: ({ name }) => name },
  { id: "share", title: "Covered", isNumber: true, cell: ({ share }) => <Share share={share} /> },
  moneyColumn("usd", "Amount"),
];

function Coverage({ of: { coverage } }: Of) {
  const { levels, in_scope_usd: inScope, matched_usd, ...of } = coverage;
  const rows = [
    { name: "Of the bill in scope", share: of.of_scope, usd: matched_usd },
    { name: "Of the whole account", share: of.of_account, usd: matched_usd },
    { name: "Of the ledger, confirmed", share: of.of_ledger, usd: of.confirmed_usd },
    ...Object.entries(levels).map(([level, usd]) => ({
      name: `Matched by ${level === "cell" ? "minute" : level}`,
      share: inScope > 0 ? usd / inScope : null,
      usd,
    })),
  ];
  return (
    <Card title="Coverage">
      <Table
        caption="Coverage"
        columns={COVERAGE}
        rows={rows}
        keyOf={({ name }) => name}
        source={{ name: "coverage", rows }}
        sortParam="coverage"
      />
    </Card>
  );
}

function Bypass({ of, nameKey }: Of & { nameKey: ReturnType<typeof useKeyNames> }) {
  const { bypass, unnamed_keys: unnamed } = of;
  if (bypass.length + unnamed === 0) return null;
  return (
    <Card title="What passes Purser by">
      {bypass.length > 0 && (
        <Table
          caption="What passes Purser by, by key"
          columns={[
            { id: "credential", title: "Key", cell: ({ credential }) => nameKey(credential) },
            countColumn<Reconciliation["bypass"][number]>("cells", "Buckets", ({ cells }) => cells),
            moneyColumn("amount_usd", "Amount"),
          ]}
          rows={bypass}
          keyOf={({ credential }) => String(credential)}
          source={{ name: "bypass", rows: bypass }}
          foot={of.causes.find(({ cause }) => cause === "bypass")?.advice}
          sortParam="bypass"
        />
      )}
      {unnamed > 0 && (
        <>
          <p class="finding">{plural(unnamed, "key")} of the ledger without an id of the provider:</p>
          <Command>purser upstreams list</Command>
        </>
      )}
    </Card>
  );
}

function Corrections({ of, path }: Of & { path: string }) {
  const { proposed, applied, undone } = of.corrections;
  if (proposed === 0) return null;
  return (
    <Card
      title="Calls corrected by the bill"
      aside={of.state !== "closed" && (
        <span class="actions">
          {applied < proposed && <MonthButton of={of} action="reconcile" corrects="Correct" />}
          {undone < applied && (
            <ActionButton
              label="Undo"
              explanation={<p>It books the opposite of each correction of this comparison, once.</p>}
              command={() => `purser reconcile undo ${of.reconciliation_id}`}
              run={() => request(`${path}/undo`, { method: "POST" }).then(() => "Corrections undone")}
            />
          )}
        </span>
      )}
    >
      <Stats>
        {Object.entries(of.corrections).map(([name, calls]) => (
          <Stat key={name} label={name}>{count(calls)}</Stat>
        ))}
      </Stats>
    </Card>
  );
}

function Others({ of: { others } }: Of) {
  if (others.length === 0) return null;
  return (
    <Card title="In no sum">
      <ul>
        {others.map(({ currency, amount, lines }) => (
          <li key={currency}>
            <Text>
              {currency === "equivalent" ? `$${amount} that a plan pays for` : `${amount} ${currency}`}
            </Text>
            , {plural(lines, "line")}
          </li>
        ))}
      </ul>
    </Card>
  );
}
