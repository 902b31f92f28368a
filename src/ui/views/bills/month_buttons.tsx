import type { BillPeriod, Reconciliation } from "../../../contract/bills/reconciliations.ts";
import { commandOf, type Field, filledIn, valueOfText } from "../../forms/fields.ts";
import { formFields } from "../../forms/form_field.tsx";
import { request } from "../../hooks/request.ts";
import { navigate, uiPath } from "../../hooks/route.ts";
import { ActionButton } from "../../parts/confirm.tsx";

type Month = Pick<BillPeriod, "source" | "account" | "month" | "state" | "reconciliation_id">;

interface Action {
  label: string;
  path: string;
  fields: readonly Field[];
  explains: string;
}

/** The actions on a month of a bill: each is a request and a command. */
const ACTIONS: Record<"reconcile" | "close" | "reopen", Action> = {
  reconcile: {
    label: "Reconcile",
    path: "/reconciliations",
    fields: [
      {
        name: "limit_usd",
        label: "What may stay unexplained, in USD",
        kind: "number",
        hint: "Empty: what rounding can make",
        option: { name: "limit" },
      },
      { name: "correct", label: "Correct the estimates that the bill disproves", kind: "flag" },
    ],
    explains: "each difference gets its cause. Corrections can be undone.",
  },
  close: {
    label: "Close",
    path: "/bills/periods/close",
    fields: [],
    explains:
      "later lines and calls then count in the next open month. Before the bill is final, it is closed for now.",
  },
  reopen: {
    label: "Reopen",
    path: "/bills/periods/reopen",
    fields: [{ name: "reason", label: "Reason, which the audit log keeps", kind: "text", isRequired: true }],
    explains: "it can be compared and closed again.",
  },
};

/** A button for an action on a month; `corrects` has the choice to correct calls made from the start. */
export function MonthButton({ of: { source, account, month }, action, corrects }: {
  of: Omit<Month, "state" | "reconciliation_id">;
  action: keyof typeof ACTIONS;
  corrects?: string;
}) {
  const { label, path, fields, explains } = ACTIONS[action];
  const key = { month, ...account !== null && { account } };
  const isFirst = action === "reconcile";
  return (
    <ActionButton
      label={corrects ?? label}
      explanation={<p>{source} {month}: {explains}</p>}
      fields={formFields(fields, ({ kind }) => corrects && kind === "flag" ? "true" : "")}
      command={(form) => {
        const ofMonth = Object.entries(key).map(([name, text]) => ({
          field: { name, label: name, kind: "text" as const },
          text,
        }));
        const words = [...ofMonth, ...filledIn(fields, form)];
        return commandOf("reconcile", isFirst ? source : action, isFirst ? undefined : source, words);
      }}
      run={async (form) => {
        const given = filledIn(fields, form).map(({ field, text }) => [field.name, valueOfText(field, text)]);
        const body = { source, ...key, ...Object.fromEntries(given) };
        const { value } = await request<Reconciliation>(path, { method: "POST", body });
        if (isFirst) navigate(uiPath("bills", value.reconciliation_id));
        return `${label}: ${source} ${month} is ${value.state.replace("_", "-")}`;
      }}
    />
  );
}

/** The actions that the state of a month permits. */
export function MonthButtons({ of }: { of: Month }) {
  const isOpen = of.state !== "closed";
  return (
    <span class="actions">
      {isOpen && <MonthButton of={of} action="reconcile" />}
      {isOpen && of.reconciliation_id !== null && <MonthButton of={of} action="close" />}
      {of.state.endsWith("closed") && <MonthButton of={of} action="reopen" />}
    </span>
  );
}
