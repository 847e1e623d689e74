import { createHash, scryptSync } from "node:crypto";
import { expect, test } from "vitest";
import { TokenBook } from "../../../../runtime/server/access/token-book.ts";
import { tokensOf } from "../../../../runtime/server/access/token-file.ts";
import { parsedHash, sha256 } from "../../../../runtime/server/access/token-hash.ts";
import { HttpError } from "../../../../runtime/server/connections/http-error.ts";

const sha = (token: string) => `sha256:${createHash("sha256").update(token).digest("hex")}`;
const line = (name: string, extra: object = {}) =>
  JSON.stringify({ name, hash: sha(name), scopes: ["infer"], ...extra });

test("a file has a token a line, in YAML, with scopes and an expiry", () => {
  const text = [
    "# who may come in",
    `- {name: ci, hash: ${sha("a")}, scopes: [infer]}`,
    `- {name: ops, hash: "${sha("b")}", scopes: [admin, metrics], expires: 2027-01-31}`,
  ].join("\n");
  const [ci, ops, ...others] = tokensOf(text, "t");
  expect(others).toEqual([]);
  expect([ci?.name, [...(ci?.scopes ?? [])], ci?.expiresMs]).toEqual([
    ...["ci", ["infer"], Number.POSITIVE_INFINITY],
  ]);
  expect([...(ops?.scopes ?? [])]).toEqual(["admin", "metrics"]);
  expect(ops?.expiresMs).toBe(Date.UTC(2027, 0, 31));
});

test("an empty list is nobody, and an empty file is a mistake", () => {
  expect(tokensOf("[]", "t")).toEqual([]);
  expect(() => tokensOf("", "t")).toThrow("expected a list of tokens, or [] for none, got nothing");
});

test.each([
  ["- {name: a", "t:1:"],
  [`- ${line("a")}\n- ${line("a")}`, 't:2:3: name: expected a unique name, got "a" again'],
  ["- {name: a b}", 't:1:3: name: expected 1 to 64 letters, digits and . _ @ + -, got "a b"'],
  ["- {name: a, hash: secret}", "t:1:3: hash of a: expected sha256:HEX of 64 digits"],
  [`- ${line("a", { scopes: [] })}`, "scopes of a: expected a list of infer, admin, metrics"],
  [`- ${line("a", { scopes: ["root"] })}`, 'got ["root"]'],
  [`- ${line("a", { expires: "soon" })}`, "expected a day such as 2027-01-31, or a time such"],
  [`- ${line("a", { expires: "2027-02-31T99:00Z" })}`, "expires of a: expected a day"],
  [`- ${line("a", { scope: 1 })}`, 'expected one of name, hash, scopes, expires, got "scope"'],
  ["name: a", "t: expected a list of tokens, or [] for none, got something else"],
  [`- &a ${line("a")}\n- *a`, "expected"],
])("a file with %s is refused by place", (text, message) => {
  expect(() => tokensOf(text, "t")).toThrow(message);
});

test("a hash that is refused is not told, for it may be the token itself", () => {
  expect(() => tokensOf("- {name: a, hash: my-secret}", "t")).not.toThrow("my-secret");
});

test.each(["scrypt:16383:8:1", "scrypt:262144:8:1", "scrypt:16384:17:1", "scrypt:16384:8:5"])(
  "a hash of scrypt with %s is refused: no power of two, or too dear",
  (numbers) => {
    const [salt, digest] = [16, 32].map((size) => Buffer.alloc(size).toString("base64url"));
    const end = `${salt}:${digest}`;
    expect(parsedHash(`scrypt:16384:8:1:${end}`)).toBeDefined();
    expect(parsedHash(`${numbers}:${end}`)).toBeUndefined();
  },
);

function slowHashOf(token: string): string {
  const salt = Buffer.alloc(16, 7);
  const digest = scryptSync(token, salt, 32, { cost: 16_384, blockSize: 8, parallelization: 1 });
  return `scrypt:16384:8:1:${salt.toString("base64url")}:${digest.toString("base64url")}`;
}

test("a token is found by SHA-256 at once, and by scrypt after a while", async () => {
  const [fast, slow] = [`sha256:${sha256("fast").toString("hex")}`, slowHashOf("slow")];
  const entry = (name: string, hash: string) => ({ name, hash, scopes: ["infer"] });
  const file = JSON.stringify([entry("one", fast), entry("two", slow)]);
  const book = new TokenBook(tokensOf(file, "t"));
  expect(book.find("fast")).toMatchObject({ name: "one" });
  const found = book.find("slow");
  expect(found).toBeInstanceOf(Promise);
  expect(await found).toMatchObject({ name: "two" });
  // What was compared once is remembered.
  expect(book.find("slow")).toMatchObject({ name: "two" });
  expect(await book.find("slo")).toBeNull();
  expect(book.find("slo")).toBeNull();
  expect(new TokenBook(tokensOf(file, "t")).find("")).toBeInstanceOf(Promise);
});

test("who guesses waits in line, and the line is short", async () => {
  const hash = slowHashOf("slow");
  const book = new TokenBook(
    tokensOf(JSON.stringify([{ name: "two", hash, scopes: ["infer"] }]), "t"),
  );
  const found = await Promise.all(Array.from({ length: 40 }, (_, index) => book.find(`x${index}`)));
  const refused = found.filter((one) => one instanceof HttpError);
  expect(refused).toHaveLength(8);
  expect(found.filter((one) => one === null)).toHaveLength(32);
  expect(await book.find("slow")).toMatchObject({ name: "two" });
});
