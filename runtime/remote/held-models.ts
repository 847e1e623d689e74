/** The models of one worker: under which names it has them, and whether they are the ones. */
import { basename, extname } from "node:path";
import type { VariantModel } from "../exec/models/executor.ts";
import { oneLine } from "../exec/models/loaded-model.ts";
import { expectTensors } from "../exec/modules/module-model.ts";
import type { Fields } from "../exec/tensors/v2-codec.ts";
import { RemoteMistake } from "./asked-batch.ts";
import type { HttpConnection } from "./http-connection.ts";

/** What is asked of a worker with a model that it is to load. */
export interface Holding {
  /** Cores of its batches; null to leave it to the worker. */
  readonly cores: number | null;
  /** Whether to load it though the worker has it: with other cores than before. */
  readonly isAnew: boolean;
  /** As it is sent; null where nothing is fenced. */
  readonly lease: string | null;
}

/**
 * Finds a variant on a server: under its own name, else that of its file. Where it is under
 * neither, or is another file, the server is asked to load it.
 * @returns the name, and whether it was loaded for it.
 * @throws RemoteMistake if it is another model, or the server makes batches of its own; Error if
 * it is not there.
 */
export async function heldModel(
  connection: HttpConnection,
  variant: VariantModel,
  holding: Holding,
): Promise<HeldModel> {
  const names = namesOf(variant);
  if (!holding.isAnew) {
    for (const name of names) {
      const found = await modelAt(connection, name, variant);
      if (found === "same") return { name, isLoaded: false };
    }
  }
  for (const name of names) {
    if (!(await load(connection, name, variant, holding))) continue;
    const found = await modelAt(connection, name, variant);
    if (found === "same") return { name, isLoaded: true };
    if (found === "none") throw new Error(`it has loaded "${name}" and does not tell of it`);
    throw new RemoteMistake(`its model "${name}" is not the file that the bundle names`);
  }
  return { name: await nameThere(connection, names, variant), isLoaded: false };
}

/** The name of one that cannot be loaded: it may be there as it is. @throws RemoteMistake, Error */
async function nameThere(
  connection: HttpConnection,
  names: readonly string[],
  variant: VariantModel,
): Promise<string> {
  let other: string | null = null;
  for (const name of names) {
    const found = await modelAt(connection, name, variant);
    if (found === "same") return name;
    if (found === "other") other ??= name;
  }
  if (other !== null) {
    throw new RemoteMistake(`its model "${other}" is not the file that the bundle names`);
  }
  const tried = names.map((name) => `"${name}"`).join(" and none ");
  throw new Error(`it has no model ${tried}`);
}

interface HeldModel {
  /** Of the model on the server. */
  readonly name: string;
  readonly isLoaded: boolean;
}

/** The variant's name first, then the stem of its file; of another server's model its name. */
function namesOf({ name, path, remote }: VariantModel): readonly string[] {
  if (remote !== undefined) return [remote.model];
  const file = basename(path);
  return [...new Set([name, file.slice(0, file.length - extname(file).length)])];
}

/** @returns false where the server has none of that name to load, or does not load models. */
async function load(
  connection: HttpConnection,
  name: string,
  { digest, opened }: VariantModel,
  { cores, lease }: Holding,
): Promise<boolean> {
  const sha256 = digest ?? opened?.sha256;
  const parameters = {
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(cores === null ? {} : { cores: String(cores) }),
  };
  return connection.change(name, "load", parameters, lease);
}

/**
 * Whether the model of a name is the variant, or another file.
 * @throws RemoteMistake if it has other tensors, or the server makes batches of what it is sent.
 */
async function modelAt(
  connection: HttpConnection,
  name: string,
  variant: VariantModel,
): Promise<"same" | "other" | "none"> {
  const told = await connection.describe(name);
  if (told === null) return "none";
  const wanted = variant.digest ?? variant.opened?.sha256;
  if (told.sha256 !== null && wanted !== undefined && told.sha256 !== wanted) return "other";
  try {
    expectTensors("input", variant.inputs, told.inputs);
    expectTensors("output", variant.outputs, told.outputs);
  } catch (error) {
    throw new RemoteMistake(`its model "${name}": ${oneLine(error)}`);
  }
  const mistake = configMistake(await connection.configOf(name), variant);
  if (mistake !== null) throw new RemoteMistake(`its model "${name}": ${mistake}`);
  return "same";
}

/** What of a configuration keeps batches from being run as they are sent; null for nothing. */
export function configMistake(
  config: Fields | null,
  { warmBatches, largestBatch = 0 }: Pick<VariantModel, "warmBatches" | "largestBatch">,
): string | null {
  if (config === null) return null;
  if (isSet(config["dynamic_batching"])) {
    return "expected no dynamic_batching in its configuration, as batches are made here";
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
