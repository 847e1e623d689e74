/**
 * Entry of a worker process: loads variants, at its start or on request, and runs one batch after
 * the other until its channel closes.
 */
import { assert } from "../../core/assert.ts";
import { BadRowsError, oneLine } from "../models/loaded-model.ts";
import { openedOf } from "../models/variant-files.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { env } from "../tensors/onnxruntime.ts";
import { AnswerWriter } from "./answer-writer.ts";
import { BlockingChannel } from "./blocking-channel.ts";
import { closeInherited } from "./close-inherited.ts";
import { type Holding, ModelStore } from "./model-store.ts";
import { reportHowItEnds } from "./module-ends.ts";
import {
  decodeRun,
  decodeText,
  FRAME_KINDS,
  type Frame,
  type ReceivedBatch,
  type RefusedRows,
  resultFrame,
  textFrame,
} from "./worker-channel.ts";

/** The socket the server left open for us, after the three standard ones. */
const CHANNEL_FD = 3;

// A terminal or a service manager signals the whole group. Only the server decides when a worker
// ends, so that it can finish its queries; should it die of the signal, the channel closes.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

process.exit(await serve(new BlockingChannel(CHANNEL_FD)));

async function serve(channel: BlockingChannel): Promise<number> {
  const first = channel.read();
  if (first === null) return 0;
  assert(first.kind === FRAME_KINDS.load, "the first message to a worker says what to load");
  const setup: WorkerSetup = JSON.parse(decodeText(first.payload));
  closeInherited(1 + Math.max(CHANNEL_FD, ...inheritedFds(setup)));
  if (setup.trying) env.logLevel = "fatal";
  const answers = new AnswerWriter(CHANNEL_FD);
  const write = (chunks: readonly Uint8Array[]) => answers.settle() && channel.write(chunks);
  if (setup.variants.some(({ module }) => module !== undefined)) reportHowItEnds({ write });
  const tell = (kind: number, what: object): void => {
    write(textFrame(kind, JSON.stringify(what)));
  };
  const models = new ModelStore(
    setup,
    (step) => tell(FRAME_KINDS.loading, step),
    (facts) => tell(FRAME_KINDS.facts, facts),
  );
  try {
    if (setup.keptModels === null) {
      await models.hold({ variants: [...setup.variants.keys()], cores: [setup.threads] });
    }
  } catch (error) {
    write(textFrame(FRAME_KINDS.failed, messageOf(error)));
    return 1;
  }
  let open = write(textFrame(FRAME_KINDS.ready, ""));
  while (open) {
    const frame = channel.read();
    if (frame === null) return 0;
    const chunks = await answer(models, setup, frame);
    open = answers.settle() && (answers.take(chunks) || channel.write(chunks));
  }
  return 0;
}

function inheritedFds({ variants }: WorkerSetup): number[] {
  return variants.flatMap((variant) =>
    openedOf(variant).flatMap(({ fd, data = [] }) => [fd, ...data.map((file) => file.fd)]),
  );
}

function answer(
  models: ModelStore,
  setup: WorkerSetup,
  { kind, payload }: Frame,
): Promise<Uint8Array[]> {
  if (kind === FRAME_KINDS.assign) return hold(models, JSON.parse(decodeText(payload)));
  if (kind === FRAME_KINDS.ping) return Promise.resolve(textFrame(FRAME_KINDS.pong, ""));
  assert(kind === FRAME_KINDS.run, "a worker is asked to load models, to run batches, or if it is");
  return run(models, setup, decodeRun(payload));
}

async function hold(models: ModelStore, holding: Holding): Promise<Uint8Array[]> {
  try {
    return textFrame(FRAME_KINDS.assigned, String(await models.hold(holding)));
  } catch (error) {
    return textFrame(FRAME_KINDS.failed, messageOf(error));
  }
}

async function run(
  models: ModelStore,
  setup: WorkerSetup,
  { variant, rows, cores, bucket, inputs }: ReceivedBatch,
): Promise<Uint8Array[]> {
  try {
    return resultFrame(await models.model(variant, cores).run(rows, inputs, bucket));
  } catch (error) {
    if (error instanceof BadRowsError) {
      const refused: RefusedRows = { rows: error.rows, message: error.message };
      return textFrame(FRAME_KINDS.refusedRows, JSON.stringify(refused));
    }
    const { name, module } = setup.variants[variant] ?? {};
    if (module !== undefined && isOutOfMemory(error)) {
      return textFrame(FRAME_KINDS.failed, `${name}: ${oneLine(error)}`);
    }
    return textFrame(FRAME_KINDS.refused, oneLine(error));
  }
}

/** Memory that a module has grown to is never returned, so the process must be replaced. */
function isOutOfMemory(error: unknown): boolean {
  return error instanceof RangeError && /allocation failed/i.test(error.message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
