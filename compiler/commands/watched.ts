/** Runs long work with progress that a signal can interrupt. */
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { InterruptedError } from "../base/errors.ts";
import type { LevelPoolOptions } from "../processes/level-pool.ts";
import type { ProfileSurroundings } from "./profile/profile.ts";
import { startProgress } from "./progress.ts";

export type Watch = Pick<LevelPoolOptions, "signal" | "onProgress" | "onBusy"> &
  Pick<ProfileSurroundings, "onNote">;

interface Clock {
  /** Monotonic, ms. */
  readonly nowMs: () => number;
  /** Calls back periodically until the returned function is called. */
  readonly every: (intervalMs: number, callback: () => void) => () => void;
}

interface WatchedOptions {
  /** True if a signal ends the process at once unless worker processes run. */
  readonly endsAtOnce: boolean;
  /** True to print progress lines without a terminal. */
  readonly hasLines: boolean;
}

/**
 * For synchronous work in this process, which cannot react to signals and needs no cleanup. Signals
 * are handled only while worker processes run, to end them.
 */
export const ENDS_AT_ONCE = { endsAtOnce: true, hasLines: false };
/** Prints progress lines if there is no terminal. */
export const WITH_LINES = { endsAtOnce: false, hasLines: true };

type Watched = <T>(
  label: string,
  run: (watch: Watch) => Promise<T>,
  options?: WatchedOptions,
) => Promise<T>;

/** Facilities of the program for its commands. */
export interface Tools extends Clock {
  readonly watched: Watched;
  readonly print: (result: CommandResult) => void;
  /** Milliseconds since 1970. */
  readonly epochMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Path of the program, used to start servers. */
  readonly cli: string;
  readonly version: string;
  /** Name and version, as in provenance. */
  readonly compiler: string;
}

/**
 * Runs work with a progress bar, abortable by SIGINT and SIGTERM; a second signal kills at once.
 */
export function watchedBy({ nowMs, every }: Clock): Watched {
  return async (label, run, { endsAtOnce, hasLines } = { endsAtOnce: false, hasLines: false }) => {
    const abort = new AbortController();
    const interrupt = (): void => abort.abort(new InterruptedError());
    const release = () => process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    const onBusy = (isBusy: boolean): void => {
      release();
      if (isBusy) process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
    };
    onBusy(!endsAtOnce);
    const progress = startProgress(process.stderr, label, {
      nowMs,
      every: hasLines ? every : never,
    });
    try {
      const watch = { signal: abort.signal, onProgress: progress.update, onNote: progress.note };
      return await run(endsAtOnce ? { ...watch, onBusy } : watch);
    } finally {
      progress.end();
      release();
    }
  };
}

function never(): () => void {
  return () => {};
}
