/** Texts to tokens: what the tokenizers of Hugging Face in Rust make of them, in one length. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostModule } from "../../kit/module/contract.ts";
import open from "../../kit/tokenize.ts";
import { TEXTS, TINY_TOKENIZER } from "./tiny-tokenizer.ts";

const folder = mkdtempSync(join(tmpdir(), "kit-tokenize-"));
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(() => {
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(TINY_TOKENIZER));
  writeFileSync(join(folder, "list.json"), "[1]\n");
  writeFileSync(join(folder, "wrong.json"), "{}");
});

function opened(options: object): Promise<HostModule> {
  return open({ options: { tokenizer: "tokenizer.json", length: 8, ...options }, folder });
}

function texts(...all: readonly string[]) {
  return { text: { data: all.map((text) => Buffer.from(text)), shape: [all.length] } };
}

function numbers(tensors: Awaited<ReturnType<HostModule["run"]>>, name: string): number[] {
  return Array.from(tensors[name]?.data as BigInt64Array, Number);
}

test.each(TEXTS)("%j with %j in %i", async (text, pair, length, ids, types) => {
  const module = await opened({ length, pair: pair !== null });
  const second = pair === null ? {} : { pair: { data: [pair], shape: [1] } };
  const found = await module.run({ ...texts(text), ...second }, 1);
  const padded = (values: readonly number[]) => {
    return [...values, ...new Array<number>(length - values.length).fill(0)];
  };
  expect(numbers(found, "input_ids")).toEqual(padded(ids));
  expect(numbers(found, "attention_mask")).toEqual(padded(ids.map(() => 1)));
  expect(numbers(found, "token_type_ids")).toEqual(padded(types));
});

test("rows of one batch have one length, filled up as it is asked", async () => {
  const module = await opened({ padding: "left", padId: 9, types: false, special: false });
  const found = await module.run(texts("the fox", "the"), 2);
  expect(Object.keys(found)).toEqual(["input_ids", "attention_mask"]);
  expect(found["input_ids"]?.shape).toEqual([2, 8]);
  expect(numbers(found, "input_ids")).toEqual([9, 9, 9, 9, 9, 9, 4, 7, 9, 9, 9, 9, 9, 9, 9, 4]);
  expect(numbers(found, "attention_mask")).toEqual([
    0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1,
  ]);
});

test("the number that fills up is that of the files", async () => {
  const file = { ...TINY_TOKENIZER, padding: { pad_id: 5 } };
  writeFileSync(join(folder, "padded.json"), JSON.stringify(file));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ pad_token: "[SEP]" }));
  const first = await opened({ tokenizer: "padded.json" });
  expect(numbers(await first.run(texts("the"), 1), "input_ids").at(-1)).toBe(5);
  const second = await opened({ config: "config.json" });
  expect(numbers(await second.run(texts("the"), 1), "input_ids").at(-1)).toBe(3);
});

describe("what is refused", () => {
  test("is a text that is too long, or not UTF-8, by its row", async () => {
    const module = await opened({ truncate: false, maxBytes: 60 });
    const long = "the quick brown fox jumps over";
    const text = {
      data: [Buffer.from(long), Buffer.from("the"), Buffer.from([0xff]), Buffer.alloc(61)],
      shape: [4],
    };
    const error = await Promise.resolve(module.run({ text }, 4)).catch((found: Error) => found);
    expect(error).toMatchObject({ rows: [0, 2, 3] });
    const { message } = error as Error;
    expect(message).toContain('input "text" row 0: expected at most 8 tokens (length), got more');
    expect(message).toContain("row 2: expected text in UTF-8, got 1 bytes of something else");
    expect(message).toContain("row 3: expected at most 60 bytes (maxBytes), got 61");
  });

  test.each([
    [{ length: 2 }, "length: expected an integer from 3 to 1000000, got 2"],
    [{ tokenizer: "none.json" }, "tokenizer: expected a file that can be read in"],
    [{ tokenizer: "list.json" }, "tokenizer: expected a tokenizer.json"],
    [{ tokenizer: "wrong.json" }, "tokenizer: expected a tokenizer.json"],
    [{ tokenizer: undefined }, "tokenizer: expected a text, got nothing"],
  ])("are the options %j", async (options, message) => {
    await expect(opened(options)).rejects.toThrow(message);
  });
});
