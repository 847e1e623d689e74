/** What plans of a pipeline miss that have a way stated, and no worker taken for it; simulated. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { simulateInferline } from "stratagem/internal/methods/inferline/simulate/simulate";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { parse } from "yaml";
import { openBundle, stratagem } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, present } from "../harness/numbers.ts";

const POLICY = "policies/cascade/app.yaml";
const PROFILE = "profiles/cascade/epyc-2vcpu.json";
/** There and back, ms: what was measured behind links of 0, 2 and 10 ms. */
const WAYS = [2.3, 5.1, 14.4];
const LOADS = [50, 300];
const SECONDS = 60;

export const ways: Experiment = {
  name: "ways",
  about: "the cascade's plans with a stated way to workers, and with a measured one",
  takes: "a minute",
  run: compareWays,
};

async function compareWays({ page, folder }: Run): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const wayMs of WAYS) {
    const stated = await compiledWith(folder, 0, wayMs);
    const measured = await compiledWith(folder, wayMs, 0);
    for (const qps of LOADS) {
      const served = servedBy(stated, measured);
      const told = [stated, served, measured].flatMap((bundle) => simulated(bundle, qps));
      rows.push([`${wayMs} ms, ${qps}/s`, ...told]);
    }
  }
  page.say(
    "\nstated: what its plan promises, and what comes of it where workers are taken for the way; " +
      "measured: what the plan of a profile with the way in it promises",
  );
  const each = ["p99 ms", "late", "replicas"];
  const head = ["stated", "so served", "measured"].flatMap((what) =>
    each.map((one) => `${what}: ${one}`),
  );
  page.table(["way, load", ...head], rows);
}

/** @param inProfileMs way that every time has in it. @param statedMs that the spec states. */
async function compiledWith(
  folder: string,
  inProfileMs: number,
  statedMs: number,
): Promise<InferlineBundle> {
  const { serving: _, ...profile } = JSON.parse(readFileSync(PROFILE, "utf8"));
  for (const { latencyMs } of Object.values<{ latencyMs: Times }>(profile.variants)) {
    for (const row of Object.values(latencyMs)) {
      for (const quantile of ["p50", "p95", "p99", "mean"] as const) row[quantile] += inProfileMs;
    }
  }
  const [app, measured] = [join(folder, "app.json"), join(folder, "profile.json")];
  writeFileSync(measured, JSON.stringify(profile));
  const spec = parse(readFileSync(POLICY, "utf8").replaceAll("../../", `${resolve(".")}/`));
  const cluster = { ...spec.cluster, communicationLatency: `${statedMs} ms` };
  writeFileSync(app, JSON.stringify({ ...spec, cluster }));
  const out = join(folder, "bundle.msgpack");
  await stratagem("compile", app, "--profile", measured, "-o", out);
  return openBundle("inferline", out);
}

type Times = Record<string, Record<"p50" | "p95" | "p99" | "mean", number>>;

/** The plans of one with the times of another, in which workers are taken for the way. */
function servedBy(stated: InferlineBundle, measured: InferlineBundle): InferlineBundle {
  const tasks = stated.tasks.map((task, index) => ({
    ...task,
    variants: task.variants.map((variant, at) => ({
      ...variant,
      profiles: present(measured.tasks[index]?.variants[at], "the same variants").profiles,
    })),
  }));
  return { ...stated, tasks, cluster: { ...stated.cluster, communicationLatencyMs: 0 } };
}

function simulated(bundle: InferlineBundle, qps: number): string[] {
  const { violationRate, latencyMs, servers } = simulateInferline(bundle, {
    arrivals: { kind: "poisson", qps },
    durationMs: SECONDS * 1000,
    seed: 1,
    serviceTimes: "sampled",
  });
  return [latencyMs?.p99.toFixed(1) ?? "-", percent(violationRate), servers.mean.toFixed(1)];
}
