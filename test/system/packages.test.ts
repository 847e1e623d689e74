/**
 * The packages as npm installs them into an empty folder, with nothing but a registry at hand:
 * which packages come, and that what ships works from there.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testWith } from "./needs.ts";

/** Packages that solve, plot or cut models: an edge node has no use for any. */
const OF_THE_COMPILER = new RegExp(
  "^(glpk\\.js|highs|mathjs|ndarray|linkedom|zod|d3(-.*)?|" + "@observablehq/.*|stratagem)$",
);
/** What the kit brings, which nobody has who has not asked for it. */
const OF_THE_KIT = /^(sharp|@img\/.*|@huggingface\/.*|stratagem-kit)$/;
/**
 * A port where nobody listens: scripts that reach for another host than the registry fail there.
 */
const NO_WORKER = "http://127.0.0.1:9";
const hasRegistry = spawnSync("npm", ["ping"], { stdio: "ignore" }).status === 0;
const withRegistry = testWith("an npm registry", hasRegistry);

const folder = mkdtempSync(join(tmpdir(), "stratagem-packages-"));
const tarballs = join(folder, "tarballs");
const edge = join(folder, "edge");
const ci = join(folder, "ci");
let packed: { readonly runtime: string; readonly compiler: string; readonly kit: string };
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 3 }), 60_000);

beforeAll(() => {
  mkdirSync(tarballs);
  npm(".", "pack", "-w", "runtime", "-w", "compiler", "-w", "kit", "--pack-destination", tarballs);
  const { version } = JSON.parse(readFileSync("runtime/package.json", "utf8"));
  packed = {
    runtime: join(tarballs, `stratagem-runtime-${version}.tgz`),
    compiler: join(tarballs, `stratagem-${version}.tgz`),
    kit: join(tarballs, `stratagem-kit-${version}.tgz`),
  };
  for (const home of [edge, ci]) {
    mkdirSync(home);
    writeFileSync(join(home, "package.json"), '{ "name": "empty", "private": true }');
    for (const data of ["models", "profiles", "policies"]) {
      cpSync(data, join(home, data), { recursive: true });
    }
  }
  if (!hasRegistry) return;
  npm(edge, "install", "--no-audit", "--no-fund", packed.runtime);
  npm(ci, "install", "--no-audit", "--no-fund", packed.runtime, packed.compiler);
}, 300_000);

withRegistry("stratagem-kit is installed without scripts, and its modules open", () => {
  const home = join(folder, "kit");
  mkdirSync(home);
  writeFileSync(join(home, "package.json"), '{ "name": "empty", "private": true }');
  npm(home, "install", "--no-audit", "--no-fund", "--ignore-scripts", packed.kit);
  const names = packagesOf(home);
  expect(names).toContain("sharp");
  expect(names.length).toBeLessThanOrEqual(12);
  const use = `
    import open from "stratagem-kit/decode-image";
    const module = await open({ options: { size: [8, 8] }, folder: "." });
    const inputs = await module.sample(1, () => 0.5);
    console.log((await module.run(inputs, 1)).pixels.shape.join());
  `;
  expect(node(home, "--input-type=module", "-e", use)).toBe("1,3,8,8\n");
});

describe("stratagem-runtime, installed alone", () => {
  withRegistry("brings no solver, no plots and no compiler", () => {
    const names = packagesOf(edge);
    expect(names).toContain("onnxruntime-node");
    expect(names.filter((name) => OF_THE_COMPILER.test(name))).toEqual([]);
    for (const home of [edge, ci]) {
      expect(packagesOf(home).filter((name) => OF_THE_KIT.test(name))).toEqual([]);
    }
    expect(names.length).toBeLessThanOrEqual(62);
    expect(packagesOf(ci).filter((name) => OF_THE_COMPILER.test(name))).toContain("glpk.js");
  });

  withRegistry("inspects and verifies a bundle", () => {
    const bundle = "policies/letters/bundle.msgpack";
    expect(bin(edge, "stratagem-runtime", "inspect", bundle)).toContain("letters: ramsis");
    expect(bin(edge, "stratagem-runtime", "verify", bundle)).toContain("semantics ok: 4 levels");
    expect(existsSync(join(edge, "node_modules/.bin/stratagem"))).toBe(false);
  });

  withRegistry("serves a model", async () => {
    const server = spawn(
      join(edge, "node_modules/.bin/stratagem-runtime"),
      [
        ...["serve", "--policy", "policies/letters/bundle.msgpack", "--json"],
        ...["--models", "models/image-classification", "--http", "127.0.0.1:0"],
      ],
      { cwd: edge, stdio: ["ignore", "pipe", "inherit"] },
    );
    const ended = once(server, "exit");
    try {
      const { url } = await servedAt(server);
      const data = new Array(4096).fill(255);
      const inputs = [{ name: "pixels", datatype: "UINT8", shape: [1, 4096], data }];
      const body = JSON.stringify({ inputs });
      const answer = await fetch(`${url}/v2/models/letters/infer`, { method: "POST", body });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ outputs: [{ name: "logits", shape: [1, 20] }] });
    } finally {
      server.kill("SIGTERM");
      await ended;
    }
  });

  withRegistry("is a library to import and to require, with types", () => {
    const use = 'loadBundle("policies/letters/bundle.msgpack").then((l) => console.log(l.sha256))';
    const imported = node(
      edge,
      "--input-type=module",
      "-e",
      `import { loadBundle } from "stratagem-runtime"; ${use}`,
    );
    const required = node(
      edge,
      "-e",
      `const { loadBundle } = require("stratagem-runtime"); ${use}`,
    );
    expect(imported).toMatch(/^[0-9a-f]{64}\n$/);
    expect(required).toBe(imported);
    writeFileSync(
      join(edge, "consumer.mts"),
      `import { decide, loadBundle, type RamsisBundle } from "stratagem-runtime";
       const { bundle } = await loadBundle("policies/letters/bundle.msgpack");
       if (bundle.method !== "ramsis") throw new Error(bundle.method);
       const narrowed: RamsisBundle = bundle;
       const decision = decide(narrowed, { loadQps: 860 }, { queued: 3, slackMs: 90 });
       if ("variant" in decision) decision.variant satisfies string;
       // @ts-expect-error A state says how much time is left.
       decide(narrowed, { loadQps: 860 }, { queued: 3 });\n`,
    );
    const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023"];
    const types = ["--typeRoots", resolve("node_modules/@types"), "--types", "node"];
    const checked = spawnSync(
      process.execPath,
      [resolve("node_modules/typescript/bin/tsc"), ...strict, ...types, "consumer.mts"],
      { cwd: edge, encoding: "utf8" },
    );
    expect(checked.stdout).toBe("");
    expect(checked.status).toBe(0);
  });

  withRegistry("says how to install CUDA, where CUDA is asked for and was not installed", () => {
    if (`${platform()}/${arch()}` !== "linux/x64") return;
    const { status, stderr } = spawnSync(
      join(edge, "node_modules/.bin/stratagem-runtime"),
      [
        ...["serve", "--policy", "policies/letters/bundle.msgpack", "--device", "cuda"],
        ...["--models", "models/image-classification", "--http", "127.0.0.1:0"],
      ],
      { cwd: edge, encoding: "utf8", timeout: 60_000 },
    );
    expect(status).not.toBe(0);
    expect(stderr).toContain("script/install --onnxruntime-node-install=cuda12");
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});

describe("stratagem, installed beside it", () => {
  withRegistry("compiles the committed bytes from a folder that is no checkout", () => {
    for (const policy of ["letters", "scenes", "scaling"]) {
      const app = join("policies", policy, "app.yaml");
      bin(ci, "stratagem", "compile", app, "-o", `${policy}.msgpack`);
      const committed = readFileSync(`policies/${policy}/bundle.msgpack`);
      expect(readFileSync(join(ci, `${policy}.msgpack`)).equals(committed), policy).toBe(true);
    }
  });

  withRegistry("verifies, simulates and reports there", () => {
    const bundle = "policies/letters/bundle.msgpack";
    expect(bin(ci, "stratagem", "verify", bundle)).toContain("semantics ok");
    const asked = ["--arrivals", "poisson:860", "--duration", "5s", "--json"];
    const outcome = JSON.parse(bin(ci, "stratagem", "simulate", bundle, ...asked));
    expect(outcome).toHaveProperty("violationRate");
    bin(ci, "stratagem", "report", bundle, "-o", "report.html");
    expect(readFileSync(join(ci, "report.html"), "utf8")).toContain("</html>");
  });
});

test("nothing that the runtime imports is missing from its package.json", () => {
  const { dependencies } = JSON.parse(readFileSync("runtime/package.json", "utf8"));
  const ofGrpc = ["@bufbuild/protobuf", "@grpc/grpc-js"];
  const needed = [...ofGrpc, "commander", "msgpackr", "onnxruntime-node", "undici", "yaml"];
  expect(Object.keys(dependencies).sort()).toEqual(needed);
});

withRegistry(
  "onnxruntime-node alone still reaches for another host, which the runtime spares",
  () => {
    if (`${platform()}/${arch()}` !== "linux/x64") return;
    const script = join(edge, "node_modules/onnxruntime-node/script/install.js");
    const bare = join(folder, "bare");
    cpSync(join(edge, "node_modules"), join(bare, "node_modules"), { recursive: true });
    const copy = join(bare, "node_modules/onnxruntime-node");
    rmSync(join(copy, "bin/napi-v6/linux/x64/libonnxruntime_providers_cuda.so"));
    const [withStandIns, without] = [script, join(copy, "script/install.js")].map(
      (path) =>
        spawnSync(process.execPath, [path], { env: surroundings(), stdio: "ignore" }).status,
    );
    expect([withStandIns, without]).toEqual([0, 1]);
  },
);

/** Names of what lies in `node_modules`, the packages of scopes included. */
function packagesOf(home: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(home, "package-lock.json"), "utf8"));
  return Object.keys(packages)
    .filter((path) => existsSync(join(home, path, "package.json")) && path !== "")
    .map((path) => path.replace(/^.*node_modules\//, ""));
}

/** As a machine has it where only the registry can be reached, and scripts run as npm runs them. */
function surroundings(): NodeJS.ProcessEnv {
  const env = {
    ...process.env,
    GLOBAL_AGENT_HTTP_PROXY: NO_WORKER,
    GLOBAL_AGENT_HTTPS_PROXY: NO_WORKER,
  };
  const isOurs = (name: string): boolean => /^(npm_|ONNXRUNTIME_|INIT_CWD$)/.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name)));
}

function npm(home: string, ...args: string[]): void {
  execFileSync("npm", args, {
    cwd: home,
    env: surroundings(),
    stdio: ["ignore", "ignore", "pipe"],
  });
}

function bin(home: string, name: string, ...args: string[]): string {
  const path = join(home, "node_modules/.bin", name);
  return execFileSync(path, args, { cwd: home, encoding: "utf8", maxBuffer: 2 ** 28 });
}

function node(home: string, ...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: home, encoding: "utf8" });
}

/** What a server says of itself once it serves. */
async function servedAt(server: ChildProcess): Promise<{ url: string }> {
  let said = "";
  for await (const chunk of server.stdout ?? []) {
    said += chunk;
    if (said.endsWith("}\n")) return JSON.parse(said);
  }
  throw new Error(`the server ended before it served: ${said}`);
}
