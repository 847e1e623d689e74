/** Where the time of an answered request went, in ms, as statistics tell it. */

export interface AnswerTimes {
  /** From its arrival until its first batch began. */
  readonly queueMs: number;
  /** Until that batch was put together and handed to its worker. */
  readonly inputMs: number;
  /** Until its last result was there; of a pipeline with the waiting between its tasks. */
  readonly inferMs: number;
  /** When that was, by the server's clock: what follows is cutting and writing. */
  readonly doneMs: number;
}

/** Of one batch, in ms. */
export interface BatchTimes {
  /** Putting it together and handing it to the worker. */
  readonly inputMs: number;
  /** Until the result was there. */
  readonly inferMs: number;
  /** Cutting the result at its rows. */
  readonly outputMs: number;
}

/**
 * @param startMs NaN of a request of which nothing ran.
 * @param handedMs NaN where that was not seen.
 */
export function answerTimes(
  arrivalMs: number,
  startMs: number,
  handedMs: number,
  doneMs: number,
): AnswerTimes {
  const beginMs = Number.isNaN(startMs) ? doneMs : startMs;
  const ranMs = Number.isNaN(handedMs) ? beginMs : handedMs;
  return {
    queueMs: beginMs - arrivalMs,
    inputMs: ranMs - beginMs,
    inferMs: doneMs - ranMs,
    doneMs,
  };
}
