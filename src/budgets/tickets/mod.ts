/** Tickets: by them a budget whose action is `ask` asks a person for more, and people answer. */
export type { AskNotifier } from "./open_tickets.ts";
export { approveTicket, denyTicket, getTicket, listTickets, type TicketReader } from "./tickets.ts";
