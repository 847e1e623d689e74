/** A server runs the models that it checked at its start, whatever becomes of their files. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { modelBytes, wholeBytesAt, wholeModel } from "../../../runtime/exec/files/whole-model.ts";
import type { VariantModel } from "../../../runtime/exec/models/executor.ts";
import { describeModel } from "../../../runtime/exec/onnx/model-file.ts";
import { OpenedModels } from "../../../runtime/exec/process/opened-models.ts";
import { identityModel, meanModel } from "../../support/onnx-model.ts";
import { splitModel, weightsOf } from "../../support/split-model.ts";
import { countingRows, type StartedExecutor, startedExecutor, WIDTH } from "./built-executor.ts";

const onLinux = test.runIf(process.platform === "linux");
const oneRow = { variant: 0, rows: 1, inputs: [[countingRows(1, 1)]] };
/** What the identity makes of it, and not what the mean does. */
const SERVED = [1, 2, 3, 4];
const other = meanModel(WIDTH, WIDTH);

let folder: string;
let path: string;
let files: OpenedModels;
let executor: StartedExecutor | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stratagem-swaps-"));
  path = join(folder, "model.onnx");
  writeFileSync(path, identityModel(WIDTH));
  files = new OpenedModels();
});

afterEach(async () => {
  await executor?.close();
  executor = undefined;
  await files.close();
  rmSync(folder, { recursive: true });
});

async function openedVariant(at = path): Promise<VariantModel> {
  const tensor = { dtype: "float32", shape: [-1, WIDTH] };
  return {
    name: "model",
    path: at,
    opened: await files.open(at),
    inputs: [{ name: "x", ...tensor }],
    outputs: [{ name: "y", ...tensor }],
    warmBatches: [1],
  };
}

async function start(variant: VariantModel, served = SERVED): Promise<StartedExecutor> {
  executor = await startedExecutor({ variants: [variant] }, { backoffMs: 1, maxBackoffMs: 1 });
  expect(await executor.nextEvent()).toBe("ready 0");
  expect(await answer(executor)).toEqual(served);
  return executor;
}

async function answer(from: StartedExecutor): Promise<number[]> {
  const { outputs } = await from.run(0, oneRow);
  return [...new Float32Array(outputs[0]?.bytes.slice().buffer ?? new ArrayBuffer())];
}

async function kill(worker: StartedExecutor): Promise<void> {
  process.kill(worker.pidOf(0), "SIGKILL");
  expect(await worker.nextEvent()).toBe("lost 0: signal SIGKILL");
}

describe("what replaces a worker runs the model of the start", () => {
  const swaps: [string, () => void][] = [
    [
      "after another file was renamed to its name",
      () => {
        writeFileSync(join(folder, "other"), other);
        renameSync(join(folder, "other"), path);
      },
    ],
    ["after it was deleted", () => rmSync(path)],
  ];
  test.each(swaps)("%s", async (_, swap) => {
    const worker = await start(await openedVariant());
    swap();
    await kill(worker);
    expect(await worker.nextEvent()).toBe("ready 0");
    expect(await answer(worker)).toEqual(SERVED);
  });

  test("after a link in its path was turned, as volumes of Kubernetes do", async () => {
    for (const [name, model] of Object.entries({ first: identityModel(WIDTH), second: other })) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "model.onnx"), model);
    }
    symlinkSync("first", join(folder, "..data"));
    const worker = await start(await openedVariant(join(folder, "..data/model.onnx")));
    symlinkSync("second", join(folder, "turned"));
    renameSync(join(folder, "turned"), join(folder, "..data"));
    expect(readlinkSync(join(folder, "..data"))).toBe("second");
    await kill(worker);
    expect(await worker.nextEvent()).toBe("ready 0");
    expect(await answer(worker)).toEqual(SERVED);
    expect(await files.changed()).toEqual([join(folder, "..data/model.onnx")]);
  });
});

describe("a file that is written over where it lies", () => {
  const changed = /^model \(.*\) on cpu: the file changed while it was served: expected SHA-256/;

  test("between its check and the start fails the start by name", async () => {
    const variant = await openedVariant();
    writeFileSync(path, other);
    await expect(startedExecutor({ variants: [variant] })).rejects.toThrow(changed);
  });

  test("is not served by what replaces a worker, until its content is back", async () => {
    const worker = await start(await openedVariant());
    writeFileSync(path, other);
    // The worker that holds it goes on.
    expect(await answer(worker)).toEqual(SERVED);
    await kill(worker);
    const event = await worker.nextEvent();
    expect(event.replace("failed, next in 1 ms: ", "")).toMatch(changed);
    writeFileSync(path, identityModel(WIDTH));
    let next = event;
    while (next.startsWith("failed")) next = await worker.nextEvent();
    expect(next).toBe("ready 0");
    expect(await answer(worker)).toEqual(SERVED);
  });
});

describe("a model with its weights in other files", () => {
  /** x + weights, with two tensors in one file and one in another. */
  function split(): string {
    const at = join(folder, "split.onnx");
    writeFileSync(at, splitModel(WIDTH));
    writeFileSync(join(folder, "split.onnx.data"), weightsOf(new Array(2 * WIDTH).fill(1)));
    mkdirSync(join(folder, "more"));
    writeFileSync(join(folder, "more", "third.bin"), weightsOf(new Array(WIDTH).fill(1)));
    return at;
  }

  onLinux("runs after its files are gone", async () => {
    const variant = await openedVariant(split());
    rmSync(join(folder, "split.onnx.data"));
    writeFileSync(join(folder, "split.onnx.data"), weightsOf(new Array(2 * WIDTH).fill(9)));
    rmSync(join(folder, "more"), { recursive: true });
    expect(await files.changed()).toEqual([variant.path]);
    await start(
      variant,
      SERVED.map((value) => value + 3),
    );
  });

  test("is refused by the names of its files if one changes in place", async () => {
    const variant = await openedVariant(split());
    expect(await files.changed()).toEqual([]);
    writeFileSync(join(folder, "more", "third.bin"), weightsOf(new Array(WIDTH).fill(2)));
    expect(await files.changed()).toEqual([variant.path]);
    await expect(modelBytes(variant)).rejects.toThrow(
      /^the file or split.onnx.data or more\/third.bin changed while it was served: expected SHA/,
    );
  });

  test("has one digest, that of the model in one file", async () => {
    const at = split();
    const whole = await wholeModel(at);
    const inOne = join(folder, "whole.onnx");
    writeFileSync(inOne, whole);
    const [one, several] = [await files.open(inOne), await files.open(at)];
    expect(several.sha256).toBe(one.sha256);
    expect(one.sha256).toBe(createHash("sha256").update(readFileSync(inOne)).digest("hex"));
    expect([several.bytes, several.data?.length, one.data]).toEqual([whole.length, 2, undefined]);
    expect((await describeModel(at)).model).toMatchObject({ sha256: one.sha256 });
    expect(wholeBytesAt(at)).toBe(whole.length);
  });

  test("is found through links of a cache to files of one folder", async () => {
    const at = split();
    const cache = join(folder, "snapshot");
    mkdirSync(cache);
    mkdirSync(join(cache, "more"));
    for (const file of ["split.onnx", "split.onnx.data", "more/third.bin"]) {
      symlinkSync(join(folder, file), join(cache, file));
    }
    const [one, linked] = [await files.open(at), await files.open(join(cache, "split.onnx"))];
    expect(linked.sha256).toBe(one.sha256);
  });
});

describe("opened models", () => {
  test("are those whose content is another on disk, by name", async () => {
    await files.open(path);
    expect(await files.changed()).toEqual([]);
    writeFileSync(path, identityModel(WIDTH));
    expect(await files.changed()).toEqual([]);
    const same = identityModel(WIDTH);
    same[same.length - 1] = 14;
    writeFileSync(path, same);
    expect(await files.changed()).toEqual([path]);
    rmSync(path);
    expect(await files.changed()).toEqual([path]);
  });

  onLinux("are opened once for all who ask, and closed", async () => {
    const [one, again] = [await files.open(path), await files.open(path)];
    expect(one.fd).toBe(again.fd);
    expect(readlinkSync(`/proc/self/fd/${one.fd}`)).toBe(path);
    await files.close();
    const open = readdirSync("/proc/self/fd").filter((fd) => existsSync(`/proc/self/fd/${fd}`));
    expect(open.map((fd) => readlinkSync(`/proc/self/fd/${fd}`))).not.toContain(path);
  });

  test("are files", async () => {
    await expect(files.open(folder)).rejects.toThrow(/not a file|EISDIR/);
    copyFileSync(path, resolve(folder, "copy"));
    expect((await files.open(resolve(folder, "copy"))).sha256).toHaveLength(64);
  });
});

onLinux("a worker has its channel and the models, and nothing else from elsewhere", async () => {
  const worker = await start(await openedVariant());
  const inherited = `/proc/${worker.pidOf(0)}/fd`;
  expect(readlinkSync(join(inherited, "3"))).toMatch(/^socket:/);
  expect(readlinkSync(join(inherited, "4"))).toBe(path);
});
