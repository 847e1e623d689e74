/** Bodies of inference requests, right and wrong, the same for the same seed. */
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { Rng } from "stratagem-runtime/internal/core/rng";

/** A request to send, and what it is called where it was lost. */
export interface HostileRequest {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The only input of the model that is asked. */
export interface AskedInput {
  readonly name: string;
  readonly datatype: string;
  /** Elements in a row. */
  readonly width: number;
  readonly elementBytes: number;
}

const STREAM = 7;
const LONG = "12345678901234567890";

/** Small bodies, a few of them long; the i-th of a seed is always the same. */
export class BodyGenerator {
  readonly #rng: Rng;
  readonly #input: AskedInput;
  #count = 0;

  constructor(seed: number, input: AskedInput) {
    this.#rng = new Rng(seed, STREAM);
    this.#input = input;
  }

  next(): HostileRequest {
    const index = this.#count++;
    const [kind, make] = this.#pick(Object.entries(this.#kinds));
    const made = make();
    const packed = this.#chance(0.06) ? this.#packed(made) : made;
    const { name, headers, body } = this.#chance(0.2) ? this.#damaged(packed) : packed;
    return { name: `${index} ${kind}${name}`, headers, body };
  }

  readonly #kinds: Readonly<Record<string, () => HostileRequest>> = {
    "as JSON": () => this.#json({}),
    "as bytes": () => this.#binary(0),
    "with bytes amiss": () => this.#binary(this.#integer(9) - 4),
    "with a header length": () => ({
      ...this.#binary(0),
      headers: {
        "inference-header-content-length": this.#pick([
          "0",
          "-1",
          "9e9",
          "1e2",
          "",
          "x",
          "٣",
          "99",
        ]),
      },
    }),
    "with an id": () => this.#json({ id: this.#value(2) }),
    "with a long id": () => text(`{"id":${LONG},"inputs":[]}`),
    "with long integers": () => text(this.#jsonText(`[${LONG},-${LONG},"${LONG}",${LONG}.5]`)),
    "with parameters": () =>
      this.#json({
        parameters: Object.fromEntries(this.#many(6, () => [this.#key(), this.#value(2)])),
      }),
    "with outputs": () => this.#json({ outputs: this.#many(5, () => this.#value(2)) }),
    "with inputs": () => text(JSON.stringify({ inputs: this.#many(5, () => this.#value(3)) })),
    "with another shape": () => this.#json({}, { shape: this.#value(2) }),
    "with another type": () => this.#json({}, { datatype: this.#value(1) }),
    "with other data": () => this.#json({}, { data: this.#value(3) }),
    "that is any JSON": () => text(JSON.stringify(this.#value(4))),
    "that is any bytes": () => ({ ...text(""), body: this.#bytes(this.#integer(200)) }),
    "of quotes": () => text('\\"'.repeat(this.#integer(2000)) + LONG),
    "of open strings": () => text(`${LONG}${'"a'.repeat(this.#integer(2000))}`),
    "of brackets": () => text(this.#pick(["[", '{"a":', "[[]", "{}"]).repeat(this.#integer(3000))),
    "of deep data": () => {
      const depth = this.#integer(3000);
      return text(this.#jsonText("[".repeat(depth) + "]".repeat(depth)));
    },
    "of a deep shape": () => {
      const depth = this.#integer(3000);
      return text(`{"inputs":[{"name":"x","shape":${"[".repeat(depth)}${"]".repeat(depth)}}]}`);
    },
    "of many keys": () =>
      text(`{${this.#many(300, () => `"${this.#key()}":${JSON.stringify(this.#value(1))}`)}}`),
    "of a prototype": () => text(`{"__proto__":{"inputs":[]},"constructor":{"prototype":1}}`),
    "of a long number": () => text(this.#jsonText(`[${"9".repeat(this.#integer(5000))}]`)),
    "with an encoding": () => ({
      ...this.#json({}),
      headers: {
        "content-encoding": this.#pick(["br", "gzip", "deflate", "x".repeat(500), "GZIP"]),
      },
    }),
  };

  /** A right request, with more fields, and others in its input. */
  #json(more: object, input: object = {}): HostileRequest {
    const { name, datatype, width } = this.#input;
    const rows = 1 + this.#integer(2);
    const data = Array.from({ length: rows * width }, () => this.#integer(2));
    const tensor = { name, datatype, shape: [rows, width], data, ...input };
    return text(JSON.stringify({ inputs: [tensor], ...more }));
  }

  /** One row whose data is this text. */
  #jsonText(data: string): string {
    const { name, datatype, width } = this.#input;
    const head = JSON.stringify({ name, datatype, shape: [1, width] }).slice(0, -1);
    return `{"inputs":[${head},"data":${data}}]}`;
  }

  #binary(surplus: number): HostileRequest {
    const { name, datatype, width, elementBytes } = this.#input;
    const size = width * elementBytes;
    const parameters = { binary_data_size: size };
    const json = Buffer.from(
      JSON.stringify({ inputs: [{ name, datatype, shape: [1, width], parameters }] }),
    );
    return {
      name: "",
      headers: { "inference-header-content-length": String(json.length) },
      body: Buffer.concat([json, Buffer.alloc(Math.max(0, size + surplus))]),
    };
  }

  #packed({ name, headers, body }: HostileRequest): HostileRequest {
    const [encoding, pack] = this.#pick([
      ["gzip", gzipSync],
      ["deflate", deflateSync],
      ["deflate", deflateRawSync],
    ] as const);
    return {
      name: `${name}, ${encoding}`,
      headers: { ...headers, "content-encoding": encoding },
      body: pack(body),
    };
  }

  /** Cut, or with some bytes changed. */
  #damaged({ name, headers, body }: HostileRequest): HostileRequest {
    if (this.#chance(0.5)) {
      return { name: `${name}, cut`, headers, body: body.subarray(0, this.#integer(body.length)) };
    }
    const changed = Buffer.from(body);
    for (let change = 0; change <= this.#integer(4); change++) {
      if (body.length > 0) changed[this.#integer(body.length)] = this.#integer(256);
    }
    return { name: `${name}, changed`, headers, body: changed };
  }

  /** Any JSON value. */
  #value(depth: number): unknown {
    const { name, datatype, width } = this.#input;
    const leaves = [
      null,
      true,
      0,
      -1,
      1e30,
      1.5,
      2 ** 53,
      "",
      name,
      datatype,
      "\u0000integer:5",
      "x".repeat(this.#integer(300)),
      [1, width],
    ];
    const kind = depth === 0 ? 0 : this.#integer(3);
    if (kind === 1) return this.#many(4, () => this.#value(depth - 1));
    if (kind === 2) {
      return Object.fromEntries(this.#many(4, () => [this.#key(), this.#value(depth - 1)]));
    }
    return this.#pick(leaves);
  }

  #key(): string {
    return this.#pick([
      "name",
      "shape",
      "datatype",
      "data",
      "parameters",
      "binary_data_size",
      "binary_data",
      "binary_data_output",
      "classification",
      "timeout",
      "priority",
      "variant",
      "same_variant",
      "slo_class",
      "__proto__",
      "constructor",
      "toString",
      `k${this.#integer(1000)}`,
    ]);
  }

  #many<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.#integer(most + 1) }, make);
  }

  #bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.#integer(256)));
  }

  #pick<T>(among: readonly T[]): T {
    return among[this.#integer(among.length)] as T;
  }

  #chance(share: number): boolean {
    return this.#rng.nextFloat() < share;
  }

  /** From 0 to one less than the bound. */
  #integer(bound: number): number {
    return Math.floor(this.#rng.nextFloat() * bound);
  }
}

function text(body: string): HostileRequest {
  return { name: "", headers: {}, body: Buffer.from(body) };
}
