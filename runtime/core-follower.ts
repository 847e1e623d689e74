/** Whoever follows what the cores of a server are told and what they say. */
import type { LoadedBundle } from "./load-bundle.ts";
import type { Application } from "./server/applications/application.ts";
import type { RecordedEntry } from "./server/decisions/recorded-entry.ts";

/** Follows the core of one application, from before its first event to after its last. */
export interface CoreFollower {
  /** As an `EntryRecorder`. */
  onEntry(entry: RecordedEntry): void;
  /** The application is made; nothing was recorded before. */
  onOpened(application: Application): void;
  /** Nothing is recorded any more. */
  onClosed?(): void;
}

/**
 * Is asked for every application that is made, with its bundle, those that take over included;
 * undefined where nobody follows it.
 */
export type FollowCore = (loaded: LoadedBundle) => CoreFollower | undefined;

/** All of them, one after the other in their order; undefined where there is none. */
export function followedByAll(
  followers: readonly (FollowCore | undefined)[],
): FollowCore | undefined {
  const asked = followers.filter((one) => one !== undefined);
  if (asked.length <= 1) return asked[0];
  return (loaded) => {
    const all = asked.flatMap((follow) => follow(loaded) ?? []);
    if (all.length <= 1) return all[0];
    return {
      onEntry: (entry) => {
        for (const one of all) one.onEntry(entry);
      },
      onOpened: (application) => {
        for (const one of all) one.onOpened(application);
      },
      onClosed: () => {
        for (const one of all) one.onClosed?.();
      },
    };
  };
}

/** Tells a follower when its application is closed. */
export function untilClosed(follower: CoreFollower, application: Application): void {
  follower.onOpened(application);
  const close = application.close.bind(application);
  application.close = async () => {
    await close();
    follower.onClosed?.();
  };
}
