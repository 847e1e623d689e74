/**
 * Checks the product on a GPU and prints one truth table: lab/gpu/run, which says how it is
 * called. Every section has a process and a time of its own, so that one that fails says why and
 * the rest goes on.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { PROFILES } from "./applications.ts";
import { type Driver, findDriver } from "./driver.ts";
import { runSection, type SectionResult } from "./section-run.ts";
import { SECTIONS } from "./sections.ts";
import type { Settings } from "./settings.ts";
import { markdownOf, sectionText, type TruthTable, verdictText } from "./truth-table.ts";

/** The whole ends within nine minutes: some machines are lent for ten. */
const MOST_SECONDS = 525;

const NO_DEVICE = 1;
const USAGE = 2;
const BROKEN = 3;

/** In the place of a device, to try the check itself with all of its runs. */
const THE_PROCESSOR: Driver = {
  name: "cpu",
  icd: "no Vulkan",
  isSoftware: false,
  environment: {},
};

// What a section has started ends with this process.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = USAGE;
}

async function main(): Promise<number> {
  const { from, work, out, sections, quick, device } = readArguments();
  const driver = device === "cpu" ? THE_PROCESSOR : await findDriver(work, tellTried);
  if (driver === null) {
    console.error(
      "no Vulkan driver runs a model here: a GPU wants its maker's driver; without one, " +
        "apt-get install chromium brings a driver in software, with which the check tries itself",
    );
    return NO_DEVICE;
  }
  const { isSoftware } = driver;
  const settings: Settings = {
    device,
    isSoftware,
    isQuick: quick || isSoftware,
    hardware: driver.name.toLowerCase().replace(/[^a-z0-9]+/g, "-"),
    work: path.join(work, "applications"),
    out: path.resolve(from, out),
  };
  for (const folder of [settings.work, settings.out]) mkdirSync(folder, { recursive: true });
  for (const file of PROFILES) rmSync(path.join(settings.out, file), { force: true });
  const about = aboutOf(driver, settings);
  console.log(`${about.device}\n${driver.icd}`);
  console.log(`${about.machine}\n`);
  const results: SectionResult[] = [];
  const env = { ...process.env, ...driver.environment };
  for (const section of SECTIONS.filter(({ name }) => sections.includes(name))) {
    const leftSeconds = MOST_SECONDS - performance.now() / 1000;
    const result = await runSection(section, settings, env, leftSeconds);
    results.push(result);
    console.log(`${sectionText(result, results.length)}\n`);
    writeTable({ ...about, sections: results }, settings.out);
  }
  console.log(`${verdictText({ ...about, sections: results })}\n${settings.out}/table.md`);
  return results.some(({ broken }) => broken > 0) ? BROKEN : 0;
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      from: { type: "string", default: "." },
      work: { type: "string", default: ".stratagem/gpu-work" },
      out: { type: "string", default: ".stratagem/gpu" },
      sections: { type: "string", default: SECTIONS.map(({ name }) => name).join() },
      quick: { type: "boolean", default: false },
      device: { type: "string", default: "webgpu" },
    },
  });
  const { device } = values;
  if (device !== "webgpu" && device !== "cpu") {
    throw new RangeError(`--device: expected webgpu or cpu, found ${device}`);
  }
  const sections = values.sections.split(",");
  for (const name of sections) {
    if (SECTIONS.some((section) => section.name === name)) continue;
    const known = SECTIONS.map((section) => section.name).join(", ");
    throw new RangeError(`--sections: expected some of ${known}, found ${name}`);
  }
  return { ...values, device, sections } as const;
}

function tellTried(icd: string, reason: string): void {
  console.error(`${icd} does not do: ${reason}`);
}

function aboutOf({ name, isSoftware, icd }: Driver, { isQuick }: Settings) {
  const file = "node_modules/onnxruntime-node/package.json";
  const { version: onnxruntime } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  const software = `software driver: figures say nothing about hardware (${name}, ${icd})`;
  return {
    format: "gpu-check/1",
    device: isSoftware ? software : name,
    isSoftware,
    isQuick,
    machine:
      `${cpus().length} cores of ${cpus()[0]?.model ?? "a processor"}, Node ${process.version}, ` +
      `onnxruntime ${onnxruntime}${isQuick ? ", quick" : ""}`,
    takenAt: new Date().toISOString().slice(0, 16).replace("T", " "),
  } as const;
}

/** After every section, for whoever ends the whole in between. */
function writeTable(table: TruthTable, out: string): void {
  writeFileSync(path.join(out, "table.json"), `${JSON.stringify(table, null, 2)}\n`);
  writeFileSync(path.join(out, "table.md"), markdownOf(table));
}
