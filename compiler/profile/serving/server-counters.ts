/** Reads the counters in /metrics that describe the serving path. */

/** Totals since the server started. */
export interface ServerCounters {
  /** Processor time of the server's process, without its workers, ms. */
  readonly processorMs: number;
  /** Requests answered. */
  readonly answered: number;
  /** Batches that workers ran. */
  readonly batches: number;
  /**
   * Sum over answered requests of the time from the choice of their first batch until a worker
   * received it, ms.
   */
  readonly inputMs: number;
  /**
   * Sum over answered requests of the time from their last result until the answer was written, ms.
   */
  readonly outputMs: number;
}

/** @param text in Prometheus format. @param model name of the model. */
export function serverCounters(text: string, model: string): ServerCounters {
  const label = `{model=${JSON.stringify(model)}`;
  let processorMs = Number.NaN;
  const sums = { answered: 0, batches: 0, inputMs: 0, outputMs: 0 };
  for (const line of text.split("\n")) {
    const value = Number(line.slice(line.lastIndexOf(" ") + 1));
    if (line.startsWith("process_cpu_seconds_total ")) processorMs = 1000 * value;
    else if (line.startsWith(`nv_inference_request_success${label}`)) sums.answered += value;
    else if (line.startsWith(`nv_inference_exec_count${label}`)) sums.batches += value;
    else if (line.startsWith(`nv_inference_compute_input_duration_us${label}`)) {
      sums.inputMs += value / 1000;
    } else if (line.startsWith(`nv_inference_compute_output_duration_us${label}`)) {
      sums.outputMs += value / 1000;
    }
  }
  return { processorMs, ...sums };
}
