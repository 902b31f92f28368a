import { Link } from "./link.tsx";

/** The pages of a section, above their content. */
export function Tabs({ label, items, current }: {
  label: string;
  items: readonly { id: string; title: string; href: string }[];
  /** The `id` of the page that is open. */
  current: string;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {items.map(({ id, title, href }) => <Link key={id} href={href} current={id === current}>{title}</Link>)}
    </nav>
  );
}
