/**
 * Implements `stratagem truth APP`, which checks whether an application's promises hold on this
 * machine.
 */
import { statSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { counted } from "stratagem-runtime/internal/describe/text";
import { expectWritable, writeAllAtomically } from "../base/atomic-write.ts";
import { methodOf } from "../methods/registry.ts";
import { readDocument } from "../spec/document/document.ts";
import { InputError } from "../spec/document/input-error.ts";
import { parseStructure } from "../spec/document/structure.ts";
import { type ApplicationSpec, applicationSchema } from "../spec/schema/application-schema.ts";
import { runTruth, type TruthSurroundings } from "./run-truth.ts";
import type { TruthDocument } from "./truth-document.ts";
import { expectedMs, planPoints, thinnedLoads } from "./truth-plan.ts";
import { truthText } from "./truth-table.ts";

interface TruthCommand {
  readonly app: string;
  /** Folder for the output; null for none. */
  readonly out: string | null;
  /** Profile of this machine; null to measure one. */
  readonly profile: string | null;
  /** Each at least 1. */
  readonly loads: number;
  readonly runs: number;
  /** Duration of each load, ms. */
  readonly duration: number;
  readonly inputs: string | null;
  readonly labels: string | null;
}

type TruthCommandSurroundings = Omit<TruthSurroundings, "onPoint">;

/**
 * @throws InputError for the spec, RuntimeError for an option, StepError for a failed step,
 * UnwritableError for the folder.
 */
export async function truthCommand(
  command: TruthCommand,
  around: TruthCommandSurroundings,
): Promise<CommandResult> {
  const { app, out, profile, labels, inputs } = command;
  if (inputs === null && labels !== null) throw usage("--inputs with --labels", "none");
  const document = readDocument(app);
  const spec = parseStructure(document, applicationSchema);
  const isInputsFolder = inputs !== null && isFolder(inputs, "--inputs");
  announce(command, around);
  const folder = out === null ? await mkdtemp(join(tmpdir(), "stratagem-truth-")) : resolve(out);
  if (out !== null) await mkdir(folder, { recursive: true });
  try {
    if (out !== null) await expectWritable(join(folder, DOCUMENT));
    const found = await runTruth(
      {
        app,
        folder,
        profile,
        profileOptions: profile === null ? await profileOptions(spec) : [],
        serveOptions: [],
        inputs,
        isInputsFolder,
        labels,
        durationMs: command.duration,
        retries: RETRIES,
        pointsOf: (bundle) => planPoints(thinnedLoads(bundle, command.loads), command.runs, SEED),
      },
      { ...around, onPoint: () => {} },
    );
    if (out !== null) await keep(folder, found);
    const exitCode = found.holds ? EXIT_CODES.ok : EXIT_CODES.notVerified;
    return { exitCode, text: truthText(found), json: found };
  } finally {
    if (out === null) await rm(folder, { recursive: true, force: true });
  }
}

/** Seed of the first point. */
const SEED = 1;
/** Repetitions of a disturbed run. */
const RETRIES = 2;
const DOCUMENT = "truth.json";
const PAGE = "truth.html";

async function keep(folder: string, found: TruthDocument): Promise<void> {
  const { truthPage } = await import("./page/truth-page.ts");
  await writeAllAtomically([
    { path: join(folder, PAGE), bytes: Buffer.from(truthPage([found])) },
    { path: join(folder, DOCUMENT), bytes: Buffer.from(`${JSON.stringify(found, null, 2)}\n`) },
  ]);
}

function announce(
  { loads, runs, profile, duration }: TruthCommand,
  { onNote }: TruthCommandSurroundings,
): void {
  const ms = expectedMs(loads * runs, duration, profile !== null);
  const minutes = (ms / 60_000).toFixed(1);
  const first = profile === null ? "profiles, compiles" : "compiles";
  const counts = `${counted(loads, "load")}, ${counted(runs, "run")}`;
  onNote(
    `${first}, serves and loads: ${counts} of ` +
      `${duration / 1000} s each; about ${minutes} minutes in total`,
  );
}

/**
 * Returns options for the measurements that the method needs, on the hardware that the pools name.
 */
async function profileOptions({ policy, cluster }: ApplicationSpec): Promise<string[]> {
  const { profiled } = await methodOf(policy);
  const hardware = [...new Set((cluster.pools ?? []).flatMap((pool) => pool.hardware ?? []))];
  const named = hardware.length === 1 ? ["--hardware", hardware[0] ?? ""] : [];
  if (profiled === "layers") return [...named, "--layers"];
  if (profiled !== "cores") return named;
  const most = "maxCores" in policy ? Math.min(policy.maxCores, parallelism()) : 1;
  const cores: number[] = [];
  for (let count = 1; count <= most; count *= 2) cores.push(count);
  return [...named, "--cores", cores.join(",")];
}

/** @throws InputError if the file or folder does not exist. */
export function isFolder(path: string, option: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    const message = `${option} ${path}: expected a file or a folder, got none`;
    throw new InputError("INPUT_UNREADABLE", message);
  }
}

function usage(expected: string, found: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", `expected ${expected}, got ${found}`);
}
