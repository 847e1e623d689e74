/** Memory limits of workers, and how error messages mention them. */
import { totalmem } from "node:os";
import { wholeBytesAt } from "../files/whole-model.ts";
import { type VariantModel, warmCoresOf } from "../models/executor.ts";
import { fileBytesOf } from "../models/variant-files.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { HEAP_MIB } from "./worker-spawn.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** Node and onnxruntime without a model take 0.2 GiB. */
const BASE_BYTES = GIB;
/**
 * Copies of a model's file while a session is made from it, and more if onnxruntime changes the
 * layout of weights: the file, its parsed form, the weights, and the new layout.
 */
const COPIES = 4;
/** Memory per byte of a batch's inputs: tensors between the layers are larger than the inputs. */
const BATCH_FACTOR = 64;
const MAX_ELEMENT_BYTES = 8;
const FLOOR_BYTES = 4 * GIB;
const FLOOR_SHARE = 1 / 4;

/**
 * Default memory limit: an estimate of what models and their warm batches need, but at least 4 GiB,
 * or a quarter of the machine if that is more. The limit keeps one model from taking the machine;
 * it reserves nothing. Workers on accelerators have no limit, because drivers map large address
 * ranges.
 */
export function workerMemoryBytes(setup: WorkerSetup): number | null {
  if (setup.on.provider !== "cpu") return null;
  const floorBytes = Math.max(FLOOR_BYTES, totalmem() * FLOOR_SHARE);
  const needs = setup.variants.map((variant) => needBytes(variant, setup.threads));
  return Math.max(
    floorBytes,
    needs.reduce((sum, need) => sum + need, BASE_BYTES),
  );
}

function needBytes(variant: VariantModel, threads: number): number {
  // One more: a resize adds a session before it gives another back.
  const sessions = new Set(warmCoresOf(variant, threads)).size + 1;
  const rows = Math.max(1, ...variant.warmBatches);
  const rowBytes = variant.inputs.reduce((sum, { shape }) => {
    const elements = shape.slice(1).reduce((product, size) => product * Math.max(1, size), 1);
    return sum + elements * MAX_ELEMENT_BYTES;
  }, 0);
  const fileBytes = fileBytesOf(variant, wholeBytesAt);
  return sessions * (COPIES * fileBytes + BATCH_FACTOR * rows * rowBytes);
}

/** Errors of onnxruntime and V8 when memory is refused, and signals that end a process then. */
const OUT_OF_MEMORY = /bad[_ ]?alloc|allocat|out of memory|signal SIG(ABRT|TRAP|ILL|SEGV|BUS)/i;

/** Signals with which V8 ends a process whose heap is full. */
const HEAP_SIGNALS = /signal SIG(ABRT|TRAP|ILL)/;

/** The reason, with the limit where that may be the cause. */
export function withMemoryLimit(reason: string, memoryBytes: number | null): string {
  if (memoryBytes === null || !OUT_OF_MEMORY.test(reason)) return reason;
  const limit = `the memory limit of a worker is ${(memoryBytes / GIB).toFixed(1)} GiB`;
  const ofObjects = `, ${HEAP_MIB / 1024} GiB of it for JavaScript objects`;
  const isHeap = HEAP_SIGNALS.test(reason) && HEAP_MIB * MIB < memoryBytes;
  return `${reason}; ${limit}${isHeap ? ofObjects : ""}`;
}
