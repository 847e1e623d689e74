/**
 * Implements `stratagem profile --serving`: measures the serving overhead through the product's own
 * server and adds it to a profile.
 */
import { dirname, resolve } from "node:path";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import { MAX_CONTENTION } from "stratagem-runtime/internal/bundle/limits";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { writeBundle } from "stratagem-runtime/internal/bundles/read-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { expectWritable, writeAllAtomically } from "../../base/atomic-write.ts";
import { methodOf } from "../../methods/registry.ts";
import { plannedInputsOf } from "../../profile/measure.ts";
import { type PlanSources, type ProfilePlan, planProfile } from "../../profile/profile-plan.ts";
import type { WorkerSources } from "../../profile/profiled-worker.ts";
import { heldCurve } from "../../profile/serving/contention-curve.ts";
import { describeSamples } from "../../profile/serving/described-samples.ts";
import { measurePath, type ServedSamples } from "../../profile/serving/measured-path.ts";
import { measureWorkers } from "../../profile/serving/measured-workers.ts";
import { planRows, planShapes } from "../../profile/serving/planned-inputs.ts";
import { expectProfile, withServingRows } from "../../profile/serving/profile-file.ts";
import { withServedFolder } from "../../profile/serving/served-folder.ts";
import { startServed } from "../../profile/serving/served-process.ts";
import type { ServingEffort } from "../../profile/serving/serving-effort.ts";
import { refuseDisturbed, servingLines } from "../../profile/serving/serving-messages.ts";
import {
  type PathSamples,
  type ServingRows,
  servingRows,
} from "../../profile/serving/serving-rows.ts";
import { StallProbe } from "../../profile/serving/stall-probe.ts";
import { watchStalls } from "../../profile/serving/stall-watch.ts";
import type { Application } from "../../spec/application.ts";
import { type LoadedApplication, loadApplication } from "../../spec/load-application.ts";
import { type CompileSources, compiledFiles } from "../compile/compile.ts";
import { jsonBytes, type ProfileCommand } from "./profile.ts";

/** Duration of each of three probes for processor time taken by the host. */
const PROBE_MS = 2000;

export interface ServingCommand
  extends Omit<
    ProfileCommand,
    "out" | "batches" | "cores" | "budgetMs" | "effort" | "repeat" | "dryRun" | "task"
  > {
  /** Path of the profile to extend. */
  readonly into: string;
  /** Additional options of the server. */
  readonly serveOptions: readonly string[];
  readonly effort: ServingEffort;
}

export interface ServingSurroundings extends PlanSources, WorkerSources, CompileSources {
  /** Path of the built command line. */
  readonly cli: string;
  readonly sleep: (ms: number) => Promise<void>;
  /** Random numbers for the times between requests. */
  readonly rng: Rng;
  readonly onNote: (line: string) => void;
}

/**
 * @throws InputError for an application that cannot be served, a missing profile, and a noisy
 * machine; RuntimeError of its method; the reason of an aborted signal.
 */
export async function servingCommand(
  command: ServingCommand,
  surroundings: ServingSurroundings,
): Promise<CommandResult> {
  const { app, into, force } = command;
  await expectProfile(into);
  for (const path of [into, `${into}.serving.json`]) await expectWritable(path);
  const loaded = servable(loadApplication(app, { profile: into }));
  const plan = await planServing(command, loaded.application, surroundings);
  const endStalls = watchStalls(surroundings.sleep);
  const probe = probeOf(surroundings);
  const seen = await seenSamples(command, loaded, plan, probe, surroundings).finally(() => {
    endStalls(null);
  });
  const samples = { ...seen, stalls: endStalls(probe.form()) };
  if (!force) refuseDisturbed(into, samples);
  const rows = rowsOf(command, loaded, samples);
  const measurement = `${into}.serving.json`;
  await writeAllAtomically([
    { path: measurement, bytes: jsonBytes(describeSamples(samples)) },
    { path: into, bytes: await withServingRows(into, rows) },
  ]);
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${into}: with the serving path`,
      `${measurement}: how it was measured`,
      ...servingLines(rows, samples),
    ].join("\n"),
    json: { profile: into, servingMeasurement: measurement, serving: rows },
  };
}

/** Workers on other machines do not contend for processors, so contention is left out. */
function rowsOf(
  { urls }: ServingCommand,
  { application }: LoadedApplication,
  samples: PathSamples,
): ServingRows {
  const rows = servingRows(samples);
  if ((urls ?? null) === null) return rows;
  const width = Math.min(MAX_CONTENTION, workersOf(application) + samples.processors);
  return { ...rows, contention: heldCurve(rows.contention, width) };
}

/** Plans each variant with batches of one and with the batches that keep workers busy. */
async function planServing(
  command: ServingCommand,
  application: Application,
  surroundings: ServingSurroundings,
): Promise<ProfilePlan> {
  const spells = spellBatches(application);
  const batches = [...new Set([1, ...spells.values()])].sort((a, b) => a - b);
  const asked = { ...command, out: null, task: null, batches, repeat: 1, cores: null };
  const plan = await planProfile(asked, surroundings);
  const variants = plan.variants.map((variant) => {
    const { name, batches: fitting } = variant;
    const own = fitting.filter((batch) => batch === 1 || batch === spells.get(name));
    return own.length === 0 ? variant : { ...variant, batches: own };
  });
  return { ...plan, variants };
}

/** Longest batch to keep workers busy with; longer ones would be few in a period. */
const MOST_SPELL_MS = 50;

/** Returns the largest batch within that time by profile name; modules have none. */
function spellBatches({ tasks }: Application): Map<string, number> {
  const largest = new Map<string, number>();
  for (const { profile, host } of tasks.flatMap(({ variants }) => variants)) {
    if (host !== undefined) continue;
    for (const { batch, latencyMs } of profile.rows) {
      if (latencyMs <= MOST_SPELL_MS && batch > (largest.get(profile.variant) ?? 1))
        largest.set(profile.variant, batch);
    }
  }
  return largest;
}

async function seenSamples(
  command: ServingCommand,
  loaded: LoadedApplication,
  plan: ProfilePlan,
  probe: StallProbe,
  surroundings: ServingSurroundings,
): Promise<Omit<PathSamples, "stalls">> {
  // Probes run while nothing else is measured: at the beginning, in the middle and at the end.
  await probe.look(PROBE_MS);
  const served = await servedSamples(command, loaded, plan, surroundings);
  await probe.look(PROBE_MS);
  const woken = answererOf(served, loaded, plan);
  const ran = await workerSamples(command, { loaded, plan, woken }, surroundings);
  await probe.look(PROBE_MS);
  return { ...served, ...ran };
}

function probeOf({ nowMs, sleep }: ServingSurroundings): StallProbe {
  const switches = () => process.resourceUsage().involuntaryContextSwitches;
  return new StallProbe({ nowMs, sleep, switches });
}

/**
 * Returns the application with only its lowest and highest load, planned without a serving path.
 * @throws InputError for an application without models.
 */
function servable(loaded: LoadedApplication): LoadedApplication {
  const { application, fail } = loaded;
  for (const [task, { variants }] of application.tasks.entries()) {
    const index = variants.findIndex(({ model }) => model === null);
    if (index < 0) continue;
    const message =
      "expected a model, since measuring the serving path needs one to serve, got none";
    fail({
      code: "INPUT_CONFLICT",
      path: ["tasks", task, "variants", index],
      message,
    });
  }
  const { serving: _, ...cluster } = application.cluster;
  const qps = endsOf(application.loads);
  return { ...loaded, application: { ...application, cluster, loads: { kind: "list", qps } } };
}

function endsOf(loads: Application["loads"]): number[] {
  if (loads.kind === "adaptive") return [loads.fromQps, loads.toQps];
  const [first = 1] = loads.qps;
  return [...new Set([first, loads.qps.at(-1) ?? first])];
}

async function servedSamples(
  { app, effort, threads, serveOptions, seed }: ServingCommand,
  loaded: LoadedApplication,
  plan: ProfilePlan,
  surroundings: ServingSurroundings,
): Promise<ServedSamples> {
  const { cli, signal, sleep, nowMs, onNote } = surroundings;
  const method = await methodOf(loaded.application.policy);
  onNote("compiling a small bundle to serve");
  const { bundle, files } = await compiledFiles(loaded, method, surroundings);
  const rowsOf = planRows(plan, seed);
  const modelsOf = loaded.inputs.map(({ path }) => resolve(dirname(app), path));
  const served = { bundle: await writeBundle(bundle), stages: files, models: modelsOf, app };
  return withServedFolder(served, async (folder) => {
    const { bundle: path, accessLog } = folder;
    const where = { bundle: path, models: folder.path, accessLog };
    const server = await startServed({ cli, ...where, threads, options: serveOptions, signal });
    try {
      return await measurePath(server, accessLog, effort.path, {
        ...{ signal, sleep, nowMs, rowsOf },
        shapeOf: planShapes(plan),
        gapMs: gapsOf(effort, surroundings),
        nextGap: gapsOf({ gapMs: 1 }, surroundings),
        loadQps: highestLoadQps(bundle.levels),
        onProgress: surroundings.pool.onProgress,
      });
    } finally {
      await server.stop();
    }
  });
}

/** Returns the highest feasible load, or the highest if none is feasible. */
function highestLoadQps(levels: Bundle["levels"]): number {
  const feasible = levels.filter(({ feasible }) => feasible);
  const loads = (feasible.length > 0 ? feasible : levels).map(({ loadQps }) => loadQps);
  return feasible.length > 0 ? Math.max(...loads) : Math.min(...loads);
}

/**
 * Returns the plan index of the variant that answered single requests; null if several did, or
 * several batches ran for one request.
 */
function answererOf(
  { single }: ServedSamples,
  { application }: LoadedApplication,
  plan: ProfilePlan,
): number | null {
  const seen = single.flatMap(({ requests }) => requests);
  const isOne = seen.every(({ variant, batch }) => batch === 1 && variant === seen[0]?.variant);
  const [task, ...others] = application.tasks;
  if (!isOne || task === undefined || others.length > 0) return null;
  const answerer = task.variants.find(({ name }) => name === seen[0]?.variant);
  const index = plan.variants.findIndex(({ name }) => name === answerer?.profile.variant);
  return index < 0 || plan.variants[index]?.batches[0] !== 1 ? null : index;
}

interface Ran {
  readonly loaded: LoadedApplication;
  readonly plan: ProfilePlan;
  readonly woken: number | null;
}

async function workerSamples(
  { effort, urls }: ServingCommand,
  { loaded: { application }, plan, woken }: Ran,
  surroundings: ServingSurroundings,
): Promise<Pick<PathSamples, "processors" | "workers">> {
  const processors = surroundings.machine.cores;
  const own = workersOf(application);
  const wanted = urls?.length ?? Math.max(own, processors + 1);
  const width = Math.min(effort.mostWorkers, wanted);
  const { pool } = surroundings;
  const asked = { ...effort.workers, width, woken };
  const ran = await measureWorkers(plan, plannedInputsOf(plan), asked, {
    ...surroundings,
    gapMs: gapsOf(effort, surroundings),
    onProgress: (done, total) => pool.onProgress(done, total, "concurrent workers"),
  });
  return { processors, workers: { ...ran, isOfPath: woken !== null } };
}

function workersOf({ cluster }: Application): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}

/** Exponential, as in Poisson arrivals. */
function gapsOf(
  { gapMs }: Pick<ServingEffort, "gapMs">,
  { rng }: Pick<ServingSurroundings, "rng">,
) {
  return () => -gapMs * Math.log(1 - rng.nextFloat());
}

/** Decides where the rows go, and whether other measurements run. @throws RuntimeError */
export function servingOutput({
  out,
  serving,
  labels,
}: {
  readonly out?: string;
  readonly serving?: true | string;
  readonly labels?: string;
}): { readonly into: string; readonly isAlone: boolean } | null {
  if (serving === undefined) return null;
  const usage = (message: string) => new RuntimeError("RUNTIME_USAGE", message);
  if (serving === true) {
    if (out !== undefined) return { into: out, isAlone: false };
    throw usage("expected -o FILE, or --serving PROFILE to add the path to a profile, got neither");
  }
  if (out !== undefined) {
    const message = "expected --serving alone with -o FILE to measure everything, or --serving";
    throw usage(`${message} ${serving} to add the serving path to it, got both`);
  }
  if (labels === undefined) return { into: serving, isAlone: true };
  throw usage(`expected --labels without --serving ${serving}, which adds the serving path alone`);
}

/** Describes the serving path measurement that follows, or would follow, the others. */
export async function alsoServing(
  measured: CommandResult,
  into: string,
  dryRun: boolean,
  measure: (into: string) => Promise<CommandResult>,
): Promise<CommandResult> {
  if (dryRun) {
    const text = `${measured.text}\nwould then measure the serving path, and add it to ${into}`;
    return { ...measured, text, json: { ...measured.json, servingInto: into } };
  }
  const serving = await measure(into);
  const text = `${measured.text}\n\n${serving.text}`;
  return { ...measured, text, json: { ...measured.json, ...serving.json } };
}
