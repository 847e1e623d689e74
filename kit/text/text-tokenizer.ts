/** A tokenizer of Hugging Face that cuts texts to a length as theirs in Rust does. */
import { Tokenizer } from "@huggingface/tokenizers";

export interface EncodedText {
  readonly ids: readonly number[];
  /** 0, or 1 for tokens of the second text where the tokenizer distinguishes them. */
  readonly types: readonly number[];
  readonly isCut: boolean;
}

export interface TextTokenizer {
  /** Identifier of the padding token; 0 where the files name none. */
  readonly padId: number;
  /** How many tokens it adds to a text, or to two. */
  addedCount(hasPair: boolean): number;
  /** @param length at most so many tokens, those that are added among them. */
  encode(text: string, pair: string | null, length: number): EncodedText;
}

/** Part of a tokenizer.json that is read here; the library reads the rest. */
interface TokenizerFile {
  readonly padding?: { readonly pad_id?: number } | null;
  readonly added_tokens?: readonly { readonly id: number; readonly content: string }[];
}

interface ConfigFile {
  readonly pad_token?: string | { readonly content: string } | null;
}

const PADDING = ["[PAD]", "<pad>", "<|padding|>"];

/**
 * @param source content of a tokenizer.json. @param config of a tokenizer_config.json, or `{}`.
 * @param isSpecial whether tokens are added at the ends.
 * @throws TypeError if they are not such files.
 */
export function openTokenizer(source: string, config: string, isSpecial: boolean): TextTokenizer {
  const file = parsed<TokenizerFile>(source, "tokenizer");
  const settings = parsed<ConfigFile>(config, "config");
  const tokenizer = libraryTokenizer(file, settings);
  const addedIds = new Map(file.added_tokens?.map(({ id, content }) => [content, id]));
  const idOf = (token: string): number => {
    const id = addedIds.get(token) ?? tokenizer.token_to_id(token) ?? tokenizer.model?.unk_token_id;
    if (id === undefined) throw new RangeError(`the tokenizer has no number for "${token}"`);
    return id;
  };
  const joined = (tokens: string[], pair: string[] | null) => {
    const { post_processor: processor } = tokenizer;
    return (
      processor?.post_process(tokens, pair, isSpecial) ?? { tokens: [...tokens, ...(pair ?? [])] }
    );
  };
  const addedCount = (hasPair: boolean) => joined([], hasPair ? [] : null).tokens.length;
  return {
    padId: padIdOf(file, settings, addedIds),
    addedCount,
    encode: (text, pair, length) => {
      const [first, second] = [text, pair].map((part) => {
        return part === null ? null : tokenizer.tokenize(part);
      });
      const room = length - addedCount(pair !== null);
      const [kept, keptPair] = roomFor(first?.length ?? 0, second?.length ?? 0, room);
      const { tokens, token_type_ids: types } = joined(
        (first ?? []).slice(0, kept),
        second?.slice(0, keptPair) ?? null,
      );
      return {
        ids: tokens.map(idOf),
        types: types ?? [],
        isCut: kept < (first?.length ?? 0) || keptPair < (second?.length ?? 0),
      };
    },
  };
}

function libraryTokenizer(file: object, config: object): Tokenizer {
  try {
    return new Tokenizer(file, config);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(
      `tokenizer: expected a tokenizer.json, got one that does not open: ${reason}`,
    );
  }
}

function parsed<T extends object>(text: string, name: string): T {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as T;
  } catch {
    // Refused below, as is JSON that is no object.
  }
  throw new TypeError(`${name}: expected a file of a JSON object, got ${text.slice(0, 20)}`);
}

function padIdOf(
  { padding }: TokenizerFile,
  { pad_token: token }: ConfigFile,
  ids: ReadonlyMap<string, number>,
): number {
  if (typeof padding?.pad_id === "number") return padding.pad_id;
  const named = typeof token === "string" ? token : (token?.content ?? null);
  const names = named === null ? PADDING : [named];
  return names.map((name) => ids.get(name)).find((id) => id !== undefined) ?? 0;
}

/**
 * How many tokens stay of each of two texts: the longer one gives first, of two that are as long
 * the second keeps one more. Source: tokenizers of Hugging Face, truncation strategy
 * longest_first; theirs may leave the odd one to the other of two long texts.
 */
function roomFor(first: number, second: number, room: number): readonly [number, number] {
  if (first + second <= room) return [first, second];
  const half = Math.floor(room / 2);
  if (Math.min(first, second) <= half) {
    return first <= second ? [first, room - first] : [room - second, second];
  }
  return first > second ? [room - half, half] : [half, room - half];
}
