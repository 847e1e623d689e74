// The main job end to end on the example: compile, look, verify, simulate, and the same load on one fixed model.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "stratagem-demo-"));
const bundle = join(folder, "bundle.msgpack");
const load = ["--poisson", "2000", "--duration", "60s"];

try {
  step("Compile a policy for eight load levels");
  run("compile", "policies/image-classification/app.yaml", "-o", bundle);
  step("Ask what it does with 3 queries queued and 90 ms left, at 2000 queries/s");
  run("inspect", bundle, "--level", "2000", "--state", "queued=3,slack=90ms");
  step("Verify the bundle, recomputing what it promises");
  run("verify", bundle);
  step("Simulate a minute at 2000 queries/s with the decision code that serves");
  run("simulate", bundle, ...load);
  step("The same minute with the best single model that keeps up");
  run("simulate", bundle, ...load, "--baseline", "fixed:mobilenet_v3_large");
} finally {
  rmSync(folder, { recursive: true });
}

function step(title) {
  console.log(`\n== ${title}`);
}

function run(...args) {
  console.log(`$ stratagem ${args.join(" ")}`);
  execFileSync(process.execPath, ["dist/compiler/cli.js", ...args], { stdio: "inherit" });
}
