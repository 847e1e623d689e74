/** Entry of a worker process: loads the variants, then runs one batch after the other until its channel closes. */
import { env } from "onnxruntime-node";
import { assert } from "../core/assert.ts";
import { BlockingChannel } from "./blocking-channel.ts";
import {
  decodeRun,
  decodeText,
  FRAME_KINDS,
  type Frame,
  resultFrame,
  textFrame,
} from "./frame-protocol.ts";
import { OnnxModel, type WorkerSetup } from "./onnx-session.ts";

/** The socket the server left open for us, after the three standard ones. */
const CHANNEL_FD = 3;

// A terminal or a service manager signals the whole group. Only the server decides when a worker ends, so that it can finish its queries;
// should it die of the signal, the channel closes.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

process.exit(await serve(new BlockingChannel(CHANNEL_FD)));

async function serve(channel: BlockingChannel): Promise<number> {
  const first = channel.read();
  if (first === null) return 0;
  assert(first.kind === FRAME_KINDS.load, "a worker is told first what to load");
  let models: readonly OnnxModel[];
  try {
    models = await loadModels(JSON.parse(decodeText(first.payload)));
  } catch (error) {
    channel.write(textFrame(FRAME_KINDS.failed, messageOf(error)));
    return 1;
  }
  let open = channel.write(textFrame(FRAME_KINDS.ready, ""));
  while (open) {
    const frame = channel.read();
    open = frame !== null && channel.write(await answer(models, frame));
  }
  return 0;
}

async function loadModels(setup: WorkerSetup): Promise<readonly OnnxModel[]> {
  if (setup.trying) env.logLevel = "fatal";
  const models: OnnxModel[] = [];
  for (const variant of setup.variants) models.push(await OnnxModel.load(variant, setup));
  return models;
}

async function answer(models: readonly OnnxModel[], frame: Frame): Promise<Uint8Array[]> {
  assert(frame.kind === FRAME_KINDS.run, "a worker is asked only to run batches");
  const { variant, rows, inputs } = decodeRun(frame.payload);
  const model = models[variant];
  assert(model !== undefined, "a batch names a loaded variant");
  try {
    return resultFrame(await model.run(rows, inputs));
  } catch (error) {
    return textFrame(FRAME_KINDS.refused, messageOf(error));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
