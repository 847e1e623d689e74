/** Policies on machines that are not as profiled, beside rivals and a policy compiled for them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { simulateCommand } from "stratagem/internal/commands/simulate/simulate";
import { violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { parse, stringify } from "yaml";
import { stratagem } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { applicationsOnTrial, type PacedApplication } from "./applications.ts";

/** A machine: a constant pace, or spells of a share of the time at a factor. */
interface Machine {
  readonly name: string;
  readonly options: { readonly pace?: string; readonly slow?: string };
  /** Constant paces that a policy may be compiled for; the best of them is the reference. */
  readonly compiledFor: readonly number[];
}

interface Outcome {
  readonly accuracy: number;
  readonly violations: number;
  readonly p50Ms: number;
}

interface Point {
  readonly loadQps: number;
  readonly machine: Machine;
  readonly ours: Outcome;
  readonly fixed: Outcome;
  readonly reference: Outcome;
  readonly rivals: readonly (Outcome & { readonly name: string })[];
}

const SECONDS = 20;
const SPELL = "200ms";
const CONSTANT: readonly Machine[] = [0.8, 1, 1.25, 1.5, 2, 3].map((pace) => {
  return { name: `pace ${pace}`, options: { pace: String(pace) }, compiledFor: [pace] };
});
const SPELLS: readonly Machine[] = [0.1, 0.5, 0.9].flatMap((share) =>
  [1.3, 2].map((factor) => ({
    name: `${100 * share} % x${factor}`,
    options: { slow: `${share},${factor},${SPELL}` },
    compiledFor: [factor, 1 + share * (factor - 1)],
  })),
);

/** What issue and page allow: parts of the ceiling, points of violations and of accuracy. */
const VIOLATION_FACTOR = 1.1;
const VIOLATION_POINTS = 0.001;
const ACCURACY_POINTS = { constant: 0.003, spells: 0.006 };
const RIVAL_ACCURACY = 0.0005;

export const pace: Experiment = {
  name: "states",
  about: "accuracy and violations on machines that are slower than their profile, or vary",
  takes: "an hour",
  options: {
    app: "one of the applications, by name",
    load: "one of its loads, queries/s",
    seconds: `of each simulation, ${SECONDS}`,
    seed: "of the arrivals, 1",
  },
  run: async (run) => {
    for (const application of await applicationsOnTrial(run)) await onMachines(run, application);
  },
};

async function onMachines(run: Run, application: PacedApplication): Promise<void> {
  const { page, flags, folder } = run;
  const { bundle } = await loadBundle(application.bundle);
  const ceiling = violationCeiling(bundle.slo);
  const loads = flags.numbers("load") ?? application.loadsQps;
  const points: Point[] = [];
  for (const loadQps of loads) {
    for (const machine of [...CONSTANT, ...SPELLS]) {
      const at = (path: string, more: object) =>
        simulated(path, loadQps, more, flags.number("seconds") ?? SECONDS, flags.text("seed"));
      const references: Outcome[] = [];
      for (const factor of machine.compiledFor) {
        const path = await compiledFor(application, loadQps, factor, folder);
        // Compiled for one machine, it runs on another where the factor is not constant.
        const relative = machine.options.pace === undefined ? machine.options : {};
        if (machine.options.pace !== undefined) references.push(await at(path, { adapt: false }));
        else references.push(await at(path, { adapt: false, ...relative, rebased: factor }));
      }
      const rivals = [];
      for (const baseline of application.rivals) {
        rivals.push({
          name: baseline,
          ...(await at(application.bundle, { ...machine.options, baseline })),
        });
      }
      points.push({
        loadQps,
        machine,
        ours: await at(application.bundle, machine.options),
        fixed: await at(application.bundle, { ...machine.options, adapt: false }),
        reference: references.sort((a, b) => worth(b, ceiling) - worth(a, ceiling))[0] as Outcome,
        rivals,
      });
    }
  }
  tell(run, application, points, ceiling);
  page.say();
}

function worth({ accuracy, violations }: Outcome, ceiling: number): number {
  return accuracy - (violations > ceiling ? 1 + violations : 0);
}

function tell(
  { page }: Run,
  { name }: PacedApplication,
  points: readonly Point[],
  ceiling: number,
): void {
  const flaws = points.map((point) => flawsOf(point, ceiling));
  const bad = flaws.filter((found) => found.length > 0).length;
  page.say(`${name}: ${points.length - bad} of ${points.length} points as good as they should be`);
  page.table(
    ["qps, machine", "ours", "p50 ms", "not adapting", "compiled for it", "best rival", ""],
    points.map((point, index) => [
      `${point.loadQps} ${point.machine.name}`,
      text(point.ours),
      point.ours.p50Ms.toFixed(1),
      text(point.fixed),
      text(point.reference),
      rivalText(point, ceiling),
      (flaws[index] ?? []).join(", "),
    ]),
  );
}

function rivalText({ rivals }: Point, ceiling: number): string {
  const [best] = rivals.toSorted((a, b) => worth(b, ceiling) - worth(a, ceiling));
  return best === undefined ? "" : `${best.name} ${text(best)}`;
}

function text({ accuracy, violations }: Outcome): string {
  return `${(100 * accuracy).toFixed(2)} / ${(100 * violations).toFixed(2)}`;
}

/** Where a policy loses more than it may. */
function flawsOf({ machine, ours, fixed, reference, rivals }: Point, ceiling: number): string[] {
  const isConstant = machine.options.pace !== undefined;
  const isKept = reference.violations <= ceiling;
  const most = Math.max(ceiling, VIOLATION_FACTOR * reference.violations + VIOLATION_POINTS);
  const least = reference.accuracy - ACCURACY_POINTS[isConstant ? "constant" : "spells"];
  const better = [...rivals, { ...fixed, name: "not adapting" }].filter(
    ({ accuracy, violations }) =>
      accuracy > ours.accuracy + RIVAL_ACCURACY && violations < ours.violations,
  );
  return [
    ...(isKept && ours.violations > most ? ["violations"] : []),
    ...(isKept && ours.accuracy < least ? ["accuracy"] : []),
    ...better.map((one) => one.name),
  ];
}

async function simulated(
  bundle: string,
  loadQps: number,
  { rebased = 1, ...options }: { readonly rebased?: number; readonly slow?: string },
  seconds: number,
  seed = "1",
): Promise<Outcome> {
  // Times of a policy that was compiled for a factor contain it.
  const machine = rebased === 1 ? options : { ...options, pace: [String(1 / rebased)] };
  const { json } = await simulateCommand(
    {
      ...{ bundle, seed, arrivals: `poisson:${loadQps}` },
      ...{ duration: `${seconds}s`, fanout: "poisson" },
      ...machine,
    },
    {
      jobs: 1,
      onProgress: () => {},
      signal: new AbortController().signal,
      nowMs: () => performance.now(),
    },
  );
  const { accuracyPerQuery, violationRate, latencyMs } = json as {
    accuracyPerQuery: number | null;
    violationRate: number;
    latencyMs: { p50: number } | null;
  };
  return {
    accuracy: accuracyPerQuery ?? 0,
    violations: violationRate,
    p50Ms: latencyMs?.p50 ?? Number.NaN,
  };
}

interface Spec {
  workload: object;
  tasks: { variants: { profile: string; model?: string; chain?: { model: string }[] }[] }[];
}

/** Compiles the application for one load, of profiles with all times multiplied. */
async function compiledFor(
  { app }: PacedApplication,
  loadQps: number,
  factor: number,
  folder: string,
): Promise<string> {
  const own = join(folder, `${Buffer.from(app).toString("hex").slice(-24)}-${loadQps}-${factor}`);
  const out = join(own, "bundle.msgpack");
  mkdirSync(own, { recursive: true });
  const spec: Spec = parse(readFileSync(app, "utf8"));
  const from = (path: string) => resolve(dirname(app), path);
  for (const variant of spec.tasks.flatMap(({ variants }) => variants)) {
    const [file = "", name = ""] = variant.profile.split("#");
    const copy = join(own, `${Buffer.from(file).toString("hex").slice(-40)}.json`);
    writeFileSync(
      copy,
      JSON.stringify(slowed(JSON.parse(readFileSync(from(file), "utf8")), factor)),
    );
    variant.profile = `${copy}#${name}`;
    if (variant.model !== undefined) variant.model = from(variant.model);
  }
  spec.workload = { ...spec.workload, loads: [loadQps] };
  writeFileSync(join(own, "app.yaml"), stringify(spec));
  await stratagem("compile", join(own, "app.yaml"), "-o", out);
  return out;
}

/** Service times of a profile; the serving path is the server's. */
function slowed(profile: { variants: Record<string, object> }, factor: number): object {
  const times = (value: unknown): unknown => {
    if (typeof value === "number") return value * factor;
    if (Array.isArray(value)) return value.map(times);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, key === "samples" ? one : times(one)]),
    );
  };
  const timed = new Set(["latencyMs", "byCores", "layers"]);
  const variants = Object.entries(profile.variants).map(([name, variant]) => [
    name,
    Object.fromEntries(
      Object.entries(variant).map(([key, one]) => [key, timed.has(key) ? times(one) : one]),
    ),
  ]);
  return { ...profile, variants: Object.fromEntries(variants) };
}
