/** Bodies that are meant to hold the server: long, deep, or small until they are decompressed. */
import { deflateSync, gzipSync } from "node:zlib";
import type { AskedInput, HostileRequest } from "./generated.ts";

const LONG = "12345678901234567890";
const MIB = 2 ** 20;

/** Each with a name, the same every time. @param maxRows of one request. */
export function attacksOn(input: AskedInput, maxRows: number): HostileRequest[] {
  const right = rightBody(input, maxRows);
  const padded = (bytes: number) => Buffer.concat([right, Buffer.alloc(bytes - right.length, " ")]);
  const zeros = `{"inputs":[${"0,".repeat(31 * MIB)}0]}`;
  return [
    ...[10, 20, 40, 80].map((kb) => plain(`${kb} kB of open strings`, openStrings(kb * 1000))),
    gzip("120 bytes of gzip, 80 kB of open strings", openStrings(80_000)),
    gzip("2 kB of gzip, 1 MB of open strings", openStrings(MIB)),
    gzip("60 kB of gzip, 62 MB of JSON", zeros),
    gzip("62 MB of a string", `{"id":"${"a".repeat(62 * MIB)}"}`),
    deflate("deflate, 62 MB of JSON", zeros),
    gzip("gzip in gzip", gzipSync(zeros)),
    plain("as many rows as there may be", right),
    gzip("the same, gzip", right),
    plain("the same with a megabyte of blanks", padded(MIB)),
    plain("60 MB of numbers", zeros.slice(0, 60 * MIB)),
    plain("a megabyte of brackets", "[".repeat(MIB)),
    gzip("a megabyte of brackets, gzip", "[".repeat(MIB)),
    plain("200000 deep", `{"inputs":${nested(200_000)}}`),
    plain("a deep shape", inputOf(input, nested(400_000))),
    plain(
      "100000 keys",
      objectOf((index) => `"k${index}":0`),
    ),
    plain(
      "100000 times one key",
      objectOf(() => '"id":"a"'),
    ),
    plain("100000 parameters", `{"parameters":${objectOf((index) => `"k${index}":${index}`)}}`),
    plain("100000 outputs", `{"outputs":[${many(() => '{"name":"y"}')}]}`),
    plain("100000 inputs", `{"inputs":[${many(() => `{"name":"${input.name}"}`)}]}`),
    plain(
      "100000 prototypes",
      objectOf(() => '"__proto__":{"a":[]}'),
    ),
    plain("a megabyte of empty objects", `[${"{},".repeat(MIB / 3)}{}]`),
    plain("a number of a megabyte", `{"id":${"9".repeat(MIB)}}`),
    plain("50000 long integers", `{"inputs":[${"1".repeat(20)}${`,${LONG}`.repeat(50_000)}]}`),
    plain("a name of a megabyte", `{"inputs":[{"name":"${"n".repeat(MIB)}"}]}`),
    {
      ...plain("bytes of empty strings", Buffer.alloc(4 * MIB)),
      headers: { "inference-header-content-length": "2" },
    },
  ];
}

/** All rows that a request may have, as JSON. */
function rightBody({ name, datatype, width }: AskedInput, maxRows: number): Buffer {
  const data = new Array<number>(maxRows * width).fill(1);
  const inputs = [{ name, datatype, shape: [maxRows, width], data }];
  return Buffer.from(JSON.stringify({ inputs }));
}

/** What took quadratic time; the long number makes the parser look. */
function openStrings(bytes: number): string {
  return `${LONG}${'\\"'.repeat(bytes / 2)}`;
}

function objectOf(entry: (index: number) => string): string {
  return `{${many(entry)}}`;
}

function many(entry: (index: number) => string): string {
  return Array.from({ length: 100_000 }, (_, index) => entry(index)).join(",");
}

function plain(name: string, body: string | Buffer): HostileRequest {
  return { name, headers: {}, body: Buffer.from(body) };
}

function gzip(name: string, body: string | Buffer): HostileRequest {
  return { name, headers: { "content-encoding": "gzip" }, body: gzipSync(body, { level: 9 }) };
}

function deflate(name: string, body: string): HostileRequest {
  return { name, headers: { "content-encoding": "deflate" }, body: deflateSync(body) };
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

function inputOf({ name, datatype }: AskedInput, shape: string): string {
  return `{"inputs":[{"name":"${name}","datatype":"${datatype}","shape":${shape}}]}`;
}
