import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseCores, profileCommand } from "../../../compiler/commands/profile/profile.ts";
import type { Measurement } from "../../../compiler/profile/latency-profile.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { commandFor, fakeMachine, type Timing, TRANSPORT_MS, UNPROFILED } from "./fake-machine.ts";

const FILES = { "app.yaml": UNPROFILED, "small.onnx": "small", "large.onnx": "large" };

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Small takes 2 ms a row on a core, large 8; half as long on two. */
const scaling: Timing = ({ variant, rows }, _run, cores) => {
  const cpuMs = (variant === 0 ? 2 : 8) * rows;
  return { wallMs: cpuMs / cores, cpuMs };
};

describe("by cores", () => {
  test("has rows for each number of cores, and the first's for others", async () => {
    const folder = folderOf(FILES);
    const command = commandFor(folder, { cores: [1, 2], repeat: 5 });
    const { text, json } = await profileCommand(command, fakeMachine(scaling));
    const large = {
      "1": row(8 + TRANSPORT_MS),
      "2": row(16 + TRANSPORT_MS),
    };
    const profile = readJson(`${folder}/profile.json`);
    expect(profile).toMatchObject({
      source: expect.stringContaining("on 1, 2 cores, latencyMs on 1, on random numbers, "),
      variants: {
        large: {
          latencyMs: large,
          byCores: { "1": large, "2": { "1": row(4 + TRANSPORT_MS), "2": row(8 + TRANSPORT_MS) } },
        },
      },
    });
    const { application } = loadApplication(`${folder}/app.yaml`);
    expect(application.tasks[0]?.variants[0]?.profile.byCores).toMatchObject([
      { cores: 1, rows: [{ batch: 1, latencyMs: 2.125 }, { latencyMs: 4.125 }] },
      { cores: 2, rows: [{ batch: 1, latencyMs: 1.125 }, { latencyMs: 2.125 }] },
    ]);
    expect(text).toContain("2 variants at 2 batch sizes on 1, 2 cores, 5 runs each");
    expect(text).toMatch(/large +2 +1 +4\.125/);
    expect((json as Measurement).cells.map(({ cores }) => cores)).toEqual([1, 1, 1, 1, 2, 2, 2, 2]);
  });

  test("changes the cores of one worker once for each number of them in a round", async () => {
    const command = commandFor(folderOf(FILES), { cores: [2, 1], batches: [1], repeat: 20 });
    const machine = fakeMachine(scaling);
    await profileCommand(command, machine);
    const round = ["0@1×2", "1@1×2", "0@1", "1@1"];
    const rounds = Array.from({ length: 22 }, (_, at) => machine.runs.slice(4 * at, 4 * at + 4));
    expect(rounds.slice(0, 2)).toEqual([round, round]);
    for (const runs of rounds) {
      expect(runs.toSorted()).toEqual(round.toSorted());
      const [first, second, third, fourth] = runs.map((run) => run.endsWith("×2"));
      expect([second, third]).toEqual([first, fourth]);
    }
    expect(machine.resizes.length).toBeLessThan(2 * rounds.length);
    expect(machine.closedCount).toBe(1);
  });

  test("takes the first number that is named for rows that do not say their cores", async () => {
    const folder = folderOf(FILES);
    await profileCommand(commandFor(folder, { cores: [2, 1] }), fakeMachine(scaling));
    expect(readJson(`${folder}/profile.json`)).toMatchObject({
      variants: { small: { latencyMs: { "1": { p50: 1 + TRANSPORT_MS } } } },
    });
  });

  test("reports the neighbours' share from runs on one core only", async () => {
    // On one core 20 % of the time goes to neighbours; on two, 1.5 cores work at a time.
    const busy: Timing = (batch, run, cores) => {
      const { wallMs } = scaling(batch, run, cores);
      return { wallMs, cpuMs: wallMs * (cores === 1 ? 0.8 : 1.5) };
    };
    const command = commandFor(folderOf(FILES), { cores: [1, 2], force: true });
    const { json } = await profileCommand(command, fakeMachine(busy));
    expect((json as Measurement).noise.waitingShare).toBeCloseTo(0.2, 12);
    const alone = commandFor(folderOf(FILES), { cores: [2] });
    const { json: none } = await profileCommand(alone, fakeMachine(busy));
    expect((none as Measurement).noise.waitingShare).toBeNull();
  });

  test("goes on from an interrupted run of the same cores, and of no others", async () => {
    const folder = folderOf(FILES);
    const abort = new AbortController();
    const slow: Timing = (_, run) => {
      if (run === 8 * (2 + 10) + 1) abort.abort(new Error("interrupted"));
      return { wallMs: 750, cpuMs: 750 };
    };
    const interrupted = fakeMachine(slow, { signal: abort.signal });
    const command = commandFor(folder, { cores: [1, 2], force: true });
    await expect(profileCommand(command, interrupted)).rejects.toThrow("interrupted");
    const partial = readFileSync(`${folder}/profile.json.partial`);
    const other = fakeMachine(scaling);
    await profileCommand({ ...command, cores: [2, 1] }, other);
    expect(other.runs).toHaveLength(8 * (2 + 20));
    writeFileSync(`${folder}/profile.json.partial`, partial);
    const same = fakeMachine(scaling);
    await profileCommand(command, same);
    // Two of the cells had been run once more than the others.
    expect(same.runs).toHaveLength(8 * (2 + 10) - 2);
  });

  test("says on which cores a dry run would measure", async () => {
    const command = commandFor(folderOf(FILES), { cores: [1, 2], dryRun: true });
    const { text, json } = await profileCommand(command, fakeMachine(scaling));
    expect(text).toContain("at batches 1, 2 on 1, 2 cores, 20 times each: 176 runs");
    expect(json).toMatchObject({ cores: [1, 2], runs: 176 });
  });

  test("refuses more cores than the machine has, and any for an accelerator", async () => {
    const folder = folderOf(FILES);
    await expect(
      profileCommand(commandFor(folder, { cores: [1, 4] }), fakeMachine(scaling)),
    ).rejects.toMatchObject({
      code: "INPUT_CONFLICT",
      message: expect.stringContaining(
        "--cores 1,4: expected at most the 2 cores of this machine, got 4",
      ),
    });
    await expect(
      profileCommand(commandFor(folder, { cores: [1, 2], device: "cuda" }), fakeMachine(scaling)),
    ).rejects.toThrow("--cores 1,2: expected --device cpu beside it, got cuda");
  });

  test("says that the worker was lost while it changed its cores", async () => {
    const whole = fakeMachine(scaling);
    const machine = fakeMachine(scaling, {
      startExecutor: async (options, handlers) => ({
        ...(await whole.startExecutor(options, handlers)),
        resize: (worker) => handlers.onLost(worker, "signal SIGKILL"),
      }),
    });
    await expect(
      profileCommand(commandFor(folderOf(FILES), { cores: [1, 2] }), machine),
    ).rejects.toThrow("expected a worker that goes on with 2 cores, got: signal SIGKILL");
    expect(whole.closedCount).toBe(1);
  });

  test("reads numbers of cores in their order, and refuses 0, others and one named twice", () => {
    expect(parseCores("2, 1,4")).toEqual([2, 1, 4]);
    for (const text of ["", "0", "1,0", "1,x", "1,,2", "1.5", "-1", "10000", "1,2,1"]) {
      expect(() => parseCores(text)).toThrow(/expected --cores such as 1,2,4/);
    }
  });
});

/** What is measured where nothing varies. */
function row(ms: number) {
  return { p50: ms, max: ms, mean: ms };
}
