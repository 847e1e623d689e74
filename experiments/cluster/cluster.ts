/** The acceptance of many machines, played with real parts (docs/experiments/cluster.md). */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { compiled } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines } from "../harness/live.ts";
import { type FaultOutcome, runFault } from "./fault-run.ts";
import { faultsOf } from "./faults.ts";
import { hops } from "./hops.ts";
import { System, TOPOLOGIES, type Topology } from "./system.ts";
import { templateOf } from "./template.ts";

const SPEC = "experiments/cluster/letters.yaml";
const MODELS = "models/image-classification";
const QPS = 20;
const CALM_MS = 3000;
const FAULT_MS = 8000;
const AFTER_MS = 10_000;

const faults: Experiment = {
  name: "faults",
  about: "kills, stops, cuts, slows, fills and rolls; what became of every request",
  takes: "minutes that nobody has counted; needs root, nats-server, iptables, python3",
  options: {
    topology: `${TOPOLOGIES.join(", ")}; cluster`,
    qps: `requests a second; ${QPS}`,
    only: "faults whose name has this in it; all",
  },
  isExtra: true,
  run: runFaults,
};

export const cluster: readonly Experiment[] = [faults, hops];

async function runFaults({ page, flags, folder }: Run): Promise<void> {
  for (const line of machineLines()) page.say(line);
  const startMs = performance.now();
  const [topology = "cluster"] = flags.among<Topology>("topology", TOPOLOGIES) ?? [];
  const policy = await compiledHere(folder);
  const { sloMs, ...template } = await templateOf(policy);
  const only = flags.text("only") ?? "";
  const rows: string[][] = [];
  await System.with({ folder, policy, models: MODELS, topology }, async (system) => {
    let firstNumber = 0;
    for (const [seed, fault] of faultsOf(system).entries()) {
      if (!fault.name.includes(only)) continue;
      if (fault.missing !== undefined) {
        page.say(`${fault.name}: left out, needs ${fault.missing}`);
        continue;
      }
      const times = { calmMs: CALM_MS, faultMs: FAULT_MS, afterMs: AFTER_MS };
      const load = { qps: flags.number("qps") ?? QPS, seed, firstNumber, sloMs, template };
      await system.settle();
      const { outcome, lastNumber } = await runFault(system, fault, { ...times, ...load });
      firstNumber = lastNumber;
      const row = rowOf(fault.name, outcome);
      process.stderr.write(`${row.join(" | ")}\n`);
      rows.push(row);
    }
  });
  page.table(HEAD, rows);
  page.say(`${((performance.now() - startMs) / 60_000).toFixed(1)} minutes`);
}

/** The policy, compiled from a copy of its spec. @returns the path of the bundle. */
async function compiledHere(folder: string): Promise<string> {
  const spec = join(folder, "letters.yaml");
  writeFileSync(spec, readFileSync(SPEC, "utf8").replaceAll("../../", `${resolve(".")}/`));
  return (await compiled("ramsis", spec)).path;
}

const HEAD = [
  "fault",
  "sent",
  "answered",
  "late",
  "refused",
  "lost",
  "doubled",
  "retries",
  "normal after",
  "normal after its end",
];

function rowOf(name: string, outcome: FaultOutcome): string[] {
  const { sent, byFate, late, doubled, retries, normalMs, healedMs } = outcome;
  const counts = [sent, byFate.answered, late, byFate.refused, byFate.lost, doubled, retries];
  return [name, ...counts.map(String), seconds(normalMs), seconds(healedMs)];
}

function seconds(valueMs: number | null): string {
  return valueMs === null ? "not before its end" : `${(valueMs / 1000).toFixed(1)} s`;
}
