/** The models of one worker: under which names it has them, and whether they are the ones. */
import { basename, extname } from "node:path";
import type { VariantModel } from "../exec/executor.ts";
import { oneLine } from "../exec/loaded-model.ts";
import { expectTensors } from "../exec/module-model.ts";
import type { Fields } from "../exec/v2-codec.ts";
import { RemoteMistake } from "./remote-mistake.ts";
import type { V2Connection } from "./v2-connection.ts";

/** What is asked of a worker with a model that it is to load. */
export interface Holding {
  /** Cores of its batches; null to leave it to the worker. */
  readonly cores: number | null;
  /** Whether to load it though the worker has it: with other cores than before. */
  readonly isAnew: boolean;
}

/**
 * Finds a variant on a server: under its own name, else that of its file. Where it is under
 * neither, the server is asked to load it.
 * @returns the name, and whether it was loaded for it.
 * @throws RemoteMistake if it is another model, or the server makes batches of its own; Error if
 * it is not there.
 */
export async function heldModel(
  connection: V2Connection,
  variant: VariantModel,
  holding: Holding,
): Promise<{ readonly name: string; readonly isLoaded: boolean }> {
  const names = namesOf(variant);
  if (holding.isAnew) {
    for (const name of names) {
      if (await load(connection, name, variant, holding)) {
        await expectModel(connection, name, variant);
        return { name, isLoaded: true };
      }
    }
  }
  for (const name of names) {
    if (await isThere(connection, name, variant)) return { name, isLoaded: false };
  }
  for (const name of holding.isAnew ? [] : names) {
    if (!(await load(connection, name, variant, holding))) continue;
    await expectModel(connection, name, variant);
    return { name, isLoaded: true };
  }
  const tried = names.map((name) => `"${name}"`).join(" nor ");
  throw new Error(`it has no model ${tried}`);
}

/** The variant's name first, then the stem of its file; of another server's model its name. */
function namesOf({ name, path, remote }: VariantModel): readonly string[] {
  if (remote !== undefined) return [remote.model];
  const file = basename(path);
  return [...new Set([name, file.slice(0, file.length - extname(file).length)])];
}

/** @returns false where the server has none of that name to load, or does not load models. */
async function load(
  connection: V2Connection,
  name: string,
  { digest, opened }: VariantModel,
  { cores }: Holding,
): Promise<boolean> {
  const sha256 = digest ?? opened?.sha256;
  return connection.change(name, "load", {
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(cores === null ? {} : { cores: String(cores) }),
  });
}

async function expectModel(
  connection: V2Connection,
  name: string,
  variant: VariantModel,
): Promise<void> {
  if (await isThere(connection, name, variant)) return;
  throw new Error(`it has loaded the model "${name}" and does not tell of it`);
}

/** @throws RemoteMistake if it is another, or the server makes batches of what it is sent. */
async function isThere(
  connection: V2Connection,
  name: string,
  variant: VariantModel,
): Promise<boolean> {
  const tensors = await connection.tensorsOf(name);
  if (tensors === null) return false;
  try {
    expectTensors("input", variant.inputs, tensors.inputs);
    expectTensors("output", variant.outputs, tensors.outputs);
  } catch (error) {
    throw new RemoteMistake(`its model "${name}": ${oneLine(error)}`);
  }
  const mistake = configMistake(await connection.configOf(name), variant);
  if (mistake !== null) throw new RemoteMistake(`its model "${name}": ${mistake}`);
  return true;
}

/** What of a configuration keeps batches from being run as they are sent; null for nothing. */
export function configMistake(
  config: Fields | null,
  { warmBatches, largestBatch = 0 }: Pick<VariantModel, "warmBatches" | "largestBatch">,
): string | null {
  if (config === null) return null;
  if (isSet(config["dynamic_batching"])) {
    return "expected no dynamic_batching in its configuration, as batches are made here; take it out";
  }
  if (isSet(config["sequence_batching"])) {
    return "expected no sequence_batching in its configuration, as batches are made here";
  }
  const most = config["max_batch_size"];
  const wanted = Math.max(1, largestBatch, ...warmBatches);
  // Without batches, at 0, the first axis is one like others.
  if (typeof most !== "number" || most === 0 || most >= wanted) return null;
  return `expected a max_batch_size of at least ${wanted} in its configuration, got ${most}`;
}

function isSet(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
