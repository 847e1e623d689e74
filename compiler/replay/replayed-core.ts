/** Core of one application that repeats the events of a log, and reports differences. */
import { isDeepStrictEqual } from "node:util";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import {
  type LoggedEntry,
  lineText,
  loggedNumber,
} from "stratagem-runtime/internal/features/decision-log/log-lines";
import {
  isCommand,
  type RecordedEntry,
  type Replayer,
} from "stratagem-runtime/internal/server/requests/recorded-entry";

/** Commands of a core for an event, in the log and repeated. */
export interface DifferentCommands {
  readonly event: LoggedEntry;
  readonly logged: readonly LoggedEntry[];
  readonly replayed: readonly RecordedEntry[];
}

interface CoreListener {
  /** Called with the number of commands if they are equal. */
  onSame(commands: number): void;
  onDifferent(found: DifferentCommands): void;
  /** Called if the core cannot have received the event after the logged ones before it. */
  onImpossible(event: LoggedEntry, reason: string): void;
  /**
   * Called for a logged command that starts a batch. @param replayed the matching command, if any.
   */
  onStart(logged: LoggedEntry, replayed: RecordedEntry | undefined, atMs: number): void;
}

/** @returns the bundle with a digest and number of levels; undefined if it was not given. */
type BundleOf = (revision: string, levelCount: number) => Bundle | undefined;

export class ReplayedCore {
  readonly #replayer: Replayer;
  readonly #bundleOf: BundleOf;
  readonly #listener: CoreListener;
  /** Commands for the last event: in the log so far, and repeated. */
  #event: LoggedEntry | undefined;
  #logged: LoggedEntry[] = [];
  #replayed: readonly RecordedEntry[] = [];
  /** Model of each query, for cores without tasks. */
  readonly #modelByQuery = new Map<number, number>();
  #nowMs = Number.NaN;
  #stopped: string | undefined;

  constructor(replayer: Replayer, bundleOf: BundleOf, listener: CoreListener) {
    this.#replayer = replayer;
    this.#bundleOf = bundleOf;
    this.#listener = listener;
  }

  /** Reason why it ignores further events; undefined while it is active. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** @returns whether the event was repeated, or the entry was a command. */
  take(entry: LoggedEntry): boolean {
    if (this.#stopped !== undefined) return false;
    if (isCommand(entry)) {
      this.#logged.push(entry);
      return true;
    }
    this.#settle();
    return this.#repeat(entry);
  }

  /** Stops because events are missing. */
  stop(reason: string): void {
    if (this.#stopped !== undefined) return;
    this.end();
    this.#stopped = reason;
  }

  /** Handles the end of the log, which may lack commands of the last event. */
  end(): void {
    if (this.#stopped !== undefined) return;
    const isCut = this.#replayed
      .slice(0, this.#logged.length)
      .every((command, index) => isSame(command, this.#logged[index]));
    if (isCut) this.#replayed = this.#replayed.slice(0, this.#logged.length);
    this.#settle();
  }

  #repeat(event: LoggedEntry): boolean {
    this.#event = event;
    this.#nowMs = event.nowMs ?? this.#nowMs;
    const { query, model } = event;
    if (query !== undefined && model !== undefined) this.#modelByQuery.set(query, model);
    const repeated = this.#eventOf(event);
    if (repeated === undefined) return false;
    try {
      this.#replayed = this.#replayer.tell(repeated);
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#event = undefined;
      this.#stopped = `the core cannot repeat the logged event: ${reason}`;
      this.#listener.onImpossible(event, reason);
      return false;
    }
  }

  /** Returns undefined, and stops, if the bundle that decides from here on was not given. */
  #eventOf({ revision = "", levelCount = 0, ...event }: LoggedEntry): RecordedEntry | undefined {
    if (event.kind !== "policy") return event;
    const bundle = this.#bundleOf(revision, levelCount);
    if (bundle !== undefined) return { ...event, bundle };
    const which = `a bundle ${revision.slice(0, 12)}… of ${levelCount} levels`;
    this.#stopped = `from here on ${which} decided, which was not provided`;
    return undefined;
  }

  #settle(): void {
    const [event, logged, replayed] = [this.#event, this.#logged, this.#replayed];
    this.#event = undefined;
    this.#logged = [];
    this.#replayed = [];
    for (const command of logged) {
      this.#listener.onStart(command, this.#likeOf(command, replayed), this.#nowMs);
    }
    if (event === undefined) return;
    const isAll =
      logged.length === replayed.length &&
      logged.every((command, index) => isSame(replayed[index], command));
    if (isAll) this.#listener.onSame(logged.length);
    else this.#listener.onDifferent({ event, logged, replayed });
  }

  /**
   * Finds the command for the same worker or, for queries on places, for the same query, and adds
   * the query's request.
   */
  #likeOf(
    { kind, worker, query = -1 }: LoggedEntry,
    replayed: readonly RecordedEntry[],
  ): RecordedEntry | undefined {
    const like = replayed.find((one) => {
      return one.kind === kind && one.worker === worker && (one.query ?? -1) === query;
    });
    const model = this.#modelByQuery.get(query);
    return like === undefined || model === undefined ? like : { variant: model, ...like };
  }
}

/** Compares with the precision of a log. */
function isSame(replayed: RecordedEntry | undefined, logged: LoggedEntry | undefined): boolean {
  if (replayed === undefined || logged === undefined) return false;
  const parsed: unknown = JSON.parse(lineText(replayed), (_, value: unknown) =>
    typeof value === "string" ? (loggedNumber(value) ?? value) : value,
  );
  return isDeepStrictEqual(parsed, logged);
}
