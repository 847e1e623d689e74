import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { InterruptedError } from "../../../compiler/base/errors.ts";
import { parseBatches, profileCommand } from "../../../compiler/commands/profile/profile.ts";
import type { Measurement } from "../../../compiler/profile/latency-profile.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import type { ProfileSpec } from "../../../compiler/spec/schema/profile-schema.ts";
import type { ModelFile } from "../../../runtime/bundle/schema.ts";
import { InferenceError, WorkerLostError } from "../../../runtime/exec/models/executor.ts";
import { edited, folderOf } from "../spec/spec-folder.ts";
import {
  commandFor,
  type FakeMachine,
  fakeDigest,
  fakeMachine,
  type Timing,
  TRANSPORT_MS,
  UNPROFILED,
} from "./fake-machine.ts";

const FILES = { "app.yaml": UNPROFILED, "small.onnx": "small", "large.onnx": "large" };

/** Small takes 2 ms a row, large 8. */
const steady: Timing = ({ variant, rows }) => {
  const wallMs = (variant === 0 ? 2 : 8) * rows;
  return { wallMs, cpuMs: wallMs };
};

/** Every second run takes twice as long. */
const noisy: Timing = (batch, run, cores) => {
  const { wallMs, cpuMs } = steady(batch, run, cores);
  return { wallMs: Math.floor(run / 4) % 2 === 0 ? wallMs : 2 * wallMs, cpuMs };
};

const hasPrecision = (variant: unknown) => Object.hasOwn(Object(variant), "precision");

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

test("writes a profile that the application then loads with", async () => {
  const folder = folderOf(FILES);
  const { exitCode, text } = await profileCommand(commandFor(folder), fakeMachine(steady));
  expect(exitCode).toBe(0);
  expect(text).toContain("noise 1.00");
  expect(readJson(`${folder}/profile.json`)).toMatchObject({
    format: "latency-profile/1",
    task: "classify",
    hardware: "Fake 9000",
    variants: {
      small: {
        accuracy: 0.5,
        modelSha256: fakeDigest("small.onnx"),
        latencyMs: { "1": { p50: 2.125, samples: 20 } },
      },
      large: { accuracy: 0.75, latencyMs: { "2": { p50: 16.125, max: 16.125, mean: 16.125 } } },
    },
  });
  const { application } = loadApplication(`${folder}/app.yaml`);
  expect(application.tasks[0]?.variants[0]?.profile.rows).toMatchObject([
    { batch: 1, latencyMs: 2 + TRANSPORT_MS },
    { batch: 2, latencyMs: 4 + TRANSPORT_MS },
  ]);
  expect(existsSync(`${folder}/profile.json.partial`)).toBe(false);
});

test("says what the device was, and the precision of each model", async () => {
  const folder = folderOf(FILES);
  const precisionOf = async (path: string) => (path.endsWith("small.onnx") ? "float16" : null);
  const machine = fakeMachine(steady, { precisionOf });
  await profileCommand(commandFor(folder), machine);
  expect(readJson(`${folder}/profile.json`)).toMatchObject({
    hardware: "Fake 9000",
    device: { provider: "cpu", name: "Fake 9000", driver: null },
    variants: { small: { precision: "float16" }, large: expect.not.toSatisfy(hasPrecision) },
  });
});

test("a GPU is what its driver calls it, else what the user does", async () => {
  const folder = folderOf(FILES);
  const asked = { ...commandFor(folder), device: "webgpu", force: true } as const;
  const found = { name: "Shader\u00079 ", driver: "5.0" };
  const described = fakeMachine(steady, { describeDevice: async () => found });
  const { text } = await profileCommand(asked, described);
  expect(text).toContain("\non webgpu: Shader 9, driver 5.0\n");
  const profile = readJson(`${folder}/profile.json`);
  expect(profile).toMatchObject({
    hardware: "Shader 9",
    device: { provider: "webgpu", name: "Shader 9", driver: "5.0" },
    source: expect.stringContaining("device webgpu (Shader 9, driver 5.0), Fake 9000, 2 cores"),
  });
  const unknown = { ...asked, hardware: "my card", cores: [1] };
  await profileCommand(unknown, fakeMachine(steady, { describeDevice: async () => null }));
  expect(readJson(`${folder}/profile.json`)).toMatchObject({
    hardware: "my card",
    device: { provider: "webgpu", name: "my card", driver: null },
    variants: { small: { byCores: { "1": expect.anything() } } },
  });
  expect(
    loadApplication(`${folder}/app.yaml`).application.tasks[0]?.variants[0]?.profile,
  ).toMatchObject({ device: { provider: "webgpu", name: "my card", driver: null } });
});

test("says that no pool is on the device that is measured", async () => {
  const notes: string[] = [];
  const noted = fakeMachine(steady, { onNote: (line: string) => notes.push(line) });
  const pools = "pools: [{ name: gpu, device: webgpu, workers: 4 }]";
  const onGpu = FILES["app.yaml"].replace("workers: 4", pools);
  const command = { ...commandFor(folderOf({ ...FILES, "app.yaml": onGpu })), dryRun: true };
  await profileCommand(command, noted);
  expect(notes).toEqual([
    "the pools of the spec use webgpu, but this measures cpu; expected --device webgpu",
  ]);
  await profileCommand({ ...command, device: "webgpu" }, noted);
  await profileCommand({ ...commandFor(folderOf(FILES)), dryRun: true }, noted);
  expect(notes).toHaveLength(1);
});

test("a profile says with which options of its provider it was measured", async () => {
  const folder = folderOf(FILES);
  const options = { preferredLayout: "NHWC", forceCpuNodeNames: ["/a"] };
  const on = { id: null, environment: { A: "1" }, options };
  const asked: unknown[] = [];
  const describeDevice = async (device: unknown) => {
    asked.push(device);
    return null;
  };
  const command = { ...commandFor(folder), device: "webgpu", on, force: true } as const;
  await profileCommand(command, fakeMachine(steady, { describeDevice }));
  expect(asked).toEqual([{ provider: "webgpu", ...on }]);
  expect(readJson(`${folder}/profile.json`)).toMatchObject({ device: { options } });
  expect(() => loadApplication(`${folder}/app.yaml`)).not.toThrow();
});

test("runs the cells in rounds of random order after the warm-up, and reports all", async () => {
  const folder = folderOf(FILES);
  const progress: string[] = [];
  const onProgress = (done: number, total: number) => progress.push(`${done}/${total}`);
  const machine = fakeMachine(steady, { onProgress });
  await profileCommand(commandFor(folder, { repeat: 98 }), machine);
  const round = ["0@1", "0@2", "1@1", "1@2"];
  const rounds = Array.from({ length: 100 }, (_, at) => machine.runs.slice(4 * at, 4 * at + 4));
  expect(rounds.slice(0, 2)).toEqual([round, round]);
  for (const runs of rounds) expect(runs.toSorted()).toEqual(round);
  // Each cell comes after each other one: in 98 random orders some 24 times.
  const pairs = rounds.slice(2).flatMap((runs) => runs.slice(1).map((run, at) => runs[at] + run));
  for (const first of round) {
    for (const second of round.filter((cell) => cell !== first)) {
      expect(pairs.filter((pair) => pair === first + second).length).toBeGreaterThan(10);
    }
  }
  expect([progress[0], progress.at(-1)]).toEqual(["1/400", "400/400"]);
  expect(machine.closedCount).toBe(1);
});

test("leaves out percentiles of too few runs, and reads the longest run for them", async () => {
  const rowAfter = async (repeat: number) => {
    const folder = folderOf(FILES);
    const ramp: Timing = (_, run) => ({ wallMs: 1 + run / 100, cpuMs: 1 + run / 100 });
    await profileCommand(commandFor(folder, { repeat, force: true }), fakeMachine(ramp));
    const { variants } = readJson(`${folder}/profile.json`) as ProfileSpec;
    const { application } = loadApplication(`${folder}/app.yaml`);
    const read = application.tasks[0]?.variants[0]?.profile.rows[0];
    return { row: variants["small"]?.latencyMs?.["1"], read };
  };
  const keysOf = (row: unknown) => Object.keys(row as object);
  const few = await rowAfter(2);
  expect(keysOf(few.row)).toEqual(["p50", "max", "mean", "samples"]);
  const { max } = few.row as { max: number };
  expect(few.read).toMatchObject({ latencyMs: max, quantiles: { p95: max, p99: max } });
  const more = await rowAfter(20);
  expect(keysOf(more.row)).toEqual(["p50", "p95", "max", "mean", "samples"]);
  expect(more.read?.latencyMs).toBe((more.row as { p95: number }).p95);
  const many = await rowAfter(100);
  expect(keysOf(many.row)).toEqual(["p50", "p95", "p99", "mean", "samples"]);
});

test("states the p99 of fewer than 1,000 runs with its interval", async () => {
  const folder = folderOf(FILES);
  const spread: Timing = (_, run) => ({ wallMs: 1 + ((run * 7919) % 1009) / 1009, cpuMs: 1 });
  const measured = async (repeat: number) => {
    const command = commandFor(folder, { batches: [1], repeat, force: true });
    const { json, text } = await profileCommand(command, fakeMachine(spread));
    return { cell: (json as Measurement).cells[0], text };
  };
  const few = await measured(600);
  const [lower = 0, upper = 0] = few.cell?.p99Interval ?? [];
  const p99 = few.cell?.wallMs.p99 ?? 0;
  expect([lower < p99, (upper ?? 0) > p99]).toEqual([true, true]);
  expect(few.text).toMatch(/^small +1 .* \d\.\d{3} \(\d\S*\.\.\d\S*\) /m);
  const many = await measured(1000);
  expect(many.cell).not.toHaveProperty("p99Interval");
  expect(many.text).not.toContain("interval");
});

test("leaves the warm-up out, and gives nearest ranks of the rest", async () => {
  const folder = folderOf(FILES);
  // Runs 0 and 1 warm up; 100 follow, which take 1 … 100 ms.
  const ramp: Timing = (_, run) => ({ wallMs: run < 2 ? 1e6 : run - 1, cpuMs: 1 });
  const spec = edited(
    UNPROFILED,
    "      - { name: l, accuracy: 75%, profile: profile.json#large, model: large.onnx }\n",
    "",
  );
  writeFileSync(`${folder}/app.yaml`, spec);
  const command = commandFor(folder, { batches: [1], repeat: 100, force: true });
  const { json } = await profileCommand(command, fakeMachine(ramp));
  const [cell] = (json as Measurement).cells;
  expect(cell).toMatchObject({
    samples: 100,
    workerMs: { p50: 50, p95: 95, p99: 99, mean: 50.5 },
    cpuMs: { p50: 1, p95: 1, p99: 1, mean: 1 },
    noise: 95.625 / 50.625,
  });
  expect(cell?.wallMs.mean).toBeCloseTo(50.5 + TRANSPORT_MS, 6);
});

test("says beside the profile on what and how it was measured", async () => {
  const folder = folderOf(FILES);
  const busy: Timing = (batch, run, cores) => ({
    ...steady(batch, run, cores),
    cpuMs: 1.5 * batch.rows,
  });
  await profileCommand(commandFor(folder, { force: true }), fakeMachine(busy));
  const measurement = readJson(`${folder}/profile.json.measurement.json`) as Measurement;
  expect(measurement).toMatchObject({
    format: "latency-measurement/1",
    machine: { processor: "Fake 9000", nodeVersion: "20.0.0", onnxruntimeVersion: "1.0.0" },
    device: "cpu",
    threads: 1,
    seed: 1,
    repeat: 20,
    modelSha256ByVariant: { small: fakeDigest("small.onnx"), large: fakeDigest("large.onnx") },
    noise: { limit: 2, waitingLimit: 0.05, cellLimit: 0.2, noisyCells: [], mostNoisyCells: 0 },
    budgetMs: null,
    notMeasured: [],
  });
  expect(measurement.cells[1]).toMatchObject({
    isNoisy: false,
    drift: 0,
    p95Interval: { lowMs: 4.125, highMs: 4.125, halfWidth: 0 },
  });
  // 9 ms of processor time in 30 ms of wall time over the cells.
  expect(measurement.noise.waitingShare).toBeCloseTo(0.7, 12);
  expect(measurement.cells).toHaveLength(4);
});

test("claims nothing about waiting where a run has several threads", async () => {
  const { json } = await profileCommand(
    commandFor(folderOf(FILES), { threads: 2 }),
    fakeMachine(steady),
  );
  expect((json as Measurement).noise.waitingShare).toBeNull();
});

test("refuses a noisy machine, and --force takes what was measured", async () => {
  const folder = folderOf(FILES);
  await expect(profileCommand(commandFor(folder), fakeMachine(noisy))).rejects.toMatchObject({
    code: "INPUT_CONFLICT",
    message: expect.stringContaining("expected a machine that is quiet enough to profile, got"),
  });
  expect(existsSync(`${folder}/profile.json`)).toBe(false);
  const machine = fakeMachine(noisy);
  await profileCommand(commandFor(folder, { force: true }), machine);
  expect(machine.runs).toEqual([]);
  expect(existsSync(`${folder}/profile.json`)).toBe(true);
});

test("a refusal says that nothing is lost, where it is kept, which cells were noisy", async () => {
  const folder = folderOf(FILES);
  // One of the 20 runs of large at batch 2 takes ten times as long.
  const rare: Timing = (batch, run, cores) => {
    const { wallMs } = steady(batch, run, cores);
    const isLong = wallMs === 16 && Math.floor(run / 4) === 10;
    return { wallMs: isLong ? 10 * wallMs : wallMs, cpuMs: isLong ? 10 * wallMs : wallMs };
  };
  const refused = await profileCommand(commandFor(folder), fakeMachine(rare)).catch((e) => e);
  expect(refused.message).toMatch(/1 noisy cell \(limit 0\)\. Noisy cells: large batch 2 /);
  expect(refused.message).toMatch(/\(p95 16\.13 to 160\.13 ms by 20 runs\)/);
  expect(refused.message).toContain(
    `The measurements are kept in ${folder}/profile.json.partial, ` +
      "and the same command with --force writes the profile from them without measuring again",
  );
  expect(existsSync(`${folder}/profile.json.partial`)).toBe(true);
  const { text } = await profileCommand(commandFor(folder, { force: true }), fakeMachine(rare));
  expect(text).toContain("noisy: large batch 2");
});

test("refuses a neighbour that slows all runs alike, by the processor time", async () => {
  const halved: Timing = (batch, run, cores) => {
    const { wallMs } = steady(batch, run, cores);
    return { wallMs: 2 * wallMs, cpuMs: wallMs };
  };
  const folder = folderOf(FILES);
  await expect(profileCommand(commandFor(folder), fakeMachine(halved))).rejects.toThrow(
    "got 50% of the time in the worker spent waiting for a processor (limit 5%). The measurements",
  );
});

test("takes jitter that no deadline notices", async () => {
  const jittery: Timing = (_, run) => {
    const wallMs = run % 8 < 4 ? 0.05 : 0.25;
    return { wallMs, cpuMs: wallMs };
  };
  const { exitCode } = await profileCommand(commandFor(folderOf(FILES)), fakeMachine(jittery));
  expect(exitCode).toBe(0);
});

test("names the files that it writes", async () => {
  const folder = folderOf(FILES);
  const { text } = await profileCommand(commandFor(folder), fakeMachine(steady));
  expect(text).toContain(`${folder}/profile.json: 2 variants at 2 batch sizes, 20 runs each\n`);
  expect(text).toContain(`${folder}/profile.json.measurement.json: how it was measured\n`);
});

test("measures again after a refusal for noise", async () => {
  const folder = folderOf(FILES);
  await expect(profileCommand(commandFor(folder), fakeMachine(noisy))).rejects.toThrow();
  const { json } = await profileCommand(commandFor(folder), fakeMachine(steady));
  expect((json as Measurement).noise.figure).toBe(1);
});

/** A folder in which a run was interrupted in its 11th round; a round takes 3 s. */
async function interrupted(): Promise<string> {
  const folder = folderOf(FILES);
  const abort = new AbortController();
  const slow: Timing = (_, run) => {
    if (run === 4 * (2 + 10) + 1) abort.abort(new InterruptedError());
    return { wallMs: 750, cpuMs: 750 };
  };
  const machine = fakeMachine(slow, { signal: abort.signal });
  await expect(profileCommand(commandFor(folder), machine)).rejects.toThrow(
    `The measurements are kept in ${folder}/profile.json.partial; run the same command to`,
  );
  expect(machine.closedCount).toBe(1);
  expect(existsSync(`${folder}/profile.json`)).toBe(false);
  return folder;
}

test("goes on from the last run that an interrupted run finished", async () => {
  const folder = await interrupted();
  const machine = fakeMachine(steady);
  const { json } = await profileCommand(commandFor(folder, { force: true }), machine);
  // Two cells had been run once more than the others.
  expect(machine.runs).toHaveLength(4 * (2 + 10) - 2);
  const { cells } = json as Measurement;
  expect(cells.map(({ samples }) => samples)).toEqual([20, 20, 20, 20]);
  // Of batch 1 of large 8 ms a run; the interrupted ones took 750.
  expect(cells[2]?.workerMs.max).toBe(750);
  expect(cells[2]?.workerMs.mean).toBeLessThan(0.56 * 750 + 8);
  expect(existsSync(`${folder}/profile.json.partial`)).toBe(false);
});

test("begins anew when the plan is another or the partial file is damaged", async () => {
  const folder = await interrupted();
  const other = fakeMachine(steady);
  await profileCommand(commandFor(folder, { threads: 2 }), other);
  expect(other.runs).toHaveLength(4 * (2 + 20));
  const damaged = await interrupted();
  writeFileSync(`${damaged}/profile.json.partial`, "{");
  const machine = fakeMachine(steady);
  await profileCommand(commandFor(damaged), machine);
  expect(machine.runs).toHaveLength(4 * (2 + 20));
});

test("an interruption before the first run that counts names no file", async () => {
  const folder = folderOf(FILES);
  const abort = new AbortController();
  const slow: Timing = (_, run) => {
    if (run === 1) abort.abort(new InterruptedError());
    return { wallMs: 750, cpuMs: 750 };
  };
  const machine = fakeMachine(slow, { signal: abort.signal });
  await expect(profileCommand(commandFor(folder), machine)).rejects.toThrow(
    /^interrupted; nothing was written$/,
  );
  expect(existsSync(`${folder}/profile.json.partial`)).toBe(false);
});

test("a dry run needs no file to write, anything else does", async () => {
  const command = commandFor(folderOf(FILES), { out: null });
  const { text, json } = await profileCommand({ ...command, dryRun: true }, fakeMachine(steady));
  expect(text).toContain("would write the file of -o");
  expect(json).toMatchObject({ profile: null });
  await expect(profileCommand(command, fakeMachine(steady))).rejects.toMatchObject({
    code: "RUNTIME_USAGE",
    message: expect.stringContaining("expected -o FILE for the profile, or --dry-run"),
  });
});

test("a dry run says what would be measured and starts nothing", async () => {
  const folder = folderOf(FILES);
  const startExecutor = () => {
    throw new Error("started");
  };
  const machine = fakeMachine(steady, { startExecutor });
  const { text, json } = await profileCommand(commandFor(folder, { dryRun: true }), machine);
  expect(text).toContain("would measure 2 variants at batches 1, 2, 20 times each: 88 runs");
  expect(json).toMatchObject({ runs: 88, variants: [{ name: "small" }, { name: "large" }] });
  expect(existsSync(`${folder}/profile.json`)).toBe(false);
});

test("keeps an accuracy that only the profile to be replaced has", async () => {
  const folder = folderOf(FILES);
  await profileCommand(commandFor(folder), fakeMachine(steady));
  writeFileSync(`${folder}/app.yaml`, edited(UNPROFILED, "accuracy: 75%, ", ""));
  await profileCommand(commandFor(folder), fakeMachine(steady));
  expect(readJson(`${folder}/profile.json`)).toMatchObject({
    variants: { large: { accuracy: 0.75 } },
  });
  const readModel: FakeMachine["readModel"] = async (path, ...use) => {
    const bound = await fakeMachine(steady).readModel(path, ...use);
    return { model: { ...bound.model, sha256: fakeDigest("trained again") } as ModelFile };
  };
  const { text } = await profileCommand(commandFor(folder), fakeMachine(steady, { readModel }));
  expect(text).toContain("\nwithout accuracy: large; state it in the spec, or measure it: ");
});

test.each([
  [
    "a variant without a model",
    edited(UNPROFILED, ", model: small.onnx", ""),
    "app.yaml:12 tasks[0].variants[0].model: missing; expected an ONNX file",
  ],
  [
    "a profile that is not named by file and variant",
    edited(UNPROFILED, "profile.json#small", "profile.json"),
    'app.yaml:12 tasks[0].variants[0].profile: expected <file>#<variant>, got "profile.json"',
  ],
  [
    "two models of one name",
    edited(UNPROFILED, "profile.json#large", "other.json#small"),
    'profile names must be unique: "small" would appear twice, for variants with different models',
  ],
])("refuses %s", async (_, spec, message) => {
  const folder = folderOf({ ...FILES, "app.yaml": spec });
  await expect(profileCommand(commandFor(folder), fakeMachine(steady))).rejects.toThrow(message);
});

test("refuses a task that the application does not have", async () => {
  const command = commandFor(folderOf(FILES), { task: "clasify" });
  await expect(profileCommand(command, fakeMachine(steady))).rejects.toThrow(
    'expected a task with variants to measure, got "clasify"; did you mean "classify"?',
  );
});

test.each([
  ["float32", [-1, 3, -1], "expected a model that leaves only axis 0, the rows, open"],
  ["bfloat16", [-1, 3], 'of a fixed size per element; input "x" has type bfloat16'],
])("refuses an input of type %s and shape %j", async (dtype, shape, message) => {
  const tensors = [{ name: "x", dtype, shape }];
  const readModel = async (file: string) => {
    return { model: { file, sha256: "0".repeat(64), inputs: tensors, outputs: tensors } };
  };
  const command = commandFor(folderOf(FILES));
  await expect(profileCommand(command, fakeMachine(steady, { readModel }))).rejects.toThrow(
    message,
  );
});

test("names the variant and batch that a model refuses or a worker does not survive", async () => {
  const refusing: Timing = ({ rows }) => {
    if (rows === 2) throw new InferenceError("small", "out of memory");
    return { wallMs: 1, cpuMs: 1 };
  };
  const command = commandFor(folderOf(FILES));
  const machine = fakeMachine(refusing);
  await expect(profileCommand(command, machine)).rejects.toThrow(
    "small at batch 2: expected a model that runs, got small: out of memory",
  );
  expect(machine.closedCount).toBe(1);
  const dying: Timing = () => {
    throw new WorkerLostError(0, "signal SIGKILL");
  };
  await expect(profileCommand(command, fakeMachine(dying))).rejects.toThrow(
    "small at batch 1: expected a model that runs, got worker 0 ended during the batch",
  );
});

test("says why no worker starts", async () => {
  const startExecutor = async () => {
    throw new Error("no such device");
  };
  const command = commandFor(folderOf(FILES), { device: "cuda" });
  await expect(profileCommand(command, fakeMachine(steady, { startExecutor }))).rejects.toThrow(
    "device cuda: expected a worker that starts, got: no such device",
  );
});

test("reads batch sizes in any order, each once, and refuses others", () => {
  expect(parseBatches("8, 1,2,8")).toEqual([1, 2, 8]);
  for (const text of ["", "0", "1,x", "1,,2", "1.5", "100000"]) {
    expect(() => parseBatches(text)).toThrow(/expected --batches such as/);
  }
});
