/** `serve` as its operator sees it: models that change on disk, and the memory of workers. */
import { once } from "node:events";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeRangeBytes } from "../../runtime/exec/process/worker-spawn.ts";
import { greedyModel, nanModel } from "../support/hostile-onnx.ts";
import { identityModel, meanModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-serve-models-"));
const model = join(folder, "model.onnx");
const running: ReturnType<typeof startStratagem>[] = [];
const onLinux = test.runIf(process.platform === "linux");

beforeAll(() => writeFileSync(join(folder, "profile.json"), JSON.stringify(PROFILE)));

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const PROFILE = {
  format: "latency-profile/1",
  hardware: "test",
  variants: { small: { accuracy: 0.7, latencyMs: { 1: 10 } } },
};

/** The path of a bundle that serves these bytes as `model.onnx`. */
function bundleOf(name: string, bytes: Uint8Array): string {
  writeFileSync(model, bytes);
  const spec = {
    version: 1,
    application: "echo",
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [
      {
        name: "classify",
        variants: [{ name: "small", profile: "profile.json#small", model: "model.onnx" }],
      },
    ],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  const bundle = join(folder, `${name}.msgpack`);
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(spec));
  expect(stratagem("compile", join(folder, `${name}.json`), "-o", bundle).stderr).toBe("");
  return bundle;
}

interface Served {
  readonly url: string;
  readonly child: ReturnType<typeof startStratagem>;
  /** The next line on standard error that has these words. */
  told(words: string): Promise<string>;
}

async function serve(bundle: string, ...more: string[]): Promise<Served> {
  const where = ["--policy", bundle, "--http", "127.0.0.1:0", "--json"];
  const child = startStratagem("serve", ...where, "--standby", "0", ...more);
  running.push(child);
  const errors = child.stderr?.setEncoding("utf8");
  const url = await urlOf(child);
  let said = "";
  const told = async (words: string) => {
    for (;;) {
      const line = said.split("\n").find((one) => one.includes(words));
      if (line !== undefined) return line;
      const [chunk]: string[] = errors === undefined ? [] : await once(errors, "data");
      said += chunk ?? "";
    }
  };
  return { url, child, told };
}

async function answer(url: string): Promise<Response> {
  const inputs = [{ name: "x", datatype: "FP32", shape: [1, 3], data: [1, 2, 3] }];
  return fetch(`${url}/v2/models/echo/infer`, { method: "POST", body: JSON.stringify({ inputs }) });
}

/** Process ids of the workers of a server. */
function workersOf({ pid }: ReturnType<typeof startStratagem>): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children.split(" ").filter((child) => child !== "");
}

onLinux("answers by the model of its start after files were swapped, and says so", async () => {
  const served = await serve(bundleOf("swapped", identityModel(3)), "--memory", "512MiB");
  const [worker = ""] = workersOf(served.child);
  const limit = 2 ** 29 + codeRangeBytes();
  expect(readFileSync(`/proc/${worker}/limits`, "utf8")).toMatch(
    new RegExp(`Max data size +${limit} `),
  );
  writeFileSync(join(folder, "other"), meanModel(3, 3));
  renameSync(join(folder, "other"), model);
  served.child.kill("SIGHUP");
  const notice = await served.told("models stay those of before");
  expect(notice).toContain(`these files are others now, or gone: ${model}`);
  process.kill(Number(worker), "SIGKILL");
  await served.told("worker 0 was lost: signal SIGKILL");
  let reply = await answer(served.url);
  while (reply.status === 503) reply = await answer(served.url);
  expect(await reply.json()).toMatchObject({ outputs: [{ data: [1, 2, 3] }] });
  const files = readdirSync(`/proc/${workersOf(served.child)[0]}/fd`).map((fd) =>
    readlinkSync(`/proc/${workersOf(served.child)[0]}/fd/${fd}`),
  );
  expect(files).toContain(`${model} (deleted)`);
});

onLinux("refuses to start on a model that takes more memory than a worker may have", () => {
  const bundle = bundleOf("greedy", greedyModel(3));
  const where = ["--policy", bundle, "--http", "127.0.0.1:0"];
  const { status, stderr } = stratagem("serve", ...where, "--memory", "1GiB");
  expect(status).toBe(65);
  expect(stderr).toMatch(/^RUNTIME_DEVICE small \(.*; the memory limit of a worker is 1\.0 GiB$/m);
});

test("says in JSON that an output has numbers that are none, and serves on", async () => {
  const { url } = await serve(bundleOf("nan", nanModel(3)));
  for (let round = 0; round < 2; round++) {
    const reply = await answer(url);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(await reply.json())).toContain(
      "has an element that is NaN or infinite; request it with binary_data",
    );
  }
});

test.each(["8", "8GB", "0GiB", "1MiB", "-1GiB"])("takes no memory of %s", (memory) => {
  const { status, stderr } = stratagem("serve", "--policy", "none", "--memory", memory);
  expect(status).toBe(64);
  expect(stderr).toContain("expected bytes such as 64KiB, 512MiB or 8GiB, at least 256MiB");
});
