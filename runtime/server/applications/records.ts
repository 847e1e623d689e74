/** Records of requests, begun and ended for the features that follow them. */
import { RequestRecord, type SeenRequest } from "../requests/request-record.ts";
import { randomHex } from "../requests/trace-context.ts";

type Told = (record: RequestRecord) => void;

/** Reasons that a log repeats are cut here. */
const LONGEST_ERROR = 500;

export class Records {
  readonly #arrived: readonly Told[];
  readonly #ended: readonly Told[];
  readonly #nowMs: () => number;

  constructor(arrived: readonly Told[], ended: readonly Told[], nowMs: () => number) {
    this.#arrived = arrived;
    this.#ended = ended;
    this.#nowMs = nowMs;
  }

  /** A request has come. */
  begin(seen: SeenRequest): RequestRecord {
    const { parent } = seen;
    const traceId = parent?.traceId ?? randomHex(16);
    const isSampled = parent?.isSampled === true;
    const origin = { traceId, spanId: randomHex(8), isSampled, arrivalMs: this.#nowMs() };
    const record = new RequestRecord(seen, origin);
    for (const hook of this.#arrived) hook(record);
    return record;
  }

  /** The request is over. @param status null where its client was gone before the answer. */
  end(record: RequestRecord, status: number | null): void {
    record.status = status;
    record.endMs = this.#nowMs();
    if (record.error.length > LONGEST_ERROR) {
      record.error = `${record.error.slice(0, LONGEST_ERROR)}…`;
    }
    for (const hook of this.#ended) hook(record);
  }
}
