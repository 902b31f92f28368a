import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { BudgetRaise } from "../../../contract/budgets/budget_raises.ts";
import { shortUsd } from "../../format/money.ts";
import { utc } from "../../format/time.ts";
import { now } from "../../hooks/clock.ts";
import { request } from "../../hooks/request.ts";
import { uiPath } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { ActionButton } from "../../parts/confirm.tsx";
import { Money } from "../../parts/money.tsx";
import { Text } from "../../parts/text.tsx";
import { HOUR_MS } from "../../../kernel/clock.ts";
import { changeShown, numberOf, textOf } from "./change.ts";

const pathOf = ({ budget_id }: Pick<Budget, "budget_id">) => `/budgets/${encodeURIComponent(budget_id)}`;

type Shown = Pick<Budget, "budget_id" | "name" | "limit_usd" | "enabled" | "per">;

/** Adds to the limit for a time. The limit itself stays, and the raise is kept with its reason. */
export function RaiseButton({ budget }: { budget: Shown }) {
  if (!useAccess().may("admin")) return null;
  const raise = async (form: FormData) => {
    const hours = textOf(form, "hours");
    const body = {
      extra_usd: numberOf(form, "extra_usd"),
      reason: textOf(form, "reason"),
      until: hours === undefined ? undefined : new Date(now() + Number(hours) * HOUR_MS).toISOString(),
    };
    const { value } = await request<BudgetRaise>(`${pathOf(budget)}/raises`, {
      method: "POST",
      body,
      apiKey: textOf(form, "api_key"),
    });
    const until = value.until === null ? "" : ` until ${utc(Date.parse(value.until))}`;
    return `Raised the budget ${budget.name} by ${shortUsd(value.extra_usd)}${until}`;
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
          of <Money usd={budget.limit_usd} /> allows more for a time. Raises add up, and can't be taken back.
        </p>
      }
      fields={
        <>
          <AmountField name="extra_usd" label="Extra USD" />
          <label>
            Hours; empty: {budget.per === "hour" ? "one hour" : "to the end of the present window"}
            <input name="hours" type="number" min="0.1" max="8760" step="any" />
          </label>
          <label>
            Reason, for those that read it later
            <input name="reason" maxLength={100} />
          </label>
        </>
      }
      run={raise}
    />
  );
}

/** Sets another limit for good. */
export function LimitButton({ budget }: { budget: Shown }) {
  if (!useAccess().may("admin")) return null;
  return (
    <ActionButton
      label="Change limit"
      explanation={
        <p>
          The budget{" "}
          <strong>
            <Text>{budget.name}</Text>
          </strong>{" "}
          has a limit of{" "}
          <Money usd={budget.limit_usd} />. A lower one than what is spent refuses the next call.
        </p>
      }
      fields={<AmountField name="limit_usd" label="New limit in USD" value={budget.limit_usd} />}
      run={async (form) => {
        const { limit_usd } = await changeShown(pathOf(budget), budget, {
          limit_usd: numberOf(form, "limit_usd"),
        }, form);
        return `The budget ${budget.name} has a limit of ${shortUsd(limit_usd)} now`;
      }}
    />
  );
}

/** Disables a budget, or enables it again. */
export function EnableBudgetButton({ budget }: { budget: Shown }) {
  if (!useAccess().may("admin")) return null;
  const enabled = !budget.enabled;
  return (
    <ActionButton
      label={enabled ? "Enable" : "Disable"}
      isDangerous={!enabled}
      explanation={
        <p>
          The budget{" "}
          <strong>
            <Text>{budget.name}</Text>
          </strong>{" "}
          {enabled
            ? "refuses calls again once its limit is reached."
            : "refuses no call until it is enabled."}
        </p>
      }
      run={async (form) => {
        await changeShown(pathOf(budget), budget, { enabled }, form);
        return `${enabled ? "Enabled" : "Disabled"} the budget ${budget.name}`;
      }}
    />
  );
}

function AmountField({ name, label, value }: { name: string; label: string; value?: number }) {
  return (
    <label>
      {label}
      <input
        name={name}
        type="number"
        inputMode="decimal"
        min="0"
        step="any"
        required
        defaultValue={value === undefined ? undefined : String(value)}
      />
    </label>
  );
}

/** The page of the refusals of a budget. */
export function refusalsHref(budgetId: string): string {
  return `${uiPath("budgets", "refusals")}?${new URLSearchParams({ budget_id: budgetId })}`;
}
