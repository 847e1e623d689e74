/** Every command of both packages, on the ways in which it fails: a message and an exit code. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOptions } from "../../lab/count/options.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-ends-"));
const NONE = join(folder, "none");
const STORE = ["--store", join(folder, "store")];
const BUNDLE = "test/fixtures/bundles/v1.msgpack";
const DOWN = "http://127.0.0.1:9";
const REGISTRY = "oci://127.0.0.1:9/team/bundle:1";
const OUT = ["-o", join(folder, "out")];
const CODES = [2, 3, 64, 65];
/** Accepts connections and closes each at once. */
let cut: Server;
let cutUrl = "";

beforeAll(async () => {
  cut = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(cut, "listening");
  const address = cut.address();
  cutUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  writeFileSync(join(folder, "noise"), "\u0000\u0001noise");
});

afterAll(() => {
  cut.close();
  rmSync(folder, { recursive: true });
});

/** Arguments of commands that both packages have. */
function shared(): Record<string, readonly (readonly string[])[]> {
  const port = ["--http", "127.0.0.1:0"];
  const grpc = ["--grpc", "127.0.0.1:0"];
  const sources = [`${DOWN}/b.msgpack`, `${cutUrl}/b.msgpack`, REGISTRY];
  return {
    inspect: [[NONE], [DOWN], [cutUrl], [join(folder, "noise")]],
    serve: [
      ["--policy", NONE],
      ["--config", NONE, ...port],
      ...sources.map((source) => ["--policy", source, ...STORE, ...port]),
    ],
    worker: [
      ["--policy", NONE, ...port],
      ["--models", folder, "--http", "203.0.113.1:9"],
    ],
    pull: [
      [REGISTRY, ...OUT],
      [`oci://${cutUrl.slice(7)}/team/bundle:1`, ...OUT],
    ],
    scaler: [
      ...sources.map((source) => ["--policy", source, ...STORE, "--metrics", DOWN, ...grpc]),
      ["--policy", BUNDLE, "--metrics", DOWN, "--grpc", "203.0.113.1:9"],
    ],
    keygen: [["--token", "one"]],
    verify: [[NONE], ["test/fixtures/bundles/bad-version.msgpack"]],
  };
}

function ofCompiler(): Record<string, readonly (readonly string[])[]> {
  return {
    ...shared(),
    init: [[`${NONE}.onnx`], [join(folder, "noise"), ...OUT]],
    compile: [
      [NONE, ...OUT],
      [join(folder, "noise"), ...OUT],
    ],
    merge: [[NONE, ...OUT]],
    gate: [[BUNDLE, NONE]],
    simulate: [[NONE, "--arrivals", "poisson:10"]],
    explain: [[NONE, "--policy", BUNDLE]],
    push: [[BUNDLE, REGISTRY]],
    manifests: [[NONE, ...OUT]],
    report: [[NONE, ...OUT]],
    sign: [[BUNDLE, "--key", NONE]],
    profile: [[NONE, ...OUT]],
    bench: [
      [DOWN, "--arrivals", "poisson:10", "--duration", "1s"],
      [cutUrl, "--arrivals", "poisson:10", "--duration", "1s"],
    ],
    truth: [[NONE]],
    capacity: [[NONE], [DOWN, "--duration", "2s"], [cutUrl, "--duration", "2s"]],
  };
}

test.each([
  ["runtime", shared],
  ["compiler", ofCompiler],
])("no command of %s ends without its reason", async (name, casesOf) => {
  const cli = `${name}/dist/cli.js`;
  const cases = casesOf();
  expect(Object.keys(cases).sort()).toEqual(
    commandOptions(cli)
      .map((one) => one.name)
      .sort(),
  );
  for (const [command, runs] of Object.entries(cases)) {
    for (const args of runs) {
      const { code, output } = await run(cli, command, args);
      const told = `${name} ${command} ${args.join(" ")}: ${code} ${output}`;
      if (command === "keygen") expect([0, ...CODES], told).toContain(code);
      else expect(CODES, told).toContain(code);
      expect(output.trim(), told).not.toBe("");
      expect(output, told).not.toMatch(/RUNTIME_INTERNAL|\n\s+at /);
    }
  }
});

async function run(cli: string, command: string, args: readonly string[]) {
  const child = spawn(process.execPath, [cli, command, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  }
  const [code]: (number | null)[] = await once(child, "close");
  return { code, output };
}
