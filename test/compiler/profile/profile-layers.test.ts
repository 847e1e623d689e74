import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import {
  type ProfileLayersCommand,
  profileLayersCommand,
  requireSingleInstances,
} from "../../../compiler/commands/profile/layers.ts";
import { OnnxModelError } from "../../../compiler/onnx/onnx-model-error.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { edited, folderOf } from "../spec/spec-folder.ts";
import { commandFor, fakeDigest, TRANSPORT_MS, UNPROFILED } from "./fake-machine.ts";
import { EMPTY_MS, type LayeredMachine, layeredMachine } from "./layered-machine.ts";

const SPEC = edited(UNPROFILED, "method: ramsis", "method: accordion\n  maxDepth: 3");
const FILES = { "app.yaml": SPEC, "small.onnx": "small", "large.onnx": "large" };
const LAYERS = { "small.onnx": [2], "large.onnx": [4, 1, 2, 5] };
/** Two whole models, the empty one, 1 + 4 layers. */
const UNITS = 8;
/** 0-1 of the small one; of the large 0-4, 0-2 2-4, and 0-1 1-3 3-4. */
const STAGES = 7;
/**
 * Two cores: of three stages two run together, the middle one twice. Each turn is run once before
 * it counts.
 */
const STAGE_RUNS = 2 * (STAGES + 1);
const WARM_UP = 2;
const REPEAT = 5;

function layersCommand(folder: string, changes: Partial<ProfileLayersCommand> = {}) {
  const { batches: _batches, cores: _cores, ...command } = commandFor(folder, { repeat: REPEAT });
  return { ...command, ...changes };
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

test("writes layers that add up, and the stages of the best cut for every depth", async () => {
  const folder = folderOf(FILES);
  const machine = layeredMachine(LAYERS);
  await profileLayersCommand(layersCommand(folder), machine);
  const profile = loadApplication(`${folder}/app.yaml`).application.tasks[0]?.variants[1]?.profile;
  expect(profile?.rows).toMatchObject([{ batch: 1, latencyMs: 12 + EMPTY_MS + TRANSPORT_MS }]);
  const layers = profile?.layers;
  expect(layers?.overheadMs).toBe(TRANSPORT_MS);
  // By themselves 5, 2, 3 and 6 ms, of 12.25 in all.
  const expected = [5, 2, 3, 6].map((ms) => (ms * 12.25) / 16);
  for (const [index, ms] of expected.entries()) expect(layers?.layerMs[index]).toBeCloseTo(ms, 5);
  const stages = layers?.stages.map(({ from, to, quantiles }) => [`${from}-${to}`, quantiles.p95]);
  const alone = 1 + EMPTY_MS + TRANSPORT_MS;
  const among = EMPTY_MS + TRANSPORT_MS;
  expect(stages).toEqual([
    ["0-1", 4 + alone],
    ["0-2", 5 + among],
    ["0-4", 12 + among],
    ["1-3", 3 + among],
    ["2-4", 7 + among],
    ["3-4", 5 + alone],
  ]);
  expect(readJson(`${folder}/profile.json`)).toMatchObject({
    task: "classify",
    source: expect.stringContaining("its typical transfer (layers: inside it, scaled"),
    variants: { small: { accuracy: 0.5, layers: { stages: { "0-1": { samples: 5 } } } } },
  });
});

test("feeds every layer what the layers before it give", async () => {
  const machine = layeredMachine(LAYERS);
  await profileLayersCommand(layersCommand(folderOf(FILES)), machine);
  expect(machine.strange).toEqual([]);
  expect(machine.names).toContain("large 1-3/3");
});

test("measures in turns, first the layers beside the whole models, then the stages", async () => {
  const machine = layeredMachine(LAYERS);
  const progress: string[] = [];
  await profileLayersCommand(layersCommand(folderOf(FILES)), {
    ...machine,
    onProgress: (done, total, stage) => progress.push(`${done}/${total} ${stage}`),
  });
  const units = ["small", "large", "empty", "small 0-1", "large 0-1", "large 1-2", "large 2-3"];
  const turns = [
    ["small 0-1/1"],
    ["large 0-4/1"],
    ["large 0-2/2", "large 2-4/2"],
    ["large 0-1/3", "large 1-3/3"],
    ["large 1-3/3", "large 3-4/3"],
  ].flatMap((turn) => [turn, turn]);
  const rounds = WARM_UP + REPEAT;
  // Before its rounds each part is run once without the whole models, for what goes into the
  // layers.
  const fed = UNITS - 3;
  expect(machine.names.slice(fed, fed + units.length)).toEqual(units);
  expect(machine.names.slice(fed + UNITS, fed + UNITS + units.length)).toEqual(units);
  const second = fed + rounds * UNITS + STAGES;
  expect(machine.names.slice(second, second + STAGE_RUNS)).toEqual(turns.flat());
  expect(machine.names).toHaveLength(second + rounds * STAGE_RUNS);
  // As many as there are at most, since the large model has more layers than its deepest cut
  // stages.
  const total = rounds * (UNITS + STAGE_RUNS);
  expect(progress[0]).toBe(`1/${total} layers`);
  expect(progress[rounds * UNITS]).toBe(`${rounds * UNITS + 1}/${total} stages`);
  expect(progress.at(-1)).toBe(`${total}/${total} stages`);
  expect(machine.closedCount).toBe(2);
});

/** Runs that overlapped, by when they began. */
function togetherOf({ names, spans }: LayeredMachine): string[][] {
  const turns: string[][] = [];
  let busyUntilMs = Number.NEGATIVE_INFINITY;
  for (const [run, { fromMs, toMs }] of spans.entries()) {
    if (fromMs >= busyUntilMs) turns.push([]);
    turns.at(-1)?.push(names[run] ?? "");
    busyUntilMs = Math.max(busyUntilMs, toMs);
  }
  return turns;
}

test("runs the stages of a depth at the same time, each on its own worker", async () => {
  const machine = layeredMachine(LAYERS, {
    machine: { ...layeredMachine(LAYERS).machine, cores: 8 },
  });
  await profileLayersCommand(layersCommand(folderOf(FILES)), machine);
  const turns = togetherOf(machine);
  const deepest = ["large 0-1/3", "large 1-3/3", "large 3-4/3"];
  expect(turns.at(-1)).toEqual(deepest);
  expect(turns.at(-3)).toEqual(["large 0-2/2", "large 2-4/2"]);
  // Twice a round, and each by itself for what goes into the next.
  const withDeepest = turns.filter((turn) => turn.some((name) => name.endsWith("/3")));
  expect(withDeepest.slice(0, 3)).toEqual([["large 0-1/3"], ["large 1-3/3"], ["large 3-4/3"]]);
  expect(withDeepest.slice(3)).toEqual(Array(2 * (WARM_UP + REPEAT)).fill(deepest));
  expect(machine.spans.slice(-3).map(({ worker }) => worker)).toEqual([0, 1, 2]);
  // Of the small model 0, of the large one 1 at depth 1, 2 3 at depth 2, 4 5 6 at depth 3.
  expect(machine.assigned).toEqual([[0, 1, 2, 4], [3, 5], [6]]);
});

test.each([
  { cores: 2, threads: 1, sizes: [1, 2] },
  { cores: 8, threads: 4, sizes: [1, 2] },
  { cores: 4, threads: 3, sizes: [1] },
  { cores: 1, threads: 2, sizes: [1] },
])("runs no more stages of $threads threads together than $cores cores take", async (some) => {
  const { cores, threads, sizes } = some;
  const folder = folderOf(FILES);
  const machine = layeredMachine(LAYERS, { machine: { ...layeredMachine(LAYERS).machine, cores } });
  await profileLayersCommand(layersCommand(folder, { threads }), machine);
  const found = new Set(togetherOf(machine).map((turn) => turn.length));
  expect([...found]).toEqual(sizes);
  // Whoever ran once more for company has no more samples for it.
  const { cells } = readJson(`${folder}/profile.json.measurement.json`) as {
    cells: { variant: string; samples: number }[];
  };
  expect(cells.filter(({ samples }) => samples !== REPEAT)).toEqual([]);
  expect(cells).toHaveLength(2 + STAGES);
});

test("a range of layers has the times of the depth where it took longest", async () => {
  const layers = { "small.onnx": [2], "large.onnx": [6, 2, 2, 2] };
  const rangeMs = async (among: (stages: number) => number) => {
    const folder = folderOf(FILES);
    await profileLayersCommand(layersCommand(folder), layeredMachine(layers, { among }));
    const { variants } = readJson(`${folder}/profile.json`) as {
      variants: Record<string, { layers: { stages: Record<string, { mean: number }> } }>;
    };
    return variants["large"]?.layers.stages["0-1"]?.mean;
  };
  const alone = 6 + EMPTY_MS + 1;
  expect(await rangeMs((stages) => stages || 1)).toBe(3 * alone + TRANSPORT_MS);
  expect(await rangeMs((stages) => 8 / (stages || 8))).toBe(4 * alone + TRANSPORT_MS);
});

test("the slowest stage of each round is the step of its depth", async () => {
  const folder = folderOf(FILES);
  // Every other run takes three times as long, so that either stage of two is the slow one at
  // times, or neither.
  const machine = layeredMachine(LAYERS, { stretch: (run) => (run % 3 === 0 ? 3 : 1) });
  await profileLayersCommand(layersCommand(folder, { force: true }), machine);
  const { depths } = readJson(`${folder}/profile.json.measurement.json`) as {
    depths: {
      variant: string;
      stages: { wallMs: { mean: number } }[];
      slowestMs: { mean: number };
    }[];
  };
  const [stages, slowestMs] = [depths[2]?.stages ?? [], depths[2]?.slowestMs.mean ?? 0];
  expect(stages).toHaveLength(2);
  expect(slowestMs).toBeGreaterThan(Math.max(...stages.map(({ wallMs }) => wallMs.mean)) + 0.5);
});

test("shows the layers with their operators, and measured beside expected stages", async () => {
  const { text } = await profileLayersCommand(
    layersCommand(folderOf(FILES)),
    layeredMachine(LAYERS),
  );
  expect(text).toContain(`2 models and ${STAGES} stages, 5 runs each`);
  expect(text).toContain("large: 4 layers, 12.250 ms inside the worker and 0.125 of overhead");
  expect(text).toMatch(/^layer +ms +operators\n +0 +3\.828 +Wait4$/m);
  // Layers 2 and 3 are expected to take 9 of 16 parts of 12.25 ms, and 0.125 ms on the way.
  expect(text).toMatch(/^ *2 +2\+2 +7\.375 +7\.016 +7\.375 +5\.375 7\.375$/m);
});

test("says beside the profile what the layers were measured as", async () => {
  const folder = folderOf(FILES);
  await profileLayersCommand(layersCommand(folder), layeredMachine(LAYERS));
  const measurement = readJson(`${folder}/profile.json.measurement.json`);
  expect(measurement).toMatchObject({
    format: "latency-measurement/1",
    modelSha256ByVariant: { large: fakeDigest("large.onnx") },
    layers: [
      { variant: "small", unitMs: [2.25], wholeMs: 2.25, emptyMs: 0.25, layerMs: [2.25] },
      { variant: "large", unitMs: [5.25, 2.25, 3.25, 6.25], cuts: [[4], [2, 2], [1, 2, 1]] },
    ],
  });
  const { cells } = measurement as { cells: { variant: string }[] };
  expect(cells.map(({ variant }) => variant).slice(0, 4)).toEqual([
    "small",
    "large",
    "small depth 1 layers 0-1",
    "large depth 1 layers 0-4",
  ]);
  expect(cells).toHaveLength(2 + STAGES);
});

test("cuts as deep as the policy allows, and up to 8 stages for other methods", async () => {
  const folder = folderOf({ ...FILES, "app.yaml": UNPROFILED });
  const layers = { "small.onnx": [2], "large.onnx": Array.from({ length: 12 }, () => 1) };
  const { json } = await profileLayersCommand(layersCommand(folder), layeredMachine(layers));
  const [small, large] = (json as { layers: { cuts: number[][] }[] }).layers;
  expect(small?.cuts).toEqual([[1]]);
  expect(large?.cuts.map((cut) => cut.length)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a dry run says how many layers there are and starts nothing", async () => {
  const folder = folderOf(FILES);
  const startExecutor = () => {
    throw new Error("started");
  };
  const command = layersCommand(folder, { dryRun: true });
  const { text, json } = await profileLayersCommand(
    command,
    layeredMachine(LAYERS, { startExecutor }),
  );
  expect(text).toContain(
    "would measure 2 models and their layers, 5 times each: 56 runs with the warm-up; " +
      "then the stages of their best cuts into 1 to 3: at most 112 runs",
  );
  expect(text).toMatch(/^large +0\.75 +4 +6 .*large\.onnx$/m);
  expect(json).toMatchObject({
    runs: 56,
    mostStageRuns: 112,
    variants: [{ layers: 1 }, { layers: 4 }],
  });
  expect(readdirSync(folder).sort()).toEqual(["app.yaml", "large.onnx", "small.onnx"]);
});

test("refuses a noisy machine, keeps what was measured for --force", async () => {
  // Of every three runs one takes three times as long, whatever it is of.
  const noisy = () => layeredMachine(LAYERS, { stretch: (run) => (run % 3 === 0 ? 3 : 1) });
  const folder = folderOf(FILES);
  const command = layersCommand(folder);
  await expect(profileLayersCommand(command, noisy())).rejects.toMatchObject({
    code: "INPUT_CONFLICT",
    message: expect.stringMatching(
      /got noise 2\.\d+ \(mean p95 ÷ p50, limit 2\)\. Noisy .* kept in .*layers\.partial and/,
    ),
  });
  expect(existsSync(`${folder}/profile.json`)).toBe(false);
  const forced = layeredMachine(LAYERS);
  await profileLayersCommand({ ...command, force: true }, forced);
  expect(forced.names).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.endsWith(".partial"))).toEqual([]);
  await expect(profileLayersCommand(command, noisy())).rejects.toThrow("noise");
  const again = layeredMachine(LAYERS);
  await profileLayersCommand(command, again);
  expect(again.names).toHaveLength(UNITS - 3 + STAGES + (WARM_UP + REPEAT) * (UNITS + STAGE_RUNS));
  expect(again.strange).toEqual([]);
});

/**
 * A folder in which the run of a number was the last; every run takes more than a second, so that
 * all finished rounds are saved.
 */
async function interruptedAt(last: number): Promise<string> {
  const folder = folderOf(FILES);
  const abort = new AbortController();
  const stretch = (run: number): number => {
    if (run === last) abort.abort(new Error("interrupted"));
    return 1000;
  };
  const machine = layeredMachine(LAYERS, { stretch, signal: abort.signal });
  await expect(profileLayersCommand(layersCommand(folder), machine)).rejects.toThrow("interrupted");
  expect(machine.names).toHaveLength(last + 1);
  expect(existsSync(`${folder}/profile.json`)).toBe(false);
  expect([...machine.folders].filter((path) => existsSync(path))).toEqual([]);
  expect(machine.folders.size).toBe(1);
  return folder;
}

test("goes on from the rounds of layers that an interrupted run finished", async () => {
  const fed = UNITS - 3;
  const folder = await interruptedAt(fed + (WARM_UP + 3) * UNITS + 2);
  const machine = layeredMachine(LAYERS);
  await profileLayersCommand(layersCommand(folder, { force: true }), machine);
  const units = fed + (WARM_UP + REPEAT - 3) * UNITS;
  expect(machine.names).toHaveLength(units + STAGES + (WARM_UP + REPEAT) * STAGE_RUNS);
});

test("goes on from the rounds of stages, and measures no layer again", async () => {
  const units = UNITS - 3 + (WARM_UP + REPEAT) * UNITS;
  const folder = await interruptedAt(units + STAGES + (WARM_UP + 2) * STAGE_RUNS + 1);
  const machine = layeredMachine(LAYERS);
  await profileLayersCommand(layersCommand(folder, { force: true }), machine);
  expect(machine.names).toHaveLength(STAGES + (WARM_UP + REPEAT - 2) * STAGE_RUNS);
  expect(machine.names).not.toContain("large");
});

test("leaves no folder behind, whether it ends or no worker starts", async () => {
  const machine = layeredMachine(LAYERS);
  await profileLayersCommand(layersCommand(folderOf(FILES)), machine);
  const folders: string[] = [...machine.folders];
  const startExecutor: typeof machine.startExecutor = async ({ variants }) => {
    folders.push(...variants.map(({ path }) => dirname(path)));
    throw new Error("no memory");
  };
  const broken = layeredMachine(LAYERS, { startExecutor });
  await expect(profileLayersCommand(layersCommand(folderOf(FILES)), broken)).rejects.toThrow(
    "device cpu: expected a worker that starts, got: no memory",
  );
  const temporary = folders.filter((path) => path.includes("stratagem-layers-"));
  expect(new Set(temporary).size).toBe(2);
  expect(temporary.filter((path) => existsSync(path))).toEqual([]);
});

test("says where in the spec the model is that cannot be cut, and why", async () => {
  const openLayers = async (path: string) => {
    if (path.endsWith("small.onnx")) return layeredMachine(LAYERS).openLayers(path);
    throw new OnnxModelError(`${path}: If: expected a condition that is known, found none`);
  };
  const folder = folderOf(FILES);
  await expect(
    profileLayersCommand(layersCommand(folder), layeredMachine(LAYERS, { openLayers })),
  ).rejects.toMatchObject({
    code: "INPUT_INVALID_VALUE",
    message:
      `${folder}/app.yaml:13 tasks[0].variants[1].model: expected a model that can be cut ` +
      `into layers, got ${folder}/large.onnx: If: expected a condition that is known, ` +
      "found none",
  });
});

test("keeps an accuracy that only the profile to be replaced has", async () => {
  const folder = folderOf(FILES);
  await profileLayersCommand(layersCommand(folder), layeredMachine(LAYERS));
  writeFileSync(`${folder}/app.yaml`, edited(SPEC, "accuracy: 75%, ", ""));
  await profileLayersCommand(layersCommand(folder), layeredMachine(LAYERS));
  expect(readJson(`${folder}/profile.json`)).toMatchObject({
    variants: { large: { accuracy: 0.75 } },
  });
});

test("takes single instances only", () => {
  requireSingleInstances([1]);
  expect(() => requireSingleInstances([1, 2])).toThrow(
    "expected --batches 1 with --layers, got 1,2",
  );
});
