/**
 * `stratagem profile APP --from URL|FILE -o OUT`: replaces a profile's times by those a server
 * measured.
 */
import { basename, dirname, resolve } from "node:path";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { expectWritable, writeAtomically } from "../base/atomic-write.ts";
import { readDocument } from "../spec/document/document.ts";
import { InputError } from "../spec/document/input-error.ts";
import { parseStructure } from "../spec/document/structure.ts";
import { readProfileSpec } from "../spec/profile.ts";
import { applicationSchema } from "../spec/schema/application-schema.ts";
import type { ProfileSpec } from "../spec/schema/profile-schema.ts";
import {
  type FeedbackDocument,
  feedbackDocument,
  withObservedAccuracy,
} from "./observed-accuracy.ts";
import {
  type ObservedTimes,
  type ServerTimes,
  serverTimes,
  stretchAt,
  TIMES_PATH,
} from "./observed-times.ts";
import { type OwnObservations, ownObservations } from "./own-observations.ts";
import { recalibrated } from "./recalibrated-profile.ts";
import { recalibratedText } from "./recalibrated-text.ts";
import { readServerText } from "./server-text.ts";

export interface RecalibrateCommand {
  /** The profile that the served bundle was compiled from, or a spec that names only this one. */
  readonly app: string;
  /** URLs of a server, or saved files: its measured times, and its feedback document. */
  readonly from: readonly string[];
  readonly out: string;
  /** The served bundle; null if the names of the times are those of the profile. */
  readonly policy: string | null;
}

/** Least samples: below 100, the 99th percentile is the maximum. */
const MIN_SAMPLES = 100;

/** Factor that observed times were divided by, and its source. */
interface Stretch {
  readonly factor: number;
  readonly busyWorkers: number;
  /** Whether the profile has a curve of contention. */
  readonly isCurveKnown: boolean;
}

/**
 * @throws InputError for a file that cannot be read or has no times of the profile, RuntimeError
 * for an option, UnwritableError.
 */
export async function recalibrateCommand(
  command: RecalibrateCommand,
  signal: AbortSignal,
): Promise<CommandResult> {
  const { out } = command;
  await expectWritable(out);
  const path = profilePath(command.app);
  const profile = readProfileSpec(path);
  const bundle = command.policy === null ? null : (await loadBundle(command.policy)).bundle;
  const { place, times, feedback } = await readSources(command.from, signal);
  const { observed, atMs, busyWorkers } = times;
  const application = applicationOf(observed, place, command.policy, bundle);
  const own = requireOwn(observed, place, { profile, file: basename(path), bundle, application });
  const stretch = stretchOf(profile, bundle, busyWorkers);
  const options = { minSamples: MIN_SAMPLES, stretch: stretch.factor };
  const found = recalibrated(profile, own.byVariant, options);
  const most = Math.max(0, ...found.cells.map(({ samples }) => samples));
  if (!found.cells.some(({ source }) => source === "observed")) {
    throw refusal(
      `${place}: expected at least ${MIN_SAMPLES} samples of a batch size, ` +
        `got ${most} of the most frequent one`,
    );
  }
  const accuracy =
    feedback === null
      ? { profile: found.profile, changes: null }
      : withObservedAccuracy(found.profile, feedback);
  const at = new Date(atMs).toISOString();
  const source = sourceText(profile, place, at, found.cells.length, stretch);
  const written = { ...accuracy.profile, source };
  await writeAtomically(out, Buffer.from(`${JSON.stringify(written, null, 2)}\n`));
  const result = { out, source, stretch, cells: found.cells, accuracy: accuracy.changes };
  return { exitCode: EXIT_CODES.ok, text: recalibratedText(result), json: result };
}

/** Returns the application whose times count. */
function applicationOf(
  observed: readonly ObservedTimes[],
  place: string,
  policy: string | null,
  bundle: Bundle | null,
): string | null {
  if (observed.length === 0) {
    throw refusal(`${place}: expected times of batches, got none: the server has run none yet`);
  }
  const known = [...new Set(observed.map((one) => one.application))];
  const asked = bundle?.application ?? null;
  if (asked !== null && known.length > 0 && !known.includes(asked)) {
    const expected = `expected times of "${asked}", of ${policy}`;
    throw refusal(`${place}: ${expected}, got ${known.join(", ")}`);
  }
  if (asked !== null || known.length < 2) return asked;
  const expected = "expected the bundle with --policy, since the times are of";
  throw new RuntimeError("RUNTIME_USAGE", `${expected} ${known.join(", ")}`);
}

function requireOwn(
  observed: readonly ObservedTimes[],
  place: string,
  profiled: Parameters<typeof ownObservations>[1],
): OwnObservations {
  const own = ownObservations(observed, profiled);
  if (own.byVariant.size === 0) {
    const names = [...new Set(observed.map(({ variant }) => variant))].join(", ");
    const expected =
      `expected times of variants of ${profiled.file} on ` + `${profiled.profile.hardware}`;
    const known = Object.keys(profiled.profile.variants).join(", ");
    throw refusal(`${place}: ${expected} (${known}), got those of ${names}`);
  }
  if (own.pools.length < 2 || profiled.bundle !== null) return own;
  const expected = "expected the bundle with --policy, since the times are of the pools";
  throw new RuntimeError("RUNTIME_USAGE", `${expected} ${own.pools.join(", ")}`);
}

/** Prefers the profile's own curve, which is of the machine that it was measured on. */
function stretchOf({ serving }: ProfileSpec, bundle: Bundle | null, busyWorkers: number): Stretch {
  const contention = serving?.contention ?? bundle?.cluster.serving?.contention ?? [];
  const isCurveKnown = contention.length > 1;
  if (!isCurveKnown) return { factor: 1, busyWorkers, isCurveKnown };
  const pools = bundle?.cluster.pools ?? [];
  const counted = pools.reduce((sum, { workers }) => sum + workers, 0);
  const workers = counted > 0 ? counted : contention.length;
  return { factor: stretchAt(contention, busyWorkers, workers), busyWorkers, isCurveKnown };
}

interface ServerSources {
  /** Source of the times, as given. */
  readonly place: string;
  readonly times: ServerTimes;
  readonly feedback: FeedbackDocument | null;
}

/** Reads the times, whose document names its format, and the feedback, whose does not. */
async function readSources(places: readonly string[], signal: AbortSignal): Promise<ServerSources> {
  let found: Omit<ServerSources, "feedback"> | null = null;
  let feedback: FeedbackDocument | null = null;
  for (const place of places) {
    const read = await readServerText(place, TIMES_PATH, signal);
    const isFeedback = read.text.trimStart().startsWith("{") && !read.text.includes('"format"');
    if (isFeedback) feedback = feedbackDocument(read);
    else found = { place, times: serverTimes(read) };
  }
  if (found !== null) return { ...found, feedback };
  throw new RuntimeError("RUNTIME_USAGE", "expected --from with times of a server, got none");
}

/**
 * Returns the only profile that a spec names.
 * @throws RuntimeError RUNTIME_USAGE if it names several.
 */
function profilePath(path: string): string {
  const { value } = readDocument(path);
  if (value === null || typeof value !== "object" || !("tasks" in value)) return path;
  const { tasks } = parseStructure(readDocument(path), applicationSchema);
  const references = tasks.flatMap(({ variants }) => variants.flatMap(({ profile }) => profile));
  const files = [...new Set(references.map((reference) => reference.replace(/#[^#]*$/, "")))];
  const [only, ...others] = files;
  if (only !== undefined && others.length === 0) return resolve(dirname(path), only);
  const expected = `expected one profile in place of ${path}, which names`;
  throw new RuntimeError("RUNTIME_USAGE", `${expected} ${files.join(", ")}`);
}

/**
 * Describes when, from what and how the profile was made; followed by the profile's own source
 * text.
 */
function sourceText(
  { source }: ProfileSpec,
  place: string,
  at: string,
  cells: number,
  { factor }: Stretch,
): string {
  const divided = factor === 1 ? "" : `, divided by ${factor.toFixed(3)} for contention`;
  const own = `stratagem profile: ${cells} cells from ${place} at ${at}${divided}`;
  return source === undefined ? own : `${own}; before: ${source.replace(/^.*; before: /, "")}`;
}

function refusal(message: string): InputError {
  return new InputError("INPUT_INVALID_VALUE", message);
}
