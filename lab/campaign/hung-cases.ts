/** What is served while its workers are stopped: a committed policy of every method. */
import { drawImages, IMAGE_BYTES } from "../models/image-classification/dataset.ts";
import { drawScenes, SCENE_BYTES } from "../models/scenes/dataset.ts";

export interface HungCase {
  /** Of the method. */
  readonly name: string;
  readonly policy: string;
  readonly models: string;
  /** Null for the first that the server has. */
  readonly model: string | null;
  readonly qps: number;
  /** Of one request. */
  readonly rows: number;
  readonly sloMs: number;
  /** Requests that one batch holds at most. */
  readonly batch: number;
  /** Whether another worker holds the models already. */
  readonly hasStandby: boolean;
  /** Bytes of one row, by its number. */
  readonly row: (index: number) => Uint8Array;
}

const SEED = 3;
const ROW_COUNT = 200;

function images(): HungCase["row"] {
  const { pixels } = drawImages(SEED, ROW_COUNT);
  return (index) => rowOf(pixels, index, IMAGE_BYTES);
}

function scenes(): HungCase["row"] {
  const { pixels } = drawScenes(SEED, ROW_COUNT);
  return (index) => rowOf(pixels, index, SCENE_BYTES);
}

function rowOf(pixels: Uint8Array, index: number, bytes: number): Uint8Array {
  const first = (index % ROW_COUNT) * bytes;
  return pixels.subarray(first, first + bytes);
}

/** At a modest share of what each carries on two cores that the client shares. */
export const HUNG_CASES: readonly HungCase[] = [
  {
    name: "ramsis",
    policy: "policies/letters/bundle.msgpack",
    models: "models/image-classification",
    model: null,
    ...{ qps: 30, rows: 1, sloMs: 100, batch: 16, hasStandby: true },
    row: images(),
  },
  {
    name: "loki",
    policy: "policies/scenes/bundle.msgpack",
    models: "models/scenes",
    model: null,
    ...{ qps: 8, rows: 1, sloMs: 100, batch: 16, hasStandby: true },
    row: scenes(),
  },
  {
    name: "inferline",
    policy: "policies/cascade/bundle.msgpack",
    models: "models/cascade",
    model: null,
    ...{ qps: 12, rows: 1, sloMs: 60, batch: 16, hasStandby: true },
    row: images(),
  },
  {
    name: "themis",
    policy: "policies/scaling/bundle.msgpack",
    models: "models/scaling",
    model: null,
    ...{ qps: 8, rows: 1, sloMs: 80, batch: 8, hasStandby: true },
    row: scenes(),
  },
  {
    name: "accordion",
    policy: "policies/malleable/bundle.msgpack",
    models: "policies/malleable",
    model: "cnn-xl",
    ...{ qps: 3, rows: 4, sloMs: 250, batch: 2, hasStandby: true },
    row: images(),
  },
];
