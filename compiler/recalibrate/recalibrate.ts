/** `stratagem recalibrate --metrics URL|FILE --profile PROFILE -o OUT`. */
import { basename } from "node:path";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/errors";
import { loadBundle } from "stratagem-runtime/internal/load-bundle";
import { expectWritable, writeAtomically } from "../base/atomic-write.ts";
import {
  type AccuracyChange,
  feedbackDocument,
  withObservedAccuracy,
} from "./observed-accuracy.ts";
import {
  meanBusyWorkers,
  type ObservedTimes,
  observedTimes,
} from "./observed-times.ts";
import { type OwnObservations, ownObservations } from "./own-observations.ts";
import { recalibrated } from "./recalibrated-profile.ts";
import { recalibratedText } from "./recalibrated-text.ts";
import { stretchAt } from "./stretch.ts";
import { type ToldText, toldText } from "./told-text.ts";
import { InputError } from "../spec/input-error.ts";
import { readProfileSpec } from "../spec/profile.ts";
import type { ProfileSpec } from "../spec/profile-schema.ts";

export interface RecalibrateCommand {
  /** URL of a server, or a file with what its `/metrics` said. */
  readonly metrics: string;
  readonly profile: string;
  readonly out: string;
  readonly minSamples: number;
  /** Where the document of feedback is; null for profiled accuracies. */
  readonly accuracy: string | null;
  /** The bundle that is served; null where names need no explaining. */
  readonly policy: string | null;
  readonly pool: string | null;
  readonly model: string | null;
  /** Mean number of workers that computed at a time; null for what the metrics say. */
  readonly busyWorkers: number | null;
}

/** What observed times were divided by, and why. */
export interface Stretch {
  readonly factor: number;
  readonly busyWorkers: number | null;
  /** Whether the profile has a curve of contention. */
  readonly isCurveKnown: boolean;
}

/**
 * @throws InputError for what cannot be read or says nothing of the profile, RuntimeError for an
 * option, UnwritableError.
 */
export async function recalibrateCommand(
  command: RecalibrateCommand,
  nowEpochMs: number,
  signal: AbortSignal,
): Promise<CommandResult> {
  const { metrics, profile: path, out, minSamples } = command;
  await expectWritable(out);
  const profile = readProfileSpec(path);
  const bundle = command.policy === null ? null : (await loadBundle(command.policy)).bundle;
  const told = await toldText(metrics, "/metrics", signal);
  const observed = observedTimes(told.text);
  const model = modelOf(observed, command, bundle);
  const own = requireOwn(observed, command, {
    ...{ profile, file: basename(path), bundle, pool: command.pool, model },
  });
  const stretch = stretchOf(profile, bundle, told, command.busyWorkers);
  const options = { minSamples, stretch: stretch.factor };
  const found = recalibrated(profile, own.byVariant, options);
  const most = Math.max(0, ...found.cells.map(({ samples }) => samples));
  if (!found.cells.some(({ source }) => source === "observed")) {
    throw refusal(
      `${metrics}: expected a batch that was measured ${minSamples} times (--min-samples), ` +
        `got ${most} of the most frequent`,
    );
  }
  const accuracy = await accuracyOf(found.profile, command.accuracy, signal);
  const at = new Date(told.atMs ?? nowEpochMs).toISOString();
  const source = sourceText(profile, metrics, at, found.cells.length, stretch);
  const written = { ...accuracy.profile, source };
  await writeAtomically(out, Buffer.from(`${JSON.stringify(written, null, 2)}\n`));
  const result = { out, source, stretch, cells: found.cells, accuracy: accuracy.changes };
  return { exitCode: EXIT_CODES.ok, text: recalibratedText(result), json: result };
}

/** The application whose times count. */
function modelOf(
  observed: readonly ObservedTimes[],
  { metrics, model, policy }: RecalibrateCommand,
  bundle: Bundle | null,
): string | null {
  if (observed.length === 0) {
    const expected =
      "expected the metrics of a server, with lines of stratagem_service_time_seconds";
    throw refusal(`${metrics}: ${expected}, got none: nothing was served yet, or it is older`);
  }
  const known = [...new Set(observed.flatMap((one) => one.model ?? []))];
  const asked = model ?? bundle?.application ?? null;
  if (asked !== null && known.length > 0 && !known.includes(asked)) {
    const whose = model === null ? `of ${policy}` : "of --model";
    throw refusal(`${metrics}: expected times of "${asked}", ${whose}, got ${known.join(", ")}`);
  }
  if (asked !== null || known.length < 2) return asked;
  const expected = "expected one of the applications that the metrics are of";
  throw new RuntimeError("RUNTIME_USAGE", `--model: ${expected}, ${known.join(", ")}; got none`);
}

function requireOwn(
  observed: readonly ObservedTimes[],
  { metrics, profile: path, pool }: RecalibrateCommand,
  whose: Parameters<typeof ownObservations>[1],
): OwnObservations {
  const own = ownObservations(observed, whose);
  if (own.byVariant.size === 0) {
    const names = [...new Set(observed.map(({ variant }) => variant))].join(", ");
    const expected = `expected times of variants of ${path} on ${whose.profile.hardware}`;
    const known = Object.keys(whose.profile.variants).join(", ");
    throw refusal(`${metrics}: ${expected} (${known}), got those of ${names}`);
  }
  if (own.pools.length < 2 || whose.bundle !== null || pool !== null) return own;
  const expected = "expected the pool of the profile's hardware, or the bundle with --policy";
  throw new RuntimeError("RUNTIME_USAGE", `--pool: ${expected}; got ${own.pools.join(", ")}`);
}

/** The profile's own curve comes first: it is of the machine that it was measured on. */
function stretchOf(
  { serving }: ProfileSpec,
  bundle: Bundle | null,
  { text, atMs }: ToldText,
  given: number | null,
): Stretch {
  const contention = serving?.contention ?? bundle?.cluster.serving?.contention ?? [];
  const busyWorkers = given ?? meanBusyWorkers(text, atMs);
  const isCurveKnown = contention.length > 1;
  if (!isCurveKnown || busyWorkers === null) return { factor: 1, busyWorkers, isCurveKnown };
  const pools = bundle?.cluster.pools ?? [];
  const counted = pools.reduce((sum, { workers }) => sum + workers, 0);
  const workers = counted > 0 ? counted : contention.length;
  return { factor: stretchAt(contention, busyWorkers, workers), busyWorkers, isCurveKnown };
}

async function accuracyOf(
  profile: ProfileSpec,
  place: string | null,
  signal: AbortSignal,
): Promise<{ readonly profile: ProfileSpec; readonly changes: readonly AccuracyChange[] | null }> {
  if (place === null) return { profile, changes: null };
  const { text } = await toldText(place, "", signal);
  return withObservedAccuracy(profile, feedbackDocument(text, place));
}

/** When, from what and how; behind it what the profile said of itself. */
function sourceText(
  { source }: ProfileSpec,
  metrics: string,
  at: string,
  cells: number,
  { factor }: Stretch,
): string {
  const divided = factor === 1 ? "" : `, divided by ${factor.toFixed(3)} for contention`;
  const own = `stratagem recalibrate: ${cells} cells from ${metrics} at ${at}${divided}`;
  return source === undefined ? own : `${own}; before: ${source.replace(/^.*; before: /, "")}`;
}

function refusal(message: string): InputError {
  return new InputError("INPUT_INVALID_VALUE", message);
}
