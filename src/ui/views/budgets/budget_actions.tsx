import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { BudgetCounterState } from "../../../contract/budgets/budget_state.ts";
import type { BudgetRaise } from "../../../contract/budgets/budget_raises.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import { HOUR_MS } from "../../../kernel/clock.ts";
import { shortUsd } from "../../format/money.ts";
import { utc } from "../../format/time.ts";
import { pathOf, textOf } from "../../forms/change_shown.ts";
import { commandOf, type Field, filledIn, textIn } from "../../forms/fields.ts";
import { formFields } from "../../forms/form_field.tsx";
import { BUDGET } from "../../forms/resources.ts";
import { now } from "../../hooks/clock.ts";
import { request } from "../../hooks/request.ts";
import { uiPath } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { ActionButton } from "../../parts/confirm.tsx";
import { Money } from "../../parts/money.tsx";
import { Text } from "../../parts/text.tsx";

type Shown = Pick<Budget, "budget_id" | "name" | "limit_usd" | "per">;

const fieldsOf = (per: Budget["per"]): Field[] => [
  { name: "extra_usd", label: "Extra USD", kind: "number", isRequired: true, option: { name: "usd" } },
  {
    name: "until",
    label: "Hours",
    kind: "number",
    hint: `Empty: ${per === "hour" ? "one hour" : "to the end of the present window"}`,
    option: { name: "for" },
  },
  { name: "reason", label: "Reason, for those that read it later", kind: "text" },
];

const COUNTER: Field = { name: "counter", label: "", kind: "text" };

/** Adds to the limit for a time, or to that of one counter. The limit itself stays, and the raise is kept with its reason. */
export function RaiseButton({ budget, counter }: { budget: Shown; counter?: BudgetCounterState }) {
  if (!useAccess().may("admin")) return null;
  const fields = fieldsOf(budget.per);
  const [extra, until, reason] = fields as [Field, Field, Field];
  const who = counter && counterText(counter, counter);
  const raise = async (form: FormData) => {
    const hours = textIn(until, form);
    const body = {
      extra_usd: Number(textIn(extra, form)),
      reason: textIn(reason, form) || undefined,
      until: hours === "" ? undefined : new Date(now() + Number(hours) * HOUR_MS).toISOString(),
      counter: counter?.id,
    };
    const { value } = await request<BudgetRaise>(`${pathOf(BUDGET, budget)}/raises`, {
      method: "POST",
      body,
      apiKey: textOf(form, "api_key"),
    });
    const end = value.until === null ? "" : ` until ${utc(Date.parse(value.until))}`;
    const what = who === undefined ? "" : ` for ${who}`;
    return `Raised the budget ${budget.name}${what} by ${shortUsd(value.extra_usd)}${end}`;
  };
  return (
    <ActionButton
      label="Raise"
      explanation={
        <p>
          The budget{" "}
          <strong>
            <Text>{budget.name}</Text>
          </strong>{" "}
          of <Money usd={budget.limit_usd} /> allows {who === undefined ? "more" : (
            <>
              <strong>
                <Text>{who}</Text>
              </strong>{" "}
              more
            </>
          )} for a time. Raises add up, and can't be taken back.
        </p>
      }
      fields={formFields(fields)}
      command={(form) => {
        const given = filledIn(fields, form)
          .map((one) => one.field === until ? { ...one, text: `${one.text}h` } : one);
        const of = counter === undefined ? [] : [{ field: COUNTER, text: counter.id }];
        return commandOf("budgets", "raise", budget.name, [...given, ...of]);
      }}
      run={raise}
    />
  );
}

/** The page of the refusals of a budget. */
export function refusalsHref(budgetId: string): string {
  return `${uiPath("budgets", "refusals")}?${new URLSearchParams({ budget_id: budgetId })}`;
}
