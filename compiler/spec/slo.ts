/** Latency objective of a spec: one for all queries, or one for each class. */
import type { Slo, SloClass } from "./application.ts";
import { conflict, invalid, type Mistake, missing, show } from "./document/mistakes.ts";
import { duplicateNames } from "./pipeline.ts";
import { methodsWithClasses, methodsWithTargets, rulesOf } from "./policy.ts";
import type { ApplicationSpec } from "./schema/application-schema.ts";

const PATH = ["slo", "classes"] as const;
const MIN_CLASSES = 2;
const MAX_CLASSES = 16;
/** Tolerance of the sum of shares, since thirds are rounded. */
const SHARE_TOLERANCE = 0.002;

/** Finds mistakes in the SLO of a spec beyond its structure. */
export function* sloMistakes({ slo, policy }: ApplicationSpec): Generator<Mistake> {
  yield* targetMistakes(slo, policy);
  const { latency, classes } = slo;
  const rules = rulesOf(policy).classes;
  const asked = rules?.asked(policy);
  if (classes === undefined) {
    if (latency === undefined) {
      yield missing(["slo", "latency"], "a time above 0 with its unit such as 150 ms, or classes");
    }
    if (asked !== undefined) {
      const message = `expected no value, since slo has no classes, got ${show(asked)}`;
      yield conflict(["policy", "classes"], message);
    }
    return;
  }
  if (latency !== undefined) yield conflict(PATH, "expected latency or classes, got both");
  if (rules === undefined) {
    const allowed = `slo.latency, or method ${methodsWithClasses().join(" or ")}`;
    const message =
      `method ${policy.method} supports one SLO for all requests; allowed: ` + `${allowed}`;
    yield { code: "INPUT_UNSUPPORTED", path: PATH, message };
    return;
  }
  yield* rules.mistakes(policy);
  yield* classMistakes(classes);
}

/** Checks latency targets, which only some methods support, and which must be within the SLO. */
function* targetMistakes(
  slo: ApplicationSpec["slo"],
  policy: ApplicationSpec["policy"],
): Generator<Mistake> {
  const latencies = (slo.classes ?? []).map(({ latency }) => latency);
  const mostMs = slo.latency ?? Math.max(0, ...latencies);
  for (const key of ["p50", "p95"] as const) {
    const targetMs = slo[key];
    if (targetMs === undefined) continue;
    const path = ["slo", key];
    if (rulesOf(policy).latencyTargets !== true) {
      const allowed = `slo.latency alone, or method ${methodsWithTargets().join(" or ")}`;
      const message =
        `method ${policy.method} does not support a target of ${key}; allowed: ` + `${allowed}`;
      yield { code: "INPUT_UNSUPPORTED", path, message };
    } else if (targetMs > mostMs) {
      yield conflict(path, `expected at most the SLO of ${mostMs} ms, got ${targetMs} ms`);
    }
  }
  const { p50 = 0, p95 = Number.POSITIVE_INFINITY } = slo;
  if (p50 > p95) {
    yield conflict(["slo", "p50"], `expected at most slo.p95 of ${p95} ms, got ${p50} ms`);
  }
}

function* classMistakes(
  classes: NonNullable<ApplicationSpec["slo"]["classes"]>,
): Generator<Mistake> {
  if (classes.length < MIN_CLASSES || classes.length > MAX_CLASSES) {
    const expected = `${MIN_CLASSES} to ${MAX_CLASSES} classes; one SLO is slo.latency`;
    yield invalid(PATH, expected, String(classes.length));
  }
  yield* duplicateNames(classes, PATH, "class", "classes");
  const sum = sumOf(classes);
  if (Math.abs(sum - 1) > SHARE_TOLERANCE) {
    const message = `expected shares that sum to 100%, got ${Number((100 * sum).toPrecision(6))}%`;
    yield conflict(PATH, message);
  }
}

/** Resolves the SLO of a valid spec. With classes, it is the longest of theirs. */
export function resolveSlo({ slo }: ApplicationSpec): Slo {
  const { maxViolationRate = null, percentile, p50, p95 } = slo;
  const targets = {
    ...(p50 !== undefined && { p50Ms: p50 }),
    ...(p95 !== undefined && { p95Ms: p95 }),
  };
  if (slo.classes === undefined) {
    return { latencyMs: slo.latency ?? Number.NaN, maxViolationRate, percentile, ...targets };
  }
  const sum = sumOf(slo.classes);
  const classes = slo.classes.map(({ name, latency, share }): SloClass => {
    return { name, latencyMs: latency, share: share / sum };
  });
  const latencyMs = Math.max(...classes.map((sloClass) => sloClass.latencyMs));
  return { latencyMs, maxViolationRate, percentile, ...targets, classes };
}

function sumOf(classes: readonly { readonly share: number }[]): number {
  return classes.reduce((sum, { share }) => sum + share, 0);
}
