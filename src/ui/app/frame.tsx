import { useErrorBoundary } from "preact/hooks";
import { escapeText } from "../../kernel/text.ts";
import { useAccess } from "../hooks/session.ts";
import { uiPath, useRoute } from "../hooks/route.ts";
import { LiveProvider } from "../live/live.tsx";
import { Banner } from "../parts/card.tsx";
import { Empty } from "../parts/loaded.tsx";
import { Link } from "../parts/link.tsx";
import { Page } from "./page.tsx";
import { type Section, sectionsOf } from "./sections.ts";
import { ThemeSwitch } from "./theme.tsx";

/** The frame of all pages: the navigation, the signed-in key, and the view of the route. */
export function Frame() {
  const { parts } = useRoute();
  const access = useAccess();
  const { session, may } = access;
  const sections = sectionsOf(access);
  const section = parts.length === 0 ? sections[0] : sections.find(({ path }) => path === parts[0]);
  return (
    <LiveProvider keyId={session.key_id} mayRead={may("read")}>
      <a class="skip" href="#content">Skip to the content</a>
      <div class="frame">
        <aside class="side">
          <Link href={uiPath()} class="brand" label="Purser, home">
            <Mark />
            Purser
          </Link>
          <nav aria-label="Sections">
            <ul>
              {sections.map((one) => (
                <li key={one.path}>
                  <Link href={uiPath(...(one.path ? [one.path] : []))} current={one === section}>
                    <Icon {...one} />
                    {one.title}
                  </Link>
                </li>
              ))}
            </ul>
          </nav>
          <Account />
        </aside>
        <main id="content" tabIndex={-1}>
          {section ? <Guarded key={section.path} section={section} /> : <NotFound />}
        </main>
      </div>
    </LiveProvider>
  );
}

function Account() {
  const { session, signOut } = useAccess();
  return (
    <div class="account">
      <ThemeSwitch />
      {session.access === "keyless"
        ? <p class="muted">No key needed on this machine</p>
        : (
          <div class="signed-in">
            <p>
              <span class="key-name">{escapeText(session.name ?? "")}</span>
              <span class="muted">
                {session.scopes.join(", ")}
                {session.agent_id !== null && `, agent ${escapeText(session.agent_id)} only`}
              </span>
            </p>
            <button type="button" class="quiet" onClick={signOut}>Sign out</button>
          </div>
        )}
    </div>
  );
}

/** Shows a view, or what stands for it after a fault of its own: the navigation stays. */
function Guarded({ section: { View, title } }: { section: Section }) {
  const [fault, retry] = useErrorBoundary();
  if (fault === undefined) return <View />;
  const again = <button type="button" class="small" onClick={retry}>Try again</button>;
  return (
    <Page title={title}>
      <Banner tone="bad" action={again}>
        Cannot show this page: {escapeText(String(fault?.message ?? fault))}
      </Banner>
    </Page>
  );
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty title="No page has this address">Choose a section of the navigation.</Empty>
    </Page>
  );
}

function Icon({ icon }: Section) {
  return (
    <svg class="icon" width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <path d={icon} />
    </svg>
  );
}

export function Mark() {
  return (
    <svg class="mark" width="24" height="24" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      <path d="M8 18.5V6h4.6a3.9 3.9 0 0 1 0 7.8H8" />
    </svg>
  );
}
