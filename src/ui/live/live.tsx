import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { pauseRefresh } from "../hooks/data.ts";
import { type Live, LiveFeed, type LiveStatus, NOT_CONNECTED } from "./feed.ts";

interface Followed extends Live {
  pause(isPaused: boolean): void;
  /** Connects anew. */
  reload(): void;
}

const POLLED: Live = { ...NOT_CONNECTED, status: "polling" };

const LiveContext = createContext<Followed>({ ...NOT_CONNECTED, pause: () => {}, reload: () => {} });

/** Returns the newest state of `GET /live`, undefined before the first message, and its status. */
export function useLive(): Followed {
  return useContext(LiveContext);
}

/** Follows the server for all views, as the key that is signed in. One that may not read has a page that polls by itself. */
export function LiveProvider({ keyId, mayRead = true, children }: {
  keyId: string | null;
  mayRead?: boolean;
  children: ComponentChildren;
}) {
  const [live, setLive] = useState<Live>(mayRead ? NOT_CONNECTED : POLLED);
  const feed = useRef<LiveFeed | undefined>(undefined);
  useEffect(() => {
    if (!mayRead) return () => pauseRefresh(false);
    feed.current = new LiveFeed(keyId, setLive);
    feed.current.start();
    return () => {
      feed.current!.stop();
      pauseRefresh(false);
    };
  }, []);
  const pause = (isPaused: boolean) => {
    if (feed.current) feed.current.pause(isPaused);
    else setLive(isPaused ? { ...POLLED, status: "paused" } : POLLED);
    pauseRefresh(isPaused);
  };
  return (
    <LiveContext.Provider value={{ ...live, pause, reload: () => feed.current?.reload() }}>
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

/** The sign of the connection, with the button that pauses all periodic requests. */
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
