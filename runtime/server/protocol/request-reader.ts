/** Reads inference requests, and each JSON header only once. */
import { DATATYPES } from "../tensors/datatypes.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { type InferRequest, parseInferRequest } from "./protocol.ts";

/** Headers remembered at most; a client has one for each number of rows that it sends. */
const MAX_HEADERS = 64;
const MAX_HEADER_BYTES = 4096;

/** A request without its bytes. */
interface Layout {
  readonly request: InferRequest;
  /** Where each input begins and ends behind the JSON. */
  readonly bounds: readonly (readonly [begin: number, end: number])[];
  readonly binaryBytes: number;
}

/**
 * Reads inference requests, and each JSON header only once. Clients that send their tensors as
 * bytes send the same header with other bytes again and again; as long as elements have a fixed
 * size, such a header alone says whether the request is right.
 */
export class RequestReader {
  readonly #signature: ClientSignature;
  readonly #maxRows: number;
  readonly #hasFixedSizes: boolean;
  readonly #layoutByHeader = new Map<string, Layout>();

  constructor(signature: ClientSignature, maxRows: number) {
    this.#signature = signature;
    this.#maxRows = maxRows;
    this.#hasFixedSizes = signature.inputs.every(
      ({ datatype }) => DATATYPES[datatype].elementBytes > 0,
    );
  }

  /** Arguments, result and errors are those of `parseInferRequest`. */
  read(body: Buffer, headerLength: string | undefined): InferRequest {
    const jsonBytes = Number(headerLength);
    const isPlain = String(jsonBytes) === headerLength && jsonBytes <= MAX_HEADER_BYTES;
    if (!isPlain || jsonBytes === 0 || !this.#hasFixedSizes) {
      return parseInferRequest(body, headerLength, this.#signature, this.#maxRows);
    }
    const header = body.toString("latin1", 0, jsonBytes);
    const known = this.#layoutByHeader.get(header);
    if (known !== undefined && known.binaryBytes === body.length - jsonBytes) {
      const inputs = known.bounds.map(([begin, end]) => {
        return body.subarray(jsonBytes + begin, jsonBytes + end);
      });
      return { ...known.request, inputs };
    }
    const request = parseInferRequest(body, headerLength, this.#signature, this.#maxRows);
    this.#remember(header, request, body.byteOffset + jsonBytes, body.length - jsonBytes);
    return request;
  }

  #remember(header: string, request: InferRequest, binaryOffset: number, binaryBytes: number) {
    const bounds = request.inputs.map(({ byteOffset, length }) => {
      const begin = byteOffset - binaryOffset;
      return [begin, begin + length] as const;
    });
    const inputBytes = request.inputs.reduce((sum, { length }) => sum + length, 0);
    // Inputs whose data are in the JSON come on top of what is behind it; and an id is sent once.
    if (inputBytes !== binaryBytes || request.id !== undefined) return;
    if (this.#layoutByHeader.size >= MAX_HEADERS) this.#layoutByHeader.clear();
    // Whoever answers sees that these will come again.
    Object.freeze(request.outputs);
    this.#layoutByHeader.set(header, { request: { ...request, inputs: [] }, bounds, binaryBytes });
  }
}
