import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { type Live, LiveFeed, type LiveStatus } from "./feed.ts";

const LiveContext = createContext<Live & { pause(isPaused: boolean): void }>({
  state: undefined,
  status: "connecting",
  pause: () => {},
});

/** Returns the newest state of `GET /live`, undefined before the first message, and its status. */
export function useLive(): Live {
  return useContext(LiveContext);
}

/** Follows the server for all views, as the key that is signed in. */
export function LiveProvider({ keyId, children }: { keyId: string | null; children: ComponentChildren }) {
  const [live, setLive] = useState<Live>({ state: undefined, status: "connecting" });
  const feed = useRef<LiveFeed | undefined>(undefined);
  useEffect(() => {
    feed.current = new LiveFeed(keyId, setLive);
    feed.current.start();
    return () => feed.current!.stop();
  }, []);
  return (
    <LiveContext.Provider value={{ ...live, pause: (isPaused) => feed.current?.pause(isPaused) }}>
      {children}
    </LiveContext.Provider>
  );
}

const TEXTS: Record<LiveStatus, string> = {
  connecting: "Connecting",
  live: "Live",
  polling: "Live, every 5 s",
  stale: "Not live",
  paused: "Paused",
};

/** The sign of the connection, with the button that pauses it. */
export function LiveSign() {
  const { status, pause } = useContext(LiveContext);
  const isPaused = status === "paused";
  return (
    <div class={`live-sign ${status}`}>
      <span class="live-text">
        <i aria-hidden="true" />
        {TEXTS[status]}
      </span>
      <button type="button" class="quiet" onClick={() => pause(!isPaused)}>
        {isPaused ? "Resume" : "Pause"}
      </button>
    </div>
  );
}
