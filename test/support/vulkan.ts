/** Where a worker of this machine finds a Vulkan device, which WebGPU runs on: tried for real. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identityModel } from "./onnx-model.ts";

type Environment = Record<string, string>;

/** The environment, or why there is none. */
type Found = { readonly environment: Environment } | { readonly reason: string };

/** Debian's chromium-common has a driver that runs on the processor, and a loader. */
const CHROMIUM_FOLDER = "/usr/lib/chromium";
const SWIFTSHADER = join(CHROMIUM_FOLDER, "vk_swiftshader_icd.json");

/** Runs one row through onnxruntime's WebGPU, and ends with the reason where that cannot be. */
const TRY = `
  import { InferenceSession, Tensor } from "onnxruntime-node";
  const model = Buffer.from(process.argv[1], "base64");
  try {
    const session = await InferenceSession.create(model, { executionProviders: ["webgpu"] });
    const x = new Tensor("float32", Float32Array.of(1, 2), [1, 2]);
    const { y } = await session.run({ x });
    if (y.data[1] !== 2) throw new Error("the device gives wrong answers");
  } catch (error) {
    console.log(error.message);
    process.exit(1);
  }
`;

/** The folder for temporary files is one of each run of tests. */
const KEPT = join(tmpdir(), "stratagem-vulkan.json");

/**
 * The variables, beside those of this process, with which a worker has a Vulkan device: none where
 * the environment or an installed driver is enough, else those of chromium's SwiftShader. Null
 * where nothing works, which `vulkanMissing` tells. Tried once in each run of tests.
 */
export function vulkanEnvironment(): Environment | null {
  const found = kept();
  return "environment" in found ? { ...found.environment } : null;
}

/** What a test that is skipped says it needs. */
export function vulkanMissing(): string {
  const found = kept();
  return "environment" in found ? "a Vulkan driver" : `a Vulkan driver: ${found.reason}`;
}

let answer: Found | undefined;

function kept(): Found {
  if (answer !== undefined) return answer;
  const isRun = process.env["STRATAGEM_TESTS_BUILT"] !== undefined;
  if (isRun && existsSync(KEPT)) answer = JSON.parse(readFileSync(KEPT, "utf8")) as Found;
  else answer = tried();
  if (isRun) writeFileSync(KEPT, JSON.stringify(answer));
  return answer;
}

function tried(): Found {
  const reasons: string[] = [];
  for (const environment of candidates()) {
    const reason = whyNot(environment);
    if (reason === null) return { environment };
    reasons.push(reason);
  }
  return { reason: [...new Set(reasons)].join("; ") };
}

function candidates(): Environment[] {
  // Some drivers complain where there is none.
  const runtime: Environment =
    process.env["XDG_RUNTIME_DIR"] === undefined ? { XDG_RUNTIME_DIR: tmpdir() } : {};
  const isTold = ["VK_ICD_FILENAMES", "VK_DRIVER_FILES"].some((name) => process.env[name]);
  if (isTold || !existsSync(SWIFTSHADER)) return [runtime];
  const driver = { ...runtime, VK_ICD_FILENAMES: SWIFTSHADER };
  const paths = [CHROMIUM_FOLDER, process.env["LD_LIBRARY_PATH"]].filter(Boolean);
  return [runtime, driver, { ...driver, LD_LIBRARY_PATH: paths.join(":") }];
}

/** Null where a session ran. */
function whyNot(environment: Environment): string | null {
  const model = Buffer.from(identityModel(2)).toString("base64");
  const { status, signal, stdout } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", TRY, model],
    { encoding: "utf8", env: { ...process.env, ...environment }, timeout: 60_000 },
  );
  if (status === 0) return null;
  // onnxruntime says first where it was, which is long.
  const [line = ""] = stdout.trim().split("\n");
  return line.replace(/^.* was false\. /, "") || `the process ended by ${signal ?? status}`;
}
