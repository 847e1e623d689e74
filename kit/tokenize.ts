/**
 * `stratagem-kit/tokenize`: texts to the numbers that language models take, of one length.
 *
 * Input `text`, BYTES [], UTF-8, and with the option `pair` a second one, `pair`. Outputs, INT64
 * [length] each: `input_ids`, `attention_mask` and, unless `types` is false, `token_type_ids`. What
 * is too long loses tokens at its end, of two texts the longer one first, never those that the
 * tokenizer adds; with `truncate: false` it is refused. The tokenizer is a tokenizer.json of
 * Hugging Face, which their @huggingface/tokenizers runs.
 */
import type { HostModule, NamedTensors, OpenArguments } from "./module/contract.ts";
import { fileOf } from "./module/labels.ts";
import { OptionReader } from "./module/options.ts";
import { eachRow } from "./module/row-error.ts";
import { bytesOf } from "./module/tensors.ts";
import { type EncodedText, openTokenizer, type TextTokenizer } from "./text/text-tokenizer.ts";

interface Settings {
  readonly tokenizer: TextTokenizer;
  readonly length: number;
  readonly hasPair: boolean;
  readonly hasTypes: boolean;
  readonly isTruncated: boolean;
  readonly isPaddedLeft: boolean;
  readonly padId: bigint;
  readonly maxBytes: number;
}

const MAX_LENGTH = 1_000_000;
const MAX_ID = { min: 0, max: 2 ** 31 - 1 };
/** They take up to 0.3 s of a worker; other texts are seldom more than 5 bytes for each token. */
const DEFAULT_BYTES = 20_000;

/** @throws TypeError if an option is not what it may be. */
export default async function open(how: OpenArguments): Promise<HostModule> {
  const settings = settingsOf(how);
  const { length, hasPair, hasTypes } = settings;
  const names = ["input_ids", "attention_mask", ...(hasTypes ? ["token_type_ids"] : [])];
  const texts = hasPair ? ["text", "pair"] : ["text"];
  return {
    inputs: texts.map((name) => ({ name, datatype: "BYTES", shape: [] })),
    outputs: names.map((name) => ({ name, datatype: "INT64", shape: [length] })),
    batches: null,
    sample: (rows, random) => {
      const sample = () => Array.from({ length: rows }, () => sampleText(length, random));
      return Object.fromEntries(texts.map((name) => [name, { data: sample(), shape: [rows] }]));
    },
    run: (inputs, rows) => encoded(inputs, rows, settings),
    close: () => {},
  };
}

function settingsOf({ options: given, folder }: OpenArguments): Settings {
  const options = new OptionReader("stratagem-kit/tokenize", given);
  const source = fileOf(options, "tokenizer", folder);
  const config = options.has("config") ? fileOf(options, "config", folder) : "{}";
  const tokenizer = openTokenizer(source, config, options.flag("special", true));
  const hasPair = options.flag("pair", false);
  const added = tokenizer.addedCount(hasPair);
  const settings = {
    tokenizer,
    hasPair,
    length: options.integer("length", { min: added + 1, max: MAX_LENGTH }),
    hasTypes: options.flag("types", true),
    isTruncated: options.flag("truncate", true),
    isPaddedLeft: options.oneOf("padding", ["right", "left"], "right") === "left",
    padId: BigInt(options.integer("padId", MAX_ID, tokenizer.padId)),
    maxBytes: options.integer("maxBytes", { min: 1, max: 2 ** 30 }, DEFAULT_BYTES),
  };
  options.raw("config");
  options.done();
  return settings;
}

/** @throws RowError for texts that are too long, or not UTF-8. */
async function encoded(
  inputs: NamedTensors,
  rows: number,
  settings: Settings,
): Promise<NamedTensors> {
  const { length, hasPair, hasTypes, padId, tokenizer } = settings;
  const pairs = hasPair ? bytesOf(inputs, "pair", rows) : null;
  const ids = new BigInt64Array(rows * length).fill(padId);
  const mask = new BigInt64Array(rows * length);
  const types = new BigInt64Array(rows * length);
  await eachRow("text", bytesOf(inputs, "text", rows), (bytes, row) => {
    const pair = pairs?.[row];
    const text = tokenizer.encode(
      textOf(bytes, settings),
      pair === undefined ? null : textOf(pair, settings),
      length,
    );
    if (text.isCut && !settings.isTruncated) {
      throw new RangeError(`expected at most ${length} tokens (length), got more`);
    }
    put(text, row * length + (settings.isPaddedLeft ? length - text.ids.length : 0));
  });
  const shape = [rows, length];
  return {
    input_ids: { data: ids, shape },
    attention_mask: { data: mask, shape },
    ...(hasTypes ? { token_type_ids: { data: types, shape } } : {}),
  };

  function put(text: EncodedText, start: number): void {
    for (const [place, id] of text.ids.entries()) {
      ids[start + place] = BigInt(id);
      mask[start + place] = 1n;
      types[start + place] = BigInt(text.types[place] ?? 0);
    }
  }
}

function textOf(bytes: Uint8Array, { maxBytes }: Settings): string {
  if (bytes.length > maxBytes) {
    throw new RangeError(`expected at most ${maxBytes} bytes (maxBytes), got ${bytes.length}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RangeError(`expected text in UTF-8, got ${bytes.length} bytes of something else`);
  }
}

const WORDS = "the of and to in is was that for it as with on by at from which are this be an not";

/** Half as many words as there is room for, at least one, some of them rare. */
function sampleText(length: number, random: () => number): string {
  const words = WORDS.split(" ");
  const count = Math.max(1, Math.floor((length * (1 + random())) / 4));
  return Array.from({ length: count }, () => {
    const word = words[Math.floor(random() * words.length)] ?? "";
    return random() < 0.3 ? `${word}${Math.floor(random() * 1000).toString(36)}` : word;
  }).join(" ");
}
