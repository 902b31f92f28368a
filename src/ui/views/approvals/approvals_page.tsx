import type { Approval } from "../../../contract/budgets/approvals.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import { shortUsd } from "../../format/money.ts";
import { textOf } from "../../forms/change_shown.ts";
import { commandOf, type Field, filledIn, textIn } from "../../forms/fields.ts";
import { formFields } from "../../forms/form_field.tsx";
import { usePages } from "../../hooks/data.ts";
import { request } from "../../hooks/request.ts";
import { useAccess } from "../../hooks/session.ts";
import { Badge, Card, type Tone } from "../../parts/card.tsx";
import { ActionButton } from "../../parts/confirm.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { SectionPage } from "../budgets/section_page.tsx";
import { AgentCell, NamedValues } from "../cells.tsx";
import { budgetsHref } from "../links.ts";

/** The tickets by which budgets ask for more, newest first, with the buttons that answer those that wait. */
export function ApprovalsPage() {
  const tickets = usePages<Approval>("/approvals", { refreshMs: 5_000 });
  return (
    <SectionPage title="Budgets & alerts">
      <Card title="Approvals">
        <Loaded data={tickets} empty={NONE}>
          {(rows) => (
            <Table
              caption="Approvals"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ ticket_id }) => ticket_id}
              source={{ path: "/approvals", name: "approvals" }}
              more={tickets.more}
            />
          )}
        </Loaded>
      </Card>
    </SectionPage>
  );
}

const NONE = (
  <Empty
    title="Nothing was asked for"
    command="purser budgets add --name Day --limit 50 --per day --action ask"
  >
    A budget with the action ask asks a person for more before it refuses a call.
  </Empty>
);

const TONES: Record<Approval["state"], Tone> = {
  waiting: "warning",
  approved: "good",
  denied: "bad",
  expired: "neutral",
};

const COLUMNS: Column<Approval>[] = [
  { id: "asked_at", title: "Asked", cell: ({ asked_at }) => <Time at={asked_at} /> },
  {
    id: "budget_name",
    title: "Budget",
    cell: ({ budget_id, budget_name, counter, ...ticket }) => (
      <>
        <Link href={budgetsHref(budget_id)}>
          <Text>{budget_name}</Text>
        </Link>
        {counter !== null && (
          <div class="sub">
            <Text>{counterText(counter, ticket)}</Text>
          </div>
        )}
      </>
    ),
  },
  {
    id: "agent_id",
    title: "Asked by",
    cell: (ticket) => (
      <>
        <AgentCell {...ticket} />
        <NamedValues {...ticket} provider={null} model={null} />
        {ticket.model !== null && (
          <div class="sub">
            model <Text>{ticket.model}</Text>
          </div>
        )}
      </>
    ),
  },
  { id: "asked_usd", title: "More", isMoney: true, cell: ({ asked_usd }) => <Money usd={asked_usd} /> },
  {
    id: "state",
    title: "State",
    cell: ({ state, decided_by, reason }) => (
      <>
        <Badge tone={TONES[state]}>{state}</Badge>
        {reason !== null && (
          <div class="sub">
            <Text>{decided_by === null ? reason : `${decided_by}: ${reason}`}</Text>
          </div>
        )}
      </>
    ),
  },
  { id: "actions", title: "Actions", cell: (ticket) => <Answers ticket={ticket} /> },
];

const AMOUNT: Field = { name: "extra_usd", label: "Extra USD", kind: "number", option: { name: "by" } };
const REASON: Field = { name: "reason", label: "Reason", kind: "text", isRequired: true };

function Answers({ ticket }: { ticket: Approval }) {
  if (ticket.state !== "waiting" || !useAccess().may("approve")) return null;
  return (
    <>
      <AnswerButton ticket={ticket} answer="approve" fields={[AMOUNT, REASON]} />{" "}
      <AnswerButton ticket={ticket} answer="deny" fields={[REASON]} />
    </>
  );
}

/** Answers a ticket. The server refuses an answer by the key that asks. */
function AnswerButton({ ticket, answer, fields }: {
  ticket: Approval;
  answer: "approve" | "deny";
  fields: Field[];
}) {
  const { ticket_id, budget_name, asked_usd } = ticket;
  const isApproval = answer === "approve";
  const shown = (field: Field) => field === AMOUNT ? String(asked_usd) : "";
  return (
    <ActionButton
      label={isApproval ? "Approve" : "Deny"}
      isDangerous={!isApproval}
      gone="The ticket is answered, or has expired."
      explanation={
        <p>
          The budget{" "}
          <strong>
            <Text>{budget_name}</Text>
          </strong>{" "}
          {isApproval
            ? "allows more until its window ends. A raise can't be taken back."
            : "refuses the calls that wait, and asks again in 15 minutes at the earliest."}
        </p>
      }
      fields={formFields(fields, shown)}
      command={(form) => commandOf("approvals", answer, ticket_id, filledIn(fields, form))}
      run={async (form) => {
        const amount = textIn(AMOUNT, form);
        const { value } = await request<Approval>(`/approvals/${encodeURIComponent(ticket_id)}/${answer}`, {
          method: "POST",
          body: { reason: textIn(REASON, form), ...(amount !== "" && { extra_usd: Number(amount) }) },
          apiKey: textOf(form, "api_key"),
        });
        return isApproval
          ? `Approved: the budget ${budget_name} is raised by ${shortUsd(Number(amount || value.asked_usd))}`
          : `Denied: the calls that wait for the budget ${budget_name} are refused`;
      }}
    />
  );
}
