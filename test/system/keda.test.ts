/**
 * `stratagem-runtime scaler` between a front end that serves and KEDA's interface as another
 * implementation of gRPC asks it (Python's grpcio).
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect } from "vitest";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { loadBundle } from "../../runtime/bundles/load-bundle.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import { realServer } from "../runtime/server/graph/real-server.ts";
import { testWith } from "./needs.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-keda-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A Python with grpcio and protobuf: that of Debian's packages, or of a virtual environment. */
const PYTHON =
  [process.env["STRATAGEM_PYTHON"] ?? "python3", "/usr/bin/python3"].find((python) => {
    return spawnSync(python, ["-c", "import grpc, google.protobuf"]).status === 0;
  }) ?? "python3";
const PROTO = "runtime/scaler/externalscaler.proto";

/** Its messages, by whichever compiler of protobuf is there. */
function generated(): boolean {
  const to = ["-Iruntime/scaler", `--python_out=${folder}`, PROTO];
  const protoc = spawnSync("protoc", to);
  const isMade =
    protoc.status === 0 || spawnSync(PYTHON, ["-m", "grpc_tools.protoc", ...to]).status === 0;
  return isMade && spawnSync(PYTHON, ["-c", "import grpc"]).status === 0;
}

const testWithPython = testWith("python3-grpcio and protobuf-compiler", generated());

/** One call, as grpcio's messages of the proto file are told. */
interface Said {
  readonly method: string;
  readonly request: object;
  readonly answer: object;
}

function scaler(...args: string[]) {
  const child = spawn(process.execPath, ["runtime/dist/cli.js", "scaler", ...args, "--json"]);
  let text = "";
  const ready = new Promise<{ grpc: string }>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes("\n}")) resolve(JSON.parse(text));
    });
    child.once("exit", () => reject(new Error(`it ended: ${text}`)));
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { ready, stop: () => child.kill("SIGTERM"), ended };
}

const policy = "policies/cascade/bundle.msgpack";
const bundle = (await loadBundle(policy)).bundle as InferlineBundle;
const pool = bundle.cluster.pools[0]?.name ?? "";
const planned = methodOf(bundle).plannedWorkers?.(bundle, 0) ?? [];
const workers = planned.reduce((sum, one) => sum + one.workers, 0);

async function ask(url: string): Promise<void> {
  const data = new Array<number>(4096).fill(0);
  const input = { name: "pixels", datatype: "UINT8", shape: [1, 4096], data };
  const body = JSON.stringify({ inputs: [input] });
  const reply = await fetch(`${url}/v2/models/cascade/infer`, { method: "POST", body });
  expect(reply.status).toBe(200);
}

testWithPython("KEDA's conversation goes through another implementation of gRPC", async () => {
  const { url, server } = await realServer(bundle, "models/cascade");
  const one = scaler("--policy", policy, "--metrics", `${url}/metrics`, "--grpc", "127.0.0.1:0");
  try {
    const { grpc } = await one.ready;
    const client = spawn(PYTHON, [
      "test/support/keda-client.py",
      folder,
      grpc,
      `{"pool":"${pool}"}`,
    ]);
    const said: Said[] = [];
    let errors = "";
    client.stderr.on("data", (chunk) => {
      errors += String(chunk);
    });
    for await (const line of createInterface(client.stdout)) {
      said.push(JSON.parse(line) as Said);
      if (said.length > 1) continue;
      await ask(url);
      client.stdin.write("go on\n");
    }
    const metricName = `stratagem-${pool}`;
    const spec = { metricSpecs: [{ metricName, targetSize: "1", targetSizeFloat: 1 }] };
    const answers = said.map(({ method, answer }) => ({ method, answer }));
    expect(answers, errors).toEqual([
      { method: "StreamIsActive", answer: { result: false } },
      { method: "StreamIsActive", answer: { result: true } },
      { method: "StreamMetricSpec", answer: spec },
      { method: "IsActive", answer: { result: true } },
      { method: "GetMetricSpec", answer: spec },
      {
        method: "GetMetrics",
        answer: {
          metricValues: [{ metricName, metricValue: String(workers), metricValueFloat: workers }],
        },
      },
      {
        method: "IsActive",
        answer: { code: "INVALID_ARGUMENT", details: expect.stringContaining(`pool: ${pool}`) },
      },
    ]);
    const recorded = `${said.map((line) => JSON.stringify(line)).join("\n")}\n`;
    await expect(recorded).toMatchFileSnapshot("../fixtures/keda/conversation.jsonl");
  } finally {
    one.stop();
    expect(await one.ended).toBe(0);
    await server.close();
  }
});
