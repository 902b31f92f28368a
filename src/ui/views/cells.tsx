import { NAMED, nameIn, type WithFields } from "../../contract/costs/dimensions.ts";
import { count, percent } from "../format/number.ts";
import { Link } from "../parts/link.tsx";
import { Money } from "../parts/money.tsx";
import type { Column } from "../parts/table.tsx";
import { Id, Text } from "../parts/text.tsx";
import { Time } from "../parts/time.tsx";
import { costsHref, sessionHref } from "./links.ts";

/** Shown for a value that is missing. */
export const None = () => <span class="muted">none</span>;

/** An agent, with a link to its costs. */
export function AgentCell({ agent_id }: { agent_id: string | null }) {
  if (agent_id === null) return <None />;
  return (
    <Link href={costsHref({ agent_id })}>
      <Text>{agent_id}</Text>
    </Link>
  );
}

/** A line for each value of a call that has a name, such as its API key. */
export function NamedValues(call: WithFields) {
  return NAMED.filter((kind) => nameIn(call, kind) !== undefined).map((kind) => (
    <div key={kind} class="sub">
      {kind} <Text>{nameIn(call, kind)!}</Text>
    </div>
  ));
}

/** A session, with a link to it, at a run if there is one. */
export function SessionCell({ session_id, run_id }: { session_id: string | null; run_id: string | null }) {
  if (session_id === null) return <None />;
  return (
    <Link href={sessionHref(session_id, { run_id })}>
      <Id>{session_id}</Id>
    </Link>
  );
}

/** Returns the column of the last call of a session or a run, with the first one below it. */
export function callTimes<Row extends { first_at?: string; last_at?: string }>(): Column<Row> {
  return {
    id: "last_at",
    title: "Last call",
    isNumber: true,
    sortBy: true,
    cell: ({ first_at, last_at }) =>
      last_at === undefined ? <None /> : (
        <>
          <Time at={last_at} as="utc" />
          {first_at !== last_at && (
            <div class="sub">
              first <Time at={first_at} as="utc" />
            </div>
          )}
        </>
      ),
  };
}

/** Returns a column of counts; where there is none, it is 0. */
export function countColumn<Row>(
  id: string,
  title: string,
  countOf: (row: Row) => number | undefined,
): Column<Row> {
  return { id, title, isNumber: true, sortBy: countOf, cell: (row) => count(countOf(row) ?? 0) };
}

/** Returns the column of an amount of the API, with its link; `none` is shown for null. */
export function moneyColumn<Row>(
  id: keyof Row & string,
  title: string,
  { none, hrefOf }: { none?: string; hrefOf?(row: Row): string | undefined } = {},
): Column<Row> {
  const cell = (row: Row) => (
    <Link href={hrefOf?.(row)}>
      <Money usd={row[id] as number | null | undefined} none={none} />
    </Link>
  );
  return { id, title, isMoney: true, sortBy: true, cell };
}

/** Returns the column of a text of a call or of a bill. */
export function textColumn<Row>(id: keyof Row & string, title: string): Column<Row> {
  return { id, title, sortBy: true, cell: (row) => row[id] && <Text>{row[id] as string}</Text> };
}

/** Returns the column of a time. */
export function timeColumn<Row>(id: keyof Row & string, title: string, as?: "utc"): Column<Row> {
  return { id, title, sortBy: true, cell: (row) => <Time at={row[id] as string | null} as={as} /> };
}

/** Returns the column of the plan value, if one of the rows has one. */
export function planColumn<Row extends { plan_usd?: number }>(rows: readonly Row[]): Column<Row>[] {
  if (rows.every(({ plan_usd }) => plan_usd === undefined)) return [];
  return [{
    id: "plan_usd",
    title: "Plan value",
    isMoney: true,
    sortBy: true,
    cell: ({ plan_usd = 0 }) => <Money usd={plan_usd} />,
  }];
}

/** A share of the total, drawn behind its percentage. */
export function Share({ share }: { share: number | null }) {
  if (share === null) return <span class="muted">–</span>;
  return (
    <span class="share">
      <svg class="share-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="share-back" width="100" height="6" />
        <rect class="share-used" width={Math.max(0, Math.min(100, share * 100))} height="6" />
      </svg>
      <b>{percent(share)}</b>
    </span>
  );
}
