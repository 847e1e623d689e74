/** Runs long work that a signal ends, and shows how far it is. */
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
  /** Calls back until what it gives is called. */
  readonly every: (intervalMs: number, callback: () => void) => () => void;
}

interface WatchedOptions {
  /** Whether a signal ends it at once unless other processes work for it. */
  readonly isMortal: boolean;
  /** Whether its progress is told in lines where there is no terminal. */
  readonly hasLines: boolean;
}

/**
 * What computes in this process cannot be told of a signal, and has nothing to tidy up: there a
 * signal ends it at once. Only while other processes work is it caught, to end them.
 */
export const MORTAL = { isMortal: true, hasLines: false };
/** Where there is no terminal either, progress is told. */
export const TOLD = { isMortal: false, hasLines: true };

type Watched = <T>(
  label: string,
  run: (watch: Watch) => Promise<T>,
  options?: WatchedOptions,
) => Promise<T>;

/** What the program has that its commands need. */
export interface Tools extends Clock {
  readonly watched: Watched;
  readonly print: (result: CommandResult) => void;
  /** Since 1970. */
  readonly epochMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** The program's own file, which servers are started with. */
  readonly cli: string;
  readonly version: string;
  /** Name and version, as provenance has them. */
  readonly compiler: string;
}

/**
 * Work with a progress bar, abortable by SIGINT and SIGTERM; a second signal kills at once.
 */
export function watchedBy({ nowMs, every }: Clock): Watched {
  return async (label, run, { isMortal, hasLines } = { isMortal: false, hasLines: false }) => {
    const abort = new AbortController();
    const interrupt = (): void => abort.abort(new InterruptedError());
    const release = () => process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    const onBusy = (isBusy: boolean): void => {
      release();
      if (isBusy) process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
    };
    onBusy(!isMortal);
    const progress = startProgress(process.stderr, label, {
      nowMs,
      every: hasLines ? every : never,
    });
    try {
      const watch = { signal: abort.signal, onProgress: progress.update, onNote: progress.note };
      return await run(isMortal ? { ...watch, onBusy } : watch);
    } finally {
      progress.end();
      release();
    }
  };
}

function never(): () => void {
  return () => {};
}
