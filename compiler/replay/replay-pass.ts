/** Reads the lines of a decision log and repeats their decisions. */
import { isDeepStrictEqual } from "node:util";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { LoadedBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { counted, short } from "stratagem-runtime/internal/describe/text";
import {
  type DecisionLine,
  type EventsLine,
  type LoggedDecision,
  type LoggedEntry,
  madeDecision,
  type OpenedLine,
} from "stratagem-runtime/internal/features/decision-log/log-lines";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import {
  isCommand,
  type RecordedEntry,
} from "stratagem-runtime/internal/server/requests/recorded-entry";
import { parsedLine } from "./parsed-line.ts";
import { type DifferentCommands, ReplayedCore } from "./replayed-core.ts";

/** Decision or commands of an event that the bundle does not reproduce. */
export interface Difference {
  readonly application: string;
  /** Id of the request; null for an event. */
  readonly id: string | null;
  /** Time of the request in the log; null for an event, which has the server's clock only. */
  readonly time: string | null;
  readonly atMs: number;
  readonly logged: string;
  readonly replayed: string;
}

interface ReplayCounts {
  /** Requests with a line. */
  requests: number;
  /** Decisions that the bundle reproduces, does not reproduce, or cannot repeat. */
  same: number;
  different: number;
  open: number;
  /** Events that cores repeated, and equal commands. */
  events: number;
  commands: number;
  /** Events that could not be repeated. */
  skippedEvents: number;
  /** Events whose commands differ. */
  differentEvents: number;
  lostLines: number;
  unreadable: number;
}

/** Most differences that are listed. */
const MAX_LISTED = 1000;
/** Most batch starts kept for their requests; far more than run concurrently. */
const MAX_STARTS = 1 << 18;

interface Start {
  readonly bundle: Bundle;
  readonly replayed: RecordedEntry | undefined;
}

export class ReplayPass {
  readonly counts: ReplayCounts = {
    ...{ requests: 0, same: 0, different: 0, open: 0, events: 0, commands: 0 },
    ...{ skippedEvents: 0, differentEvents: 0, lostLines: 0, unreadable: 0 },
  };
  readonly differences: Difference[] = [];
  /** Reasons for open decisions and skipped events, with counts. */
  readonly reasons = new Map<string, number>();
  /** Digests of deciding bundles, with the number of requests. */
  readonly requestsByRevision = new Map<string, number>();
  readonly #bundles: readonly LoadedBundle[];
  readonly #cores = new Map<string, ReplayedCore>();
  readonly #startByPlace = new Map<string, Start>();

  constructor(bundles: readonly LoadedBundle[]) {
    this.#bundles = bundles;
  }

  /** @param text without its end; null if it is too long. */
  takeLine(text: string | null): void {
    const line = text === null ? null : parsedLine(text);
    if (line === null) this.counts.unreadable++;
    else if (line.kind === "opened") this.#open(line);
    else if (line.kind === "events") this.#takeEvents(line);
    else if (line.kind === "decision") this.#takeDecisions(line);
    else if (line.kind === "lost") {
      this.counts.lostLines += line.lines;
      for (const core of this.#cores.values()) core.stop("lines of the log were lost");
    }
  }

  end(): void {
    for (const core of this.#cores.values()) core.end();
  }

  /**
   * Finds the bundle with the digest, or else the one of the same application, which may decide
   * differently.
   */
  #bundleFor(application: string, revision: string): Bundle | undefined {
    const own = this.#bundles.find(({ sha256 }) => sha256 === revision);
    const other = this.#bundles.find(({ bundle }) => bundle.application === application);
    return (own ?? other)?.bundle;
  }

  #open({ application, core, revision, maxPending, hasEvents }: OpenedLine): void {
    const key = `${core} ${application}`;
    const before = this.#cores.get(key);
    before?.end();
    // The following lines are of another process with another clock.
    if (before !== undefined) this.#startByPlace.clear();
    this.#cores.delete(key);
    const bundle = this.#bundleFor(application, revision);
    if (!hasEvents || bundle === undefined) return;
    const replayer = methodOf(bundle).replayer(bundle, { maxPending });
    // Requires the exact bundle: decisions refer to its levels.
    const bundleOf = (digest: string, levelCount: number): Bundle | undefined => {
      const found = this.#bundles.find(({ sha256 }) => sha256 === digest)?.bundle;
      return found?.levels.length === levelCount ? found : undefined;
    };
    const opened: ReplayedCore = new ReplayedCore(replayer, bundleOf, {
      onSame: (commands) => {
        this.counts.commands += commands;
      },
      onDifferent: (found) => this.#tellCommands(application, bundle, found),
      onImpossible: (event, reason) => {
        this.counts.differentEvents++;
        const atMs = event.nowMs ?? Number.NaN;
        const logged = `event "${event.kind}"`;
        const replayed = `it is impossible: ${reason}`;
        this.#addDifference({ application, id: null, time: null, atMs, logged, replayed });
      },
      onStart: (logged, replayed, atMs) => {
        this.#noteStart(placeOf(application, logged, atMs), { bundle, replayed });
      },
    });
    this.#cores.set(key, opened);
  }

  #takeEvents({ application, core, entries }: EventsLine): void {
    const opened = this.#cores.get(`${core} ${application}`);
    for (const entry of entries) {
      const wasRepeated = opened?.take(entry) === true;
      if (isCommand(entry)) continue;
      if (wasRepeated) this.counts.events++;
      else {
        this.counts.skippedEvents++;
        this.#note(opened?.stopped ?? `no bundle of ${application} was provided`);
      }
    }
  }

  #takeDecisions(line: DecisionLine): void {
    const { application, revision, decisions } = line;
    this.counts.requests++;
    const requests = this.requestsByRevision.get(revision) ?? 0;
    this.requestsByRevision.set(revision, requests + 1);
    for (const decision of decisions) {
      const start = this.#startByPlace.get(placeOf(application, decision, decision.atMs));
      if (start !== undefined) this.#compare(line, decision, start);
      else this.#review(line, decision);
    }
  }

  /** Compares a decision of a core that repeated all earlier events. */
  #compare(line: DecisionLine, decision: LoggedDecision, { bundle, replayed }: Start): void {
    if (replayed === undefined) this.#addDecision(line, decision, "nothing");
    else if (isStartOf(bundle, replayed, decision)) this.counts.same++;
    else this.#addDecision(line, decision, startText(bundle, replayed));
  }

  /** Compares a decision by its state alone. */
  #review(line: DecisionLine, decision: LoggedDecision): void {
    const bundle = this.#bundleFor(line.application, line.revision);
    if (bundle === undefined) {
      this.#leaveOpen(`no bundle of ${line.application} was provided`);
      return;
    }
    const method = methodOf(bundle);
    if (method.reviewed === undefined) {
      const rest = "whose decisions depend on more than one state; log all requests to replay them";
      this.#leaveOpen(`sampled requests of method ${method.name}, ${rest}`);
      return;
    }
    const reviewed = method.reviewed(bundle, madeDecision(line, decision));
    if (reviewed === undefined) this.#leaveOpen("the bundle has no such level, class or bucket");
    else if (reviewed.agrees === null) this.#leaveOpen("a client named the variant");
    else if (reviewed.agrees) this.counts.same++;
    else this.#addDecision(line, decision, reviewed.says);
  }

  #leaveOpen(reason: string): void {
    this.counts.open++;
    this.#note(reason);
  }

  #note(reason: string): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
  }

  #noteStart(place: string, start: Start): void {
    this.#startByPlace.set(place, start);
    if (this.#startByPlace.size <= MAX_STARTS) return;
    const [oldest] = this.#startByPlace.keys();
    if (oldest !== undefined) this.#startByPlace.delete(oldest);
  }

  #addDecision(line: DecisionLine, decision: LoggedDecision, replayed: string): void {
    this.counts.different++;
    const { variant, batch, level, state, atMs } = decision;
    const { application, id = null, time } = line;
    const queued = state.queued === undefined ? "" : `, queued ${state.queued}`;
    const where = `slack ${short(state.slackMs)} ms${queued}`;
    const by = level === undefined ? "" : `level ${level}: `;
    const logged = `${by}${variant} on ${counted(batch, "query", "queries")} at ${where}`;
    this.#addDifference({ application, id, time, atMs, logged, replayed });
  }

  #tellCommands(application: string, bundle: Bundle, found: DifferentCommands): void {
    this.counts.differentEvents++;
    const { event, logged, replayed } = found;
    const textOf = (commands: readonly (LoggedEntry | RecordedEntry)[]): string =>
      commands.length === 0 ? "nothing" : commands.map((one) => startText(bundle, one)).join("; ");
    this.#addDifference({
      ...{ application, id: null, time: null, atMs: event.nowMs ?? Number.NaN },
      logged: `to "${event.kind}": ${textOf(logged)}`,
      replayed: textOf(replayed),
    });
  }

  #addDifference(difference: Difference): void {
    if (this.differences.length < MAX_LISTED) this.differences.push(difference);
  }
}

/** Key of a batch start: worker and time in microseconds, which both requests and commands have. */
function placeOf(
  application: string,
  { worker, places }: Pick<LoggedEntry, "worker" | "places">,
  atMs: number,
): string {
  const who = places?.join("+") ?? worker;
  return `${application} ${who} ${Math.round(1000 * atMs)}`;
}

/** Returns whether a command is consistent with the start of a request's batch. */
function isStartOf(
  bundle: Bundle,
  { variant, queries, level, places }: RecordedEntry,
  decision: LoggedDecision,
): boolean {
  return (
    (variant === undefined || variantsOf(bundle)[variant] === decision.variant) &&
    (!Array.isArray(queries) || queries.length === decision.batch) &&
    (level === undefined || level === decision.level) &&
    (places === undefined || isDeepStrictEqual(places, decision.places))
  );
}

function variantsOf({ tasks }: Bundle): readonly string[] {
  return tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
}

/** Formats a command. */
function startText(bundle: Bundle, command: LoggedEntry | RecordedEntry): string {
  const { kind, worker, variant, queries, query, level, places, cores } = command;
  const name = variant === undefined ? "" : (variantsOf(bundle)[variant] ?? `variant ${variant}`);
  const parts = [
    kind,
    ...(name === "" ? [] : [name]),
    ...(Array.isArray(queries) ? [`on ${counted(queries.length, "query", "queries")}`] : []),
    ...(query === undefined ? [] : [`query ${query}`]),
    ...(worker === undefined ? [] : [`worker ${worker}`]),
    ...(places === undefined ? [] : [`places ${places.join(", ")}`]),
    ...(cores === undefined ? [] : [`${cores} cores`]),
    ...(level === undefined ? [] : [`level ${level}`]),
  ];
  return parts.join(" ");
}
