/** A server that npm started ends when npm does, and frees its port; real npm and npx. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { identityModel } from "../support/onnx-model.ts";
import { stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-npm-"));
const SERVE = "stratagem serve --policy bundle.msgpack --http 127.0.0.1:0 --json --no-means-check";
const running: ChildProcess[] = [];

beforeAll(() => {
  const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const variant = { name: "small", profile: "profile.json#small", model: "identity.onnx" };
  const spec = {
    version: 1,
    application: "echo",
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "classify", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  const scripts = { serve: SERVE, background: `${SERVE} & echo $! > pid` };
  const description = { name: "edge", version: "1.0.0", private: true, scripts };
  writeFileSync(join(folder, "package.json"), JSON.stringify(description));
  writeFileSync(join(folder, "identity.onnx"), identityModel(3));
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  const bundle = join(folder, "bundle.msgpack");
  expect(stratagem("compile", join(folder, "app.json"), "-o", bundle).stderr).toBe("");
  const bin = join(folder, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(bin, "stratagem"),
    `#!/bin/sh\nexec '${process.execPath}' '${resolve("compiler/dist/cli.js")}' "$@"\n`,
    { mode: 0o755 },
  );
});

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Starts it by npm and waits until it serves. */
async function serve(command: string, args: readonly string[]) {
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  const exited = once(child, "exit");
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  while (!/\n\}/.test(text)) await once(child.stdout, "data");
  const { url } = JSON.parse(text.slice(text.indexOf("{"))) as { readonly url: string };
  return { child, url, exited, closed: once(child.stdout, "close") };
}

test.runIf(existsSync("/proc/self/stat")).each([
  ["npx", ["--no", "--", ...SERVE.split(" ")], "SIGTERM"],
  ["npm", ["run", "serve"], "SIGTERM"],
  ["npm", ["run", "serve"], "SIGHUP"],
  ["npm", ["run", "serve"], "SIGKILL"],
] as const)("by %s %j and %s", { timeout: 60_000 }, async (command, args, signal) => {
  const { child, url, closed } = await serve(command, args);
  expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
  child.kill(signal);
  // Its standard output is closed when nobody has it any more.
  await closed;
  await expect(fetch(`${url}/v2/health/live`)).rejects.toThrow();
});

test.runIf(existsSync("/proc/self/stat"))(
  "a script that puts it in the background leaves it running",
  { timeout: 60_000 },
  async () => {
    const { url, exited, closed } = await serve("npm", ["run", "background"]);
    await exited;
    expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
    process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), "SIGTERM");
    await closed;
  },
);
