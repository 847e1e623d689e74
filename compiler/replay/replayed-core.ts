/** The core of one application told again what a log says it was told, and what differs. */
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

/** What a core answered to an event, in the log and now. */
export interface DifferentCommands {
  readonly event: LoggedEntry;
  readonly logged: readonly LoggedEntry[];
  readonly replayed: readonly RecordedEntry[];
}

interface CoreListener {
  /** Commands of an event are as they were: so many. */
  onSame(commands: number): void;
  onDifferent(found: DifferentCommands): void;
  /** The core cannot have been told the event: what came before it is not what is logged. */
  onImpossible(event: LoggedEntry, reason: string): void;
  /** A command was logged that starts something. @param replayed its like, where there is one. */
  onStart(logged: LoggedEntry, replayed: RecordedEntry | undefined, atMs: number): void;
}

/** @returns the bundle of a digest that has so many levels; undefined where it is not at hand. */
type BundleOf = (revision: string, levelCount: number) => Bundle | undefined;

export class ReplayedCore {
  readonly #replayer: Replayer;
  readonly #bundleOf: BundleOf;
  readonly #listener: CoreListener;
  /** What the last event was answered, by now in the log, and by the replayer. */
  #event: LoggedEntry | undefined;
  #logged: LoggedEntry[] = [];
  #replayed: readonly RecordedEntry[] = [];
  /** What queries ask for, where that is a model and no task. */
  readonly #modelByQuery = new Map<number, number>();
  #nowMs = Number.NaN;
  #stopped: string | undefined;

  constructor(replayer: Replayer, bundleOf: BundleOf, listener: CoreListener) {
    this.#replayer = replayer;
    this.#bundleOf = bundleOf;
    this.#listener = listener;
  }

  /** Why it is told nothing more; undefined while it is. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** @returns whether it was told, or was a command. */
  take(entry: LoggedEntry): boolean {
    if (this.#stopped !== undefined) return false;
    if (isCommand(entry)) {
      this.#logged.push(entry);
      return true;
    }
    this.#settle();
    return this.#tell(entry);
  }

  /** What follows is not what came next. */
  stop(reason: string): void {
    if (this.#stopped !== undefined) return;
    this.end();
    this.#stopped = reason;
  }

  /** The log ends here, perhaps before all commands of its last event. */
  end(): void {
    if (this.#stopped !== undefined) return;
    const isCut = this.#replayed
      .slice(0, this.#logged.length)
      .every((command, index) => isSame(command, this.#logged[index]));
    if (isCut) this.#replayed = this.#replayed.slice(0, this.#logged.length);
    this.#settle();
  }

  #tell(event: LoggedEntry): boolean {
    this.#event = event;
    this.#nowMs = event.nowMs ?? this.#nowMs;
    const { query, model } = event;
    if (query !== undefined && model !== undefined) this.#modelByQuery.set(query, model);
    const told = this.#eventOf(event);
    if (told === undefined) return false;
    try {
      this.#replayed = this.#replayer.tell(told);
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#event = undefined;
      this.#stopped = `the core cannot be told what is logged: ${reason}`;
      this.#listener.onImpossible(event, reason);
      return false;
    }
  }

  /** Undefined, and it stops, where the bundle that decides from here on is not at hand. */
  #eventOf({ revision = "", levelCount = 0, ...event }: LoggedEntry): RecordedEntry | undefined {
    if (event.kind !== "policy") return event;
    const bundle = this.#bundleOf(revision, levelCount);
    if (bundle !== undefined) return { ...event, bundle };
    const which = `a bundle ${revision.slice(0, 12)}… of ${levelCount} levels`;
    this.#stopped = `from here on ${which} decided, not given`;
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
   * The command about the same worker or, of queries on places, about the same query, with what
   * that asks for.
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

/** By what a log can say. */
function isSame(replayed: RecordedEntry | undefined, logged: LoggedEntry | undefined): boolean {
  if (replayed === undefined || logged === undefined) return false;
  const told: unknown = JSON.parse(lineText(replayed), (_, value: unknown) =>
    typeof value === "string" ? (loggedNumber(value) ?? value) : value,
  );
  return isDeepStrictEqual(told, logged);
}
