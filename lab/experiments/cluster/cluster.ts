/** The acceptance of many machines, played with real parts (docs/experiments/cluster.md). */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { compiled } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines } from "../harness/live.ts";
import { requireFreshBuild } from "./built.ts";
import { runFault } from "./fault-run.ts";
import { FaultTable } from "./fault-table.ts";
import { faultsOf } from "./faults.ts";
import { hops } from "./hops.ts";
import { System, TOPOLOGIES, type Topology } from "./system.ts";
import { templateOf } from "./template.ts";
import { ways } from "./ways.ts";

const SPEC = "lab/experiments/cluster/letters.yaml";
const MODELS = "models/image-classification";
const QPS = 20;
/** More than a fault has attempts. */
const NUMBERS_OF_A_FAULT = 1_000_000;
/** Before a fault, of it, and after it. */
const SECONDS = [5, 8, 15];

const faults: Experiment = {
  name: "faults",
  about: "kills, stops, cuts, slows, fills and rolls; what became of every request",
  takes: "about twenty minutes; needs root, nats-server, iptables, python3",
  options: {
    topology: `${TOPOLOGIES.join(", ")}; cluster`,
    qps: `requests a second; ${QPS}`,
    only: "faults whose names have one of these in them, separated by commas; all",
    seconds: `before each fault, of it and after it; ${SECONDS.join(",")}`,
    out: "folder for the table as faults.md and faults.json, written after each fault; none",
  },
  isExtra: true,
  run: runFaults,
};

export const cluster: readonly Experiment[] = [faults, hops, ways];

async function runFaults({ page, flags, folder }: Run): Promise<void> {
  requireFreshBuild();
  const machine = machineLines();
  for (const line of machine) page.say(line);
  const [topology = "cluster"] = flags.among<Topology>("topology", TOPOLOGIES) ?? [];
  const policy = await compiledHere(folder);
  const { sloMs, ...template } = await templateOf(policy);
  const only = (flags.text("only") ?? "").split(",");
  const [calmMs, faultMs, afterMs] = phasesMs(flags.text("seconds"));
  const qps = flags.number("qps") ?? QPS;
  const table = new FaultTable({ machine, topology, qps, calmMs, faultMs, afterMs });
  await System.with({ folder, policy, models: MODELS, topology }, async (system) => {
    let firstNumber = 0;
    for (const [seed, fault] of faultsOf(system).entries()) {
      if (!only.some((part) => fault.name.includes(part))) continue;
      if (fault.missing !== undefined) {
        table.add({ name: fault.name, leftOut: `needs ${fault.missing}` });
        continue;
      }
      const load = { qps, seed, firstNumber, sloMs, template };
      try {
        await system.settle();
        const result = await runFault(system, fault, { calmMs, faultMs, afterMs, ...load });
        firstNumber = result.lastNumber;
        table.add({ name: fault.name, outcome: result.outcome });
      } catch (error) {
        // The others can still be played, and numbers of rows must not come again.
        firstNumber += NUMBERS_OF_A_FAULT;
        table.add({ name: fault.name, broke: error instanceof Error ? error.message : `${error}` });
        table.write(flags.text("out"));
        await system.recover();
      }
      table.write(flags.text("out"));
    }
  });
  table.print(page);
  if (table.hasBroken) process.exitCode = 1;
}

/** @throws RangeError where they are not three numbers. */
function phasesMs(text: string | undefined): [number, number, number] {
  const [calm, fault, after, ...more] = (text ?? SECONDS.join(",")).split(",").map(Number);
  const found = [calm ?? Number.NaN, fault ?? Number.NaN, after ?? Number.NaN] as const;
  if (more.length > 0 || !found.every((seconds) => seconds >= 0)) {
    throw new RangeError(`--seconds: expected three numbers such as 5,8,15, found ${text}`);
  }
  return [found[0] * 1000, found[1] * 1000, found[2] * 1000];
}

/** The policy, compiled from a copy of its spec. @returns the path of the bundle. */
async function compiledHere(folder: string): Promise<string> {
  const spec = join(folder, "letters.yaml");
  writeFileSync(spec, readFileSync(SPEC, "utf8").replaceAll("../../", `${resolve(".")}/`));
  return (await compiled("ramsis", spec)).path;
}
